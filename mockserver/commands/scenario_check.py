"""Runs the examples of scenarios against the whole sandbox in process: no port, no real time,
nothing left behind.

An example is a story of calls with what is expected of each. It is run by a client that sends what
any client would and sees the bytes that one would get, through the application as a server runs it,
so an example that passes here passes there. But time moves only where the example says so, and a
scenario with a month of renewals is checked in milliseconds.
"""

import asyncio
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Protocol, TypeAlias
from urllib.parse import quote, unquote, urljoin, urlsplit

from mockserver import __version__
from mockserver.adapters.machine_clock import machine_now
from mockserver.adapters.scenario_files import Files, load
from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.errors import Refused
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.reading import snake
from mockserver.domain.record import mutable, record, replace
from mockserver.scenario.answers import ready, unexpected
from mockserver.scenario.explain import told
from mockserver.scenario.operations import OPERATIONS
from mockserver.scenario.problems import ScenarioProblem
from mockserver.scenario.scenario import (
    AdvanceMap,
    CallMap,
    ExampleMap,
    ReplyMap,
    Scenario,
    TogetherMap,
    WaitMap,
)
from mockserver.scenario.values import json_text
from mockserver.settings import Settings
from mockserver.web.absent_members import scenario_warnings
from mockserver.web.app import Application
from mockserver.web.journaled import attempt_reader
from mockserver.web.request import Answered, call_app


class ExampleApp(Protocol):
    """The ASGI application that an example is played to."""

    def open(self, key: str, /) -> Mapping[str, Mapping[str, object]]:
        """Open the sandbox of a key: the answers of its set-up calls by scenario and id. Raises
        ``Refused``."""
        ...

    async def __call__(self, scope: Any, receive: Any, send: Any, /) -> None: ...


OpenApp: TypeAlias = Callable[[Sequence[Scenario]], ExampleApp]
"""Opens the application that runs these scenarios as if it had just started, its machine clock
standing still."""

RulesAsked: TypeAlias = Callable[[], Iterable[str]]
"""What became of every rule in the example that was just played, line by line."""

EXAMPLE_KEY = "sk_example"
TOGETHER = "together"
"""Stands for the file in the report on several of them."""

WAIT_STEPS = 20
"""Into how many moves of the clock the timeout of a ``wait`` is cut."""

MOST_STEPS = 20
"""Steps of a failing example, the newest, of which a report says what rules were asked."""

LONGEST_ANSWER = 200
"""Characters of an answer that a report shows."""

_HOST = "127.0.0.1:4111"
_BASE = f"http://{_HOST}"
_HEADERS: Mapping[str, str] = {
    "host": _HOST,
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "connection": "keep-alive",
    "user-agent": f"mockserver/{__version__}",
    "x-secretkey": EXAMPLE_KEY,
}
"""What a client sends with every call, where the example says nothing else."""

_WINDOWS = {"gzip": zlib.MAX_WBITS | 16, "deflate": -zlib.MAX_WBITS}
"""How what is compressed is read, by its coding."""

_AS_IT_IS = "/?&=%:+,;@!$'()*|^\\[]"
"""Characters that stand as they are in the path of a call."""

_AS_IT_IS_IN_QUERY = _AS_IT_IS + "{}`"


@record
class ExampleReport:
    """How an example went: ``failure`` is None when all answers were as expected; ``messages`` are
    the calls that were made with what each was answered, card numbers masked; ``idle`` says of an
    example that passes without any rule of its scenario what they wait for; ``rules_asked`` of one
    that fails which rules each call has met, and why the others did not fire, where somebody wants
    to know."""

    file: str
    line: int
    example: str
    failure: str | None
    messages: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()
    rules_asked: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = "ok" if self.failure is None else self.failure
        return f"{self.file}:{self.line}: {self.example}: {words}"


@record
class Checked:
    """A file: its warnings, and how its examples went, or why it or its sandbox is refused."""

    file: str
    warnings: tuple[str, ...]
    examples: tuple[ExampleReport, ...] = ()
    refusal: str | None = None


def unread(problems: Sequence[ScenarioProblem]) -> list[Checked]:
    """The files that could not be read, each with all its problems; these are in the order of the
    files."""
    by_file = groupby(problems, key=attrgetter("file"))
    return [Checked(file, (), refusal="\n".join(map(str, of_file))) for file, of_file in by_file]


class _Unexpected(Exception):
    """An answer that differs from what the example expects."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def checked(scenarios: Sequence[Scenario], *, tells_rules: bool = False) -> Iterator[Checked]:
    """Each scenario with its warnings, and how its examples went before the built-in test values;
    then what the set-ups of several do together. With ``tells_rules`` also which rules those
    examples that fail have met. One application runs them all, its machine clock standing still; it
    begins anew for each."""
    test_values = load([], test_values=True)
    now = machine_now()

    def standing_still() -> Micros:
        return now

    # One application for all: to build one takes longer than most examples.
    app = Application(Settings(), standing_still, Files(list))

    def open_app(in_force: Sequence[Scenario]) -> Application:
        app.world.begin(Files(partial(list, in_force)))
        return app

    rules_asked = partial(_rules_asked, app) if tells_rules else None
    with asyncio.Runner() as runner:
        for scenario in scenarios:
            file = Checked(scenario.file, tuple(map(str, scenario_warnings(scenario))))
            try:
                reports = runner.run(check(scenario, test_values, open_app, rules_asked))
                yield replace(file, examples=tuple(reports))
            except Refused as refused:
                yield replace(file, refusal=str(refused))
        # References may be taken twice, or one file may break what the other makes.
        have_setup = any(scenario.said.setup for scenario in scenarios)
        if len(scenarios) > 1 and have_setup:
            yield runner.run(together(scenarios, test_values, open_app))


async def together(
    scenarios: Sequence[Scenario], others: Sequence[Scenario], open_app: OpenApp
) -> Checked:
    """What the set-ups of several scenarios do in one sandbox, in which all of them are in force:
    how many calls they make, and how many objects there are then. When one is refused this is a
    warning, as the files need not be meant for one server."""
    names = ", ".join(scenario.name for scenario in scenarios if scenario.said.setup)
    try:
        app = open_app([*others, *scenarios])
        app.open(EXAMPLE_KEY)
    except Refused as refused:
        faults = [f"{name}: {words}" for name, words in (refused.details or {}).items()]
        # Some refusals have no faults but only a message.
        reason = "; ".join(faults) or str(refused)
        warning = f"{TOGETHER}:1: warning: the set-up of {names} is refused: {reason}"
        return Checked(TOGETHER, (warning,))
    calls = sum(len(scenario.said.setup) for scenario in scenarios)
    _, sandbox = await _Client(app).ask(CallMap(call="GET /__admin/sandbox"))
    counts = [f"{_spaced(kind)} {count}" for kind, count in sandbox["objects"].items() if count]
    words = f"the set-up of {names} makes {calls} calls: {', '.join(counts)}"
    return Checked(TOGETHER, (), (ExampleReport(TOGETHER, 1, words, None),))


def _spaced(kind: str) -> str:
    """``paymentMethods`` as people write it."""
    return snake(kind).replace("_", " ")


async def check(
    scenario: Scenario,
    others: Sequence[Scenario],
    open_app: OpenApp,
    rules_asked: RulesAsked | None = None,
) -> list[ExampleReport]:
    """Run every example of a scenario, each in a sandbox of its own; ``others`` are in force behind
    it, as at a server. An example ends at its first unexpected answer: those after it build on
    it."""
    examples: Sequence[ExampleMap] = scenario.said.examples
    if not examples:
        # Its set-up runs all the same, which may be wrong.
        examples = (ExampleMap("opens (no examples)", []),)
    in_force = [*others, scenario]
    if scenario.builtin:
        # It is one of the others, which are the built-in ones.
        in_force = [scenario]
    reports = []
    for number, example in enumerate(examples):
        report = await _run_example(scenario, open_app(in_force), number, example)
        if rules_asked is not None and report.failure is not None:
            report = replace(report, rules_asked=tuple(rules_asked()))
        reports.append(report)
    return reports


async def _run_example(
    scenario: Scenario, app: ExampleApp, number: int, example: ExampleMap
) -> ExampleReport:
    """Run the example of a number, from 0, and say how it went."""
    client = _Client(app)
    try:
        client.answers = _answers_of_set_up(app, scenario)
        for place, step in enumerate(example.calls):
            await client.take(step, scenario.line("examples", number, "calls", place))
    except _Unexpected as fault:
        return ExampleReport(
            scenario.file, fault.line, example.name, str(fault), tuple(client.messages)
        )
    # What is asked from here on is no call of the example.
    messages = tuple(client.messages)
    _, page = await client.ask(CallMap(call="GET /__admin/findings"))
    findings = []
    for row in page["findings"]:
        # What time alone has raised has no evidence.
        line = row["title"]
        if row["evidence"]:
            # The newest is the call that raised it.
            line = row["evidence"][-1]["line"]
        findings.append((row["finding"], line))
    return ExampleReport(
        scenario.file,
        scenario.line("examples", number),
        example.name,
        None,
        messages,
        idle=tuple(page["idle"]),
        findings=tuple(findings),
    )


def _rules_asked(app: Application) -> Iterator[str]:
    """What became of every rule in each of the newest steps of the example, line by line."""
    sandbox = app.world.sandboxes.in_memory.get(EXAMPLE_KEY)
    if sandbox is None:
        # None has opened, as its set-up was refused.
        return
    entries = [entry for entry in sandbox.journal.entries if entry.op in OPERATIONS]
    if len(entries) > MOST_STEPS:
        yield f"({len(entries) - MOST_STEPS} steps before these)"
    for entry in entries[-MOST_STEPS:]:
        cause = f"{entry.method} {entry.path}"
        if not entry.method:
            # No call, but time has done it, such as a renewal.
            cause = "came due"
        yield f"{mask_text(cause)}: {entry.op}"
        lines = told(sandbox.config.rules, entry.op, entry.decisions, attempt_reader(entry))
        yield from (f"  {mask_text(line)}" for line in lines)


def _answers_of_set_up(app: ExampleApp, scenario: Scenario) -> dict[str, object]:
    """The answers of the set-up calls, which the sandbox runs as it opens. Raises ``_Unexpected``
    at the call that is refused."""
    try:
        return dict(app.open(EXAMPLE_KEY).get(scenario.name, {}))
    except Refused as refused:
        details = refused.details or {}
        for place, call in enumerate(scenario.said.setup):
            words = details.get(f"Setup.{call.id or place}")
            if words is not None:
                raise _Unexpected(scenario.line("setup", place), words) from None
        raise


@mutable
class _Client:
    """Takes the steps of an example, each of which raises ``_Unexpected``: ``answers`` are those of
    calls with an id, ``messages`` all calls with what each was answered."""

    app: ExampleApp
    answers: dict[str, object] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    async def take(self, step: CallMap | TogetherMap | AdvanceMap | WaitMap, line: int) -> None:
        """Do what one step of the example says, which stands on a line of the scenario's file."""
        match step:
            case CallMap():
                await self._call(step, line)
            case TogetherMap():
                await self._together(step, line)
            case AdvanceMap():
                await self._advance(step.advance, line)
            case WaitMap():
                await self._wait(step, line)

    async def _call(self, call: CallMap, line: int) -> None:
        """Make a call; keep its answer under its id."""
        try:
            filled_in = ready(call, self.answers)
        except LookupError as problem:
            raise _Unexpected(line, f"{call}: {problem.args[0]}") from None
        expect = filled_in.expect
        try:
            answer, body = await self.ask(filled_in)
        except ConnectionError as cut:
            # An example of a fault of the network expects just that.
            if expect is None or not expect.fault:
                raise _Unexpected(line, f"{call}: no whole answer came: {cut}") from None
            return
        if call.id is not None:
            self.answers[call.id] = body
        if expect is None and _is_nowhere(answer.status, body):
            # Nobody means a path that there is not, unless that is what is expected.
            expect = ReplyMap()
        if expect is None:
            return
        faults = unexpected(expect, answer.status, answer.headers, body)
        if faults:
            raise _Unexpected(line, f"{call}: {'; '.join(faults)}")

    async def _together(self, calls: TogetherMap, line: int) -> None:
        """Make calls at once. The first that is answered unexpectedly ends the others, as it would
        end the example."""
        try:
            async with asyncio.TaskGroup() as group:
                for call in calls.together:
                    group.create_task(self._call(call, line))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None

    async def _advance(self, by: Micros, line: int) -> None:
        """Move the clock of the sandbox, by the call with which a test would do it."""
        answer, _ = await self.ask(
            CallMap(call="POST /__admin/clock/advance", body={"by": duration_text(by)})
        )
        if answer.status != 200:
            text = answer.raw.decode("utf-8", "replace")
            raise _Unexpected(line, f"the clock would not advance: {text}")

    async def _wait(self, wait: WaitMap, line: int) -> None:
        """Make a call until it is answered as expected, moving the clock in between; nobody waits
        in real time."""
        left = wait.timeout
        while True:
            try:
                await self._call(wait.call, line)
                return
            except _Unexpected as fault:
                if left <= 0:
                    words = f"after {duration_text(wait.timeout)}: {fault}"
                    raise _Unexpected(line, words) from None
            step = min(left, max(1, wait.timeout // WAIT_STEPS))
            left -= step
            await self._advance(step, line)

    async def ask(self, call: CallMap) -> tuple[Answered, Any]:
        """The answer to a call, which becomes a message, and what its body holds. Raises
        ``ConnectionError`` when no whole answer comes."""
        url = urlsplit(urljoin(_BASE, call.path))
        path = quote(url.path or "/", safe=_AS_IT_IS)
        query = quote(url.query, safe=_AS_IT_IS_IN_QUERY)
        target = f"{path}?{query}" if query else path
        # Others may be added while this one waits for its answer.
        place = len(self.messages)
        self.messages.append(f"{call.method} {target} -> no whole answer")
        content = b""
        headers = {**_HEADERS, **(call.headers or {})}
        if call.body is not None:
            content = json_text(call.body).encode()
            headers |= {"content-type": "application/json", "content-length": str(len(content))}
        answer = await call_app(
            self.app, call.method, unquote(path), query.encode(), headers, content
        )
        _check_coding(answer)
        body = _body_of(answer.raw)
        in_short = _answer_in_short(answer.raw, body)
        self.messages[place] = f"{call.method} {target} -> {answer.status} {in_short}"
        return answer, body


def _is_nowhere(status: int, body: object) -> bool:
    """Whether the server says that it has no such path, or not with this method. A charge that is
    not there is 404 too, so the words of the answer decide (``web/unrouted.py``)."""
    if status not in (404, 405) or not isinstance(body, dict):
        return False
    details = body.get("details")
    if not isinstance(details, dict):
        return False
    return "Method" in details or str(details.get("Path")).startswith("no such route")


def _check_coding(answer: Answered) -> None:
    """Raise ``ConnectionError`` for an answer that is not coded as it says: no client can read
    it."""
    for coding in answer.headers.get("content-encoding", "").lower().split(","):
        window = _WINDOWS.get(coding.strip())
        if window is None:
            continue
        try:
            zlib.decompressobj(window).decompress(answer.raw)
        except zlib.error as fault:
            raise ConnectionError(str(fault)) from None


def _answer_in_short(raw: bytes, body: object) -> str:
    """An answer in a line: of an error its code and message, else the beginning of the body."""
    words = raw.decode("utf-8", "replace")
    if isinstance(body, dict) and "code" in body and "message" in body:
        words = f"code {body['code']} {body['message']}"
        for field, text in (body.get("details") or {}).items():
            words += f"; {field}: {text}"
    # One more than is shown, which says whether there is more.
    start = mask_start(words.replace("\n", " "), LONGEST_ANSWER + 1)
    if len(start) <= LONGEST_ANSWER:
        return start
    return f"{start[:LONGEST_ANSWER]}..."


def _body_of(raw: bytes) -> object:
    """What a body holds: the value of JSON, any other text as it is."""
    try:
        return json.loads(raw, parse_float=Decimal)
    except ValueError:
        return raw.decode("utf-8", "replace")
