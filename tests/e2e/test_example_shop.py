"""The tests of two small shops, a careful and a naive one, run as a stranger's projects: in a copy of their own, in
parallel, with the plugin found as installed."""

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
from mockserver.adapters.scenario_files import shipped
from mockserver.findings.catalogue import CATALOGUE
from tests import warm
from tests.depth import tries

ROOT = Path(mockserver.__file__).resolve().parents[1]
WIRED = re.compile(tries("transport:|latency|webhook", ""))
STRIDE = tries(4, 1)
"""What a scenario has that needs a wire, and one in how many of them is taken; under all scenarios the client of
``test_careful_client`` is careful."""
SHOP, NAIVE = Path(__file__).with_name("shop"), Path(__file__).with_name("naive")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHOP, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def naive(tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(NAIVE, tmp_path / "naive", ignore=shutil.ignore_patterns("__pycache__")))
    shutil.copy(SHOP / "receiver.py", copy)
    return copy


def run(project: Path, *args: str, alone: bool = True) -> subprocess.CompletedProcess[str]:
    """pytest in a project; ``alone`` with no plugin found as installed, else with all but some of other libraries that
    take seconds to load."""
    installed = any(point.name == "mockserver" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "mockserver.pytest_plugin"]
    python = warm.python() if alone else [sys.executable]
    command = [*python, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "--strict-markers", *args]
    if not alone:
        command += ["-pno:anyio", "-pno:faker", "-pno:schemathesis"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    # What these tests themselves were started with is not meant for the shop; where CI is set, pytest prints more.
    for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER"):
        environ.pop(name, None)
    if alone:
        environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "mockserver.pytest_plugin"}
    return subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, timeout=600)


def test_the_shops_tests_pass_in_parallel(project: Path) -> None:
    done = run(project, "-n", "2", "test_shop.py", alone=False)
    assert done.returncode == 0, done.stdout
    written = (SHOP / "test_shop.py").read_text("utf-8")
    assert f"{written.count('def test_') + 3} passed" in done.stdout


def test_the_careful_shop_is_blamed_for_nothing(project: Path) -> None:
    # Faults of connections and certificates are the whole server's: no test's own sandbox can be given them.
    given = [
        name
        for name, _, text in shipped()
        if not name.startswith(("connection-", "certificate-")) and WIRED.search(text)
    ][::STRIDE]
    done = run(project, *(f"test_every_scenario.py::test_a_day_of_the_shop[{name}]" for name in given))
    assert done.returncode == 0, done.stdout
    assert f" {len(given)} passed" in done.stdout


def test_every_planted_fault_of_the_naive_shop_is_found(naive: Path) -> None:
    done = run(naive, "test_shop.py")
    assert done.returncode == 0, done.stdout
    planted = set(re.findall(r"[a-z]+(?:-[a-z]+)+(?=[,:] )", " ".join(comments(naive / "shop.py"))))
    tested = (naive / "test_shop.py").read_text("utf-8")
    assert planted & set(CATALOGUE) == {name for name in CATALOGUE if f'"{name}"' in tested}
    assert set(CATALOGUE) - planted == {"webhook-slow"}


def test_a_double_charge_makes_pytest_red_and_says_why(naive: Path) -> None:
    done = run(naive, "-o", "mockserver_findings=error", "test_shop.py", "-k", "lost_answer")
    assert done.returncode == 1
    assert "error double-charge: The customer was charged twice" in done.stdout
    assert "advice: After a lost answer search for the charge by its reference" in done.stdout
    assert "1 double-charge, 1 blind-retry" in done.stdout


def comments(path: Path) -> list[str]:
    return [line.partition("# ")[2] for line in path.read_text("utf-8").splitlines() if "# " in line]


def test_the_report_of_the_failing_test_says_what_the_sandbox_saw(naive: Path) -> None:
    done = run(naive, "test_deliberately_failing.py")
    assert done.returncode == 1
    _, _, timeline = done.stdout.partition(" mockserver timeline -")
    lines = [line.rstrip() for line in timeline.splitlines()[1:7]]
    wanted = [
        r"2031-03-01 00:00:00\.000  POST /charge/card  201",
        r" {25}charge \w{32} authorised: \(new\) -> Authorised",
        r"2031-03-08 00:00:00\.000  came due: \S+",
        r" {25}charge \w{32} expired: Authorised -> AUTHORISE_CANCELLED",
        r"2031-03-08 00:00:00\.000  POST /__admin/clock/advance  by 7d  200",
        r"2031-03-08 00:00:00\.000  POST /charge/\w{32}  409  .* \(code 54\)",
    ]
    assert [line for line, pattern in zip(lines, wanted, strict=False) if not re.fullmatch(pattern, line)] == []
