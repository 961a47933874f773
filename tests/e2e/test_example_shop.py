"""The tests of two small shops, a careful and a naive one, run as a stranger's projects: in a copy
of their own, in parallel, with the plugin found as installed."""

import re
import shutil
from pathlib import Path

import pytest

from mockserver.adapters.scenario_files import shipped
from mockserver.books.comparison import COMPARED
from mockserver.findings.catalogue import CATALOGUE, Severity
from tests.depth import tries
from tests.plugin.nested import NEEDS_INSTALLATION, pytest_in

WIRED = re.compile(tries("transport:|latency|webhook", ""))
STRIDE = tries(4, 3)
"""What a scenario has that needs a wire, and one in how many of them is taken; under all scenarios
the client of ``test_careful_client`` is careful."""
OTHERS = ("-pno:anyio", "-pno:faker", "-pno:schemathesis")
"""Leaves out plugins of other libraries that take seconds to load."""
SHOP, NAIVE = Path(__file__).with_name("shop"), Path(__file__).with_name("naive")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(
        shutil.copytree(SHOP, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    )


@pytest.fixture
def naive(tmp_path: Path) -> Path:
    copy = Path(
        shutil.copytree(NAIVE, tmp_path / "naive", ignore=shutil.ignore_patterns("__pycache__"))
    )
    shutil.copy(SHOP / "receiver.py", copy)
    return copy


@NEEDS_INSTALLATION
def test_the_shops_tests_pass_in_parallel(project: Path) -> None:
    done = pytest_in(project, *OTHERS, "-n", "2", "test_shop.py", installed=True)
    assert done.returncode == 0, done.stdout
    written = (SHOP / "test_shop.py").read_text("utf-8")
    assert f"{written.count('def test_') + 3} passed" in done.stdout


def test_the_careful_shop_is_blamed_for_nothing(project: Path) -> None:
    # Faults of connections and certificates are the whole server's: no test's own sandbox can be
    # given them.
    given = [
        name
        for name, _, text in shipped()
        if not name.startswith(("connection-", "certificate-", "handshake-", "tls-"))
        and WIRED.search(text)
    ][::STRIDE]
    done = pytest_in(
        project, *(f"test_every_scenario.py::test_a_day_of_the_shop[{name}]" for name in given)
    )
    assert done.returncode == 0, done.stdout
    assert f" {len(given)} passed" in done.stdout


BY_MONEY = {
    *COMPARED,
    "charged-after-cancel",
    "doubt-left-open",
    "paid-at-once-twice",
    "paid-beside-pending",
}
BY_FORM = {"undocumented-form", "query-not-as-written"}
NOTES = {name for name, kind in CATALOGUE.items() if kind.severity is Severity.NOTE}


def test_every_planted_fault_of_the_naive_shop_is_found(naive: Path) -> None:
    done = pytest_in(naive, "test_shop.py")
    assert done.returncode == 0, done.stdout
    planted = set(re.findall(r"[a-z]+(?:-[a-z]+)+(?=[,:] )", " ".join(comments(naive / "shop.py"))))
    tested = (naive / "test_shop.py").read_text("utf-8")
    assert planted & set(CATALOGUE) == {name for name in CATALOGUE if f'"{name}"' in tested}
    # What only money tells is planted in tests/corpus, odd forms in tests/api, what is only noted in
    # tests/findings.
    assert set(CATALOGUE) - planted == {"webhook-slow", *BY_MONEY, *BY_FORM, *(NOTES - planted)}


def comments(path: Path) -> list[str]:
    return [
        line.partition("# ")[2] for line in path.read_text("utf-8").splitlines() if "# " in line
    ]
