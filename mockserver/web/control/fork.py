"""A copy of a sandbox under another key (``/__admin/fork``), as it stands or as it stood after an
entry of its journal.

The past is not kept. It is computed: a sandbox is opened as this one was, and taken through the
same requests at the same instants of a clock that stands, with the same seed. Each answer must be
the one that the journal has, byte by byte; an answer that differs means that something happened
which the journal cannot repeat, an import for one, and the fork is refused rather than wrong.
Source: docs/control-api.md.
"""

from itertools import islice
from typing import Annotated

from pydantic import Field

from mockserver.domain.clock import ClockMode
from mockserver.domain.errors import invalid
from mockserver.domain.record import replace
from mockserver.engine import due, state_reading
from mockserver.engine.delivery_log import DeliveryLog
from mockserver.engine.journal import Journal, JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.web.control.call import ControlCall, ControlRoute
from mockserver.web.control.sandboxes import install_reply
from mockserver.web.journaled import endpoint_of, request_of
from mockserver.web.operation import OperationEndpoint
from mockserver.web.request import Reply
from mockserver.web.runner import SERVER, in_thread
from mockserver.web.transport_faults import is_cut, upload_decision
from mockserver.web.world import World
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import SecretKey, whole


class ForkTarget(ControlBody):
    """Where a copy of a sandbox goes."""

    to: SecretKey = Field(description="secret key of the copy; what it opened is lost")
    at: Annotated[int, whole(0)] | None = Field(
        None,
        description="journal entry after which the copy is made",
    )


async def fork(call: ControlCall[ForkTarget, ControlBody]) -> object:
    """Copy this sandbox to the key ``to``: as it stands, or as it was after the journal entry
    ``at``.

    Raises ``Invalid`` (90) for a key that is this one's or opens nothing, and for an entry that
    cannot be gone back to.
    """
    # A copy gives the vault away to everybody who knows its key: it takes more than a public key.
    sandbox = call.world.directory.of_secret_key(call.headers)
    to, at, sandboxes = call.body.to, call.body.at, call.world.sandboxes
    if to == sandbox.key:
        raise invalid({"To": "wanted another key than that of this sandbox"})
    sandboxes.admit(to)
    source = sandbox
    if at is not None:
        source = await _replayed(call.world, sandbox, at)
    build_copy = state_reading.copied(source, to, call.world.real_clock())
    copy = await in_thread(build_copy)
    # The last place for a sandbox may have been taken meanwhile.
    sandboxes.admit(to)
    copy.journal.gap_reason = "this sandbox was forked from another"
    sandboxes.install(copy)
    # Pages show the copy, and in the list of sandboxes that it is there.
    for key in (copy.key, SERVER):
        call.world.runner.activity.notify(key)
    return install_reply(copy, copy.public_key)


async def _replayed(world: World, sandbox: Sandbox, number: int) -> Sandbox:
    """The sandbox as it was right after entry ``number``, its clock standing still there; no key
    opens it yet.

    Raises ``Invalid`` (90) when there is no such entry, or the journal no longer holds the whole
    story up to it.
    """
    journal = sandbox.journal
    reason = _why_untold(journal, number)
    if reason is not None:
        raise invalid({"At": reason})
    # A clock that stands does so from the start of its server on. Where the sandbox comes from a
    # store that was another server, so it begins where the journal does.
    past = Sandbox(sandbox.key, replace(sandbox.config, started=journal.opened), journal.opened)
    past.config = sandbox.config
    if sandbox.own is not None:
        past.settle(sandbox.own)
    past.clock.run(ClockMode.MANUAL, 1, journal.opened)
    # As when it opened: no read lags behind what it began with.
    world.prepare(past)
    past.forget_past()
    for entry in list(islice(journal.entries, number)):
        past.clock.move_to(max(entry.at, past.clock.virtual), journal.opened)
        await world.runner.run_to(past, past.clock.virtual)
        operation = endpoint_of(entry, world)
        # What came due has no operation: ``run_to`` has let it come due again.
        if operation is not None and entry.is_setup:
            _set_up_again(past, entry, operation)
        elif operation is not None:
            _repeat(past, entry, operation)
        await world.runner.turn(past)
    # What it caused was sent when it happened.
    past.deliveries = DeliveryLog(past.deliveries.limit)
    return past


def _why_untold(journal: Journal, number: int) -> str | None:
    """Why a journal does not tell the whole story up to an entry; None when it does. From half a
    story another past would be computed, and nobody would see it."""
    if not 1 <= number <= journal.last:
        known = "none yet"
        if journal.last:
            known = f"1 to {journal.last}"
        return f"got {number}, entries of the journal: {known}"
    if journal.dropped:
        return f"{journal.loss()}, so it cannot be replayed from the beginning"
    if journal.gap_reason is not None:
        return f"{journal.gap_reason}, which the journal cannot repeat"
    return None


def _set_up_again(past: Sandbox, entry: JournalEntry, operation: OperationEndpoint) -> None:
    """Take one request of a set-up again, unheard by rules as it was then, and with it what was due
    at once because of it: the next call of the set-up may need that. Raises as ``_repeat``."""
    with past.director.during_set_up():
        _repeat(past, entry, operation)
        due.run_due(past, past.now)


def _repeat(past: Sandbox, entry: JournalEntry, operation: OperationEndpoint) -> None:
    """Take one request again, as far as it came then. Raises ``Invalid`` (90) when it is answered
    differently now."""
    request = request_of(entry, past)
    decision = upload_decision(past, entry.op, entry.headers)
    request.decided = decision
    if decision is not None and is_cut(decision):
        # Its body never came, so nothing acted; the rules have counted it all the same.
        past.director.count(entry.op)
        return
    step, arrived = operation.arrive(request, past)
    # A rule of the stage of arrival may have answered it.
    reply = arrived if isinstance(arrived, Reply) else operation.carry_out(request, step)
    if (reply.status, reply.text()) != (entry.status, entry.answer):
        words = (
            f"entry {entry.number} would be answered differently: something happened before "
            "it besides requests"
        )
        raise invalid({"At": words})


ROUTES = (
    ControlRoute(
        "POST",
        "/__admin/fork",
        fork,
        body=ForkTarget,
        keyed=True,
        reply="ForkAnswer",
        success=201,
        example={"body": {"to": "sk_copy"}},
        summary="Copy this sandbox to another key, now or at a journal entry",
    ),
)
