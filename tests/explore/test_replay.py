"""``mockserver explore --replay``: a file is reached when each of its rules has struck."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mockserver.cli import main

pytestmark = pytest.mark.slow

LISTS_CHARGES = (
    "import os, urllib.request as r; "
    "r.urlopen(r.Request(os.environ['MOCKSERVER_URL'] + '/charge', "
    "headers={'x-secretkey': os.environ['MOCKSERVER_SECRET_KEY']}))"
)
SLOW_LIST = (
    "{id: charge.search-1-slow, when: {op: charge.search, call: 1}, then: {transport: {at: answer, delay: 1ms}}}"
)
LOST_CHARGE = (
    "{id: charge.create-1-lost, when: {op: charge.create, call: 1}, then: {transport: {at: receive, reset: true}}}"
)


def replay(url: str, folder: Path, *rules: str) -> Result:
    file = folder / "pair.yaml"
    file.write_text("\n".join(["version: 1", "name: pair", "rules:", *(f"  - {rule}" for rule in rules)]), "utf-8")
    given = ["explore", "--url", url, "--replay", str(file), "--", sys.executable, "-c", LISTS_CHARGES]
    return CliRunner().invoke(main, given)


def test_a_pair_of_which_one_struck_is_not_reached_and_the_other_is_named(url: str, tmp_path: Path) -> None:
    done = replay(url, tmp_path, SLOW_LIST, LOST_CHARGE)
    first, second = done.output.splitlines()[:2]
    assert (done.exit_code, first.partition(":")[0]) == (0, "not reached")
    assert second == "did not strike: charge.create-1-lost"


def test_one_that_struck_is_reached(url: str, tmp_path: Path) -> None:
    done = replay(url, tmp_path, SLOW_LIST)
    assert (done.exit_code, done.output.partition(":")[0]) == (0, "survived")
    assert "did not strike" not in done.output


def test_a_file_without_rules_reaches_nothing(url: str, tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("version: 1\nname: none\n", "utf-8")
    given = ["explore", "--url", url, "--replay", str(tmp_path / "none.yaml"), "--", sys.executable, "-c", "pass"]
    assert CliRunner().invoke(main, given).output.startswith("not reached: ")


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("charge.search#1/lost_answer", 0, "failed: exit code 1"),
        ("charge.search#2/lost_answer", 2, "which the command does not make - did you mean 'charge.search#1'?"),
        ("nothing.yaml", 2, "nothing.yaml"),
    ],
)
def test_a_cell_is_replayed_by_its_name(url: str, name: str, code: int, words: str) -> None:
    given = ["explore", "--url", url, "--replay", name, "--", sys.executable, "-c", LISTS_CHARGES]
    done = CliRunner().invoke(main, given)
    assert (done.exit_code, words in " ".join(done.output.split())) == (code, True), done.output
