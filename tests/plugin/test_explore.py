"""``--mockserver-explore``: every fault at every call of every test, as another project's tests use
it."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from mockserver.adapters.scenario_files import read_text
from tests import warm
from tests.plugin.nested import run_pytest

SHOP = r"""
import httpx, os, pytest, time


class Refused(Exception):
    pass


def blindly(box, order="order-1"):
    for _ in range(3):
        try:
            answer = box.client.post("/charge/card", json={**CHARGE, "reference": order})
        except httpx.TransportError:
            continue
        if answer.is_error:
            raise Refused(answer.text)
        return answer.json()["status"]


def note(name):
    with open("ran.txt", "a") as file:
        print(name, file=file)


@pytest.mark.parametrize("orders", [1, 2], ids=["one", "two"])
def test_pay(mockserver, orders):
    note(f"pay-{orders}")
    for number in range(orders):
        assert blindly(mockserver, f"order-{number}") == "SUCCESS"


class TestReads:
    def test_read(self, mockserver):
        self.tries = getattr(self, "tries", 0) + 1
        assert self.tries == 1
        for _ in range(2):
            try:
                assert mockserver.client.get("/charge").json()["count"] == 0
            except httpx.TransportError:
                continue


@pytest.mark.mockserver(allow=["double-charge"])
def test_allowed(mockserver):
    assert blindly(mockserver) == "SUCCESS"


@pytest.mark.mockserver(survives=["declined_hard"])
def test_said_to_survive(mockserver):
    assert mockserver.client.post("/charge/card", json=CHARGE).json().get("status") == "SUCCESS", "said so"


def test_that_brings_scenarios(mockserver):
    mockserver.scenario("version: 1\nname: own\nrules: [{id: own, when: {op: charge.create}, then: {approve: {}}}]")
    assert blindly(mockserver) == "SUCCESS"


@pytest.fixture
def paid(mockserver):
    assert blindly(mockserver) == "SUCCESS"
    yield
    assert len(mockserver.journal(op="charge.create")) == 1


def test_fixtures(paid):
    pass


@pytest.mark.parametrize("turn", ["first", "second"])
def test_an_application(mockserver_app, turn):
    assert blindly(mockserver_app) == "SUCCESS"


def test_patience(mockserver):
    try:
        mockserver.client.get("/charge")
    except httpx.TransportError:
        time.sleep(60)


def test_that_is_moody(mockserver):
    note("moody")
    for _ in range((open("ran.txt").read().count("moody") in (1, 3)) + 1):
        mockserver.client.post("/vault", json={"cardNumber": "4111111111111111"})


@pytest.mark.anyio
async def test_async(mockserver, anyio_backend_name):
    async with httpx.AsyncClient(base_url=mockserver.url, headers=mockserver.client.headers) as client:
        assert (await client.get("/charge")).json()["count"] == 0


@pytest.fixture
def anyio_backend():
    return "asyncio"


def test_that_fails(mockserver):
    assert blindly(mockserver) == "FAILED"


def test_that_asks_nothing(mockserver):
    pass


def test_without_a_sandbox():
    note("none")
"""

PLUGINS = ("anyio.pytest_plugin",)
FAULTS = "--mockserver-explore=lost_answer,declined_hard"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shop")


@pytest.fixture(scope="module")
def explored(folder: Path) -> subprocess.CompletedProcess[str]:
    """The small project, explored; every test here reads what was printed."""
    return run_pytest(
        folder,
        "-v",
        "-rs",
        FAULTS,
        "--mockserver-explore-timeout=3s",
        plugins=PLUGINS,
        test_shop=SHOP,
    )


@pytest.fixture(scope="module")
def outcomes(explored: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The outcome of each test of the small project by its name."""
    found = re.findall(r"^test_shop.py::(\S+) (?:<- \S+ )?([A-Z]+) ", explored.stdout, re.MULTILINE)
    return dict(found)


def tries(outcomes: dict[str, str], test: str) -> dict[str, str]:
    """The outcomes of what was tried in a test, by what stands in brackets."""
    return {
        name[len(test) + 1 : -1]: outcome
        for name, outcome in outcomes.items()
        if name.startswith(f"{test}[")
    }


def test_each_test_runs_as_it_is_and_once_for_each_fault_at_each_call(
    outcomes: dict[str, str], folder: Path
) -> None:
    assert tries(outcomes, "test_pay") == {
        "one": "PASSED",
        "one-charge.create#1-declined_hard": "PASSED",
        "one-charge.create#1-lost_answer": "FAILED",
        "two": "PASSED",
        "two-charge.create#1-declined_hard": "PASSED",
        "two-charge.create#1-lost_answer": "FAILED",
        "two-charge.create#2-declined_hard": "PASSED",
        "two-charge.create#2-lost_answer": "FAILED",
    }
    ran = (folder / "ran.txt").read_text().split()
    # Twice to learn its calls, once as it is, once for each fault.
    assert (ran.count("pay-1"), ran.count("none")) == (5, 1)


def test_a_method_has_an_instance_of_its_own_for_each_fault(outcomes: dict[str, str]) -> None:
    assert outcomes["TestReads::test_read"] == "PASSED"
    assert tries(outcomes, "TestReads::test_read") == {
        "charge.search#1-lost_answer": "PASSED",
        "charge.search#2-lost_answer": "PASSED",
    }


def test_findings_that_a_marker_allows_make_nothing_unsafe(outcomes: dict[str, str]) -> None:
    assert tries(outcomes, "test_allowed")["charge.create#1-lost_answer"] == "PASSED"


def test_a_test_must_pass_under_what_it_says_to_survive(
    outcomes: dict[str, str], explored: subprocess.CompletedProcess[str]
) -> None:
    assert tries(outcomes, "test_said_to_survive") == {
        "charge.create#1-declined_hard": "FAILED",
        "charge.create#1-lost_answer": "PASSED",
    }
    assert "AssertionError: said so" in explored.stdout


def test_a_fault_stays_in_force_when_the_test_brings_a_scenario(outcomes: dict[str, str]) -> None:
    assert tries(outcomes, "test_that_brings_scenarios")["charge.create#1-lost_answer"] == "FAILED"


def test_fixtures_that_fail_under_a_fault_are_no_error(
    outcomes: dict[str, str], explored: subprocess.CompletedProcess[str]
) -> None:
    assert tries(outcomes, "test_fixtures") == {
        "charge.create#1-declined_hard": "SKIPPED",
        "charge.create#1-lost_answer": "FAILED",
    }
    assert (
        "failed: declined_hard at charge.create#1: refused for good, as a lost card is"
        in explored.stdout
    )
    assert "until another is given, in its fixtures" in explored.stdout
    assert "ERROR" not in explored.stdout


def test_the_calls_of_an_application_count_from_the_test_on(outcomes: dict[str, str]) -> None:
    for turn in ("first", "second"):
        assert (
            tries(outcomes, "test_an_application")[f"{turn}-charge.create#1-declined_hard"]
            == "PASSED"
        )
        assert (
            tries(outcomes, "test_an_application")[f"{turn}-charge.create#1-lost_answer"]
            == "FAILED"
        )


def test_what_hangs_is_ended(
    outcomes: dict[str, str], explored: subprocess.CompletedProcess[str]
) -> None:
    assert tries(outcomes, "test_patience") == {"charge.search#1-lost_answer": "FAILED"}
    assert "Failed: hung: not done in 3 s" in explored.stdout


def test_calls_that_differ_from_run_to_run_are_reported(
    outcomes: dict[str, str], explored: subprocess.CompletedProcess[str]
) -> None:
    assert tries(outcomes, "test_that_is_moody")["vault.create#2-lost_answer"] == "SKIPPED"
    told = "vault.create answered 201: twice in the first run, once in the second"
    assert (
        f"test_shop.py::test_that_is_moody: calls differ from run to run: {told}" in explored.stdout
    )


def test_a_coroutine_is_explored_like_any_test(outcomes: dict[str, str]) -> None:
    assert tries(outcomes, "test_async") == {"charge.search#1-lost_answer": "PASSED"}


def test_what_fails_as_it_is_or_asks_nothing_has_nothing_to_try(
    outcomes: dict[str, str], explored: subprocess.CompletedProcess[str]
) -> None:
    assert not any(
        tries(outcomes, f"test_{name}")
        for name in ("that_fails", "that_asks_nothing", "without_a_sandbox")
    )
    assert (
        "not explored: test_shop.py::test_that_fails: it does not pass without any fault"
        in explored.stdout
    )


def test_the_summary_shows_the_matrix(explored: subprocess.CompletedProcess[str]) -> None:
    _, _, shown = explored.stdout.partition("- mockserver explore -")
    table = dict(
        re.findall(
            r"^test_shop.py::(test_pay\S* \S+|TestReads::\S* \S+) +(\S+)$", shown, re.MULTILINE
        )
    )
    assert table == {
        "test_pay[one] charge.create#1": "UNSAFE",
        "test_pay[two] charge.create#1": "UNSAFE",
        "test_pay[two] charge.create#2": "UNSAFE",
        "TestReads::test_read charge.search#1": "survived",
        "TestReads::test_read charge.search#2": "survived",
    }
    assert "\n3 survived, 1 not reached, 12 failed, 1 hung, 7 unsafe\n" in shown
    # A fault that did not strike is in the matrix; what it keeps a scenario of the test from is no
    # news.
    assert "no rule of" not in shown


def test_the_report_shows_finding_timeline_and_a_scenario_that_repeats_it(
    explored: subprocess.CompletedProcess[str],
) -> None:
    _, _, report = explored.stdout.partition("_ test_pay[one-charge.create#1-lost_answer] _")
    assert "unsafe: lost_answer at charge.create#1: it has happened, connection reset" in report
    assert "error double-charge: The customer was charged twice" in report
    assert (
        "POST /charge/card  201  fault reset at answer  rule lost_answer-charge.create-1" in report
    )
    [text] = re.findall(r"- mockserver scenario -+\n(.*?)\n___", report, re.DOTALL)[:1]
    assert [rule.id for rule in read_text(text, "explored.yaml").rules] == [
        "lost_answer-charge.create-1"
    ]


ONE = """
def test_read(mockserver):
    mockserver.client.get("/charge")

def test_pay(mockserver):
    mockserver.client.post("/charge/card", json=CHARGE)
"""


@pytest.mark.slow
def test_a_try_is_chosen_by_its_id_and_workers_of_xdist_know_it_too(tmp_path: Path) -> None:
    name = "test_one.py::test_pay[charge.create#1-lost_answer]"
    done = run_pytest(
        tmp_path, *warm.workers(1), FAULTS, "-v", name, plugins=["xdist.plugin"], test_one=ONE
    )
    assert "PASSED test_one.py::test_pay[charge.create#1-lost_answer]" in done.stdout
    assert (
        "test_one.py::test_pay charge.create#1  failed\n\nverdicts: failed = ended with an error: it noticed; . = not tried\n\n1 failed\n"
        in done.stdout
    )
    assert "1 passed" in done.stdout, done.stdout


BY_HAND = """
import httpx

def test_by_hand(mockserver):
    mockserver.clock.start("2031-01-01T00:00:00Z")
    try:
        mockserver.client.get("/charge")
    except httpx.TransportError:
        assert mockserver.clock.now.isoformat() == "2031-01-01T00:00:31+00:00"
        mockserver.client.get("/charge")
"""


def test_what_comes_too_late_takes_no_time_where_the_clock_is_set_by_hand(tmp_path: Path) -> None:
    limit = "--mockserver-explore-timeout=9s"
    done = run_pytest(tmp_path, "--mockserver-explore=too_slow", limit, "-v", test_one=BY_HAND)
    assert (
        "test_one.py::test_by_hand charge.search#1  survived\n\nverdicts: survived = the money is right; . = not tried\n\n1 survived\n"
        in done.stdout
    )


def test_tests_may_stand_in_a_folder_beside_a_conftest_of_another(tmp_path: Path) -> None:
    for name in ("tests", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "conftest.py").write_text("")
    done = run_pytest(
        tmp_path, "--mockserver-explore=lost_answer", "tests", **{"tests/test_one": ONE}
    )
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert "4 passed" in done.stdout


@pytest.mark.slow
def test_a_budget_begins_with_the_most_telling_and_says_what_it_left_out(tmp_path: Path) -> None:
    # The path behind an option without a value is a path.
    chosen = [
        "--mockserver-explore",
        "test_one.py",
        "--mockserver-explore-budget=1us",
        "-k",
        "lost_answer",
        "-v",
    ]
    done = run_pytest(tmp_path, *chosen, test_one=ONE)
    order = re.findall(r"^test_one.py::(\S+) SKIPPED", done.stdout, re.MULTILINE)
    assert order == [
        "test_pay[charge.create#1-lost_answer]",
        "test_read[charge.search#1-lost_answer]",
    ]
    assert "2 left out" in done.stdout


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (
            "--mockserver-explore=lost_anser",
            "got 'lost_anser', which is not a fault - did you mean 'lost_answer'",
        ),
        ("--mockserver-explore-budget=10", "--mockserver-explore-budget: got '10', wanted"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(tmp_path: Path, option: str, words: str) -> None:
    done = run_pytest(tmp_path, "--mockserver-explore", option, test_one=ONE)
    assert done.returncode == 4
    assert words in done.stderr


def test_tests_that_cannot_be_run_as_they_are_end_the_session_with_the_reason(
    tmp_path: Path,
) -> None:
    done = run_pytest(tmp_path, "--mockserver-explore", "no_such_file.py", test_one=ONE)
    assert done.returncode == 4
    assert "no_such_file.py" in done.stderr


MET = """
import pytest

@pytest.mark.mockserver(scenario={"version": 1, "rules": [
    {"id": "poor", "when": {"op": "charge.create"}, "then": {"decline": "insufficient_funds"}}]})
def test_poor(mockserver):
    assert mockserver.client.post("/charge/card", json=CHARGE).status_code == 400

def test_read(mockserver):
    mockserver.client.get("/charge")
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_what_ordinary_tests_have_met_is_counted_and_written_down(
    tmp_path: Path, workers: int
) -> None:
    spread = [*warm.workers(workers)] if workers else []
    plugins = ["xdist.plugin"] if workers else []
    done = run_pytest(
        tmp_path, *spread, "--mockserver-coverage=met.json", plugins=plugins, test_met=MET
    )
    found = json.loads((tmp_path / "met.json").read_text("utf-8"))["coverage"]
    assert f"failures covered: 1 of {found['failures']}, {found['percent']} %" in done.stdout, (
        done.stdout
    )
    states = {row["op"]: row["failures"] for row in found["map"]}
    assert (states["charge.create"]["declined_soft"], states["charge.search"]["lost_answer"]) == (
        "tried",
        None,
    )
