"""What the tests of a session do without any fault, learnt before the first of them is run
(``learn``).

pytest must know all tests before it runs the first. But which faults fit a test depends on the
calls that it makes, which only a run shows. So all tests with a sandbox are run in a second process
first, with the arguments of the session: there ``Learner`` writes down what each calls and what
money it moves (``Learnt``). It runs each twice, as money that is not even the same without a fault
cannot be compared with that under one.

Both runs, and later each try (``pytest_explore``), are tests of their own: a test function is given
one parameter more (``run_with``), which stands in the brackets behind its name. What is learnt is
kept by the name of the test itself (``test_itself``). Only imported when failures are to be tried.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, TypedDict

import pytest
from httpx import HTTPError

from mockserver.domain.record import mutable
from mockserver.explore.aftermath import Look, look_at
from mockserver.explore.fault_table import Trial
from mockserver.explore.report import OTHER_MONEY
from mockserver.explore.run_answers import CallRow
from mockserver.explore.run_calls import differences
from mockserver.explore.run_end import Reference
from mockserver.explore.run_money import RunMoney
from mockserver.pytest_findings import marker_of, sandbox_of
from mockserver.remote import ControlRefused, RemoteSandbox

LEARN = "--mockserver-explore-learn"
SHARED = "mockserver_app"
FIXTURES = frozenset(["mockserver", SHARED])
"""The fixtures that give a test its sandbox: one of its own, or one that others use after it."""

PARAMETER = "_mockserver_tried"
"""The parameter of a test that says what is tried in it; no fixture and no argument has its
name."""

AGAIN = "without.faults#2-again"
"""Stands in brackets behind the name of a test that is run a second time to learn, as the names of
what is tried do."""

TRIED_ID = re.compile(r"\[(?:(?P<own>.+)-)?[a-z_]+\.[a-z_]+#[0-9]+-[a-z_]+\]$")
"""End of the id of a test in which a fault is tried."""

_FAILS = "it does not pass without any fault"


@mutable
class Learnt:
    """What is known of one test: its file and line, how long it took, the calls that it made, and
    whether its clock was set by hand. ``why_not`` is the reason to try nothing in it, None when it
    can be tried: until a run has passed, that none has.

    The rest comes from the second run. ``unlike`` says what was otherwise in it; ``money`` is None
    unless both runs have moved the same, ``shared`` are the names of the orders that both had.
    """

    place: Sequence[object]
    seconds: float = 0.0
    calls: Sequence[CallRow] = ()
    is_manual: bool = False
    why_not: str | None = _FAILS
    money: RunMoney | None = None
    shared: Sequence[str] = ()
    unlike: str = ""

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """What ``asdict`` has made of one, for a file or another process."""
        learnt = cls(**row)
        if row["money"] is not None:
            learnt.money = RunMoney(**row["money"])
        return learnt


_LEARNT = "mockserver_learnt"
"""The attribute of a report that says what a run of a test has shown: workers send reports."""

_NO_RUN = ("--collect-only", "--collectonly", "--co", "--pdb", "--trace")
"""Arguments of a session that would keep its tests from being run, or wait for a person."""

_SILENCED = {"junitxml": ["--junitxml="], "_cov": ["--no-cov"]}
"""What keeps other plugins, by their names, from writing a report of the runs that only learn over
that of the session."""

_TAIL = 2_000
"""Characters that are shown of what those runs have printed."""

# The session may import what its own start has made importable, such as the folder that it was
# started in: the other process looks in the same places.
_RUN = """
import sys
sys.path[:] = sys.argv.pop(1).split("\\n")
import pytest
sys.exit(pytest.main())
"""


def learn(config: pytest.Config) -> dict[str, Learnt]:
    """What is known of each test, by its id. Raises ``pytest.UsageError`` with what was printed
    when none was run."""
    with tempfile.TemporaryDirectory(prefix="mockserver-") as folder:
        file = Path(folder) / "learnt.json"
        arguments = _arguments_of_session(config)
        # ``-k`` may choose names of tries, which are not known yet; ``--lf`` of the session must
        # not mean these runs.
        arguments += ["-k", "", "--maxfail=0", "-o", f"cache_dir={folder}/cache", f"{LEARN}={file}"]
        done = subprocess.run(
            [sys.executable, "-c", _RUN, "\n".join(sys.path), *arguments],
            cwd=config.invocation_params.dir,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if file.exists():
            rows = json.loads(file.read_text("utf-8"))
            return {test: Learnt.read(row) for test, row in rows.items()}
    said = done.stdout.decode("utf-8", "replace").strip()[-_TAIL:]
    raise pytest.UsageError(
        f"--mockserver-explore: the tests could not be run as they are:\n{said}"
    )


def _arguments_of_session(config: pytest.Config) -> list[str]:
    """The arguments of the session, as far as they choose tests or set them up."""
    asked = [str(argument) for argument in config.invocation_params.args]
    # Who names a try means the test in which it is tried.
    arguments = [test_itself(argument) for argument in asked if argument not in _NO_RUN]
    # A function brings its second run along; a test that is named by its parameters does not.
    named_tests = [test for test in arguments if "::" in test and test.endswith("]")]
    arguments += [f"{test[:-1]}-{AGAIN}]" for test in named_tests]
    for plugin, silencing in _SILENCED.items():
        if config.pluginmanager.hasplugin(plugin):
            arguments += silencing
    return arguments


def test_itself(test: str) -> str:
    """The id of the test itself, where one names a test in which a fault is tried: what is learnt
    is kept by it."""
    tried = TRIED_ID.search(test)
    if tried is None:
        return test
    function, own_parameters = test[: tried.start()], tried["own"]
    if not own_parameters:
        return function
    return f"{function}[{own_parameters}]"


def calls_of(look: Look) -> list[CallRow]:
    """The calls of a test in short, numbered from where the test began: others may have used the
    same sandbox before. What came due has no number, as nobody called it."""
    numbers: Counter[str] = Counter()
    calls: list[CallRow] = []
    for call in look.calls:
        number = None
        if call["call"] is not None:
            numbers[call["op"]] += 1
            number = numbers[call["op"]]
        calls.append({**call, "call": number})
    return calls


def money_in(sandbox: RemoteSandbox) -> RunMoney:
    """The money that a test has moved, once what is under way has ended."""
    return RunMoney.of(look_at(sandbox).money, sandbox.after)


def run_with(metafunc: pytest.Metafunc, tries: Mapping[str, Trial | None]) -> None:
    """Run a test function that uses a sandbox also with what is tried in it, by the names that its
    tests get then. The test as it is keeps its name: ids that people know go on meaning it."""
    if tries and FIXTURES.intersection(metafunc.fixturenames):
        metafunc.fixturenames.append(PARAMETER)
        ids = [pytest.HIDDEN_PARAM, *tries]
        # Indirect: the function has no argument of that name, and is not to get one.
        metafunc.parametrize(PARAMETER, [None, *tries.values()], ids=ids, indirect=True)


class Learner:
    """Notes what each test asks of its sandbox, and what money it moves, where tests are run to
    learn that. ``_runs`` are the first runs by the id of the test, ``_second_runs`` the others."""

    def __init__(self, config: pytest.Config) -> None:
        self._file = Path(config.getoption(LEARN))
        self._runs: dict[str, Learnt] = {}
        self._second_runs: dict[str, Learnt] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> Iterator[None]:
        """Run each test twice: what it does otherwise the second time cannot be compared with."""
        yield
        run_with(metafunc, {AGAIN: None})

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out tests without a sandbox: they call nothing that could fail."""
        chosen: list[pytest.Item] = []
        others: list[pytest.Item] = []
        for item in items:
            if FIXTURES.intersection(getattr(item, "fixturenames", ())):
                chosen.append(item)
            else:
                others.append(item)
        config.hook.pytest_deselected(items=others)
        items[:] = chosen

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give the report of a test that has passed what its run has shown, while its sandbox is
        still there."""
        report = yield
        sandbox = sandbox_of(item)
        has_passed = report.when == "call" and report.passed and not hasattr(report, "wasxfail")
        if has_passed and sandbox is not None:
            # What cannot be asked any more is not explored.
            with suppress(ControlRefused, HTTPError):
                setattr(report, _LEARNT, _shown_by(item, sandbox))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take down what the reports of all workers say. A test has one for its fixtures before it,
        one for itself, and one for what they do after it: all take time. Only the one for itself
        carries what was learnt, and only where it passed: until then ``why_not`` says that it
        fails. What fails behind it, only the last report tells. A second run has an id of its
        own, behind that of the test itself."""
        path, line, _ = report.location
        test = test_itself(report.nodeid)
        runs = self._runs
        if test != report.nodeid:
            runs = self._second_runs
        run = runs.setdefault(test, Learnt([path, line or 0]))
        run.seconds += report.duration
        shown: _Shown | None = getattr(report, _LEARNT, None)
        if shown is not None:
            run.calls, run.is_manual = shown["calls"], shown["is_manual"]
            run.why_not, run.money = shown["why_not"], RunMoney(**shown["money"])
        if report.when == "teardown" and report.failed:
            run.why_not = _FAILS

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over what was learnt; a worker of xdist has handed over its reports."""
        if hasattr(session.config, "workerinput"):
            return
        for test, run in self._runs.items():
            _compare(run, self._second_runs.get(test))
        # Workers of xdist report in any order.
        tests = sorted(self._runs, key=lambda test: (self._runs[test].place, test))
        learnt = {test: asdict(self._runs[test]) for test in tests}
        self._file.write_text(json.dumps(learnt), "utf-8")


class _Shown(TypedDict):
    """What the run of a test has shown, as a report can carry it to another process: fields of
    ``Learnt``, the money as ``asdict`` makes it."""

    calls: Sequence[CallRow]
    is_manual: bool
    why_not: str | None
    money: dict[str, Any]


def _shown_by(item: pytest.Item, sandbox: RemoteSandbox) -> _Shown:
    """What the run of a test has shown."""
    allowed = marker_of(item).allow or ()
    look = look_at(sandbox, finish=True)
    errors = [row["finding"] for row in look.findings if row["severity"] == "error"]
    bad = [finding for finding in dict.fromkeys(errors) if finding not in allowed]
    why_not = None
    if bad:
        # Under a fault it could not be told from what the fault has done.
        why_not = f"it has findings without any fault: {', '.join(bad)}"
    return {
        "calls": calls_of(look),
        "is_manual": look.is_manual,
        "why_not": why_not,
        "money": asdict(RunMoney.of(look.money, sandbox.after)),
    }


def _compare(run: Learnt, second_run: Learnt | None) -> None:
    """Note how the second run of a test was otherwise; what is tried is then not compared with its
    money, as it would be blamed for what changes anyway."""
    other_calls: list[str] = []
    # As long as nothing says otherwise there is nothing to compare with.
    reference = Reference()
    if second_run is not None and run.money is not None and second_run.money is not None:
        other_calls = differences(run.calls, second_run.calls)
        if not other_calls:
            reference = Reference.of(run.money, second_run.money)
    run.money, run.shared = reference.money, sorted(reference.shared)
    if other_calls:
        run.unlike = f"calls differ from run to run: {'; '.join(other_calls)}"
    elif run.money is None and run.why_not is None:
        run.unlike = OTHER_MONEY
