"""A sandbox goes on from its store as one that was never interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.control.test_state import fill, fill_everything
from tests.store.twins import Kept, Twins


@pytest.mark.parametrize("every", [1, 7])
def test_everything_that_there_is_comes_back(tmp_path: Path, every: int) -> None:
    twins = Twins(tmp_path / "s.db", every)
    fill(twins)
    twins.look()
    fill_everything(twins)
    for by in ("1ms", "60ms", "2d", "70d"):
        twins.advance(by)
        twins.look()


def test_undo_brings_back_a_sandbox_whose_reads_lag(tmp_path: Path) -> None:
    twins = Twins(tmp_path / "s.db", every=1_000)
    rules = [{"id": "late", "when": {"op": "charge.search"}, "then": {"lag": "10s"}}]
    assert twins.put("/__admin/scenarios", {"version": 1, "name": "late", "rules": rules}).status == 200
    twins.charge(reference="one")
    twins.advance("1m")
    assert twins.call("POST", "/__admin/reset?undo=true").status == 200
    assert twins.get("/charge")["count"] == 0
    assert twins.call("POST", "/__admin/undo").status == 200
    twins.charge(reference="two")
    assert twins.get("/charge")["count"] == 1
    twins.kept.restart()
    assert twins.get("/charge")["count"] == 1
    twins.advance("1m")
    assert twins.get("/charge")["count"] == 2
    twins.look()


def test_a_sandbox_of_another_start_keeps_what_it_was_opened_with(tmp_path: Path) -> None:
    first = Kept(tmp_path / "s.db", seed=7)
    made = first.charge()
    first.kill()
    other = Kept(tmp_path / "s.db", seed=8, clock="2040-01-01T00:00:00Z", public_url="http://shop.test")
    assert other.get(f"/charge/{made['chargeId']}").body == made
    assert other.call("GET", "/__admin/state")["seed"] == 7
    assert other.call("GET", "/__admin/state", key="sk_new")["seed"] == 8
    link = other.post("/payment_link", {"title": "Tea", "amount": 4.5, "currency": "AUD"})
    assert "http://shop.test/pay/" in link.raw.decode()
    other.restart()
    page = other.call("GET", f"/pay/{link['paymentLinkId']}", key=None, headers={"host": "shop.test"})
    assert (page.status, "view=" in page.headers["location"]) == (303, True)
    assert other.call("POST", "/__admin/reset?scenario=true").status == 200
    assert other.call("GET", "/__admin/state")["seed"] == 8
