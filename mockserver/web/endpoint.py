"""The one way every payments operation is served: read, authenticate, decide, act, answer.

The step between arrival and answer is synchronous and happens at one instant of the sandbox's clock: that is the
transaction. Time that a scenario asks for is spent before it or after it, never inside.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any
from urllib.parse import unquote

from mockserver.assumptions.table import CREATED_STATUS, DECIMAL_COMMA, IDEMPOTENCY, JSON_DEPTH, UNKNOWN_FIELDS
from mockserver.domain.clock import SECOND, Micros, duration_text
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, Refused
from mockserver.domain.record import record
from mockserver.engine import aftermath, due, idempotency
from mockserver.engine.facts import state_of
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.turn import Turn, Unreached
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import SILENCE
from mockserver.scenario.outcome import At, FaultKind, Transport
from mockserver.web import watching
from mockserver.web.access import STEP
from mockserver.web.asgi import (
    JSON_TYPE,
    NOSNIFF,
    HungUp,
    Receive,
    Scope,
    Send,
    TooLarge,
    headers_of,
    read_body,
    send_bytes,
)
from mockserver.web.exchange import Reply, Request, note
from mockserver.web.faults import Conversation
from mockserver.web.host import Headers, Host
from mockserver.web.route import Answer, Auth, Call, Route, Success
from mockserver.wire import problems
from mockserver.wire.base import Body
from mockserver.wire.fields import NO_FIELDS, Fields
from mockserver.wire.jsonio import MalformedJson, dumps
from mockserver.wire.profile import voice_of
from mockserver.wire.salvage import invented, salvage


@record
class Arrival:
    """An authenticated request: its sandbox, its step, what was sent, and a fault that strikes before anything
    happens."""

    box: Sandbox
    turn: Turn
    body: Fields
    query: Fields
    fault: Transport | None


class Endpoint:
    """One route of the payments API as an ASGI application."""

    def __init__(self, route: Route, host: Host) -> None:
        self.route = route
        self.host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.host.on_request()
        headers = headers_of(scope)
        try:
            raw = await read_body(receive, scope, self.host.settings.max_body)
        except HungUp:
            return
        except TooLarge:
            await send_bytes(send, 413, dumps(_too_large(scope["path"], self.host.settings.max_body)))
            return
        try:
            box = self._known(headers)
        except Refused as refused:
            status, problem = problems.refusal(refused, scope["path"], self.host.assumed)
            await send_bytes(send, status, dumps(problem))
            return
        self.host.run(box)
        if due.is_behind(box):
            await self.host.catch_up(box)
        request = Request(scope["path"], scope["path_params"], scope["query_string"], headers, raw)
        limit = self.host.rate_limit
        if limit is not None and (wait := limit.take(box.key, self.host.real_clock())):
            await self._put_off(scope, send, box, request, wait)
            return
        arrived = self.arrive(box, request)
        scope[STEP] = box, box.turn
        turn = arrived.turn
        turn.answered = False
        try:
            await self._answer(scope, receive, send, box, request, arrived)
        finally:
            turn.answered = True
            if turn.watched:
                watching.ended(box, turn, self.host.real_clock(), is_gone=_is_gone(receive))
            if turn.webhooks:
                self.host.answered(box, turn)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, box: Sandbox, request: Request, arrived: Arrival | Reply
    ) -> None:
        if isinstance(arrived, Arrival) and arrived.fault is not None:
            if arrived.fault.kind is not FaultKind.DELAY:
                self.note(box, request, Reply(None, None, arrived.turn, arrived.fault), b"")
                await Conversation(scope, receive, send).strike(arrived.fault)
                return
            await asyncio.sleep(arrived.fault.delay / SECOND)
            await self.host.catch_up(box)
        ahead, ready = self.route.ahead, None
        if ahead is not None and isinstance(arrived, Arrival):
            ready = await self.host.in_slices(box, ahead(box, arrived.turn))
        reply = self.act(arrived, request, ready) if isinstance(arrived, Arrival) else arrived
        body = reply.text()
        self.note(box, request, reply, body)
        if reply.turn.urgent:
            await self.host.hurry(box, reply.turn)
        if reply.turn.latency:
            await asyncio.sleep(reply.turn.latency / SECOND)
        if reply.fault is not None:
            await Conversation(scope, receive, send, reply.status or 503, body).strike(reply.fault)
        else:
            await send_bytes(send, reply.status or 200, body)

    async def _put_off(self, scope: Scope, send: Send, box: Sandbox, request: Request, wait: Micros) -> None:
        """Refuse a request unread. It is an entry of the journal, but none that could be taken again."""
        limit = self.host.settings.rate_limit
        told = (
            f"got more than {limit} calls in a second, allowed: {limit} for each sandbox (--rate-limit); "
            f"the next one is taken in {duration_text(wait)}"
        )
        status, problem = problems.too_many({"RateLimit": told}, request.resource)
        turn = box.turn = Turn(self.route.op, answers=True, headers=request.headers, path=request.path)
        turn.pause = -(-wait // SECOND) * SECOND
        scope[STEP] = box, turn
        body = dumps(problem)
        self.note(box, request, Reply(status, problem, turn, repeatable=False), body)
        await send_bytes(send, status, body, (JSON_TYPE, NOSNIFF, (b"retry-after", b"%d" % (turn.pause // SECOND))))

    def take(self, box: Sandbox, request: Request) -> Reply:
        """The reply to a request, without faults of the connection and without waiting."""
        arrived = self.arrive(box, request)
        return self.act(arrived, request) if isinstance(arrived, Arrival) else arrived

    def _known(self, headers: Headers) -> Sandbox:
        host = self.host
        return host.known(headers) if self.route.auth is Auth.SECRET else host.known_by_either_key(headers)

    def note(self, box: Sandbox, request: Request, reply: Reply, body: bytes) -> None:
        """Keep the step in the journal."""
        route = self.route
        model = route.body or route.query
        note(self.host, box, route.method, request, reply, body, door=self if reply.repeatable else None, model=model)

    def arrive(self, box: Sandbox, request: Request) -> Arrival | Reply:
        """Read the request and ask the rules of arrival; or the reply that refuses."""
        headers = request.headers
        turn = box.turn = Turn(self.route.op, answers=True, headers=headers, path=request.path)
        try:
            body, query = self._parts(request, box)
        except MalformedJson as malformed:
            return Reply(*problems.malformed(str(malformed), request.resource), turn)
        turn.request = query if request.query and not body else body
        try:
            fault = self._early_fault(box, turn)
        except Refused as refused:
            _note_ignored(turn, body, query)
            return Reply(*problems.refusal(refused, request.resource, box.assumed), turn)
        if fault is not None:
            _note_ignored(turn, body, query)
        return Arrival(box, turn, body, query, fault)

    def _early_fault(self, box: Sandbox, turn: Turn) -> Transport | None:
        """What the rules of arrival do to the request before anything happens."""
        if not box.director.listens(Stage.ARRIVAL, turn.op):
            turn.decisions.append(SILENCE[Stage.ARRIVAL])
            return None
        asked = Attempt(
            op=turn.op, now=box.now, request=turn.request, headers=turn.headers, state=partial(state_of, box)
        )
        fault = box.ask(Stage.ARRIVAL, asked).outcome.transport
        return fault if fault is not None and fault.at is At.RECEIVE else None

    def act(self, arrived: Arrival, request: Request, ready: object = None) -> Reply:
        """Carry the operation out, in one step, unless it repeats one; ``ready`` is what was made ahead of it."""
        if (
            idempotency.HEADER in request.headers
            and arrived.box.assumed[IDEMPOTENCY] == "by_header"
            and self.route.method != "GET"
        ):
            return self._act_once(arrived, request, ready)
        return self._carry_out(arrived, request, ready)

    def _act_once(self, arrived: Arrival, request: Request, ready: object) -> Reply:
        """The first answer under the request's idempotency key, or a new one (assumption ``request.idempotency``)."""
        box, turn, keys = arrived.box, arrived.turn, arrived.box.idempotency
        box.turn = turn
        box.assume(IDEMPOTENCY)
        key, asked = request.headers[idempotency.HEADER], (request.resource, request.query, request.raw)
        try:
            first = keys.first(box, key, asked)
        except Refused as refused:
            return Reply(*problems.refusal(refused, request.resource, box.assumed), turn, repeatable=False)
        if first is not None:
            return Reply(first.status, first.answer.encode(), turn)
        reply = self._carry_out(arrived, request, ready)
        if reply.status is None:
            return reply
        text = reply.text()
        keys.keep(box, key, asked, reply.status, text)
        return Reply(reply.status, text, turn, reply.fault)

    def _carry_out(self, arrived: Arrival, request: Request, ready: object) -> Reply:
        box, turn, route = arrived.box, arrived.turn, self.route
        strict = box.charter.strict or box.assumed[UNKNOWN_FIELDS] == "refuse"
        box.turn = turn
        try:
            try:
                body = _typed(route.body, arrived.body, strict=strict)
            except Invalid as refused:
                raise self._every_fault(arrived, request, refused) from None
            try:
                query = _typed(route.query, arrived.query, strict=strict)
            except Invalid as refused:
                raise self._every_fault_of_search(arrived, request, refused) from None
            finally:
                _note_ignored(turn, arrived.body, arrived.query)
            call = Call(
                box=box,
                voice=voice_of(box.assumed),
                path=turn.path,
                body=body,
                query=query,
                headers=request.headers,
                resource=request.resource,
                ready=ready,
            )
            reply = route.handle(call)
            aftermath.of_step(box)
        except Refused as refused:
            turn.assumed += problems.shaped_by(refused)
            return Reply(*problems.refusal(refused, request.resource, box.assumed), turn, _spoiling(turn))
        except Unreached as unreached:
            return Reply(None, None, turn, unreached.fault)
        if isinstance(reply, Answer):
            return Reply(reply.status, reply.body, turn, _spoiling(turn))
        status = box.assume(CREATED_STATUS) if route.success is Success.CREATED else 200
        return Reply(status, reply, turn, _spoiling(turn))

    def _every_fault(self, arrived: Arrival, request: Request, refused: Invalid) -> Invalid:
        """The faults of a body's form, and with them those of its content, as far as the rest of it tells them.

        The operation is tried with the sound fields alone, under the faults that are known: its checks begin with
        ``box.faults()``, so it must refuse. Where there is but one field, nothing is left to tell.
        """
        route, told = self.route, refused.details or {}
        model = route.body
        body = salvage(model, arrived.body.folded) if model is not None and len(model.model_fields) > 1 else None
        if body is None:
            return refused
        box = arrived.box
        arrived.turn.told = told
        call = Call(
            box=box,
            voice=voice_of(box.assumed),
            path=arrived.turn.path,
            body=body,
            query=_typed(route.query, arrived.query, strict=False),
            headers=request.headers,
            resource=request.resource,
        )
        try:
            route.handle(call)
        except Invalid as more:
            named = {*told, *(field.rsplit(".", 1)[-1] for field in told), *invented(model, told)}
            found = {field: text for field, text in (more.details or {}).items() if field not in named}
            return Invalid(Code.VALIDATION_ERROR, {**told, **found})
        except Refused:
            return refused
        raise RuntimeError(f"{route.op} went ahead although its request was faulty")

    def _every_fault_of_search(self, arrived: Arrival, request: Request, refused: Invalid) -> Invalid:
        """The faults of a query's form, and with them those of its content: reading changes nothing, so the sound
        parameters are tried."""
        route, told = self.route, refused.details or {}
        query = (
            salvage(route.query, arrived.query.folded) if route.query is not None and route.method == "GET" else None
        )
        if query is None:
            return refused
        box = arrived.box
        call = Call(
            box=box,
            voice=voice_of(box.assumed),
            path=arrived.turn.path,
            body=None,
            query=query,
            headers=request.headers,
            resource=request.resource,
        )
        try:
            route.handle(call)
        except Invalid as more:
            return Invalid(Code.VALIDATION_ERROR, {**(more.details or {}), **told})
        except Refused:
            return refused
        return refused

    def _parts(self, request: Request, box: Sandbox) -> tuple[Fields, Fields]:
        route = self.route
        body = query = NO_FIELDS
        commas = box.assumed[DECIMAL_COMMA] == "read"
        if route.body is not None:
            body = Fields.of_body(route.body, request.raw, box.assumed[JSON_DEPTH], commas=commas)
        if request.query:
            query = Fields.of_query(route.query or Body, request.query, commas=commas)
        return body, query


def _is_gone(receive: Receive) -> bool:
    """Whether the client has hung up, as far as the server can say without waiting."""
    is_gone = getattr(receive, "is_gone", None)
    return is_gone is not None and is_gone()


def _note_ignored(turn: Turn, body: Fields, query: Fields) -> None:
    """Tell the journal which fields nobody knows."""
    if body.unknown or query.unknown:
        turn.ignored = (*body.unknown, *query.unknown)


def _spoiling(turn: Turn) -> Transport | None:
    """The fault that strikes the answer of a step that has happened."""
    for decision in turn.decisions:
        fault = decision.outcome.transport
        if fault is not None and fault.at is At.ANSWER:
            return fault
    return None


def _typed(model: type[Body] | None, fields: Fields, *, strict: bool) -> Any:
    if model is not None:
        return fields.typed(model, strict=strict)
    if strict and fields.unknown:
        fields.typed(Body, strict=True)
    return None


def path_parameter(text: str) -> str:
    """A placeholder's value; some clients encode it twice (published facts, 1.0)."""
    return unquote(text) if "%" in text else text


def _too_large(resource: str, limit: int) -> problems.Problem:
    details = {"Body": f"wanted at most {limit} bytes"}
    return problems.problem(413, Code.VALIDATION_ERROR, Code.VALIDATION_ERROR.message, resource, details)
