"""What the last release wrote still loads: its scenarios with their examples, and a sandbox that it
exported.

A folder holds what one release wrote. Nothing in it is ever edited; a new release adds a folder.
"""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from mockserver.adapters.scenario_files import load, read_file
from mockserver.commands.scenario_check import check
from tests.driving import Api
from tests.scenario.telling import open_app

RELEASES = sorted(
    path for path in Path(__file__).parent.iterdir() if (path / "state.json").exists()
)
SCENARIOS = [
    path for release in RELEASES for path in sorted((release / "scenarios").glob("*.yaml"))
]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_scenario_of_a_release_goes_as_it_went(path: Path) -> None:
    scenario = replace(read_file(path), builtin=path.stem == "test-values")
    reports = asyncio.run(
        check(scenario, [] if scenario.builtin else load([], test_values=True), open_app)
    )
    assert [str(report) for report in reports if report.failure is not None] == []


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_a_sandbox_that_a_release_exported_lives_on(release: Path) -> None:
    text = (release / "state.json").read_text("utf-8")
    before = json.loads(text)
    api = Api()
    taken = api.send("PUT", "/__admin/state", text.encode(), {"content-type": "application/json"})
    assert taken.status == 200, taken.raw
    assert api.get("/charge")["count"] == len(before["tables"]["charges"])
    authorised = api.get("/charge?Status=Authorised")["charges"]
    assert [one["amount"] for one in authorised] == [50]
    assert api.post(f"/charge/{authorised[0]['chargeId']}", {"amount": 20})["status"] == "SUCCESS"
    assert api.post("/__admin/clock/advance", {"by": "40d"}).status == 200
    assert len(api.get("/charge?limit=100")["charges"]) > len(before["tables"]["charges"])


def test_a_newer_format_is_refused_with_the_version_that_it_names() -> None:
    document = json.loads((RELEASES[-1] / "state.json").read_text("utf-8"))
    document["version"] = 999
    refused = Api().put("/__admin/state", document)
    assert (refused.status, "999" in str(refused.body)) == (400, True)
