"""The one way every payments operation is served: read, authenticate, decide, act, answer.

The step between arrival and answer is synchronous and happens at one instant of the sandbox's clock: that is the
transaction.
"""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qsl, unquote

from mockserver.assumptions import CREATED_STATUS
from mockserver.domain.clock import SECOND
from mockserver.domain.codes import Code
from mockserver.domain.errors import Refused
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.turn import Turn
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.web.asgi import HungUp, Receive, Scope, Send, TooLarge, headers_of, read_body, send_bytes
from mockserver.web.host import Headers, Host
from mockserver.web.route import Answer, Auth, Call, Route, Success
from mockserver.wire import problems
from mockserver.wire.base import Body, Folded, fold, validate
from mockserver.wire.jsonio import MalformedJson, dumps, loads
from mockserver.wire.profile import voice_of

_NO_FIELDS = Folded({}, [], [])


class Endpoint:
    """One route of the payments API as an ASGI application."""

    def __init__(self, route: Route, host: Host) -> None:
        self.route = route
        self.host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.host.on_request()
        resource: str = scope["path"]
        headers = headers_of(scope)
        try:
            raw = await read_body(receive, scope, self.host.settings.max_body)
        except HungUp:
            return
        except TooLarge:
            await send_bytes(send, 413, dumps(_too_large(resource, self.host.settings.max_body)))
            return
        status, body, turn = self._take(scope, headers, raw, resource)
        if turn is not None and turn.latency:
            await asyncio.sleep(turn.latency / SECOND)
        await send_bytes(send, status, dumps(body))

    def _take(self, scope: Scope, headers: Headers, raw: bytes, resource: str) -> tuple[int, object, Turn | None]:
        host, route = self.host, self.route
        turn = None
        assumed = host.assumed
        try:
            box = host.enter(headers) if route.auth is Auth.SECRET else host.enter_by_either_key(headers)
            assumed = box.assumed
            body, query = self._parts(scope, raw)
            turn = box.turn = Turn(route.op, body.values or query.values, headers)
            turn.ignored = (*body.unknown, *query.unknown)
            box.ask(Stage.ARRIVAL, Attempt(op=route.op, now=box.now, request=turn.request, headers=headers))
            return (*self._act(box, scope, headers, body, query, resource), turn)
        except Refused as refused:
            return (*problems.refusal(refused, resource, assumed), turn)
        except MalformedJson as fault:
            return (*problems.malformed(str(fault), resource), turn)

    def _parts(self, scope: Scope, raw: bytes) -> tuple[Folded, Folded]:
        route = self.route
        body = query = _NO_FIELDS
        if route.body is not None:
            body = fold(route.body, _object(raw))
        if route.query is not None and scope["query_string"]:
            query = fold(route.query, _parameters(scope["query_string"]))
        return body, query

    def _act(
        self, box: Sandbox, scope: Scope, headers: Headers, body: Folded, query: Folded, resource: str
    ) -> tuple[int, object]:
        route = self.route
        strict = box.charter.strict
        call = Call(
            box=box,
            voice=voice_of(box.assumed),
            path=scope["path_params"],
            body=_typed(route.body, body, strict=strict),
            query=_typed(route.query, query, strict=strict),
            headers=headers,
            resource=resource,
        )
        reply = route.handle(call)
        if isinstance(reply, Answer):
            return reply.status, reply.body
        return (box.assume(CREATED_STATUS) if route.success is Success.CREATED else 200), reply


def _typed(model: type[Body] | None, folded: Folded, *, strict: bool) -> Any:
    return None if model is None else validate(model, folded, strict=strict)


def _object(raw: bytes) -> dict[str, Any]:
    """The body as an object: nothing and ``[]`` are empty ones (published facts, 1.0). Raises ``MalformedJson``."""
    if not raw.strip():
        return {}
    value = loads(raw)
    if isinstance(value, dict):
        return value
    if value == []:
        return {}
    raise MalformedJson("wanted a JSON object", 1, 1)


def _parameters(query_string: bytes) -> dict[str, str]:
    """The query by name; a parameter without a value counts as absent, of one given twice the last counts."""
    return dict(parse_qsl(query_string.decode("latin-1"), errors="replace"))


def path_parameter(text: str) -> str:
    """A placeholder's value; some clients encode it twice (published facts, 1.0)."""
    return unquote(text) if "%" in text else text


def _too_large(resource: str, limit: int) -> problems.Problem:
    details = {"Body": f"wanted at most {limit} bytes"}
    return problems.problem(413, Code.VALIDATION_ERROR, Code.VALIDATION_ERROR.message, resource, details)
