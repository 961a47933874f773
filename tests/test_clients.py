"""The clients of other languages: each has a test of every situation of the contract, or its table
says which it lacks.

``clients/run`` runs them; here their sources and their table are read.
"""

import csv
from pathlib import Path

import pytest
import yaml

from clients import check

SOURCES = {
    "node": ("test/situations.mjs",),
    "php": ("tests/ContractTest.php",),
    "java": ("test/ContractTest.java",),
    "dotnet": ("test/ContractTest.cs",),
}
"""The files that hold the situations, by the folder of the client."""

WITHOUT_A_TEST = {
    situation["name"]
    for situation in check.SITUATIONS
    if "runs" in situation or "others" in situation
}


def results() -> dict[str, dict[str, str]]:
    with check.RESULTS.open(encoding="utf-8") as file:
        return {row["situation"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("name", check.CLIENTS)
def test_a_client_has_a_test_of_each_situation_or_is_said_to_lack_it(name: str) -> None:
    files = [
        check.FOLDER / check.CLIENTS[name].folder / path
        for path in SOURCES[check.CLIENTS[name].folder]
    ]
    text = check.slug("".join(path.read_text("utf-8") for path in files if path.exists()))
    wanted = {situation["name"] for situation in check.SITUATIONS} - WITHOUT_A_TEST
    lacks = {situation for situation in wanted if check.slug(situation) not in text}
    assert lacks == {situation for situation in wanted if results()[situation][name] == "no"}


def test_the_table_has_every_situation_in_order() -> None:
    assert list(results()) == [situation["name"] for situation in check.SITUATIONS]


def test_every_situation_says_how_it_ends() -> None:
    for situation in yaml.safe_load((check.FOLDER / "contract.yaml").read_text("utf-8")):
        assert situation.get("ends") in ("passed", "failed") or situation.get("kill"), situation
        assert situation.get("ends") != "failed" or situation["says"], situation


def test_tests_beside_the_contract_are_told_from_its_situations() -> None:
    passed, failed = check.Seen(False, ""), check.Seen(True, "wrong")
    situation = check.slug(check.SITUATIONS[0]["name"])
    assert check.others({situation: failed, "anothertest": failed, "athird": passed}) == {
        "anothertest": failed,
        "athird": passed,
    }


def test_no_lock_file_names_a_registry() -> None:
    for path in Path(check.FOLDER).glob("*/package-lock.json"):
        assert "resolved" not in path.read_text("utf-8")
