"""The way of every request, on one page: read, authenticate, arrive, act, word, note, send.

The payments API, the control API, the pages and the inboxes go this way. They differ in how they
know the sandbox, in what acts, and in whether it is a step of the journal: that is what a subclass
of ``Endpoint`` says.

What must always hold, whatever becomes of a request:

- Nothing is waited for between acting and noting: the journal has the steps of a sandbox in the
  order in which they changed it. What takes time comes before or after.
- With a store an answer is sent once what it tells is kept there, so that no client knows of a
  payment which a crash can undo.
- Webhooks that wait for an answer go when it has ended, even if the client has left: they tell of
  what has happened, which the client may never learn otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, cast

from mockserver.domain.clock import SECOND
from mockserver.domain.errors import NotKept, Problem
from mockserver.engine import journaling, step_effects
from mockserver.engine.journal import AnswerFault, RequestForm
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.engine.storage import SandboxStorage
from mockserver.scenario.transport import unfound
from mockserver.web import holds, watching
from mockserver.web import request as asgi
from mockserver.web.access import OPERATION, STATUS, STEP
from mockserver.web.request import (
    JSON_TYPE,
    NOSNIFF,
    HungUp,
    RawHeader,
    Reply,
    Request,
    Unanswerable,
    refusal,
    retry_after,
)
from mockserver.web.transport_faults import Conversation
from mockserver.web.world import World
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import loads


class Endpoint:
    """One row of a table, its ``route``, as an ASGI application. ``op`` is what its requests are
    counted as; ``largest`` the greatest body in bytes, None for that of the settings; ``headers``
    are those of an answer that brings none; ``searches`` says that the sandbox of a request may
    have to be looked for, ``in_parts`` that its body is read in parts."""

    op: str
    name: str = ""
    headers: tuple[RawHeader, ...] = (JSON_TYPE, NOSNIFF)
    largest: int | None = None
    searches = False
    in_parts = False

    def __init__(self, world: World, route: Any = None) -> None:
        self.world = world
        self.route = route

    async def fetch(self, request: Request) -> None:
        """Take the sandbox that the request names into memory; others are served meanwhile, as a
        large one takes seconds. Raises ``NotKept`` (43)."""
        await self.world.sandboxes.fetch_named(request.headers)

    def authenticate(self, request: Request) -> Sandbox | None:
        """The sandbox that the request names, if it needs one. Raises ``Unauthorised`` (40),
        ``Invalid`` (90)."""
        raise NotImplementedError

    def act(self, request: Request) -> Reply | Awaitable[Reply]:
        """Do what is asked, at once where nothing is waited for. Raises ``Unanswerable`` where
        nothing is to be noted, ``HungUp`` when the client left."""
        raise NotImplementedError

    async def interrupted(self, request: Request) -> Reply | None:
        """The fault that strikes while the body of the request is sent; None when the body may be
        read. Asked only when a rule of any sandbox has such a fault."""
        return None

    def refused(self, fault: Exception, request: Request) -> Reply:
        """The reply to a request that is not carried out."""
        status, problem = refusal(fault, request.resource, self.world.directory.config.assumed)
        return Reply(status, problem, headers=(*self.headers, *retry_after(fault)))

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        """Serve one request, of whose path the placeholders are known."""
        path = scope.get("path_params", {})
        if "%" in scope["path"]:
            scope["path_params"] = path = asgi.decoded(path)
        scope["path"] = scope.get(asgi.ASKED_PATH, scope["path"])
        scope[OPERATION] = self.op
        headers, query = asgi.headers_by(scope["headers"]), scope["query_string"]
        request = Request(
            scope["method"],
            scope["path"],
            path,
            query,
            headers,
            receive,
            client=scope.get("client"),
        )
        try:
            reply = await self._reply(scope, request)
            body = reply.text()
            if reply.step is not None:
                self.note(request, reply.step, reply, body)
            if self.world.store is not None:
                refusal = await self._refusal_unless_kept(self.world.store, request)
                if refusal is not None:
                    reply, body = refusal, refusal.text()
            await self._send(scope, receive, send, request, reply, body)
        except HungUp:
            # Nobody is there to be answered.
            return
        finally:
            if request.in_use is not None:
                request.in_use.under_way -= 1
            step = request.step
            if step is not None:
                scope[STEP] = step
                step.result.end_answer()
                step.sandbox.holding.in_flight.pop(id(step), None)
                self._ended(step, receive)

    async def _reply(self, scope: asgi.Scope, request: Request) -> Reply:
        """Read, authenticate, arrive, act: the reply to a request, which may be a refusal. Raises
        ``HungUp``."""
        world = self.world
        try:
            # A fault that strikes while the body is sent is all the answer there is.
            cut = await self.interrupted(request) if world.directory.has_upload_rules else None
            if cut is None:
                largest = self.largest or world.settings.max_body
                body = None
                if not self.in_parts:
                    body = asgi.body_at_hand(request.receive, request.headers, largest)
                if body is not None:
                    request.raw = body
                else:
                    await self._receive_body(request, largest)
                # Without a store every sandbox is in memory.
                if world.store is not None or self.searches:
                    await self.fetch(request)
                sandbox = self.authenticate(request)
                # A page may find out later that it is about another sandbox (``known``) than the
                # one that counts this request.
                request.known = request.in_use = sandbox
                if sandbox is not None:
                    # Until ``__call__`` has sent the answer it is not put away.
                    sandbox.under_way += 1
                    # What is due by now happens before the request does.
                    if not world.runner.visit(sandbox):
                        await world.runner.catch_up(sandbox)
            acted = cut or self.act(request)
            reply = acted if isinstance(acted, Reply) else await acted
            if world.tracing is not None and request.step is not None:
                world.tracing.caused(scope, request.step)
            return reply
        except Unanswerable as fault:
            return self.refused(fault, request)

    async def _receive_body(self, request: Request, largest: int) -> None:
        """Wait for a body that has not come whole with its head."""
        parts = await asgi.read_parts(request.receive, request.headers, largest)
        if self.in_parts:
            request.parts = parts
        else:
            request.raw = b"".join(parts)

    def _ended(self, step: Step, receive: asgi.Receive) -> None:
        """Tell the findings how an answer that took its time has ended, and let the webhooks go
        that waited for it."""
        if step.result.watched:
            # Our own server knows whether the client had hung up before.
            client_is_gone = getattr(receive, "is_gone", None)
            is_gone = client_is_gone is not None and client_is_gone()
            watching.ended(step, self.world.real_clock(), is_gone=is_gone)
        if step.result.webhooks:
            self.world.runner.answered(step)

    async def _refusal_unless_kept(self, store: SandboxStorage, request: Request) -> Reply | None:
        """Wait until what a request has done is in the store: None once it is. Where it cannot be
        kept (a full disk) the sandbox goes back to what the file has, and the request is refused,
        as nothing of it has happened: it has no step either."""
        try:
            await self.kept(store, request)
        except NotKept as fault:
            if request.step is not None:
                request.step.result.end_answer()
                request.step = None
            return self.refused(fault, request)
        return None

    async def kept(self, store: SandboxStorage, request: Request) -> None:
        """Wait until what the request has done is in the store. Raises ``NotKept`` (43)."""
        if request.known is not None:
            store.note(request.known)
            await store.kept(request.known)

    def note(self, request: Request, step: Step, reply: Reply, body: bytes) -> None:
        """Keep a step in the journal, and let the findings judge it. The journal has the answer
        that the operation gave, beside the fault that may spoil it on the way."""
        sandbox, result, fault = step.sandbox, step.result, reply.fault
        if fault is not None and (fault.edit or fault.omit):
            # A scenario that edits what is not there tests nothing: its author is told.
            missing = unfound(loads(body), fault.edit or {}, fault.omit)
            result.warnings += tuple(f"the answer has nothing for {path}" for path in missing)
        if (reply.status or 0) >= 400 and isinstance(reply.body, dict):
            result.problem = cast(Problem, reply.body)
        entry = journaling.entry_of(step)
        entry.method, entry.path, entry.query = request.method, request.resource, request.query
        entry.raw, entry.form = request.raw, _form_of(step.asked.request)
        entry.route, entry.is_repeatable = self.name, reply.repeatable
        entry.status, entry.answer = reply.status, body
        if fault is not None:
            entry.fault = AnswerFault(fault.at, fault.kind, fault.status)
        step_effects.note(step, entry)
        watching.called(request, step, reply, body, self.world.real_clock)
        self.world.runner.used(sandbox)

    async def _send(
        self,
        scope: asgi.Scope,
        receive: asgi.Receive,
        send: asgi.Send,
        request: Request,
        reply: Reply,
        body: bytes,
    ) -> None:
        """Answer, after the webhooks and the time that the step puts before it, or let its fault
        strike."""
        step, fault, status = request.step, reply.fault, reply.status or 200
        headers = self.headers if reply.headers is None else reply.headers
        if step is not None:
            scope[STEP] = step
            if step.result.urgent:
                await self.world.runner.flush_webhooks(step)
            if step.result.latency:
                await asyncio.sleep(step.result.latency / SECOND)
            is_held_up = fault is not None or step.sandbox.holding.is_all
            if is_held_up and not await self._may_answer(request, reply):
                raise HungUp
        if fault is not None:
            status = reply.status or 503
            conversation = Conversation(
                scope, receive, send, status=status, body=body, headers=headers
            )
            await conversation.perform(fault)
            return
        scope[STATUS] = status
        if reply.chunks is not None:
            await asgi.stream(receive, send, headers, reply.chunks)
        elif reply.parts is not None:
            await asgi.send_parts(send, status, reply.parts, headers)
        elif not asgi.sent_whole(send, status, body, headers):
            await asgi.send_bytes(send, status, body, headers)

    async def _may_answer(self, request: Request, reply: Reply) -> bool:
        """Let the time pass that a fault puts before the answer, and that for which it is held;
        False when the client has left meanwhile."""
        fault, world = reply.fault, self.world
        if fault is not None:
            # On a clock that is set by hand a virtual delay takes no real time.
            has_passed = fault.virtual and world.runner.pass_time(request.sandbox, fault.delay)
            if fault.delay and not has_passed:
                stays = await holds.waited(world, request, within=fault.delay)
                if not stays:
                    return False
            if fault.hold is not None:
                # Without a status there is no answer: the request was held, and its client left.
                stays = reply.status is not None and await holds.held(world, request, fault)
                if not stays:
                    return False
        return await holds.released(world, request)


_FORMS = {
    (is_body, commas): RequestForm(is_body, commas)
    for is_body in (False, True)
    for commas in (False, True)
}
"""All four, made once: every entry of the journal has one of them."""


def _form_of(fields: Mapping[str, object]) -> RequestForm | None:
    """How the fields of a request that has just been read can be read again, out of its text, which
    is all that the journal keeps of them; None where it has none."""
    if not isinstance(fields, Fields) or not fields.has_text:
        return None
    return _FORMS[fields.is_body, fields.commas]
