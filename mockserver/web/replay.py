"""A sandbox as it stood after an entry of its journal: opened anew and taken through the same requests at the same
instants.

Source: docs/control-api.md (``/__admin/fork``).
"""

from __future__ import annotations

from itertools import islice

from mockserver.domain.clock import ClockMode
from mockserver.domain.errors import invalid
from mockserver.engine import due
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.web import upload
from mockserver.web.operation import OperationEndpoint
from mockserver.web.request import Reply, Request
from mockserver.web.world import World


async def replay(world: World, sandbox: Sandbox, number: int) -> Sandbox:
    """The sandbox as it was right after entry ``number``, its clock standing still there; no key opens it yet.

    Raises ``Invalid`` (90) when there is no such entry, or the journal no longer holds the whole story up to it.
    """
    journal = sandbox.journal
    if not 1 <= number <= journal.last:
        known = f"1 to {journal.last}" if journal.last else "none yet"
        raise invalid({"At": f"got {number}, entries of the journal: {known}"})
    if journal.dropped:
        raise invalid({"At": f"{journal.loss()}, so it cannot be replayed from the beginning"})
    if journal.gap_reason is not None:
        raise invalid({"At": f"{journal.gap_reason}, which the journal cannot repeat"})
    past = Sandbox(sandbox.key, sandbox.config, journal.opened)
    if sandbox.own is not None:
        past.settle(sandbox.own)
    past.clock.run(ClockMode.MANUAL, 1, journal.opened)
    world.prepare(past)
    past.forget_past()
    for entry in list(islice(journal.entries, number)):
        past.clock.move_to(max(entry.at, past.clock.virtual), journal.opened)
        due.run_slice(past, past.clock.virtual)
        while due.is_behind(past):
            await world.runner.turn(past)
            due.run_slice(past, past.clock.virtual)
        if isinstance(entry.endpoint, OperationEndpoint):
            _repeat(past, entry, entry.endpoint)
        await world.runner.turn(past)
    past.deliveries.forget()
    return past


def _repeat(past: Sandbox, entry: JournalEntry, operation: OperationEndpoint) -> None:
    """Take one request again, as far as it came then. Raises ``Invalid`` (90) when it is answered differently now."""
    request = Request(
        method=entry.method,
        resource=entry.path,
        path=entry.asked.path,
        query=entry.query,
        headers=entry.asked.headers,
        raw=entry.raw,
        known=past,
    )
    decision = request.decided = upload.decided(past, entry.asked.op, entry.asked.headers)
    if decision is not None and upload.is_cut(decision):
        past.director.count(entry.asked.op)
        return
    step, arrived = operation.arrive(request, past)
    reply = arrived if isinstance(arrived, Reply) else operation.carry_out(request, step)
    if (reply.status, reply.text()) != (entry.status, entry.answer):
        words = f"entry {entry.number} would be answered differently: something happened before it besides requests"
        raise invalid({"At": words})
