"""Due work: the only place where the passing of time changes anything. Every request and every advance runs it
first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mockserver.domain.clock import Micros
from mockserver.domain.method_states import PayToState
from mockserver.domain.states import ChargeEvent
from mockserver.engine import (
    aftermath,
    batch_rows,
    batches,
    charges,
    deliveries,
    later,
    payto,
    subscriptions,
    three_ds,
    tokens,
    transfers,
    vault,
)
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due, Entry
from mockserver.engine.turn import Turn

WORK: Mapping[Due, Callable[[Sandbox, Entry], None]] = {
    Due.VAULT_EXPIRY: lambda box, entry: vault.expire(box, entry.subject),
    Due.CCV_DELAY: lambda box, entry: vault.lapse_ccv(box, entry.subject),
    Due.AUTHORISATION_LAPSE: lambda box, entry: charges.lapse(box, entry.subject),
    Due.CHALLENGE_LAPSE: lambda box, entry: three_ds.abandon(box, entry.subject),
    Due.SETTLEMENT: lambda box, entry: charges.settle(box, entry.subject, ChargeEvent.SETTLED),
    Due.BOUNCE: lambda box, entry: charges.settle(box, entry.subject, ChargeEvent.BOUNCED),
    Due.TRANSFER_SETTLEMENT: lambda box, entry: transfers.settle(box, entry.subject),
    Due.SUBSCRIPTION_RENEWAL: subscriptions.renew,
    Due.TOKEN_EXPIRY: lambda box, entry: tokens.expire(box, entry.subject),
    Due.PAYTO: lambda box, entry: payto.come_due(box, entry.subject, PayToState(entry.detail)),
    Due.LATER: later.happen,
    Due.WEBHOOK: lambda box, entry: deliveries.come_due(box, entry.subject),
    Due.WEBHOOK_HELD: lambda box, entry: deliveries.let_pass(box, entry.subject),
    Due.BATCH_PREPARED: lambda box, entry: batches.prepare(box, entry.subject),
    Due.BATCH_STARTED: lambda box, entry: batches.start(box, entry.subject),
    Due.BATCH_ROWS: lambda box, entry: batch_rows.run(box, entry.subject),
}
"""What to do when an entry comes due. An entry whose object has moved on does nothing."""


HEAVY = frozenset({Due.BATCH_ROWS, Due.BATCH_PREPARED, Due.BATCH_STARTED})
"""Work after which others get their turn."""

SLICE = 500
"""Entries that one slice runs, at most."""


def run_due(box: Sandbox, real: Micros) -> int:
    """Bring a sandbox to the present: all due work in the order of its sandbox time, what it causes included.

    Returns how many entries ran.
    """
    ran = 0
    while some := run_slice(box, real):
        ran += some
    return ran


def run_slice(box: Sandbox, real: Micros) -> int:
    """The next piece of due work, bounded in length; how many entries ran, 0 when the sandbox is in the present."""
    box.horizon = now = box.clock.read(real)
    entries = box.schedule.entries
    if not entries or entries[0].at > now:
        box.now = max(box.now, now)
        return 0
    ran = 0
    while ran < SLICE and (entry := box.schedule.next_due(now)) is not None:
        box.now = max(box.now, entry.at)
        box.turn = Turn(f"clock.{entry.what}")
        WORK[entry.what](box, entry)
        aftermath.of_step(box)
        box.journal.note_due(box.now, box.turn)
        if box.watch is not None:
            for event in box.turn.events:
                box.watch.moved(event)
        ran += 1
        if entry.what in HEAVY:
            break
    if not entries or entries[0].at > now:
        box.now = max(box.now, now)
    return ran


def is_waiting(box: Sandbox, real: Micros) -> bool:
    """Whether something is due at this instant of the machine's clock."""
    entries = box.schedule.entries
    return bool(entries) and entries[0].at <= box.clock.read(real)


def is_behind(box: Sandbox) -> bool:
    """Whether a slice of work has left some that is due."""
    entries = box.schedule.entries
    return bool(entries) and entries[0].at <= box.horizon
