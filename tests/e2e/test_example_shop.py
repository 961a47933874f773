"""The tests of a small shop, run as a stranger's project: in a copy of its own, in parallel, with the plugin found as
installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import mockserver

ROOT = Path(mockserver.__file__).resolve().parents[1]
SHOP = Path(__file__).with_name("shop")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHOP, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__")))


def run(project: Path, *args: str) -> subprocess.CompletedProcess[str]:
    installed = any(point.name == "mockserver" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "mockserver.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "--strict-markers", *args]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    return subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, timeout=180)


def test_the_shops_tests_pass_in_parallel(project: Path) -> None:
    done = run(project, "-n", "2", "test_shop.py")
    assert done.returncode == 0, done.stdout
    written = (SHOP / "test_shop.py").read_text("utf-8")
    assert f"{written.count('def test_') + 3} passed" in done.stdout


def test_the_report_of_the_failing_test_says_what_the_sandbox_saw(project: Path) -> None:
    done = run(project, "test_deliberately_failing.py")
    assert done.returncode == 1
    _, _, timeline = done.stdout.partition(" mockserver timeline -")
    lines = [line.rstrip() for line in timeline.splitlines()[1:7]]
    wanted = [
        r"2031-03-01 00:00:00\.000  POST /charge/card  201",
        r" {25}charge \w{32} authorised: \(new\) -> AUTHORISE",
        r"2031-03-08 00:00:00\.000  came due: \S+",
        r" {25}charge \w{32} lapsed: AUTHORISE -> AUTHORISE_CANCELLED",
        r"2031-03-08 00:00:00\.000  POST /charge/\w{32}  409  .* \(code 54\)",
    ]
    assert [line for line, pattern in zip(lines, wanted, strict=False) if not re.fullmatch(pattern, line)] == []
