"""What one client sends, within the limits, stops no other: each long piece of work has a bound, or rests."""

import asyncio
import json
from typing import Any

import pytest

from mockserver.engine import dry_run
from mockserver.web import directory
from tests.driving import Api, Reply


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
def test_a_text_is_searched_as_far_as_its_thousandth_character(api: Api, before: int, fired: int) -> None:
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


def test_a_state_document_is_refused_at_its_hundredth_unknown_table(api: Api) -> None:
    tables = ",".join(f'"t{number}": []' for number in range(300_000))
    refused = api.call("PUT", "/__admin/state", raw=f'{{"format": "x", "tables": {{{tables}'.encode())
    assert (refused.status, len(refused["details"])) == (400, 100)
    assert "Tables.t99" in refused["details"]
