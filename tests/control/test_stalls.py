"""What one client sends, within the limits, stops no other: each long piece of work has a bound, or
rests."""

import asyncio
import json
from collections.abc import Coroutine, Generator
from time import thread_time
from typing import Any

import pytest

from mockserver.engine import dry_run
from mockserver.web import directory
from tests.driving import Api, Reply, card_charge

LONGEST_STEP = 0.1
"""Seconds that one client may keep all others waiting."""


class Timed:
    """Awaits a call, and measures the work of its longest step: no other call is served during
    one."""

    def __init__(self, call: Coroutine[Any, Any, Reply]) -> None:
        self.longest = 0.0
        self._call = call

    def __await__(self) -> Generator[Any, Any, Reply]:
        while True:
            began = thread_time()
            try:
                waits_for = self._call.send(None)
            except StopIteration as end:
                return end.value
            finally:
                self.longest = max(self.longest, thread_time() - began)
            yield waits_for


def beside_another(api: Api, method: str, target: str, raw: bytes = b"") -> Reply:
    """The answer to a call, whose steps are short enough for the second client that pays
    meanwhile."""

    async def both() -> Reply:
        timed = Timed(api.calling(method, target, raw=raw))
        other = json.dumps(card_charge(reference="other")).encode()
        reply, paid = await asyncio.gather(
            timed, api.calling("POST", "/charge/card", raw=other, key="sk_other")
        )
        assert paid.status == 201
        assert timed.longest < LONGEST_STEP
        return reply

    return asyncio.run(both())


def searching(count: int, word: str = "contains", text: str = "b") -> bytes:
    rules: list[Any] = [
        {
            "id": f"r{number}",
            "when": {"op": "charge.create", "request.metadata.k": {word: text}},
            "then": {"approve": {}},
        }
        for number in range(count)
    ]
    return json.dumps({"version": 1, "rules": rules}).encode()


@pytest.mark.parametrize("word", ["contains", "matches"])
def test_more_tests_that_search_than_a_sandbox_may_have_are_refused(
    api: Api, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setattr(directory, "MOST_SEARCHES", 5)
    assert api.call("PUT", "/__admin/scenarios", raw=searching(5, word)).status == 200
    refused = api.call("PUT", "/__admin/scenarios", raw=searching(6, word))
    words = "got 6 of contains and matches in all scenarios, wanted at most 5 in a sandbox"
    assert (refused.status, refused["details"]) == (400, {"Rules": words})
    assert api.call("PUT", "/__admin/scenarios", raw=searching(6, "starts_with")).status == 200


def test_a_state_document_brings_no_more_of_them(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert api.call("PUT", "/__admin/scenarios", raw=searching(6)).status == 200
    document = api.get("/__admin/state").body
    monkeypatch.setattr(directory, "MOST_SEARCHES", 6)
    assert Api().call("PUT", "/__admin/state", document).status == 200
    monkeypatch.setattr(directory, "MOST_SEARCHES", 5)
    refused = Api().call("PUT", "/__admin/state", document)
    assert refused.status == 400
    assert "wanted at most 5 in a sandbox" in json.dumps(refused["details"])


@pytest.mark.parametrize(("before", "fired"), [(999, 1), (1_000, 0)])
def test_a_text_is_searched_as_far_as_its_thousandth_character(
    api: Api, before: int, fired: int
) -> None:
    api.call("PUT", "/__admin/scenarios", raw=searching(1))
    api.charge(metadata={"k": "a" * before + "b"})
    assert api.call("GET", "/__admin/rules")["rules"][0]["hits"] == fired


def test_others_are_served_between_the_entries_of_a_dry_run(
    api: Api, monkeypatch: pytest.MonkeyPatch, every_pause: None
) -> None:
    seen: list[int] = []
    asked = dry_run.DryRun.ask

    def ask(self: dry_run.DryRun, entry: Any) -> None:
        asked(self, entry)
        seen.append(entry.number)

    monkeypatch.setattr(dry_run.DryRun, "ask", ask)
    for _ in range(3):
        api.charge(metadata={"k": "b"})

    async def twice() -> list[Reply]:
        return await asyncio.gather(
            *(api.calling("POST", "/__admin/scenarios/dry-run", raw=searching(1)) for _ in range(2))
        )

    assert [told["rules"][0]["fired"] for told in asyncio.run(twice())] == [3, 3]
    assert seen == [1, 1, 2, 2, 3, 3]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["4111 1111 1111 1112 ", "4 1 ", "4%20", "41-11-11", "4"])
def test_metadata_that_look_like_cards_are_masked_while_others_are_served(text: str) -> None:
    """As many as a body may bring: each of 480 texts is looked at for a millisecond."""
    api = Api()
    metadata = {f"k{number}": (text * 2_000)[:2_000] for number in range(480)}
    charge = json.dumps(card_charge(metadata=metadata)).encode()
    assert beside_another(api, "POST", "/charge/card", charge).status == 201
    exported = beside_another(api, "GET", "/__admin/state")
    assert len(exported["tables"]["charges"][0]["metadata"]) == 480
    assert beside_another(api, "GET", "/__admin/journal").status == 200
    other = api.get("/__admin/state?secrets=true").body
    other["tables"]["charges"][0]["metadata"]["k0"] = "another"
    assert api.call("PUT", "/__admin/state", other, key="sk_copy").status == 200
    there = api.call("GET", "/__admin/sandbox", key="sk_copy")["id"]
    compared = beside_another(api, "GET", f"/__admin/compare?with={there}")
    assert list(compared["kinds"]["charge"]["changedFields"].values()) != []


@pytest.mark.slow
def test_more_metadata_of_earlier_versions_are_masked_while_others_are_served(api: Api) -> None:
    """They are refused in a body, and read out of a document."""
    metadata = {f"k{number}": f"4111 1111 1111 1112 {number}" for number in range(20_000)}
    refused = beside_another(
        api, "POST", "/charge/card", json.dumps(card_charge(metadata=metadata)).encode()
    )
    assert refused.status == 400
    api.charge(metadata={"k": "a"})
    document = api.get("/__admin/state?secrets=true").body
    document["tables"]["charges"][0]["metadata"] = metadata
    assert api.put("/__admin/state", document).status == 200
    exported = beside_another(api, "GET", "/__admin/state")
    assert len(exported["tables"]["charges"][0]["metadata"]) == 20_000


@pytest.mark.slow
@pytest.mark.parametrize("word", ["eq", "contains", "starts_with"])
def test_a_dry_run_masks_a_text_once_for_all_rules(word: str) -> None:
    api, text = Api(), "4%20" * 500
    for _ in range(5):
        api.charge(metadata={"k": text}, descriptor=text)
    rules: list[Any] = [
        {
            "id": f"r{number}",
            "when": {
                "op": "charge.create",
                "request.metadata.k": {word: "b"},
                "request.descriptor": "c",
            },
            "then": {"approve": {}},
        }
        for number in range(1_000)
    ]
    scenario = json.dumps({"version": 1, "rules": rules}).encode()
    tried = beside_another(api, "POST", "/__admin/scenarios/dry-run", scenario)
    assert [(rule["concerned"], rule["fired"]) for rule in tried["rules"]] == [(5, 0)] * 1_000


@pytest.mark.parametrize(
    "address",
    ["http://a/" + "%25" * 100_000, "http://" + "a." * 150_000, "http://a/" + "%2525" * 60_000],
)
def test_a_long_address_is_refused_unread(api: Api, address: str) -> None:
    for body in (
        card_charge(webhook={"url": address}),
        card_charge(threeDSNotificationUrl=address),
    ):
        refused = beside_another(api, "POST", "/charge/card", json.dumps(body).encode())
        assert refused.status == 400
    subscribed = beside_another(
        api, "POST", "/webhook/subscription", json.dumps({"url": address}).encode()
    )
    assert subscribed["details"] == {"Url": f"got {len(address)}, wanted at most 2048 characters"}


@pytest.mark.slow
def test_a_text_of_very_many_escapes_is_read_while_others_are_served(api: Api) -> None:
    document = json.dumps({**api.get("/__admin/state").body, "origin": "a very long text"})
    written = document.replace("a very long text", "\\ud83d\\ude00" * 800_000)
    assert beside_another(api, "PUT", "/__admin/state", written.encode()).status == 200
