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
from mockserver.engine import due, idempotency, step_effects
from mockserver.engine.facts import state_of
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step, Unreached
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
from mockserver.wire.profile import profile_of


@record
class Arrival:
    """An authenticated request: its sandbox, its step, what was sent, and a fault that strikes before anything
    happens."""

    sandbox: Sandbox
    step: Step
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
            sandbox = self._known(headers)
        except Refused as refused:
            status, problem = problems.refusal(refused, scope["path"], self.host.assumed)
            await send_bytes(send, status, dumps(problem))
            return
        self.host.run(sandbox)
        if due.is_behind(sandbox):
            await self.host.catch_up(sandbox)
        request = Request(scope["path"], scope["path_params"], scope["query_string"], headers, raw)
        limit = self.host.rate_limit
        if limit is not None and (wait := limit.take(sandbox.key, self.host.real_clock())):
            await self._put_off(scope, send, sandbox, request, wait)
            return
        arrived = self.arrive(sandbox, request)
        scope[STEP] = sandbox, sandbox.step
        step = arrived.step
        step.answered = False
        try:
            await self._answer(scope, receive, send, sandbox, request, arrived)
        finally:
            step.answered = True
            if step.watched:
                watching.ended(sandbox, step, self.host.real_clock(), is_gone=_is_gone(receive))
            if step.webhooks:
                self.host.answered(sandbox, step)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, sandbox: Sandbox, request: Request, arrived: Arrival | Reply
    ) -> None:
        if isinstance(arrived, Arrival) and arrived.fault is not None:
            if arrived.fault.kind is not FaultKind.DELAY:
                self.note(sandbox, request, Reply(None, None, arrived.step, arrived.fault), b"")
                await Conversation(scope, receive, send).strike(arrived.fault)
                return
            watching.arrived(sandbox, arrived.step, self.host.real_clock())
            await asyncio.sleep(arrived.fault.delay / SECOND)
            await self.host.catch_up(sandbox)
        ahead, ready = self.route.ahead, None
        if ahead is not None and isinstance(arrived, Arrival):
            ready = await self.host.in_slices(sandbox, ahead(sandbox, arrived.step))
        reply = self.act(arrived, request, ready) if isinstance(arrived, Arrival) else arrived
        body = reply.text()
        self.note(sandbox, request, reply, body)
        if reply.step.urgent:
            await self.host.flush_webhooks(sandbox, reply.step)
        if reply.step.latency:
            await asyncio.sleep(reply.step.latency / SECOND)
        if reply.fault is not None:
            await Conversation(scope, receive, send, reply.status or 503, body).strike(reply.fault)
        else:
            await send_bytes(send, reply.status or 200, body)

    async def _put_off(self, scope: Scope, send: Send, sandbox: Sandbox, request: Request, wait: Micros) -> None:
        """Refuse a request unread. It is an entry of the journal, but none that could be taken again."""
        limit = self.host.settings.rate_limit
        told = (
            f"got more than {limit} calls in a second, allowed: {limit} for each sandbox (--rate-limit); "
            f"the next one is taken in {duration_text(wait)}"
        )
        status, problem = problems.too_many({"RateLimit": told}, request.resource)
        step = sandbox.step = Step(self.route.op, answers=True, headers=request.headers, path=request.path)
        step.pause = -(-wait // SECOND) * SECOND
        scope[STEP] = sandbox, step
        body = dumps(problem)
        self.note(sandbox, request, Reply(status, problem, step, repeatable=False), body)
        await send_bytes(send, status, body, (JSON_TYPE, NOSNIFF, (b"retry-after", b"%d" % (step.pause // SECOND))))

    def take(self, sandbox: Sandbox, request: Request, *, counts: bool = True) -> Reply:
        """The reply to a request, without faults of the connection and without waiting. One that does not count has no
        number among the calls of its operation."""
        arrived = self.arrive(sandbox, request, counts=counts)
        return self.act(arrived, request) if isinstance(arrived, Arrival) else arrived

    def _known(self, headers: Headers) -> Sandbox:
        host = self.host
        return host.known(headers) if self.route.auth is Auth.SECRET else host.known_by_either_key(headers)

    def note(self, sandbox: Sandbox, request: Request, reply: Reply, body: bytes) -> None:
        """Keep the step in the journal."""
        route = self.route
        model = route.body or route.query
        note(
            self.host,
            sandbox,
            route.method,
            request,
            reply,
            body,
            endpoint=self if reply.repeatable else None,
            model=model,
        )

    def arrive(self, sandbox: Sandbox, request: Request, *, counts: bool = True) -> Arrival | Reply:
        """Read the request and ask the rules of arrival; or the reply that refuses."""
        headers = request.headers
        step = sandbox.step = Step(self.route.op, answers=True, headers=headers, path=request.path)
        if counts:
            step.call = sandbox.director.count(step.op)
        try:
            body, query = self._parts(request, sandbox)
        except MalformedJson as malformed:
            return Reply(*problems.malformed(str(malformed), request.resource), step)
        step.request = query if request.query and not body else body
        try:
            fault = self._early_fault(sandbox, step)
        except Refused as refused:
            _note_ignored(step, body, query)
            return Reply(*problems.refusal(refused, request.resource, sandbox.assumed), step)
        if fault is not None:
            _note_ignored(step, body, query)
        return Arrival(sandbox, step, body, query, fault)

    def _early_fault(self, sandbox: Sandbox, step: Step) -> Transport | None:
        """What the rules of arrival do to the request before anything happens."""
        if not sandbox.director.listens(Stage.ARRIVAL, step.op):
            step.decisions.append(SILENCE[Stage.ARRIVAL])
            return None
        asked = Attempt(
            op=step.op,
            now=sandbox.now,
            request=step.request,
            headers=step.headers,
            state=partial(state_of, sandbox),
            call=step.call,
        )
        fault = sandbox.ask(Stage.ARRIVAL, asked).outcome.transport
        return fault if fault is not None and fault.at is At.RECEIVE else None

    def act(self, arrived: Arrival, request: Request, ready: object = None) -> Reply:
        """Carry the operation out, in one step, unless it repeats one; ``ready`` is what was made ahead of it."""
        if (
            idempotency.HEADER in request.headers
            and arrived.sandbox.assumed[IDEMPOTENCY] == "by_header"
            and self.route.method != "GET"
        ):
            return self._act_once(arrived, request, ready)
        return self._carry_out(arrived, request, ready)

    def _act_once(self, arrived: Arrival, request: Request, ready: object) -> Reply:
        """The first answer under the request's idempotency key, or a new one (assumption ``request.idempotency``)."""
        sandbox, step, keys = arrived.sandbox, arrived.step, arrived.sandbox.idempotency
        sandbox.step = step
        sandbox.assume(IDEMPOTENCY)
        key, asked = request.headers[idempotency.HEADER], (request.resource, request.query, request.raw)
        try:
            first = keys.first(sandbox, key, asked)
        except Refused as refused:
            return Reply(*problems.refusal(refused, request.resource, sandbox.assumed), step, repeatable=False)
        if first is not None:
            return Reply(first.status, first.answer.encode(), step)
        reply = self._carry_out(arrived, request, ready)
        if reply.status is None:
            return reply
        text = reply.text()
        keys.keep(sandbox, key, asked, reply.status, text)
        return Reply(reply.status, text, step, reply.fault)

    def _carry_out(self, arrived: Arrival, request: Request, ready: object) -> Reply:
        sandbox, step, route = arrived.sandbox, arrived.step, self.route
        sandbox.step = step
        try:
            body, query = _form(route, arrived)
            call = Call(
                sandbox=sandbox,
                profile=profile_of(sandbox.assumed),
                path=step.path,
                body=body,
                query=query,
                headers=request.headers,
                resource=request.resource,
                ready=ready,
            )
            reply = route.handle(call)
            step_effects.plan(sandbox)
        except Refused as refused:
            step.assumed += problems.shaped_by(refused)
            return Reply(*problems.refusal(refused, request.resource, sandbox.assumed), step, _spoiling(step))
        except Unreached as unreached:
            return Reply(None, None, step, unreached.fault)
        if isinstance(reply, Answer):
            return Reply(reply.status, reply.body, step, _spoiling(step))
        status = sandbox.assume(CREATED_STATUS) if route.success is Success.CREATED else 200
        return Reply(status, reply, step, _spoiling(step))

    def _parts(self, request: Request, sandbox: Sandbox) -> tuple[Fields, Fields]:
        route = self.route
        body = query = NO_FIELDS
        commas = sandbox.assumed[DECIMAL_COMMA] == "read"
        if route.body is not None:
            body = Fields.of_body(route.body, request.raw, sandbox.assumed[JSON_DEPTH], commas=commas)
        if request.query:
            query = Fields.of_query(route.query or Body, request.query, commas=commas)
        return body, query


def _is_gone(receive: Receive) -> bool:
    """Whether the client has hung up, as far as the server can say without waiting."""
    is_gone = getattr(receive, "is_gone", None)
    return is_gone is not None and is_gone()


def _note_ignored(step: Step, body: Fields, query: Fields) -> None:
    """Tell the journal which fields nobody knows."""
    if body.unknown or query.unknown:
        step.ignored = (*body.unknown, *query.unknown)


def _spoiling(step: Step) -> Transport | None:
    """The fault that strikes the answer of a step that has happened."""
    for decision in step.decisions:
        fault = decision.outcome.transport
        if fault is not None and fault.at is At.ANSWER:
            return fault
    return None


def _form(route: Route, arrived: Arrival) -> tuple[Any, Any]:
    """Body and query as models. Raises ``Invalid`` (90) with every fault of form in both: nothing is asked of the rules
    before the form is sound (assumption ``error.validation``)."""
    sandbox = arrived.sandbox
    strict = sandbox.config.strict or sandbox.assumed[UNKNOWN_FIELDS] == "refuse"
    body = query = None
    faults: dict[str, str] = {}
    try:
        body = _typed(route.body, arrived.body, strict=strict)
    except Invalid as refused:
        faults = dict(refused.details or {})
    try:
        query = _typed(route.query, arrived.query, strict=strict)
    except Invalid as refused:
        faults = {**(refused.details or {}), **faults}
    _note_ignored(arrived.step, arrived.body, arrived.query)
    if faults:
        raise Invalid(Code.VALIDATION_ERROR, faults)
    return body, query


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
