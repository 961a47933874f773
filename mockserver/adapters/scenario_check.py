"""Runs the examples of scenarios against the whole sandbox in process: no port, no real time, nothing left behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.errors import Refused
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.record import record
from mockserver.scenario.answers import ready, unexpected
from mockserver.scenario.matching import json_text
from mockserver.scenario.scenario import AdvanceMap, CallMap, ExampleMap, Scenario, TogetherMap, WaitMap

OpenApp = Callable[[Sequence[Scenario]], Any]
"""Makes the ASGI application that runs these scenarios, its machine clock standing still. Its ``open`` opens the
sandbox of a key and gives the answers of the set-up calls by scenario and id; it raises ``Refused``. Its ``idle`` has a
sentence on each scenario of which no rule has fired."""

EXAMPLE_KEY = "sk_example"
WAIT_STEPS = 20
"""Into how many moves of the clock the timeout of a ``wait`` is cut."""

LONGEST_ANSWER = 200
"""Characters of an answer that a report shows."""

_BASE = "http://127.0.0.1:4111"


@record
class ExampleReport:
    """How an example went: ``failure`` is None when all answers were as expected; ``messages`` are the calls that were
    made with what each was answered, card numbers masked; ``idle`` says of an example that passes without any rule of
    its scenario what they wait for."""

    file: str
    line: int
    example: str
    failure: str | None
    messages: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        words = "ok" if self.failure is None else self.failure
        return f"{self.file}:{self.line}: {self.example}: {words}"


class _Unexpected(Exception):
    """An answer that differs from what the example expects."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def check(scenario: Scenario, others: Sequence[Scenario], open_app: OpenApp) -> list[ExampleReport]:
    """Run every example of a scenario, each in a sandbox of its own; ``others`` are in force behind it. A scenario
    without examples still has its setup run. An example ends at its first unexpected answer."""
    return asyncio.run(_check(scenario, others, open_app))


async def _check(scenario: Scenario, others: Sequence[Scenario], open_app: OpenApp) -> list[ExampleReport]:
    reports = []
    for number, example in enumerate(scenario.said.examples or (ExampleMap("opens (no examples)", []),)):
        line = scenario.line("examples", number)
        app = open_app([*others, scenario] if not scenario.builtin else [scenario])
        messages: list[str] = []
        try:
            await _run(app, scenario, number, example, messages)
        except _Unexpected as found:
            reports.append(ExampleReport(scenario.file, found.line, example.name, str(found), tuple(messages)))
        else:
            idle = tuple(map(mask_text, app.idle(EXAMPLE_KEY)))
            findings = await _findings(app)
            place = scenario.file, line, example.name
            reports.append(ExampleReport(*place, None, messages=tuple(messages), idle=idle, findings=findings))
    return reports


def _client(app: Any, **hooks: Any) -> Any:
    import httpx

    transport, key = httpx.ASGITransport(app=app), {"x-secretkey": EXAMPLE_KEY}
    return httpx.AsyncClient(transport=transport, base_url=_BASE, headers=key, event_hooks=hooks)


async def _run(app: Any, scenario: Scenario, number: int, example: ExampleMap, messages: list[str]) -> None:
    async def sent(request: Any) -> None:
        request.extensions["place"] = len(messages)
        messages.append(f"{request.method} {request.url.raw_path.decode('ascii', 'replace')} -> no whole answer")

    async def answered(response: Any) -> None:
        await response.aread()
        asked = response.request
        messages[asked.extensions["place"]] = _message(asked.method, asked.url.raw_path, response)

    answers = _opened(app, scenario)
    async with _client(app, request=[sent], response=[answered]) as client:
        for place, step in enumerate(example.calls):
            line = scenario.line("examples", number, "calls", place)
            match step:
                case CallMap():
                    await _call(client, step, line, answers)
                case TogetherMap():
                    await asyncio.gather(*(_call(client, call, line, answers) for call in step.together))
                case AdvanceMap():
                    await _advance(client, step.advance, line)
                case WaitMap():
                    await _wait(client, step, line, answers)


async def _findings(app: Any) -> tuple[tuple[str, str], ...]:
    """The findings of an example: their names, and what was found."""
    async with _client(app) as client:
        rows = (await client.get("/__admin/findings")).json().get("findings", [])
    return tuple((row["finding"], row["evidence"][-1]["line"] if row["evidence"] else row["title"]) for row in rows)


def _opened(app: Any, scenario: Scenario) -> dict[str, object]:
    """The answers of the set-up calls, which the sandbox runs as it opens. Raises ``_Unexpected`` at the call that is
    refused."""
    try:
        return dict(app.open(EXAMPLE_KEY).get(scenario.name, {}))
    except Refused as refused:
        for place, call in enumerate(scenario.said.setup):
            words = (refused.details or {}).get(f"Setup.{call.id or place}")
            if words is not None:
                raise _Unexpected(scenario.line("setup", place), words) from None
        raise


async def _call(client: Any, call: CallMap, line: int, answers: dict[str, object]) -> None:
    """Make a call; keep its answer under its id. Raises ``_Unexpected``."""
    import httpx

    try:
        asked = ready(call, answers)
    except LookupError as problem:
        raise _Unexpected(line, f"{call}: {problem.args[0]}") from None
    headers, content = dict(asked.headers or {}), None
    if asked.body is not None:
        headers["content-type"] = "application/json"
        content = json_text(asked.body)
    try:
        response = await client.request(asked.method, asked.path, content=content, headers=headers)
    except (ConnectionError, httpx.DecodingError) as cut:
        if asked.expect is None or not asked.expect.fault:
            raise _Unexpected(line, f"{call}: no whole answer came: {cut}") from None
        return
    answer = _read(response.content)
    answers.update({call.id: answer} if call.id is not None else {})
    if asked.expect and (faults := unexpected(asked.expect, response.status_code, response.headers, answer)):
        raise _Unexpected(line, f"{call}: {'; '.join(faults)}")


async def _advance(client: Any, by: Micros, line: int) -> None:
    response = await client.post("/__admin/clock/advance", json={"by": duration_text(by)})
    if response.status_code != 200:
        raise _Unexpected(line, f"the clock would not advance: {response.text}")


async def _wait(client: Any, wait: WaitMap, line: int, answers: dict[str, object]) -> None:
    left = wait.timeout
    while True:
        try:
            await _call(client, wait.call, line, answers)
        except _Unexpected as found:
            if left <= 0:
                raise _Unexpected(line, f"after {duration_text(wait.timeout)}: {found}") from None
        else:
            return
        step = min(left, max(1, wait.timeout // WAIT_STEPS))
        left -= step
        await _advance(client, step, line)


def _message(method: str, path: bytes, response: Any) -> str:
    """A call and its answer in a line: of an error its code and message, else the beginning of the body."""
    said = _read(response.content)
    words = response.text
    if isinstance(said, dict) and "code" in said and "message" in said:
        words = f"code {said['code']} {said['message']}" + "".join(
            f"; {field}: {text}" for field, text in (said.get("details") or {}).items()
        )
    shown = mask_start(words.replace("\n", " "), LONGEST_ANSWER + 1)
    shown = f"{shown[:LONGEST_ANSWER]}..." if len(shown) > LONGEST_ANSWER else shown
    return f"{method} {path.decode('ascii', 'replace')} -> {response.status_code} {shown}"


def _read(raw: bytes) -> object:
    try:
        return json.loads(raw, parse_float=Decimal)
    except ValueError:
        return raw.decode("utf-8", "replace")
