"""Failures tried in pytest: each test as it is, then once for each fault at each of its calls
(docs/pytest.md, Every failure in every test).

Each try is a test of its own, so that it can be chosen, skipped and shared out among workers as any
other. pytest must know all tests before it runs the first. But which faults fit a test depends on
the calls that it makes, which only a run shows. So ``learn`` runs all tests with a sandbox in a
second process first, with the arguments of the session: there ``Learner`` writes down what each
calls and what money it moves. It runs each twice, as money that is not even the same without a
fault cannot be compared with that under one.

``Explorer`` then gives each test function a parameter, whose values are what is tried
(``pytest_generate_tests``); the fixture of the sandbox puts a scenario with the fault in force, and
the test is judged by its money when it ends. Under xdist only the controller learns: workers must
collect the same tests, so they are handed what it has learnt.

A test that fails under a fault is no failure: its client has noticed. So exceptions of the test are
caught, and its verdict alone decides whether it fails. Only imported when failures are to be tried.
"""

import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import pytest
from httpx import HTTPError

from mockserver.adapters.machine_clock import machine_now
from mockserver.adapters.strict_yaml import scenario_text
from mockserver.domain.clock import SECOND, Micros, parse_duration
from mockserver.domain.record import mutable
from mockserver.explore.aftermath import Look, look_at
from mockserver.explore.failures import CLIENT_TIMEOUT, FAULTS, Fault, fault
from mockserver.explore.fault_table import Injection, Trial, faults_of
from mockserver.explore.report import OTHER_MONEY, legend, tables, word
from mockserver.explore.review import beside_usual
from mockserver.explore.run_answers import CallRow
from mockserver.explore.run_end import Reference, RunEnd, operations_of
from mockserver.explore.run_money import RunMoney, money_of
from mockserver.explore.trial import differences, points_of
from mockserver.explore.verdicts import Judged, Verdict, judged
from mockserver.findings.catalogue import lines_of
from mockserver.pytest_findings import (
    ATTRIBUTE,
    asked_of,
    names_in,
    sandbox_key,
    sandbox_of,
    shop_rows_of,
)
from mockserver.remote import ControlRefused, RemoteSandbox
from mockserver.scenario.operations import UNREQUESTED

T = TypeVar("T")

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
        money = None if row["money"] is None else RunMoney(**row["money"])
        return cls(**{**row, "money": money})


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
    asked = [str(argument) for argument in config.invocation_params.args]
    # Who names a try means the test in which it is tried.
    arguments = [test_itself(argument) for argument in asked if argument not in _NO_RUN]
    # A function brings its second run along; a test that is named by its parameters does not.
    named_tests = [test for test in arguments if "::" in test and test.endswith("]")]
    arguments += [f"{test[:-1]}-{AGAIN}]" for test in named_tests]
    for plugin, silencing in _SILENCED.items():
        if config.pluginmanager.hasplugin(plugin):
            arguments += silencing
    with tempfile.TemporaryDirectory(prefix="mockserver-") as folder:
        file = Path(folder) / "learnt.json"
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


def test_itself(test: str) -> str:
    """The id of the test itself, where one names a test in which a fault is tried: what is learnt
    is kept by it."""
    tried = TRIED_ID.search(test)
    if tried is None:
        return test
    function, own_parameters = test[: tried.start()], tried["own"]
    return f"{function}[{own_parameters}]" if own_parameters else function


def calls_of(look: Look) -> list[Mapping[str, Any]]:
    """The calls of a test in short, numbered from where the test began: others may have used the
    same sandbox before. What came due has no number, as nobody called it."""
    numbers: Counter[str] = Counter()
    calls = list[Mapping[str, Any]]()
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
        _run_with(metafunc, {AGAIN: None})

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out tests without a sandbox: they call nothing that could fail."""
        chosen = [
            item for item in items if FIXTURES.intersection(getattr(item, "fixturenames", ()))
        ]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
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
        runs = self._runs if test == report.nodeid else self._second_runs
        run = runs.setdefault(test, Learnt([path, line or 0]))
        run.seconds += report.duration
        shown = getattr(report, _LEARNT, None)
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


def _shown_by(item: pytest.Item, sandbox: RemoteSandbox) -> Mapping[str, object]:
    """What the run of a test has shown, as a report can carry it to another process: fields of
    ``Learnt`` by name."""
    allowed = asked_of(item).allow or ()
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


OPTION = "--mockserver-explore"
TITLE = "mockserver explore"
USUAL = "usual"
LEFT_OUT = "left out"
"""What is said of a try that the budget did not reach."""

SCENARIO = "explored"
"""Name of the scenario with the fault that is tried."""

_ATTRIBUTE = "mockserver_explored"
"""The attribute of a report that has a row of the matrix."""

_WORKER = "mockserver_explore"
"""What a worker of xdist is handed: what was learnt, and the deadline."""


@mutable
class _Outcome:
    """What came of a test in which something is tried; its hooks note it one after the other.
    ``verdict`` is one of ``Verdict``, ``LEFT_OUT``, or empty as long as there is none; ``hung`` is
    the limit in seconds that it has passed."""

    verdict: str = ""
    words: Sequence[str] = ()
    has_struck: bool = False
    money: RunMoney | None = None
    hung: str = ""


_ASSERTIONS = (AssertionError, pytest.fail.Exception)
"""What a test raises that has noticed something; anything else has escaped the shop."""


def unbooked_by(item: pytest.Item) -> list[str]:
    """The orders of a test that have money and of which the shop's books, as its marker names them,
    know nothing: an exception has come between the payment and the book, and nobody will ship."""
    sandbox = item.stash[sandbox_key]
    if asked_of(item).books is None:
        return []
    try:
        rows = shop_rows_of(item) or []
    except Exception:
        # Books that an exception has kept from being made know nothing.
        rows = []
    money = money_in(sandbox)
    return [f"{money_of(order)}, its books do not know" for order in money.unbooked(rows)]


_outcome_key: pytest.StashKey[_Outcome] = pytest.StashKey()


def _outcome_of(item: pytest.Item) -> _Outcome:
    return item.stash.setdefault(_outcome_key, _Outcome())


def name_of(trial: Trial) -> str:
    """What stands in brackets behind the name of a test with a fault:
    ``charge.create#1-lost_answer``."""
    return f"{trial.point}-{trial.fault}"


def scenario_of(trial: Trial, sandbox: RemoteSandbox | None = None) -> str:
    """A scenario file that makes a trial happen. Rules count calls from the opening of a sandbox:
    in one that other tests have used, the call of this test comes after all of theirs."""
    [(point, fault)] = trial.injections
    # Only such a sandbox has a mark, and what nobody requests is counted by no call.
    if sandbox is not None and sandbox.since is not None and point.op not in UNREQUESTED:
        newest = sandbox.rows("/__admin/journal", "entries", op=point.op, limit=1)
        calls_before = newest[-1]["call"] if newest else 0
        point = replace(point, nth=calls_before + point.nth)
    return scenario_text({"version": 1, "name": SCENARIO, "rules": [fault.rule(point)]})


def has_fired(trial: Trial, look: Look) -> bool:
    """Whether what is tried happened. The rule of a fault that strikes later, such as a payment
    that bounces, fires when it is planned: it has struck only once that came due."""
    [(point, fault)] = trial.injections
    is_hit = any(rule.startswith(f"{fault.name}-{point.op}-") for rule in look.fired)
    if is_hit and fault.comes_due:
        return f"came due: {fault.comes_due}" in look.timeline
    return is_hit


def survivors_of(item: pytest.Item, given: object) -> frozenset[str]:
    """The faults that a marker says a test survives. Raises ``pytest.UsageError`` for an unknown
    fault."""
    return names_in(item, "survives", "faults", given, lambda name: fault(name).name)


def _read(config: pytest.Config, option: str, read: Callable[[str], T]) -> T | None:
    """What an option says, None when it was not given. Raises ``pytest.UsageError``: pytest shows
    that as a line, any other exception as a fault of the plugin."""
    given = config.getoption(option)
    try:
        return None if given is None else read(given)
    except ValueError as problem:
        raise pytest.UsageError(f"{option}: {problem}") from None


def _run_with(metafunc: pytest.Metafunc, tries: Mapping[str, Trial | None]) -> None:
    """Run a test function that uses a sandbox also with what is tried in it, by the names that its
    tests get then. The test as it is keeps its name: ids that people know go on meaning it."""
    if tries and FIXTURES.intersection(metafunc.fixturenames):
        metafunc.fixturenames.append(PARAMETER)
        ids = [pytest.HIDDEN_PARAM, *tries]
        # Indirect: the function has no argument of that name, and is not to get one.
        metafunc.parametrize(PARAMETER, [None, *tries.values()], ids=ids, indirect=True)


def tried_in(item: object) -> Trial | None:
    """What is tried in a test; None where it runs as it is."""
    tried: Trial | None = getattr(getattr(item, "callspec", None), "params", {}).get(PARAMETER)
    return tried


class Explorer:
    """Adds a test for each failure that can be tried, judges it, and shows what came of all.

    ``known`` is what was learnt of each test, ``tries`` what is tried in it by name. After the
    ``deadline``, in microseconds since 1970, no failure is tried any more. ``worker`` is what the
    controller of xdist has handed over, None in a process that is no worker.
    """

    known: dict[str, Learnt]
    deadline: Micros | None

    def __init__(self, config: pytest.Config) -> None:
        # By it a test as it is keeps its name beside those with a fault.
        if not hasattr(pytest, "HIDDEN_PARAM"):
            raise pytest.UsageError(f"{OPTION} needs pytest 8.4 or later")
        self.config = config
        named = _read(config, OPTION, _faults_named) or []
        # In the order of the table, however they are named: the matrix has them so.
        self.faults = [fault for fault in FAULTS.values() if fault in named]
        self.budget = _read(config, f"{OPTION}-budget", parse_duration)
        self.timeout = _read(config, f"{OPTION}-timeout", parse_duration)
        self.client_timeout = (
            _read(config, f"{OPTION}-client-timeout", parse_duration) or CLIENT_TIMEOUT
        )
        self.worker: Mapping[str, Any] | None = getattr(config, "workerinput", None)
        self.known, self.deadline = {}, None
        if self.worker is not None:
            rows, self.deadline = self.worker[_WORKER]
            self.known = {test: Learnt.read(row) for test, row in rows.items()}

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Learn what the tests ask, before workers of xdist start, and hand it to them."""
        if self.worker is None:
            self.known = learn(self.config)
            # What was learnt does not count: how long that takes is not the budget's matter.
            if self.budget is not None:
                self.deadline = machine_now() + self.budget
        self.tries = {test: self._tries(learnt) for test, learnt in self.known.items()}

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Hand a worker of xdist what was learnt, in plain values, which alone can be sent."""
        rows = {test: asdict(learnt) for test, learnt in self.known.items()}
        node.workerinput[_WORKER] = (rows, self.deadline)

    def pytest_report_header(self) -> str:
        """How much there is to try, as that decides how long the session takes."""
        tests = [learnt for learnt in self.known.values() if learnt.calls]
        points = sum(len(points_of(learnt.calls)) for learnt in tests)
        return f"{TITLE}: calls that can fail: {points}, in tests: {len(tests)}"

    def _tries(self, learnt: Learnt) -> dict[str, Trial]:
        """What is tried in a test, by name, in the order of calls and table: each fault at each
        call that it fits. Nothing where a failure would say nothing about the fault."""
        if learnt.why_not is not None:
            return {}
        faults = [
            fault.timed(self.client_timeout, is_manual=learnt.is_manual) for fault in self.faults
        ]
        trials = [
            Trial((Injection(point, fault),))
            for point in points_of(learnt.calls)
            for fault in faults
            if fault.fits(point)
        ]
        return {name_of(trial): trial for trial in trials}

    @pytest.hookimpl(wrapper=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> Iterator[None]:
        """Add what is tried with any parameters of a test function: pytest asks by functions, and
        combines each try with all parameters. ``pytest_make_collect_report`` takes away what is not
        tried with those of one test."""
        yield
        function = metafunc.definition.nodeid
        tries: dict[str, Trial] = {}
        for test in self.known:
            if test == function or test.startswith(f"{function}["):
                tries |= self.tries[test]
        _run_with(metafunc, tries)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Put the fault in force in the sandbox of a test, before the test has called anything, and
        before all scenarios that it brings."""
        sandbox = yield
        tried = tried_in(request.node)
        if fixturedef.argname in FIXTURES and tried is not None:
            sandbox.pin(scenario_of(tried, sandbox))
            if fixturedef.argname == SHARED:
                # The next test uses it too.
                fixturedef.addfinalizer(partial(sandbox.unpin, SCENARIO))
        return sandbox

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Take away what the calls of a test do not give to try: it was added for other parameters
        of the same function."""
        report = yield
        if report.passed:
            report.result = [node for node in report.result if self._can_be_tried(node)]
        return report

    def _can_be_tried(self, node: pytest.Item | pytest.Collector) -> bool:
        """Whether a test makes the call at which something is tried in it; of a test as it is, and
        of a folder or file, True."""
        tried = tried_in(node)
        return tried is None or name_of(tried) in self.tries.get(test_itself(node.nodeid), ())

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Within a budget the weightiest faults come first, after all tests as they are."""
        if self.budget is not None:
            items.sort(key=_turn)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Leave out what the budget does not reach; fixtures may hang too."""
        tried = tried_in(item)
        if tried is None:
            return (yield)
        if self.deadline is not None and machine_now() > self.deadline:
            _outcome_of(item).verdict = LEFT_OUT
            pytest.skip(
                f"left out: the budget of {self.config.getoption(f'{OPTION}-budget')} is used up"
            )
        with self._limited(item, tried):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Let the verdict, not the test, say whether a test under a fault has failed: one that
        raises may have noticed the fault, and one that passes may have paid twice."""
        tried = tried_in(item)
        if tried is None:
            return (yield)
        problem: BaseException | None = None
        with self._limited(item, tried):
            try:
                yield
            except (pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt):
                raise
            except BaseException as raised:
                problem = raised
        has_crashed = problem is not None and not isinstance(problem, _ASSERTIONS)
        verdict, words = self._judge(
            item, tried, failed=problem is not None, has_crashed=has_crashed
        )
        if verdict is Verdict.NOT_REACHED:
            pytest.skip(words)
        must_pass = verdict is Verdict.FAILED and self._shall_survive(item, tried)
        # Its traceback says where it hangs, or what the test has noticed.
        if problem is not None and (verdict is Verdict.HUNG or must_pass):
            raise problem
        if verdict.reaches(Verdict.HUNG):
            pytest.fail(words, pytrace=False)
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Note what money a test has moved in which something is tried, before its story ends.
        After an exception nothing is noted: a test that was broken off has moved less for that
        alone, and is not compared with a whole one."""
        result = yield
        if tried_in(pyfuncitem) is not None:
            with suppress(ControlRefused, HTTPError):
                _outcome_of(pyfuncitem).money = money_in(pyfuncitem.stash[sandbox_key])
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give the last report of a test its verdict. Fixtures that fail under a fault do not fail
        the test."""
        report = yield
        tried = tried_in(item)
        if tried is None:
            return report
        if report.when == "setup" and report.failed and sandbox_of(item) is not None:
            self._excuse_fixtures(item, tried, report)
        elif report.when == "call" and report.skipped:
            # pytest would say that a line of this module has skipped it.
            reason = str(call.excinfo.value) if call.excinfo else ""
            report.longrepr = (*_place(item), reason)
        elif report.when == "teardown":
            self._tell(item, tried, report)
        if report.failed:
            report.sections.append(("mockserver scenario", scenario_of(tried)))
        # What a client does wrong under a fault is not a finding of the session, and what a fault
        # keeps a scenario of the test from is not news of that.
        vars(report).pop(ATTRIBUTE, None)
        return report

    def _excuse_fixtures(self, item: pytest.Item, tried: Trial, report: pytest.TestReport) -> None:
        """Say of fixtures that failed what is wrong with the money, or skip their test: they have
        noticed the fault, as a test may, and the test itself has not been tried."""
        verdict, words = Verdict.NOT_REACHED, ""
        with suppress(ControlRefused, HTTPError):
            verdict, words = self._judge(item, tried, failed=True)
        if verdict is Verdict.UNSAFE:
            report.longrepr = words
        elif verdict is Verdict.FAILED and not self._shall_survive(item, tried):
            report.outcome = "skipped"
            report.longrepr = (*_place(item), f"{words}, in its fixtures")

    def _tell(self, item: pytest.Item, tried: Trial, report: pytest.TestReport) -> None:
        """Let the last report say what came of the test. Fixtures that fail to clean up under a
        fault that has struck have noticed it: that is a verdict too, and no error of the
        session."""
        outcome = _outcome_of(item)
        if report.failed and outcome.has_struck:
            if not Verdict(outcome.verdict).reaches(Verdict.FAILED):
                outcome.verdict = Verdict.FAILED.value
            report.outcome, report.longrepr = "passed", None
        if outcome.verdict:
            cell = {
                "test": test_itself(item.nodeid),
                "point": tried.point,
                "fault": tried.fault,
                "verdict": outcome.verdict,
                "money": [*outcome.words],
            }
            setattr(report, _ATTRIBUTE, cell)

    def _judge(
        self, item: pytest.Item, tried: Trial, *, failed: bool, has_crashed: bool = False
    ) -> tuple[Verdict, str]:
        """The verdict on a test under a fault, which is noted for the matrix, and the words of its
        report. ``has_crashed``: it has failed by an exception that is no assertion."""
        sandbox, outcome = item.stash[sandbox_key], _outcome_of(item)
        allowed = asked_of(item).allow or ()
        # What the test expects of its rules is said of a run without a fault.
        ended = sandbox.end_of_test("error", allowed, rules=False)
        findings = [row for row in ended["findings"] if row["finding"] not in allowed]
        look = look_at(sandbox)
        outcome.has_struck = has_fired(tried, look)
        end = RunEnd(
            outcome.money or RunMoney(()),
            findings,
            broken=ended["rules"],
            operations=operations_of(look.calls),
        )
        reference = self._reference(item)
        if len(findings) < len(ended["findings"]):
            # What a finding has cost is allowed with it.
            reference = Reference()
        end = beside_usual(end, reference, fault_moves_money=tried.moves_money)
        judgement = judged(
            # As a command ends: with no code where it hangs, 1 where it fails.
            None if outcome.hung else int(failed),
            end,
            reference,
            has_books=sandbox.has_books,
            has_fired=outcome.has_struck,
            fault_moves_money=tried.moves_money,
        )
        if sandbox.is_unsafe:
            judgement = Judged(Verdict.UNSAFE, judgement.words)
        elif has_crashed and judgement.verdict is Verdict.FAILED:
            unbooked = unbooked_by(item)
            if unbooked:
                # A block that the test calls ``money_safe`` says that this must not happen.
                verdict = Verdict.UNSAFE if sandbox.has_raised else Verdict.DOUBTFUL
                judgement = Judged(verdict, unbooked)
        outcome.verdict, outcome.words = judgement.verdict.value, judgement.words
        words = f"{judgement.verdict}: {tried.story}"
        match judgement.verdict:
            case Verdict.UNSAFE:
                errors = [row for row in end.findings if row["severity"] == "error"]
                evidence = ["\n".join(lines_of(row)) for row in errors]
                words = "\n\n".join([words, *judgement.words, *evidence])
            case Verdict.HUNG:
                words += f"; not done in {outcome.hung} s"
            case Verdict.NOT_REACHED:
                words += ": the calls came otherwise than before"
            case _:
                # The matrix says enough of one that passes, and its own traceback of one that
                # fails.
                pass
        return judgement.verdict, words

    def _reference(self, item: pytest.Item) -> Reference:
        """What the test under a fault is compared with: its runs without one, and their money only
        where that is known of both."""
        learnt = self.known[test_itself(item.nodeid)]
        operations = operations_of(learnt.calls)
        if learnt.money is None or _outcome_of(item).money is None:
            return Reference(operations=operations)
        return Reference(learnt.money, learnt.shared, operations=operations)

    def _shall_survive(self, item: pytest.Item, tried: Trial) -> bool:
        return tried.fault in survivors_of(item, asked_of(item).survives)

    @contextmanager
    def _limited(self, item: pytest.Item, tried: Trial) -> Iterator[None]:
        """End what takes too long, such as a client that retries for ever: one such try must not
        hang the session. Only where the system has an alarm for that, and nothing else, such as
        pytest-timeout, has set it."""
        if self.timeout is None:
            limit = 10 * self.known[test_itself(item.nodeid)].seconds + 10
        else:
            limit = self.timeout / SECOND
        # How long the fault itself keeps the client waiting.
        limit += tried.waits
        # Python handles signals in its main thread alone.
        has_alarm = (
            hasattr(signal, "setitimer")
            and threading.current_thread() is threading.main_thread()
            and not signal.getitimer(signal.ITIMER_REAL)[0]
        )

        def end(*_: object) -> None:
            pytest.fail(f"hung: not done in {limit:.0f} s")

        began = time.monotonic()
        if has_alarm:
            before = signal.signal(signal.SIGALRM, end)
            # Again and again: code that catches everything is not left alone.
            signal.setitimer(signal.ITIMER_REAL, limit, 1)
        try:
            yield
        finally:
            if has_alarm:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
            # By the time, not by the exception: the test may have caught that.
            if time.monotonic() - began >= limit:
                _outcome_of(item).hung = f"{limit:.0f}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The matrix of all tests, points and verdicts; and what it leaves open: of what was not
        tried the reason, lest it count as survived."""
        if self.worker is not None or not self.known:
            return
        reports = [report for stat in terminalreporter.stats.values() for report in stat]
        cells = [getattr(report, _ATTRIBUTE) for report in reports if hasattr(report, _ATTRIBUTE)]
        terminalreporter.section(TITLE, "-")
        for line in _matrix(cells, self.known):
            terminalreporter.line(line)
        for test, learnt in self.known.items():
            if learnt.why_not is not None:
                terminalreporter.line(f"not explored: {test}: {learnt.why_not}")
            elif learnt.unlike:
                terminalreporter.line(f"{test}: {learnt.unlike}")


def _faults_named(text: str) -> list[Fault]:
    """The faults that the option names. Raises ``ValueError``."""
    return faults_of(None if text == USUAL else text)


def _turn(item: pytest.Item) -> int:
    """When a test has its turn within a budget: the smallest first."""
    tried = tried_in(item)
    return 0 if tried is None else 1_000 - tried.priority


def _matrix(cells: Sequence[Mapping[str, Any]], known: Mapping[str, Learnt]) -> Iterator[str]:
    """The tables of all tests with their points; what became of the money where that is known; and
    how many there are of each verdict."""
    # The tables of ``explore`` have a row for each call: here of which test it is stands before it.
    by_place = {(f"{cell['test']} {cell['point']}", cell["fault"]): cell for cell in cells}
    verdicts = {place: cell["verdict"] for place, cell in by_place.items()}
    words = {place: _word(verdict) for place, verdict in verdicts.items()}
    points = [
        f"{test} {point}" for test, learnt in known.items() for point in points_of(learnt.calls)
    ]
    yield from tables(points, words)
    yield from legend(set(verdicts.values()))
    for place, cell in by_place.items():
        if cell["money"]:
            yield f"{words[place]}  {'/'.join(place)}"
            yield from (f"    {line}" for line in cell["money"])
    counts = Counter(verdicts.values())
    in_order = [verdict for verdict in (*Verdict, LEFT_OUT) if counts[verdict]]
    yield ", ".join(f"{counts[verdict]} {verdict}" for verdict in in_order) or "nothing was tried"


def _word(verdict: str) -> str:
    """A verdict as the table shows it, or that there is none."""
    return verdict if verdict == LEFT_OUT else word(Verdict(verdict))


def _place(item: pytest.Item) -> tuple[str, int]:
    """File and line of a test, as reports of skipped tests begin."""
    path, line, _ = item.reportinfo()
    return str(path), (line or 0) + 1
