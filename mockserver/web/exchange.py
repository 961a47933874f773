"""A request and its reply, and what is kept of them: an entry of the journal, and findings."""

from __future__ import annotations

from collections.abc import Mapping

from mockserver.domain.record import record
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.scenario.outcome import Transport
from mockserver.web import watching
from mockserver.web.host import Headers, Host
from mockserver.wire.base import Body
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import dumps


@record
class Request:
    """A request as it came: its path and the placeholders in it, and everything else unread."""

    resource: str
    path: Mapping[str, str]
    query: bytes
    headers: Headers
    raw: bytes


@record
class Reply:
    """What is to be answered (``status`` None: nothing is), ``body`` as bytes when it was written before; ``fault``
    spoils it on the way. ``repeatable`` is False when the request must not be taken again to tell its story."""

    status: int | None
    body: object
    step: Step
    fault: Transport | None = None
    repeatable: bool = True

    def text(self) -> bytes:
        """The body as it is sent."""
        return self.body if isinstance(self.body, bytes) else dumps(self.body)


def note(
    host: Host,
    sandbox: Sandbox,
    method: str,
    request: Request,
    reply: Reply,
    body: bytes,
    *,
    endpoint: object = None,
    model: type[Body] | None = None,
) -> None:
    """Keep a request and its answer in the journal. ``endpoint`` is what can take the request again, ``model`` has the
    fields that it read."""
    step = reply.step
    sandbox.journal.note(
        sandbox.now,
        step,
        method,
        endpoint,
        request.resource,
        request.query,
        request.raw,
        reply.status,
        body,
        reply.fault,
    )
    # A request that was refused for its idempotency key did nothing, and its answer says nothing of the first one.
    if sandbox.watch is not None and not (step.is_repeat and not reply.repeatable):
        watching.called(
            sandbox,
            step,
            host.real_clock(),
            path=request.resource,
            query=request.query,
            raw=request.raw,
            status=reply.status,
            answer=body,
            fault=reply.fault,
            model=model,
        )
    if isinstance(step.request, Fields):
        step.request.rest()
    if sandbox.journal.dropped or sandbox.deliveries.dropped or sandbox.inboxes.dropped:
        _tell_drops(sandbox)
    room = sandbox.journal.room
    if room is not None and room.dropped and (news := room.news()) is not None:
        step.warnings += (news,)
    host.on_change(sandbox)


def _tell_drops(sandbox: Sandbox) -> None:
    """Say, once in the life of a sandbox and of each list, that the oldest are no longer kept."""
    lists = (
        ("journal entries", sandbox.journal.limit, sandbox.journal.overflown),
        ("webhooks", sandbox.deliveries.limit, sandbox.deliveries.dropped),
        ("inbox messages", sandbox.inboxes.limit, sandbox.inboxes.dropped),
    )
    for name, limit, dropped in lists:
        if dropped:
            sandbox.warn(f"only the newest {limit} {name} are kept (--journal-limit); older ones are dropped")
