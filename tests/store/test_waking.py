"""Whatever wakes a sandbox from the file, others have their turn while it is read; a reset of all
reads none."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from mockserver.engine.sandbox import sandbox_id_of
from tests.driving import DUMMY, Api
from tests.store.twins import Kept

UPLOAD = """
version: 1
name: upload
rules:
  - {id: upload, when: {op: charge.create, header.x-cut: "1"}, then: {transport: {at: upload, reset: true}}}
"""


class Reads:
    """Which sandboxes were read whole, each with whether that was done in a thread."""

    def __init__(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        store: Any = api.app.world.store
        self.aside: list[bool] = []
        rows = store._file.rows

        def note(number: int, part: str | None = None) -> Any:
            if part is None:
                self.aside.append(threading.current_thread() is not threading.main_thread())
            return rows(number, part)

        monkeypatch.setattr(store._file, "rows", note)


def closed(path: Path, count: int = 1, **more: Any) -> Kept:
    """A server that has just opened a store of some sandboxes, the first with a payment link."""
    api = Kept(path, key="sk_0", **more)
    for number in range(count):
        assert api.try_charge(key=f"sk_{number}").status in (200, 201)
    link = {"title": "Shoes", "amount": 20, "currency": "AUD", "providerId": DUMMY}
    api.link = api.post("/payment_link", link)["paymentLinkId"]
    api.restart()
    return api


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/charge", {"x-secretkey": "sk_0"}),
        ("GET", "/__admin/clock", {"x-sandbox": sandbox_id_of("sk_0")}),
        ("GET", "/__admin/clock", {"x-publickey": "pk_0"}),
        ("GET", "/pay/{link}", {}),
        ("GET", "/pay/{link}?sandbox=pk_0", {}),
        ("POST", "/__inbox/shop?publicKey=pk_0", {}),
        ("GET", "/__admin/sandboxes", {}),
        ("POST", "/__admin/sandboxes", {}),
        ("GET", f"/__admin/compare?with={sandbox_id_of('sk_0')}", {"x-secretkey": "sk_new"}),
        ("POST", "/charge/card", {"x-secretkey": "sk_0"}),
        ("POST", "/__admin/reset?all=true&undo=true", {"x-secretkey": "sk_new"}),
    ],
)
def test_a_sandbox_is_read_while_others_have_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, path: str, headers: dict[str, str]
) -> None:
    api = closed(tmp_path / "s.db", scenario=UPLOAD)
    reads = Reads(api, monkeypatch)
    # What reads no body refuses one before it looks for a sandbox.
    body = {"key": "sk_0", "name": "zero"} if method == "POST" and "reset" not in path else None
    reply = api.call(method, path.format(link=api.link), body, key=None, headers=headers)
    assert reply.status in (200, 201, 303, 400), reply.raw
    assert reads.aside == [True]


def test_a_reset_of_all_reads_no_sandbox_and_leaves_the_memory_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = closed(tmp_path / "s.db", 50)
    api.post("/__admin/marks", {"name": "begun"})
    api.put("/__admin/assumptions", {"request.idempotency": "by_header"})
    api.restart()
    reads = Reads(api, monkeypatch)
    assert api.call("POST", "/__admin/reset?all=true", key="sk_49")["reset"] == 50
    assert reads.aside == [True]
    assert api.app.world.sandboxes.in_memory.keys() == {"sk_49"}
    assert [api.call("GET", "/charge", key=f"sk_{number}")["count"] for number in range(50)] == [
        0
    ] * 50
    assert api.get("/__admin/journal", since="begun")["entries"]
    shown = {row["key"]: row["value"] for row in api.get("/__admin/assumptions")["assumptions"]}
    assert shown["request.idempotency"] == "by_header"


def test_a_sandbox_whose_content_is_damaged_can_be_reset_with_all(tmp_path: Path) -> None:
    api = closed(tmp_path / "s.db", 2)
    store: Any = api.app.world.store
    with store._file._transaction():
        store._file._db.execute("UPDATE lines SET line = '{}' WHERE part = 'charges'")
    assert api.get("/charge").status == 503
    assert api.call("POST", "/__admin/reset?all=true", key="sk_new").status == 200
    assert [api.call("GET", "/charge", key=key)["count"] for key in ("sk_0", "sk_1")] == [0, 0]


def test_a_card_is_recognised_by_a_fork_that_comes_from_the_file(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db", key="sk_0")
    api.charge()
    assert api.post("/__admin/fork", {"to": "sk_1"}).status == 201
    api.restart()
    assert api.try_charge(key="sk_1").status == 201
    for digits in ("4111111111111111", "411111"):
        found = api.call("GET", f"/charge?CardNumber={digits}", key="sk_1")
        assert found["count"] == 2


@pytest.mark.parametrize("as_text", [True, False], ids=["text", "map"])
def test_a_sandbox_goes_on_under_a_scenario_that_an_earlier_version_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_text: bool
) -> None:
    rules = [
        {"id": f"r{number}", "when": {"op": "charge.get"}, "then": {"lag": "1s"}}
        for number in range(2)
    ]
    scenario = {"version": 1, "name": "long", "rules": rules}
    sent: dict[str, Any] = {"body": scenario}
    if as_text:
        sent = {"raw": json.dumps(scenario).encode()}
    api = Kept(tmp_path / "s.db")
    assert api.call("PUT", "/__admin/scenarios", **sent).status == 200
    monkeypatch.setattr("mockserver.scenario.parse.MOST_RULES", 1)
    api.restart()
    assert api.get("/__admin/scenarios")["scenarios"][0]["name"] == "long"
    refused = api.call("PUT", "/__admin/scenarios", **sent)
    assert (refused.status, "got 2 rules, wanted at most 1" in str(refused["details"])) == (
        400,
        True,
    )
