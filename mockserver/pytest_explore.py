"""Failures tried in pytest: each test as it is, then once for each fault at each of its calls
(docs/pytest.md, Every failure in every test).

The tests that use a sandbox are first run twice, in a process of their own, with the arguments of
the session. The session then knows every failure to try before it collects a single test, what each
test does with the money, and so do all workers of xdist. Only imported when failures are to be
tried.
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
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pytest
from httpx import HTTPError

from mockserver.adapters.machine_clock import machine_now
from mockserver.adapters.strict_yaml import scenario_text
from mockserver.domain.clock import SECOND, Micros, parse_duration
from mockserver.domain.record import mutable
from mockserver.explore.aftermath import Look, look_at
from mockserver.explore.failures import CLIENT_TIMEOUT, FAULTS, fault
from mockserver.explore.fault_table import Injection, Trial, faults_of
from mockserver.explore.report import OTHER_MONEY, legend, tables, word
from mockserver.explore.review import beside_usual
from mockserver.explore.run_money import RunMoney, money_of
from mockserver.explore.trial import differences, points_of
from mockserver.explore.verdicts import (
    Judged,
    Reference,
    RunEnd,
    Verdict,
    judged,
    operations_of,
)
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
"""The parameter of a test that says what is tried in it."""

AGAIN = "without.faults#2-again"
"""Stands in brackets behind the name of a test that is run a second time to learn, as the names of
what is tried do."""

TRIED_ID = re.compile(r"\[(?:(?P<own>.+)-)?[a-z_]+\.[a-z_]+#[0-9]+-[a-z_]+\]$")
"""End of the id of a test in which a fault is tried."""

Learnt: TypeAlias = dict[str, Any]
"""What is known of one test: its ``place`` (file and line), ``seconds`` that it took, the ``calls``
that it made, whether its clock was set by hand (``is_manual``), and the reason ``why_not`` to try
anything, None when it can be tried. Of its second run ``unlike`` says what was otherwise; where
both moved the same ``money`` that is there, with the names of the orders that both had
(``shared``)."""

_LEARNT = "mockserver_learnt"
_NO_RUN = ("--collect-only", "--collectonly", "--co", "--pdb", "--trace")
_FROM_ELSEWHERE = {"junitxml": ["--junitxml="], "_cov": ["--no-cov"]}
_TAIL = 2_000
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
    chosen = [test_itself(argument) for argument in asked if argument not in _NO_RUN]
    chosen += [f"{test[:-1]}-{AGAIN}]" for test in chosen if "::" in test and test.endswith("]")]
    for plugin, arguments in _FROM_ELSEWHERE.items():
        chosen += arguments if config.pluginmanager.hasplugin(plugin) else []
    with tempfile.TemporaryDirectory(prefix="mockserver-") as folder:
        file = Path(folder) / "learnt.json"
        extra = ["-k", "", "--maxfail=0", "-o", f"cache_dir={folder}/cache", f"{LEARN}={file}"]
        done = subprocess.run(
            [sys.executable, "-c", _RUN, "\n".join(sys.path), *chosen, *extra],
            cwd=config.invocation_params.dir,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if file.exists():
            known: dict[str, Learnt] = json.loads(file.read_text("utf-8"))
            return known
    said = done.stdout.decode("utf-8", "replace").strip()[-_TAIL:]
    raise pytest.UsageError(
        f"--mockserver-explore: the tests could not be run as they are:\n{said}"
    )


def test_itself(test: str) -> str:
    """The id of the test itself, where one names a test in which a fault is tried."""
    return TRIED_ID.sub(lambda found: f"[{found['own']}]" if found["own"] else "", test)


def calls_of(look: Look) -> list[Mapping[str, Any]]:
    """The calls of a test in short, numbered from where the test began: others may have used the
    same sandbox before."""
    numbers: Counter[str] = Counter()
    calls = list[Mapping[str, Any]]()
    for call in look.calls:
        is_call = call["call"] is not None
        numbers[call["op"]] += is_call
        calls.append({**call, "call": numbers[call["op"]] if is_call else None})
    return calls


def money_in(sandbox: RemoteSandbox) -> RunMoney:
    """The money that a test has moved, once what is under way has ended."""
    return RunMoney.of(look_at(sandbox).money, sandbox.after)


class Learner:
    """Notes what each test asks of its sandbox, and what money it moves, where tests are run to
    learn that."""

    def __init__(self, config: pytest.Config) -> None:
        self._file = Path(config.getoption(LEARN))
        self._known: dict[str, Learnt] = {}
        self._again: dict[str, Learnt] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> Iterator[None]:
        """Run each test twice: what it does otherwise the second time cannot be compared with."""
        yield
        _run_with(metafunc, {AGAIN: None})

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        chosen = [
            item for item in items if FIXTURES.intersection(getattr(item, "fixturenames", ()))
        ]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        sandbox = sandbox_of(item)
        if (
            report.when != "call"
            or not report.passed
            or hasattr(report, "wasxfail")
            or sandbox is None
        ):
            return report
        # What cannot be asked any more is not explored.
        with suppress(ControlRefused, HTTPError):
            allowed, look = asked_of(item).allow or (), look_at(sandbox, finish=True)
            bad = [
                row["finding"]
                for row in look.findings
                if row["severity"] == "error" and row["finding"] not in allowed
            ]
            why_not = (
                f"it has findings without any fault: {', '.join(dict.fromkeys(bad))}"
                if bad
                else None
            )
            found = {"calls": calls_of(look), "is_manual": look.is_manual, "why_not": why_not}
            money = RunMoney.of(look.money, sandbox.after)
            setattr(report, _LEARNT, {**found, "money": astuple(money)})
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take down what the reports of all workers say."""
        (path, line, _), test = report.location, test_itself(report.nodeid)
        why_not = "it does not pass without any fault"
        plain = {
            "place": [path, line or 0],
            "seconds": 0.0,
            "calls": [],
            "is_manual": False,
            "why_not": why_not,
        }
        runs = self._known if test == report.nodeid else self._again
        known = runs.setdefault(test, {**plain, "money": None, "shared": [], "unlike": ""})
        known["seconds"] += report.duration
        known.update(getattr(report, _LEARNT, {}))
        if report.when == "teardown" and report.failed:
            known["why_not"] = why_not

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over what was learnt; a worker of xdist has handed over its reports."""
        if not hasattr(session.config, "workerinput"):
            # Workers of xdist report in any order.
            for test, known in self._known.items():
                _compare(known, self._again.get(test))
            ordered = sorted(self._known.items(), key=lambda one: (one[1]["place"], one[0]))
            self._file.write_text(json.dumps(dict(ordered)), "utf-8")


def _compare(known: Learnt, again: Learnt | None) -> None:
    """Note how the second run of a test was otherwise; what is tried is then not compared with its
    money."""
    runs = [
        RunMoney(*one["money"])
        for one in (known, again)
        if one is not None and one["money"] is not None
    ]
    calls = [] if len(runs) < 2 or again is None else differences(known["calls"], again["calls"])
    reference = Reference.of(*runs) if len(runs) == 2 and not calls else Reference()
    known["shared"] = sorted(reference.shared)
    if reference.money is None:
        known["money"] = None
    if calls:
        known["unlike"] = f"calls differ from run to run: {'; '.join(calls)}"
    elif known["money"] is None and known["why_not"] is None:
        known["unlike"] = OTHER_MONEY


OPTION = "--mockserver-explore"
TITLE = "mockserver explore"
USUAL = "usual"
LEFT_OUT = "left out"
"""What is said of a try that the budget did not reach."""

SCENARIO = "explored"
"""Name of the scenario with the fault that is tried."""

_ATTRIBUTE = "mockserver_explored"
_WORKER = "mockserver_explore"


@mutable
class _Came:
    """What came of a test in which something is tried; ``hung`` is the limit in seconds that it has
    passed."""

    verdict: str = ""
    words: Sequence[str] = ()
    has_struck: bool = False
    money: RunMoney | None = None
    hung: str = ""


_ASSERTIONS = (AssertionError, pytest.fail.Exception)
"""What a test raises that has noticed something; anything else has escaped the shop."""


def unbooked_by(item: pytest.Item) -> list[str]:
    """The orders of a test that have money and of which the shop's books, as its marker names them,
    know nothing."""
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


_came_key: pytest.StashKey[_Came] = pytest.StashKey()


def _of(item: pytest.Item) -> _Came:
    return item.stash.setdefault(_came_key, _Came())


def name_of(trial: Trial) -> str:
    """What stands in brackets behind the name of a test with a fault:
    ``charge.create#1-lost_answer``."""
    return f"{trial.point}-{trial.fault}"


def scenario_of(trial: Trial, sandbox: RemoteSandbox | None = None) -> str:
    """A scenario file that makes a trial happen; after what a sandbox has been asked since it was
    opened."""
    [(point, fault)] = trial.injections
    if sandbox is not None and sandbox.since is not None and point.op not in UNREQUESTED:
        entries = sandbox.rows("/__admin/journal", "entries", op=point.op, limit=1)
        point = replace(point, nth=point.nth + (entries[-1]["call"] if entries else 0))
    return scenario_text({"version": 1, "name": SCENARIO, "rules": [fault.rule(point)]})


def has_fired(trial: Trial, look: Look) -> bool:
    """Whether what is tried happened."""
    [(point, fault)] = trial.injections
    is_hit = any(rule.startswith(f"{fault.name}-{point.op}-") for rule in look.fired)
    return is_hit and (not fault.comes_due or f"came due: {fault.comes_due}" in look.timeline)


def survivors_of(item: pytest.Item, given: object) -> frozenset[str]:
    """The faults that a marker says a test survives. Raises ``pytest.UsageError`` for an unknown
    fault."""
    return names_in(item, "survives", "faults", given, lambda name: fault(name).name)


def _read(config: pytest.Config, option: str, read: Callable[[str], T]) -> T | None:
    """What an option says, None when it was not given. Raises ``pytest.UsageError``."""
    given = config.getoption(option)
    try:
        return None if given is None else read(given)
    except ValueError as problem:
        raise pytest.UsageError(f"{option}: {problem}") from None


def _run_with(metafunc: pytest.Metafunc, tries: Mapping[str, Trial | None]) -> None:
    """Run a test function that uses a sandbox also with what is tried in it, by the names that its
    tests get then."""
    if tries and FIXTURES.intersection(metafunc.fixturenames):
        metafunc.fixturenames.append(PARAMETER)
        ids = [pytest.HIDDEN_PARAM, *tries]
        metafunc.parametrize(PARAMETER, [None, *tries.values()], ids=ids, indirect=True)


def tried_in(item: object) -> Trial | None:
    """What is tried in a test; None where it runs as it is."""
    tried: Trial | None = getattr(getattr(item, "callspec", None), "params", {}).get(PARAMETER)
    return tried


class Explorer:
    """Adds a test for each failure that can be tried, judges it, and shows what came of all. After
    the ``deadline``, in microseconds since 1970, no failure is tried any more."""

    known: dict[str, Learnt]
    deadline: Micros | None

    def __init__(self, config: pytest.Config) -> None:
        if not hasattr(pytest, "HIDDEN_PARAM"):
            raise pytest.UsageError(f"{OPTION} needs pytest 8.4 or later")
        self.config = config
        named = (
            _read(config, OPTION, lambda given: faults_of(None if given == USUAL else given)) or []
        )
        self.faults = [fault for fault in FAULTS.values() if fault in named]
        self.budget = _read(config, f"{OPTION}-budget", parse_duration)
        self.timeout = _read(config, f"{OPTION}-timeout", parse_duration)
        self.client_timeout = (
            _read(config, f"{OPTION}-client-timeout", parse_duration) or CLIENT_TIMEOUT
        )
        self.worker: Mapping[str, Any] | None = getattr(config, "workerinput", None)
        self.known, self.deadline = self.worker[_WORKER] if self.worker is not None else ({}, None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Learn what the tests ask, before workers of xdist start, and hand it to them."""
        if self.worker is None:
            self.known = learn(self.config)
            self.deadline = None if self.budget is None else machine_now() + self.budget
        self.tries = {test: self._tries(learnt) for test, learnt in self.known.items()}

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_WORKER] = (self.known, self.deadline)

    def pytest_report_header(self) -> str:
        tests = [learnt for learnt in self.known.values() if learnt["calls"]]
        points = sum(len(points_of(learnt["calls"])) for learnt in tests)
        return f"{TITLE}: calls that can fail: {points}, in tests: {len(tests)}"

    def _tries(self, learnt: Learnt) -> dict[str, Trial]:
        """What is tried in a test, by name, in the order of calls and table."""
        if learnt["why_not"] is not None:
            return {}
        points = points_of(learnt["calls"])
        faults = [
            fault.timed(self.client_timeout, is_manual=learnt["is_manual"]) for fault in self.faults
        ]
        found = (
            Trial((Injection(point, fault),))
            for point in points
            for fault in faults
            if fault.fits(point)
        )
        return {name_of(one): one for one in found}

    @pytest.hookimpl(wrapper=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> Iterator[None]:
        """Add what is tried with any parameters of a test function; ``pytest_make_collect_report``
        takes away what is not tried with those of one test."""
        yield
        function = metafunc.definition.nodeid
        tests = [test for test in self.known if test == function or test.startswith(f"{function}[")]
        tries = {name: tried for test in tests for name, tried in self.tries[test].items()}
        _run_with(metafunc, tries)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        sandbox = yield
        if fixturedef.argname in FIXTURES and (tried := tried_in(request.node)) is not None:
            # Whatever scenarios the test brings; its calls count from here.
            sandbox.pin(scenario_of(tried, sandbox))
            if fixturedef.argname == SHARED:
                fixturedef.addfinalizer(lambda: sandbox.unpin(SCENARIO))
        return sandbox

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Take away what the calls of a test do not give to try."""
        report = yield
        if report.passed:
            report.result = [
                node
                for node in report.result
                if (tried := tried_in(node)) is None
                or name_of(tried) in self.tries.get(test_itself(node.nodeid), ())
            ]
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Within a budget the weightiest faults come first, after all tests as they are."""
        if self.budget is not None:
            items.sort(
                key=lambda item: (tried := tried_in(item)) is not None and 1_000 - tried.priority
            )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Leave out what the budget does not reach; fixtures may hang too."""
        if (tried := tried_in(item)) is None:
            return (yield)
        if self.deadline is not None and machine_now() > self.deadline:
            _of(item).verdict = LEFT_OUT
            pytest.skip(
                f"left out: the budget of {self.config.getoption(f'{OPTION}-budget')} is used up"
            )
        with self._limited(item, tried):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        if (tried := tried_in(item)) is None:
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
        found, words = self._judge(item, tried, failed=problem is not None, has_crashed=has_crashed)
        if found is Verdict.NOT_REACHED:
            pytest.skip(words)
        must_pass = found is Verdict.FAILED and self._shall_survive(item, tried)
        if problem is not None and (found is Verdict.HUNG or must_pass):
            raise problem
        if found.reaches(Verdict.HUNG):
            pytest.fail(words, pytrace=False)
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Note what money a test has moved in which something is tried, before its story ends."""
        result = yield
        if tried_in(pyfuncitem) is not None:
            with suppress(ControlRefused, HTTPError):
                _of(pyfuncitem).money = money_in(pyfuncitem.stash[sandbox_key])
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give the last report of a test its verdict. Fixtures that fail under a fault do not fail
        the test."""
        report, tried = (yield), tried_in(item)
        if tried is None:
            return report
        if report.when == "setup" and report.failed and sandbox_of(item) is not None:
            self._excuse_fixtures(item, tried, report)
        elif report.when == "call" and report.skipped:
            report.longrepr = (*_place(item), str(call.excinfo.value) if call.excinfo else "")
        elif report.when == "teardown":
            self._tell(item, tried, report)
        if report.failed:
            report.sections.append(("mockserver scenario", scenario_of(tried)))
        # What a client does wrong under a fault is not a finding of the session, and what a fault
        # keeps a scenario of the test from is not news of that.
        vars(report).pop(ATTRIBUTE, None)
        return report

    def _excuse_fixtures(self, item: pytest.Item, tried: Trial, report: pytest.TestReport) -> None:
        """Say of fixtures that failed what is wrong with the money, or that they have noticed the
        fault."""
        found, words = Verdict.NOT_REACHED, ""
        with suppress(ControlRefused, HTTPError):
            found, words = self._judge(item, tried, failed=True)
        if found is Verdict.UNSAFE:
            report.longrepr = words
        elif found is Verdict.FAILED and not self._shall_survive(item, tried):
            report.outcome, report.longrepr = (
                "skipped",
                (*_place(item), f"{words}, in its fixtures"),
            )

    def _tell(self, item: pytest.Item, tried: Trial, report: pytest.TestReport) -> None:
        """Let the last report say what came of the test; what goes wrong after it under a fault is
        its failure too."""
        came = _of(item)
        if report.failed and came.has_struck:
            if not Verdict(came.verdict).reaches(Verdict.FAILED):
                came.verdict = Verdict.FAILED.value
            report.outcome, report.longrepr = "passed", None
        if came.verdict:
            cell = {"test": test_itself(item.nodeid), "point": tried.point, "fault": tried.fault}
            setattr(report, _ATTRIBUTE, {**cell, "verdict": came.verdict, "money": [*came.words]})

    def _judge(
        self, item: pytest.Item, tried: Trial, *, failed: bool, has_crashed: bool = False
    ) -> tuple[Verdict, str]:
        sandbox, came, allowed = item.stash[sandbox_key], _of(item), asked_of(item).allow or ()
        ended = sandbox.end_of_test("error", allowed, rules=False)
        rows = [row for row in ended["findings"] if row["finding"] not in allowed]
        look = look_at(sandbox)
        came.has_struck = is_hit = has_fired(tried, look)
        operations = operations_of(look.calls)
        after = RunEnd(
            came.money or RunMoney(()), rows, broken=ended["rules"], operations=operations
        )
        code, has_books = None if came.hung else int(failed), sandbox.has_books
        # What a finding has cost is allowed with it.
        reference = Reference() if len(rows) < len(ended["findings"]) else self._reference(item)
        if not tried.moves_money:
            after = beside_usual(after, reference)
            rows = [*after.findings]
        made = judged(
            code,
            after,
            reference,
            has_books=has_books,
            has_fired=is_hit,
            fault_moves_money=tried.moves_money,
        )
        if sandbox.is_unsafe:
            made = Judged(Verdict.UNSAFE, made.words)
        elif has_crashed and made.verdict is Verdict.FAILED and (lost := unbooked_by(item)):
            made = Judged(Verdict.UNSAFE if sandbox.has_raised else Verdict.DOUBTFUL, lost)
        found, bad = (
            made.verdict,
            ["\n".join(lines_of(row)) for row in rows if row["severity"] == "error"],
        )
        came.verdict, came.words = found.value, made.words
        said = {
            Verdict.UNSAFE: "".join(f"\n\n{told}" for told in (*made.words, *bad)),
            Verdict.HUNG: f"; not done in {came.hung} s",
            Verdict.NOT_REACHED: ": the calls came otherwise than before",
        }
        return found, f"{found}: {tried.story}{said.get(found, '')}"

    def _reference(self, item: pytest.Item) -> Reference:
        learnt = self.known[test_itself(item.nodeid)]
        is_known = learnt["money"] is not None and _of(item).money is not None
        operations = operations_of(learnt["calls"])
        if not is_known:
            return Reference(operations=operations)
        return Reference(RunMoney(*learnt["money"]), learnt["shared"], operations=operations)

    def _shall_survive(self, item: pytest.Item, tried: Trial) -> bool:
        return tried.fault in survivors_of(item, asked_of(item).survives)

    @contextmanager
    def _limited(self, item: pytest.Item, tried: Trial) -> Iterator[None]:
        """End what takes too long, where the system has an alarm for that and nothing else has set
        it."""
        seconds = self.known[test_itself(item.nodeid)]["seconds"]
        limit = (10 * seconds + 10 if self.timeout is None else self.timeout / SECOND) + tried.waits
        is_main = threading.current_thread() is threading.main_thread()
        has_alarm = (
            hasattr(signal, "setitimer") and is_main and not signal.getitimer(signal.ITIMER_REAL)[0]
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
            if time.monotonic() - began >= limit:
                _of(item).hung = f"{limit:.0f}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The matrix of all tests, points and verdicts; and what it leaves open."""
        reports = [report for one in terminalreporter.stats.values() for report in one]
        cells = [getattr(report, _ATTRIBUTE) for report in reports if hasattr(report, _ATTRIBUTE)]
        if self.worker is not None or not self.known:
            return
        terminalreporter.section(TITLE, "-")
        for line in _matrix(cells, self.known):
            terminalreporter.line(line)
        for test, learnt in self.known.items():
            if learnt["why_not"] is not None:
                terminalreporter.line(f"not explored: {test}: {learnt['why_not']}")
            elif learnt["unlike"]:
                terminalreporter.line(f"{test}: {learnt['unlike']}")


def _matrix(cells: Sequence[Mapping[str, Any]], known: Mapping[str, Learnt]) -> Iterator[str]:
    """The tables of all tests with their points, and how many there are of each verdict."""
    found = {(f"{cell['test']} {cell['point']}", cell["fault"]): cell for cell in cells}
    verdicts = {place: cell["verdict"] for place, cell in found.items()}
    words = {
        place: one if one == LEFT_OUT else word(Verdict(one)) for place, one in verdicts.items()
    }
    points = [
        f"{test} {point}" for test, learnt in known.items() for point in points_of(learnt["calls"])
    ]
    yield from tables(points, words)
    yield from legend(set(verdicts.values()))
    for place, cell in found.items():
        if cell["money"]:
            yield from (
                f"{words[place]}  {'/'.join(place)}",
                *(f"    {line}" for line in cell["money"]),
            )
    counts = Counter(verdicts.values())
    yield (
        ", ".join(f"{counts[one]} {one}" for one in (*Verdict, LEFT_OUT) if counts[one])
        or "nothing was tried"
    )


def _place(item: pytest.Item) -> tuple[str, int]:
    path, line, _ = item.reportinfo()
    return str(path), (line or 0) + 1
