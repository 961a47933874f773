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


def run_due(box: Sandbox, until: Micros) -> None:
    """Run all due work up to ``until`` in the order of its sandbox time, what it causes included."""
    run_slice(box, until)
    while is_behind(box):
        run_slice(box, until)


def run_slice(box: Sandbox, until: Micros) -> None:
    """The next piece of due work up to ``until``, bounded in length.

    It ends after the instant at which webhooks are to be sent: ``box.now`` stays there, so that they can be sent, and
    answered, before time goes on. Once nothing is left, ``box.now`` is ``until``.
    """
    schedule, outbox, box.horizon = box.schedule, box.deliveries.outbox, until
    sent, end = len(outbox), schedule.ran + SLICE
    while schedule.ran < end and (entry := schedule.next_due(until)) is not None:
        box.now = max(box.now, entry.at)
        box.turn = Turn(f"clock.{entry.what}")
        WORK[entry.what](box, entry)
        aftermath.of_step(box)
        box.journal.note_due(box.now, box.turn)
        if box.watch is not None:
            for event in box.turn.events:
                box.watch.moved(event)
        if entry.what in HEAVY or (len(outbox) > sent and not schedule.is_due(box.now)):
            break
    if len(outbox) == sent and not schedule.is_due(until):
        box.now = max(box.now, until)


def is_behind(box: Sandbox) -> bool:
    """Whether a slice of work has left some that is due, or webhooks that are to be sent before time goes on."""
    return box.now < box.horizon or box.schedule.is_due(box.horizon)
