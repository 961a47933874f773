"""What *Where do I add* of ``docs/architecture.md`` promises, by example: each addition touches the
files that its row names, ``MOST_FILES`` at most, and works. ``tests/added.py`` uses them all in a
copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tools.additions import ADDITIONS, Insertion, added_to, diff_of, text_of

ROOT = Path(__file__).resolve().parents[1]
MOST_FILES = 6
MOST_LINES = 40
"""Of a recipe."""

WORKS: Mapping[str, Any] = {
    "an outcome of a provider, by name": [34, "Z9", "Gone fishing", True],
    "a new kind of provider outcome": [
        "SUCCESS",
        5,
        "cents are not approved; default: the usual outcome",
    ],
    "a transport fault": {"LIMIT": 100, "SKIP": 0, "COUNT": 0, "CHARGES": []},
    "a payment source": ["SUCCESS", 15, "Charge a voucher"],
    "a field of a charge": ["till 3", "till 3"],
    "an error code": [400, 118, "Unlucky Amount", {"Amount": "got 13, wanted another"}],
    "a control operation": ["Hello, Ann", 400, "Be greeted", {"greeting": "Hello, Ann"}],
    "an assumption": [201, {"Title": "required"}, ["link-untitled"]],
    "work that comes due": ["Tea", "Tea (old)"],
    "an event that time causes": [
        ["customer.created"],
        ["customer.created", "customer.greeted"],
        True,
    ],
    "an index that an operation asks": [201, {"Phone": "another customer has it"}],
    "a setting": {"Amount": "got 2, wanted at least 3"},
    "a finding": [[["large-amount", "5000"]], []],
    "one who watches every sandbox": [2],
    "a fault of explore": ["charge.create#1/teapot", "survived"],
    "a page": [200, "<h1>Hello, &lt;Ann&gt;</h1>"],
}
"""What ``tests/added.py`` sees of each."""


RECIPES = re.findall(
    r"```diff\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)


def promised() -> dict[str, list[list[str]]]:
    """The table: for each addition the places of each file, which stand between semicolons."""
    section = (
        (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("## Where do I add")[2]
    )
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")][
        2:
    ]
    return {
        what.strip(): [re.findall(r"`(mockserver/[\w./-]+)`", one) for one in re.split("; ", files)]
        for what, files in rows
    }


PROMISED = promised()

CALLS = "docs/control-calls.md"
USE = ["-m", "tools.docs", "--tables", CALLS], ["-c", "from tests import added; added.main()"]
"""Print again what is printed from code, then use everything."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package that has all additions."""
    folder = tmp_path_factory.mktemp("added")
    for name in ("mockserver", "scenarios", "tools", "docs"):
        shutil.copytree(ROOT / name, folder / name)
    for files in ADDITIONS.values():
        for path, insertions in files.items():
            add(folder, path, insertions)
    return folder


@pytest.fixture(scope="module")
def seen(folder: Path) -> dict[str, Any]:
    """What is seen of every addition there."""
    for words in USE:
        used = subprocess.run(
            [sys.executable, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert used.returncode == 0, used.stderr
    return json.loads(used.stdout)


def add(folder: Path, path: str, insertions: list[Insertion]) -> None:
    text = added_to(text_of(folder / path), insertions, path)
    (folder / path).write_text(text, "utf-8")


@pytest.mark.parametrize("diff", RECIPES)
def test_a_recipe_applies_and_can_be_taken_back(diff: str, tmp_path: Path) -> None:
    """That what it adds works is ``test_an_addition_works``: it prints one of those additions."""
    assert len(diff.splitlines()) <= MOST_LINES
    [what] = [what for what in ADDITIONS if diff_of(what) == diff]
    before = {path: text_of(ROOT / path) for path in ADDITIONS[what]}
    for path, text in before.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        if text:
            (tmp_path / path).write_text(text, "utf-8")
    for apply in (["git", "apply", "-"], ["git", "apply", "--reverse", "-"]):
        subprocess.run(apply, cwd=tmp_path, input=diff, text=True, check=True)
    assert {path: text_of(tmp_path / path) for path in before} == before


@pytest.mark.parametrize("what", ADDITIONS)
def test_an_addition_touches_the_files_that_the_table_names(what: str) -> None:
    places, touched = PROMISED[what], list(ADDITIONS[what])
    assert len(places) == len(touched) <= MOST_FILES, (
        f"its row has the places {places}, its example touches {touched}"
    )
    for path, named in zip(touched, places, strict=True):
        # A row may leave to the reader which rule raises a code, or which module asks an
        # assumption.
        assert not named or any(
            path == one or (one.endswith("/") and path.startswith(one)) for one in named
        ), path


@pytest.mark.slow
@pytest.mark.parametrize("what", ADDITIONS)
def test_an_addition_works(what: str, seen: dict[str, Any]) -> None:
    assert seen[what] == WORKS[what]


@pytest.mark.slow
def test_one_run_of_the_tools_prints_what_has_changed(folder: Path, seen: dict[str, Any]) -> None:
    page = (folder / CALLS).read_text("utf-8")
    assert "## POST /__admin/greeting\n\nBe greeted." in page
    assert '"greeting": "Hello, Ann"' in page
