"""The set-up calls of a scenario: ordinary API calls that run in the moment a sandbox opens, without faults or
waiting."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from starlette.routing import BaseRoute

from mockserver.domain.codes import Code
from mockserver.domain.errors import invalid
from mockserver.domain.problem import problem
from mockserver.engine import due
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.answers import ready, unexpected
from mockserver.scenario.scenario import CallMap, ReplyMap
from mockserver.web.operation import OperationEndpoint
from mockserver.web.request import Reply, Request
from mockserver.web.unrouted import routes_at
from mockserver.wire.jsonio import dumps, loads

_ANSWERED = {"content-type": "application/json; charset=utf-8"}
_SUCCESS = ReplyMap()


def prepare(sandbox: Sandbox, routes: Sequence[BaseRoute]) -> None:
    """Run the set-up calls of every scenario in force and keep their answers. Raises ``Invalid`` (90) naming the first
    call whose answer is not as expected, and the answer it got."""
    for scenario in sandbox.config.scenarios:
        answers: dict[str, object] = {}
        for place, call in enumerate(scenario.setup):
            name = f"Setup.{call.id or place}"
            try:
                asked = ready(call, answers)
            except LookupError as missing:
                raise invalid({name: str(missing)}) from None
            status, answer = _run(sandbox, routes, asked)
            faults = unexpected(asked.expect or _SUCCESS, status, _ANSWERED, answer)
            if faults and asked.expect is None and isinstance(answer, dict):
                reason = f"{answer.get('code')} {answer.get('message')} {answer.get('details') or ''}"
                raise invalid({name: f"{asked} answered {status}: {reason}"})
            if faults:
                raise invalid({name: f"{asked}: {'; '.join(faults)}"})
            if call.id is not None:
                answers[call.id] = answer
        if answers:
            sandbox.setup[scenario.name] = answers


def _run(sandbox: Sandbox, routes: Sequence[BaseRoute], call: CallMap) -> tuple[int, object]:
    """Status and body of the answer, read as a client reads them."""
    target = urlsplit(call.path)
    path = unquote(target.path)
    found, parameters = routes_at(routes, path)
    endpoint = next((route.endpoint for route in found if call.method in (route.methods or ())), None)
    if not isinstance(endpoint, OperationEndpoint):
        reason = {"Path": "a set-up call must be an operation of the payments API"}
        return 404, problem(404, Code.UNKNOWN_ERROR, "Not Found", path, reason)
    request = Request(
        method=call.method,
        resource=path,
        path=parameters,
        query=target.query.encode(),
        headers={**(call.headers or {}), "x-secretkey": sandbox.key},
        raw=dumps(call.body) if call.body is not None else b"",
        known=sandbox,
    )
    due.run_due(sandbox, sandbox.clock.read(endpoint.world.real_clock()))
    step, arrived = endpoint.arrive(request, sandbox, is_setup=True)
    reply = arrived if isinstance(arrived, Reply) else endpoint.carry_out(request, step)
    if reply.status is None:
        reason = {"Rule": "a rule of a scenario stops it before anything happens"}
        return 503, problem(503, Code.RETRY_LATER, Code.RETRY_LATER.message, path, reason)
    return reply.status, loads(reply.text())
