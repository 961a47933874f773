"""Failures tried in pytest: each test as it is, then once for each fault at each of its calls
(docs/pytest.md, Every failure in every test).

Each try is a test of its own, so that it can be chosen, skipped and shared out among workers as any
other. Which faults fit a test depends on the calls that it makes: so all tests are run first as
they are, in a second process (``pytest_learn``).

``Explorer`` then gives each test function a parameter, whose values are what is tried
(``pytest_generate_tests``); the fixture of the sandbox puts a scenario with the fault in force, and
the test is judged by its money when it ends. Under xdist only the controller learns: workers must
collect the same tests, so they are handed what it has learnt.

A test that fails under a fault is no failure: its client has noticed. So exceptions of the test are
caught, and its verdict alone decides whether it fails. Only imported when failures are to be tried.
"""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Any, NamedTuple, TypedDict, TypeVar

import pytest
from httpx import HTTPError

from mockserver.adapters.machine_clock import machine_now
from mockserver.adapters.strict_yaml import scenario_text
from mockserver.domain.clock import SECOND, Micros, parse_duration
from mockserver.domain.record import mutable
from mockserver.explore.aftermath import Look, look_at
from mockserver.explore.failures import CLIENT_TIMEOUT, FAULTS, Fault, fault
from mockserver.explore.fault_table import Trial, faults_of, injections_that_fit
from mockserver.explore.report import legend, tables, word
from mockserver.explore.review import beside_usual
from mockserver.explore.run_calls import points_of
from mockserver.explore.run_end import Reference, RunEnd, operations_of
from mockserver.explore.run_money import RunMoney, money_of
from mockserver.explore.verdicts import Judged, Verdict, judged
from mockserver.findings.catalogue import lines_of
from mockserver.pytest_findings import (
    ATTRIBUTE,
    WorkerNode,
    marker_of,
    names_in,
    sandbox_key,
    sandbox_of,
    shop_rows_of,
)
from mockserver.pytest_learn import (
    FIXTURES,
    PARAMETER,
    SHARED,
    Learnt,
    learn,
    money_in,
    run_with,
    test_itself,
)
from mockserver.remote import ControlRefused, RemoteSandbox
from mockserver.scenario.operations import UNREQUESTED

T = TypeVar("T")

OPTION = "--mockserver-explore"
TITLE = "mockserver explore"
USUAL = "usual"
LEFT_OUT = "left out"
"""What is said of a try that the budget did not reach."""

SCENARIO = "explored"
"""Name of the scenario with the fault that is tried."""

_AFTER_ALL_TESTS = 1_000
"""More than any trial's priority."""

_ATTRIBUTE = "mockserver_explored"
"""The attribute of a report that has a row of the matrix."""


class _MatrixRow(TypedDict):
    """What came of a test in which a fault was tried at a point: one of ``Verdict``, or
    ``LEFT_OUT``, and in money what happened."""

    test: str
    point: str
    fault: str
    verdict: str
    money: list[str]


class _JudgedTest(NamedTuple):
    """The verdict on a test in which something is tried, and what its report says."""

    verdict: Verdict
    words: str


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
    if marker_of(item).books is None:
        return []
    try:
        rows = shop_rows_of(item) or []
    except Exception:
        # Books that an exception has kept from being made know nothing.
        rows = []
    unbooked = money_in(item.stash[sandbox_key]).unbooked(rows)
    return [f"{money_of(order)}, its books do not know" for order in unbooked]


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
        if newest:
            point = replace(point, nth=newest[-1]["call"] + point.nth)
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
    return names_in(item, "survives", "faults", given, fault)


def _read(config: pytest.Config, option: str, read: Callable[[str], T]) -> T | None:
    """What an option says, None when it was not given. Raises ``pytest.UsageError``: pytest shows
    that as a line, any other exception as a fault of the plugin."""
    given = config.getoption(option)
    if given is None:
        return None
    try:
        return read(given)
    except ValueError as problem:
        raise pytest.UsageError(f"{option}: {problem}") from None


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
    def pytest_configure_node(self, node: WorkerNode) -> None:
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
            Trial((injection,))
            for injection in injections_that_fit(points_of(learnt.calls), faults)
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
        run_with(metafunc, tries)

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
        if problem is not None and (must_pass or verdict is Verdict.HUNG):
            # Its traceback says what the test has noticed, or where it hangs.
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
            row: _MatrixRow = {
                "test": test_itself(item.nodeid),
                "point": tried.point,
                "fault": tried.fault,
                "verdict": outcome.verdict,
                "money": [*outcome.words],
            }
            setattr(report, _ATTRIBUTE, row)

    def _judge(
        self, item: pytest.Item, tried: Trial, *, failed: bool, has_crashed: bool = False
    ) -> _JudgedTest:
        """The verdict on a test under a fault, which is noted for the matrix, and the words of its
        report. ``has_crashed``: it has failed by an exception that is no assertion."""
        sandbox, outcome = item.stash[sandbox_key], _outcome_of(item)
        allowed = marker_of(item).allow or ()
        # What the test expects of its rules is said of a run without a fault.
        ended = sandbox.end_of_test("error", allowed, rules=False)
        findings = [row for row in ended["findings"] if row["finding"] not in allowed]
        look = look_at(sandbox)
        outcome.has_struck = has_fired(tried, look)
        reference = self._reference(item)
        if len(findings) < len(ended["findings"]):
            # What a finding has cost is allowed with it.
            reference = Reference()
        end = RunEnd(
            outcome.money or RunMoney(()),
            findings,
            broken=ended["rules"],
            operations=operations_of(look.calls),
        )
        end = beside_usual(end, reference, fault_moves_money=tried.moves_money)
        # As a command ends: 1 where it fails, without a code where it hangs.
        code: int | None = int(failed)
        if outcome.hung:
            code = None
        judgement = judged(
            code,
            end,
            reference,
            has_books=sandbox.has_books,
            has_fired=outcome.has_struck,
            fault_moves_money=tried.moves_money,
        )
        if sandbox.is_unsafe:
            # An assertion about money has failed.
            judgement = Judged(Verdict.UNSAFE, judgement.words)
        elif has_crashed and judgement.verdict is Verdict.FAILED:
            judgement = _beside_crash(judgement, item)
        outcome.verdict, outcome.words = judgement.verdict.value, judgement.words
        return _JudgedTest(judgement.verdict, _words_of(judgement, tried, end, outcome.hung))

    def _reference(self, item: pytest.Item) -> Reference:
        """What the test under a fault is compared with: its runs without one, and their money only
        where that is known of both."""
        learnt = self.known[test_itself(item.nodeid)]
        operations = operations_of(learnt.calls)
        if learnt.money is None or _outcome_of(item).money is None:
            return Reference(operations=operations)
        return Reference(learnt.money, learnt.shared, operations=operations)

    def _shall_survive(self, item: pytest.Item, tried: Trial) -> bool:
        return tried.fault in survivors_of(item, marker_of(item).survives)

    @contextmanager
    def _limited(self, item: pytest.Item, tried: Trial) -> Iterator[None]:
        """End what takes too long, such as a client that retries for ever: one such try must not
        hang the session."""
        if self.timeout is None:
            limit = 10 * self.known[test_itself(item.nodeid)].seconds + 10
        else:
            limit = self.timeout / SECOND
        # How long the fault itself keeps the client waiting.
        limit += tried.waits
        began = time.monotonic()
        try:
            with _alarm(limit):
                yield
        finally:
            # By the time, not by the exception: the test may have caught that.
            if time.monotonic() - began >= limit:
                _outcome_of(item).hung = f"{limit:.0f}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The matrix of all tests, points and verdicts; and what it leaves open: of what was not
        tried the reason, lest it count as survived."""
        if self.worker is not None or not self.known:
            return
        rows: list[_MatrixRow] = []
        for reports in terminalreporter.stats.values():
            rows += [
                getattr(report, _ATTRIBUTE) for report in reports if hasattr(report, _ATTRIBUTE)
            ]
        terminalreporter.section(TITLE, "-")
        for line in _matrix(rows, self.known):
            terminalreporter.line(line)
        for test, learnt in self.known.items():
            if learnt.why_not is not None:
                terminalreporter.line(f"not explored: {test}: {learnt.why_not}")
            elif learnt.unlike:
                terminalreporter.line(f"{test}: {learnt.unlike}")


@contextmanager
def _alarm(limit: float) -> Iterator[None]:
    """Fail a test after so many seconds, wherever it waits, by a signal. Only where the system has
    an alarm for that, and nothing else, such as pytest-timeout, has set it."""
    # Python handles signals in its main thread alone.
    is_main_thread = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not is_main_thread:
        yield
        return
    seconds_left, _ = signal.getitimer(signal.ITIMER_REAL)
    if seconds_left:
        yield
        return

    def end(*_: object) -> None:
        pytest.fail(f"hung: not done in {limit:.0f} s")

    before = signal.signal(signal.SIGALRM, end)
    # Again and again, each second: code that catches everything is not left alone.
    signal.setitimer(signal.ITIMER_REAL, limit, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _beside_crash(judgement: Judged, item: pytest.Item) -> Judged:
    """A verdict on a test that has failed by an exception that is no assertion, beside its books:
    what these lack nobody was told of."""
    unbooked = unbooked_by(item)
    if not unbooked:
        return judgement
    if item.stash[sandbox_key].has_raised:
        # A block that the test calls ``money_safe`` says that this must not happen.
        return Judged(Verdict.UNSAFE, unbooked)
    return Judged(Verdict.DOUBTFUL, unbooked)


def _words_of(judgement: Judged, tried: Trial, end: RunEnd, hung: str) -> str:
    """What the report of a test says of its verdict; ``hung`` is the limit that it has passed. The
    matrix says enough of a test that passes, and its own traceback of one that fails."""
    words = f"{judgement.verdict}: {tried.story}"
    match judgement.verdict:
        case Verdict.UNSAFE:
            errors = [row for row in end.findings if row["severity"] == "error"]
            evidence = ["\n".join(lines_of(row)) for row in errors]
            return "\n\n".join([words, *judgement.words, *evidence])
        case Verdict.HUNG:
            return f"{words}; not done in {hung} s"
        case Verdict.NOT_REACHED:
            return f"{words}: the calls came otherwise than before"
        case _:
            return words


def _faults_named(text: str) -> list[Fault]:
    """The faults that the option names. Raises ``ValueError``."""
    if text == USUAL:
        return faults_of(None)
    return faults_of(text)


def _turn(item: pytest.Item) -> int:
    """When a test has its turn within a budget: the smallest first, and tests as they are before
    all that is tried."""
    tried = tried_in(item)
    if tried is None:
        return 0
    return _AFTER_ALL_TESTS - tried.priority


def _matrix(rows: Sequence[_MatrixRow], known: Mapping[str, Learnt]) -> Iterator[str]:
    """The tables of all tests with their points; what became of the money where that is known; and
    how many there are of each verdict."""
    # The tables of ``explore`` have a row for each call: here of which test it is stands before it.
    by_place = {(f"{row['test']} {row['point']}", row["fault"]): row for row in rows}
    words = {place: _word(row["verdict"]) for place, row in by_place.items()}
    counts = Counter(row["verdict"] for row in by_place.values())
    points: list[str] = []
    for test, learnt in known.items():
        points += [f"{test} {point}" for point in points_of(learnt.calls)]
    yield from tables(points, words)
    yield from legend(counts)
    for place, row in by_place.items():
        if row["money"]:
            yield f"{words[place]}  {'/'.join(place)}"
            yield from (f"    {line}" for line in row["money"])
    in_order = [verdict for verdict in (*Verdict, LEFT_OUT) if counts[verdict]]
    yield ", ".join(f"{counts[verdict]} {verdict}" for verdict in in_order) or "nothing was tried"


def _word(verdict: str) -> str:
    """A verdict as the table shows it, or that there is none."""
    if verdict == LEFT_OUT:
        return verdict
    return word(Verdict(verdict))


def _place(item: pytest.Item) -> tuple[str, int]:
    """File and line of a test, as reports of skipped tests begin."""
    path, line, _ = item.reportinfo()
    return str(path), (line or 0) + 1
