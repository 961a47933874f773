"""The pytest plugin: a server for the session, a sandbox for each test (docs/pytest.md).

A test fails that leaves an expectation of its rules unmet, whose books differ, or whose client did
something wrong (``pytest_findings``). With ``--mockserver-explore`` each test is run again under
each fault (``pytest_explore``). Nothing is started, and nothing but this module and
``pytest_findings`` imported, until a test asks for a fixture: pytest loads an installed plugin for
every suite on the machine, most of which have nothing to do with payments.

The server is a process of its own, shared by a session; what keeps tests apart is the key of each,
which opens an empty sandbox. Its ids come from the key, so the key comes from the name of the test.
"""

from __future__ import annotations

import subprocess
from argparse import SUPPRESS
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from copy import copy
from dataclasses import field
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from mockserver import pytest_findings
from mockserver.domain.record import mutable
from mockserver.pytest_findings import MARKER, marker_of, sandbox_key, sandbox_of, shop_rows_of

if TYPE_CHECKING:
    from mockserver.remote import ControlLine, RemoteSandbox

MARK_LENGTH = 100
"""Characters that a mark may have. Of the name of a test the end is taken, which says more."""

TIMELINE_TITLE = "mockserver timeline"
SESSION_KEY = "sk_session"
"""Secret key of the sandbox of an application that is started once for all tests."""

_QUIET = ("--log-level", "warning")
_EXPLORE = "--mockserver-explore"
_COVERAGE = "--mockserver-coverage"


@mutable
class Server:
    """A running server process. ``url`` has no trailing slash."""

    url: str
    process: subprocess.Popen[bytes]
    line: ControlLine
    """The connections of all tests' control calls."""
    tests: Counter[str] = field(default_factory=Counter)

    def key_of(self, test: str) -> str:
        """A secret key for one run of a test: the same in every session, so that its ids are too. A
        test that is run again, as by a plugin that repeats failing ones, gets another: its sandbox
        must be empty."""
        self.tests[test] += 1
        return f"sk_test_{sha256(f'{test} {self.tests[test]}'.encode()).hexdigest()[:32]}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of ``pytest``; all begin with the product's name, as other plugins have
    theirs."""
    words = "the least finding that fails a test: off, note, warning or error"
    parser.addini(pytest_findings.ATTRIBUTE, words, default="error")
    group = parser.getgroup("mockserver")
    group.addoption(
        "--mockserver-findings", choices=pytest_findings.LEVELS, help=f"{words} (the default)"
    )
    group.addoption(
        _EXPLORE,
        nargs="?",
        const="usual",
        metavar="FAULTS",
        help="run each test that has a sandbox again under each fault at each of its calls; "
        "FAULTS: some of them only, such as lost_answer,webhook_twice",
    )
    limits = {
        "budget": "how long that may take, such as 10m: the likeliest mistakes first",
        "timeout": "when one of these runs hangs; default: 10 times as long as without the fault, "
        "and 10s",
        "client-timeout": "how long the tested code waits for an answer; default 30s: the fault "
        "too_slow answers a second later",
    }
    for limit, words in limits.items():
        group.addoption(f"{_EXPLORE}-{limit}", metavar="TIME", help=words)
    # Given by the session itself, to the process in which it learns.
    group.addoption(f"{_EXPLORE}-learn", help=SUPPRESS)
    group.addoption(
        _COVERAGE,
        metavar="FILE",
        help="write which failures the tests have met, for `mockserver coverage`",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    """An option that may be given without a value must not take the path behind it for one, in
    ``pytest --mockserver-explore tests``."""
    if _EXPLORE in args:
        args[:] = [f"{_EXPLORE}=usual" if argument == _EXPLORE else argument for argument in args]
        # pytest has read the arguments once already, to find its plugins.
        early_config.known_args_namespace = parser.parse_known_args(
            args, namespace=copy(early_config.option)
        )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}: scenario (a map, YAML text, path or shipped name), profile and clock of the "
        "test's sandbox, the "
        "findings that it may have, the faults under which it must pass, and the function "
        "module:name that gives the "
        "shop's books",
    )
    # A wrong level ends the session here, and not at the end of its first test.
    pytest_findings.level_of(config)
    if config.getoption(f"{_EXPLORE}-learn"):
        from mockserver.pytest_learn import Learner

        config.pluginmanager.register(Learner(config))
    elif config.getoption(_EXPLORE):
        from mockserver.pytest_explore import Explorer

        config.pluginmanager.register(Explorer(config))


@pytest.fixture(scope="session")
def mockserver_args() -> Sequence[str]:
    """Options of ``mockserver serve`` for the session's server: override it to give some, such as
    ``["--seed", "7"]``.

    The environment's ``MOCKSERVER_`` variables do not count, so that a test means the same
    everywhere.
    """
    return ()


@pytest.fixture(scope="session")
def mockserver_server(
    request: pytest.FixtureRequest,
    mockserver_args: Sequence[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    """The session's server, on a free port of the loopback address; under xdist one for each
    worker."""
    __tracebackhide__ = True
    from mockserver.adapters.local_server import start, stop
    from mockserver.remote import ControlLine

    url, process = start([*_QUIET, *mockserver_args], tmp_path_factory.mktemp("mockserver"))
    server = Server(url, process, ControlLine(url))
    yield server
    # Only now all tests have met what they meet.
    if request.config.getoption(_COVERAGE) or request.config.getoption(_EXPLORE):
        pytest_findings.note_coverage(request.config, server.url)
    server.line.close()
    stop(process)


@pytest.fixture
def mockserver(
    request: pytest.FixtureRequest, mockserver_server: Server
) -> Iterator[RemoteSandbox]:
    """A sandbox of the test's own: own key, objects, clock, scenario, journal and inbox. It lasts
    as long as the session's server."""
    __tracebackhide__ = True
    from mockserver.remote import RemoteSandbox

    item = request.node
    folders = [request.path.parent, request.config.rootpath]
    key = mockserver_server.key_of(item.nodeid)
    sandbox = RemoteSandbox(mockserver_server.url, key, folders, line=mockserver_server.line)
    # At once, so that a scenario that is refused still leaves a timeline to report.
    item.stash[sandbox_key] = sandbox
    marker = marker_of(item)
    # Both are asked for later: here a misspelt name is refused, before the test has run.
    pytest_findings.allowed_by(item, marker.allow)
    if marker.survives is not None:
        from mockserver.pytest_explore import survivors_of

        survivors_of(item, marker.survives)
    if marker.profile is not None:
        sandbox.assume({"profile": marker.profile})
    if marker.scenario is not None:
        sandbox.scenario(marker.scenario)
    if marker.clock is not None:
        sandbox.clock.start(marker.clock)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session")
def mockserver_session(
    mockserver_server: Server, request: pytest.FixtureRequest
) -> Iterator[RemoteSandbox]:
    """One sandbox for an application that is started once: a fixed key, known early enough to start
    a process with."""
    from mockserver.remote import RemoteSandbox

    sandbox = RemoteSandbox(mockserver_server.url, SESSION_KEY, [request.config.rootpath])
    yield sandbox
    sandbox.close()


@pytest.fixture
def mockserver_app(
    request: pytest.FixtureRequest, mockserver_session: RemoteSandbox
) -> Iterator[RemoteSandbox]:
    """The session's sandbox for one test: what it did is judged and reported from here on."""
    mockserver_session.mark(request.node.nodeid[-MARK_LENGTH:])
    mockserver_session.judged = mockserver_session.has_books = False
    mockserver_session.is_unsafe = mockserver_session.has_raised = False
    mockserver_session.invariants.clear()
    request.node.stash[sandbox_key] = mockserver_session
    yield mockserver_session
    # What the session itself asks for after this test is about all of the sandbox again.
    mockserver_session.since = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that passed while its client did something wrong, or a rule's ``expect`` is not
    met nor reported. One that fails by itself raises here, and is not judged: it has its reason."""
    yield
    sandbox = sandbox_of(item)
    if sandbox is not None:
        _judge(item, sandbox)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the timeline of the sandbox to the report of a failing test: what the client asked often
    says more than the assertion. Once fixtures are torn down the sandbox may be out of reach."""
    report = yield
    sandbox = sandbox_of(item)
    if sandbox is not None and report.failed and report.when in ("setup", "call"):
        report.sections.append((TIMELINE_TITLE, _timeline(sandbox)))
    pytest_findings.note(item, report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell the findings of all tests, those too that fail none, and what failures were met."""
    pytest_findings.summarise(terminalreporter)
    pytest_findings.report_coverage(terminalreporter, terminalreporter.config.getoption(_COVERAGE))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: pytest_findings.WorkerNode) -> None:
    """A worker of xdist has ended: what its tests have met counts too."""
    # One that has crashed hands nothing over.
    output = getattr(node, "workeroutput", {})
    pytest_findings.add_coverage(node.config, output.get(pytest_findings.COVERED, []))


def _judge(item: pytest.Item, sandbox: RemoteSandbox) -> None:
    """Fail the test for books that differ, unmet expectations of rules or findings. Where the
    server does not answer, nothing is known against the test, and it passes."""
    __tracebackhide__ = True
    from httpx import HTTPError

    from mockserver.remote import ControlRefused, VerificationFailed

    unmet = ""
    allowed = pytest_findings.allowed_by(item, marker_of(item).allow)
    try:
        rows = shop_rows_of(item)
        if rows is not None:
            sandbox.books(rows)
        unmet = pytest_findings.judge(item, sandbox, allowed)
    except (VerificationFailed, ControlRefused) as failed:
        unmet = str(failed)
    except HTTPError:
        pass
    # Without a traceback, which would lead into this module.
    if unmet:
        pytest.fail(unmet, pytrace=False)


def _timeline(sandbox: RemoteSandbox) -> str:
    """What was asked of the sandbox, as lines; why there are none when it cannot be read."""
    from httpx import HTTPError

    from mockserver.remote import ControlRefused

    try:
        return sandbox.report("timeline")
    except (ControlRefused, HTTPError) as problem:
        return f"the journal could not be read: {problem}"
