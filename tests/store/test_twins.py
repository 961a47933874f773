"""A sandbox goes on from its store as one that was never interrupted."""

import asyncio
import contextlib
import json
from pathlib import Path

import pytest

from mockserver.engine import consistency, payment_methods, state_reading
from mockserver.store.file import StoreFile
from mockserver.store.parts import BLOCK
from tests.control.test_state import fill, fill_everything
from tests.driving import CARD, DUMMY, card_charge
from tests.store.twins import Kept, Twins
from tests.web.test_three_ds_page import challenged

pytestmark = pytest.mark.slow

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(("every", "large"), [(1, 5_000), (1, 0), (7, 5_000), (20, 1)])
def test_everything_that_there_is_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int, large: int
) -> None:
    monkeypatch.setattr("mockserver.store.parts.STEP_ROWS", large)
    twins = Twins(tmp_path / "s.db", every)
    fill(twins)
    twins.look()
    fill_everything(twins)
    for by in ("1ms", "60ms", "2d", "70d"):
        twins.advance(by)
        twins.look()


def test_a_sandbox_whose_webhook_waits_for_an_answer_is_woken_by_itself(tmp_path: Path) -> None:
    hang = {
        "id": "hang",
        "when": {"op": "charge.create"},
        "then": {"transport": {"at": "answer", "hang": {}}},
    }
    api = Kept(tmp_path / "s.db", scenario=json.dumps({"version": 1, "rules": [hang]}))
    body = card_charge(webhook={"url": "http://127.0.0.1:9/hook"})

    async def charge_and_leave() -> None:
        gone, store = asyncio.Event(), api.app.world.store
        assert store is not None
        charging = asyncio.ensure_future(api.calling("POST", "/charge/card", body, gone=gone))
        while not store.commits:
            await asyncio.sleep(0)
        api.kill()
        gone.set()
        with contextlib.suppress(Exception):
            await charging

    asyncio.run(charge_and_leave())
    file = StoreFile(tmp_path / "s.db")
    (kept,) = file.sandboxes
    assert kept.due is not None
    assert kept.due <= kept.touched
    file.close()


def test_copies_that_nobody_used_are_listed_as_they_were_made(tmp_path: Path) -> None:
    twins = Twins(tmp_path / "s.db", every=1_000)
    twins.charge()
    for key in ("sk_z", "sk_a", "sk_m"):
        assert twins.post("/__admin/fork", {"to": key}).status == 201
    twins.kept.restart()
    assert twins.get("/__admin/sandboxes")["count"] == 4


def test_reads_that_lag_see_all_that_there_is_after_a_restart(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    rules = [{"id": "late", "when": {"op": "charge.search"}, "then": {"lag": "10s"}}]
    assert (
        api.put("/__admin/scenarios", {"version": 1, "name": "late", "rules": rules}).status == 200
    )
    api.charge(reference="one")
    assert api.get("/charge")["count"] == 0
    api.restart()
    assert api.get("/charge")["count"] == 1
    api.charge(reference="two")
    assert api.get("/charge")["count"] == 1
    api.advance("1m")
    assert api.get("/charge")["count"] == 2


def test_undo_brings_back_a_sandbox_whose_money_was_summed_up(tmp_path: Path) -> None:
    twins = Twins(tmp_path / "s.db", every=100)
    made = twins.post("/charge/card", card_charge())
    twins.call("GET", "/__admin/books")
    assert twins.call("POST", "/__admin/reset?undo=true").status == 200
    twins.post("/charge/card", card_charge())
    assert twins.call("POST", "/__admin/undo").status == 200
    assert twins.call("DELETE", f"/charge/{made['chargeId']}").status == 200
    assert twins.call("GET", "/__admin/books")["totals"]["AUD"]["net"] == 0


@pytest.mark.parametrize("every", [4, 9])
def test_a_journal_that_has_dropped_entries_comes_back_without_them(
    tmp_path: Path, every: int
) -> None:
    twins = Twins(tmp_path / "s.db", every, journal_limit=70)
    for number in range(160):
        twins.charge(reference=f"o-{number}")
    twins.look()
    twins.kept.kill()
    file = StoreFile(tmp_path / "s.db")
    rows = file.rows(file.sandboxes[0].number)
    assert rows["journal"].numbers[0] > 160 - 70 - 2 * BLOCK
    assert rows["stories"].numbers == [50]
    file.close()


def test_a_page_wakes_the_sandbox_of_its_object(tmp_path: Path) -> None:
    twins = Twins(tmp_path / "s.db", every=1)
    charge, plain = challenged(twins), twins.charge()
    for page, status in ((f"/3ds/{charge['chargeId']}", 200), (f"/3ds/{plain['chargeId']}", 404)):
        assert twins.call("GET", page, key=None).status == status
    assert (
        twins.call(
            "POST", f"/3ds/{charge['chargeId']}", raw=b"result=pass", key=None, headers=FORM
        ).status
        == 303
    )
    assert twins.get(f"/charge/{charge['chargeId']}")["status"] == "SUCCESS"


def test_a_sandbox_of_another_start_keeps_what_it_was_opened_with(tmp_path: Path) -> None:
    first = Kept(tmp_path / "s.db", seed=7)
    made = first.charge()
    first.kill()
    other = Kept(
        tmp_path / "s.db", seed=8, clock="2040-01-01T00:00:00Z", public_url="http://shop.test"
    )
    assert other.get(f"/charge/{made['chargeId']}").body == made
    assert other.call("GET", "/__admin/state")["seed"] == 7
    assert other.call("GET", "/__admin/state", key="sk_new")["seed"] == 8
    link = other.post("/payment_link", {"title": "Tea", "amount": 4.5, "currency": "AUD"})
    assert "http://shop.test/pay/" in link.raw.decode()
    other.restart()
    page = other.call(
        "GET", f"/pay/{link['paymentLinkId']}", key=None, headers={"host": "shop.test"}
    )
    assert (page.status, "view=" in page.headers["location"]) == (303, True)
    assert other.call("POST", "/__admin/reset?scenario=true").status == 200
    assert other.call("GET", "/__admin/state")["seed"] == 8


def test_what_a_refused_repeat_asked_for_comes_back(tmp_path: Path) -> None:
    """It cannot be sent again, so that no operation says how its body is read."""
    twins = Twins(tmp_path / "s.db", every=2)
    twins.call("PUT", "/__admin/assumptions", {"request.idempotency": "by_header"})
    for amount, status in ((10, 201), (11, 409)):
        body = card_charge(amount=amount, reference="order-1")
        reply = twins.call("POST", "/charge/card", body, headers={"idempotency-key": "k-1"})
        assert reply.status == status
    twins.look()
    assert twins.get("/__admin/timeline").body["lines"][-1][-1]["reference"] == "order-1"


def test_an_imported_sandbox_names_the_places_of_rules_that_are_in_force_here(
    tmp_path: Path,
) -> None:
    twins = Twins(tmp_path / "s.db", every=1)
    rule = {"id": "no", "when": {"op": "charge.create"}, "then": {"decline": "lost_card"}}
    put = twins.call("PUT", "/__admin/scenarios", {"version": 1, "name": "mine", "rules": [rule]})
    assert put.status == 200
    rules = twins.call("GET", "/__admin/rules").body["rules"]
    document = twins.call("GET", "/__admin/state?secrets=true").body
    assert twins.call("PUT", "/__admin/state", document, key="sk_imported").status == 200
    twins.look("sk_imported")
    assert twins.call("GET", "/__admin/rules", key="sk_imported").body["rules"] == rules


def test_webhooks_are_listed_as_they_were_planned_after_an_undo_and_a_restart(
    tmp_path: Path,
) -> None:
    twins = Twins(tmp_path / "s.db", every=1_000)
    for by in ("1h", "1s"):
        late = {"id": "late", "when": {"op": "charge.create"}, "then": {"webhook": {"delay": by}}}
        assert (
            twins.put("/__admin/scenarios", {"version": 1, "name": "late", "rules": [late]}).status
            == 200
        )
        twins.charge(webhook={"url": "http://127.0.0.1:4111/__inbox/shop"})
    twins.advance("2h")
    assert twins.call("POST", "/__admin/reset?undo=true").status == 200
    assert twins.call("POST", "/__admin/undo").status == 200
    twins.kept.restart()
    twins.look()


def test_a_store_of_a_version_with_other_bounds_opens_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twins = Twins(tmp_path / "s.db", every=1_000)
    method = {"providerId": DUMMY, "paymentInformation": CARD}
    owner = twins.post("/customer/card", {**method, "firstName": "Ann"})["customerId"]
    for _ in range(3):
        assert twins.post(f"/customer/{owner}/payment_method/card", method).status == 201
    for module in (consistency, payment_methods):
        monkeypatch.setattr(module, "MOST_METHODS", 2)
    monkeypatch.setattr(state_reading, "MOST_COUNTERS", 1)
    twins.kept.restart()
    twins.look()
    assert twins.post(f"/customer/{owner}/payment_method/card", method).status == 400
    assert twins.call("DELETE", f"/customer/{owner}").status == 200
    twins.kept.restart()
    twins.look()


def test_instants_keep_the_tenths_of_a_microsecond(tmp_path: Path) -> None:
    twins = Twins(tmp_path / "s.db", every=1)
    card = {
        "cardNumber": "4111111111111111",
        "expiryDate": "12/40",
        "expireDate": "2031-03-05T00:00:00.1234567Z",
    }
    assert twins.post("/vault", card).status == 201
    for by in ("1h", "7d"):
        twins.advance(by)
        twins.look()


def test_a_blocked_queue_of_webhooks_goes_on_in_order_after_restart_fork_and_import(
    tmp_path: Path,
) -> None:
    twins = Twins(tmp_path / "s.db", every=1)
    rule = {"id": "queue", "when": {"op": "webhook.deliver"}, "then": {"webhook": {"blocks": True}}}
    rule["then"]["webhook"]["receiver"] = [500, 500, 200]  # type: ignore[index]
    assert (
        twins.put("/__admin/scenarios", {"version": 1, "name": "queue", "rules": [rule]}).status
        == 200
    )

    def charge(reference: str, key: str = twins.key or "") -> None:
        body = card_charge(
            reference=reference, webhook={"url": "http://127.0.0.1:4111/__inbox/shop"}
        )
        assert twins.call("POST", "/charge/card", body, key=key).status == 201

    def tried(key: str = twins.key or "") -> list[list[str]]:
        deliveries = twins.call("GET", "/__admin/webhooks", key=key)["webhooks"]
        return [[made["at"][14:19] for made in one["tries"]] for one in deliveries]

    for reference in "abc":
        charge(reference)
    assert tried() == [["00:00"], [], []]
    assert twins.post("/__admin/fork", {"to": "sk_now"}).status == 201
    assert twins.post("/__admin/fork", {"to": "sk_then", "at": 2}).status == 201
    document = twins.get("/__admin/state?secrets=true").body
    assert twins.call("PUT", "/__admin/state", document, key="sk_imported").status == 200
    copies = ("sk_now", "sk_then", "sk_imported")
    # A copy sends nothing a second time, so nothing blocks what it sends itself.
    for key in copies:
        charge("d", key)
        assert tried(key) == [["00:00"]]
    last = twins.get("/__admin/webhooks")["webhooks"][-1]["id"]
    assert twins.post(f"/__admin/webhooks/{last}/resend", {}).status == 200
    for by in ("10s", "1m", "10s", "5m", "5m"):
        twins.advance(by)
        twins.get("/__admin/state")
    twins.look(twins.key or "", *copies)
    assert tried() == [
        ["00:00", "00:10", "01:10"],
        ["01:10", "01:20", "02:20"],
        ["02:20", "02:30", "03:30"],
    ]
