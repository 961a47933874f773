"""What the README's second command may skip: ``.ci/run`` fails at anything else."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.skipped import README, Skip, named, skips, unnamed

TESTS = """
import pytest


@pytest.mark.skipif(True, reason="needs --deep")
def test_of_a_mark(): pass


def test_of_a_library(): pytest.importorskip("no_such_module", reason="needs mkdocs")


def test_of_a_call(): pytest.skip("needs the program uvx")


def test_that_runs(): pass
"""
FILE = """
import sys
sys.path.insert(0, {root!r})
from tests import needs
needs.library("no_such_module")
"""


@pytest.mark.slow
def test_every_way_to_skip_is_seen(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "test_some.py").write_text(TESTS)
    for name in ("test_one.py", "test_two.py"):
        (tmp_path / "room" / name).write_text(FILE.format(root=str(README.parent)))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n2", f"--junitxml={tmp_path}/report", "room"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert sorted(skips((tmp_path / "report").read_text())) == [
        Skip("room/test_one.py", "needs no_such_module"),
        Skip("room/test_some.py", "needs --deep"),
        Skip("room/test_some.py", "needs mkdocs"),
        Skip("room/test_some.py", "needs the program uvx"),
        Skip("room/test_two.py", "needs no_such_module"),
    ]


@pytest.mark.parametrize(
    "reason", ["needs playwright", "needs the program nginx", "needs --deep", "needs IPv6: refused"]
)
def test_what_the_readme_names_may_be_skipped(reason: str) -> None:
    assert unnamed({reason: 1}, README.read_text("utf-8")) == []


@pytest.mark.parametrize("reason", ["needs beancount", "needs", "not today", ""])
def test_what_it_does_not_name_may_not(reason: str) -> None:
    assert unnamed({reason: 1, "needs mkdocs": 1}, README.read_text("utf-8")) == [reason]


def test_a_readme_that_names_nothing_allows_nothing() -> None:
    assert (named("# mockserver\n"), unnamed({"needs the program curl": 1}, "")) == (
        set(),
        ["needs the program curl"],
    )
