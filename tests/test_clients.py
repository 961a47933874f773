"""The clients of other languages: each has a test of every situation of the contract, or its table
says which it lacks.

``clients/run`` runs them; here their sources and their table are read.
"""

import csv
import json
import re
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


NODE = check.FOLDER / "node"


def test_the_package_for_node_is_whole_without_a_tool() -> None:
    package = json.loads((NODE / "package.json").read_text("utf-8"))
    assert "prepack" not in package["scripts"]
    ways = [path for way in package["exports"].values() for path in way.values()]
    assert [path for path in ways if not (NODE / path).exists()] == []
    sources = {file.stem for file in (NODE / "src").iterdir()}
    assert {file.name for file in (NODE / "types").iterdir()} == {
        f"{name}.d.mts" for name in sources
    }


def node_rows() -> list[tuple[str, bool]]:
    """Each method of the table in the README of the client for Node, such as ``clock.now``, and
    whether it says that its answer is a Promise."""
    text = (NODE / "README.md").read_text("utf-8").partition("| on the sandbox |")[2]
    rows = re.findall(r"^\| (`.*`) \| .* \| (.*) \|$", text.partition("\n\n")[0], re.MULTILINE)
    return [
        (method, "a Promise" in answers)
        for names, answers in rows
        for method in re.findall(r"`([\w.]+)\(", names)
    ]


@pytest.mark.parametrize(("method", "is_promise"), node_rows())
def test_the_table_of_node_says_what_is_a_promise(method: str, is_promise: bool) -> None:
    part, _, name = method.rpartition(".")
    types = (NODE / "types" / "sandbox.d.mts").read_text("utf-8")
    of_class = types.partition(f"class {part.capitalize() or 'Sandbox'} {{")[2].partition("\n}")[0]
    found = re.search(rf"^    {name}\((?:.|\n)*?\): (\w+)(?:<.*>)?;$", of_class, re.MULTILINE)
    assert found is not None
    assert (found[1] == "Promise") == is_promise


def test_every_method_of_the_sandbox_for_node_is_in_its_table_or_is_the_frame_of_a_test() -> None:
    types = (NODE / "types" / "sandbox.d.mts").read_text("utf-8")
    of_class = types.partition("class Sandbox {")[2].partition("\n}")[0]
    methods = set(re.findall(r"^    (\w+)\(", of_class, re.MULTILINE)) - {"constructor"}
    # A test is opened and ended by the frameworks; `call` is for what has no method.
    assert methods - {method for method, _ in node_rows()} == {"call", "end"}
