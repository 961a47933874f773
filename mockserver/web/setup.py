"""The set-up calls of a scenario: ordinary API calls that run in the moment a sandbox opens, without faults or
waiting, or when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote, urlsplit

from starlette.routing import BaseRoute

from mockserver.domain.codes import Code
from mockserver.domain.errors import invalid
from mockserver.domain.problem import problem
from mockserver.engine import due
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.answers import ready, unexpected
from mockserver.scenario.scenario import CallMap, ReplyMap, Scenario
from mockserver.web.operation import OperationEndpoint
from mockserver.web.request import Reply, Request
from mockserver.web.unrouted import routes_at
from mockserver.wire.jsonio import dumps, loads

_ANSWERED = {"content-type": "application/json; charset=utf-8"}
_SUCCESS = ReplyMap()
_NO_OPERATION = "a set-up call must be an operation of the payments API"


def prepare(sandbox: Sandbox, routes: Sequence[BaseRoute]) -> None:
    """Run the set-up calls of every scenario in force and keep their answers. Raises ``Invalid`` (90) naming the first
    call whose answer is not as expected, and the answer it got."""
    for scenario in sandbox.config.scenarios:
        answers: dict[str, object] = {}
        for name, asked in _calls(scenario, answers):
            status, answer = _run(sandbox, routes, asked)
            _take(name, asked, status, answer, answers)
        if answers:
            sandbox.setup[scenario.name] = answers


async def set_up(sandbox: Sandbox, routes: Sequence[BaseRoute], scenario: Scenario, by: str) -> list[dict[str, object]]:
    """Ask the set-up calls of a scenario now, as requests that the journal says were sent ``by`` something, under the
    rules in force: each call with its status. Raises as ``prepare`` does; what was done before it stays."""
    answers, made = dict[str, object](), list[dict[str, object]]()
    for name, asked in _calls(scenario, answers):
        found = _request(sandbox, routes, asked)
        if found is None:
            raise invalid({name: _NO_OPERATION})
        status, raw = await found[0].send(found[1], by)
        _take(name, asked, status or 0, loads(raw) if status else None, answers)
        made.append({"call": str(asked), "status": status})
    return made


def _calls(scenario: Scenario, answers: Mapping[str, object]) -> Iterator[tuple[str, CallMap]]:
    """The calls of a scenario by their names, each with what it takes of the ``answers`` before it."""
    for place, call in enumerate(scenario.said.setup):
        name = f"Setup.{call.id or place}"
        try:
            yield name, ready(call, answers)
        except LookupError as missing:
            raise invalid({name: str(missing)}) from None


def _take(name: str, asked: CallMap, status: int, answer: object, answers: dict[str, object]) -> None:
    """Keep an answer that is as expected, else refuse it."""
    faults = unexpected(asked.expect or _SUCCESS, status, _ANSWERED, answer)
    if faults and asked.expect is None and isinstance(answer, dict):
        reason = f"{answer.get('code')} {answer.get('message')} {answer.get('details') or ''}"
        raise invalid({name: f"{asked} answered {status}: {reason}"})
    if faults:
        raise invalid({name: f"{asked}: {'; '.join(faults)}"})
    if asked.id is not None:
        answers[asked.id] = answer


def _request(sandbox: Sandbox, routes: Sequence[BaseRoute], call: CallMap) -> tuple[OperationEndpoint, Request] | None:
    """The operation of a call and the request for it; None for what is no operation."""
    target = urlsplit(call.path)
    path = unquote(target.path)
    found, parameters = routes_at(routes, path)
    endpoint = next((route.endpoint for route in found if call.method in (route.methods or ())), None)
    if not isinstance(endpoint, OperationEndpoint):
        return None
    request = Request(
        method=call.method,
        resource=path,
        path=parameters,
        query=target.query.encode(),
        headers={**(call.headers or {}), "x-secretkey": sandbox.key},
        raw=dumps(call.body) if call.body is not None else b"",
        known=sandbox,
    )
    return endpoint, request


def _run(sandbox: Sandbox, routes: Sequence[BaseRoute], call: CallMap) -> tuple[int, object]:
    """Status and body of the answer, read as a client reads them."""
    found = _request(sandbox, routes, call)
    if found is None:
        return 404, problem(404, Code.UNKNOWN_ERROR, "Not Found", call.path, {"Path": _NO_OPERATION})
    endpoint, request = found
    due.run_due(sandbox, sandbox.clock.read(endpoint.world.real_clock()))
    step, arrived = endpoint.arrive(request, sandbox, is_setup=True)
    reply = arrived if isinstance(arrived, Reply) else endpoint.carry_out(request, step)
    if reply.status is None:
        reason = {"Rule": "a rule of a scenario stops it before anything happens"}
        return 503, problem(503, Code.RETRY_LATER, Code.RETRY_LATER.message, call.path, reason)
    return reply.status, loads(reply.text())
