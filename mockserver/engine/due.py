"""Due work: the only place where the passing of time changes anything. Every request and every advance runs it
first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mockserver.domain.clock import Micros
from mockserver.domain.states import ChargeEvent, PayToState
from mockserver.engine import (
    batches,
    charges,
    customers,
    deliveries,
    later,
    payto,
    step_effects,
    subscriptions,
    three_ds,
    tokens,
    transfers,
    vault,
)
from mockserver.engine.result import Asked
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due, ScheduledWork
from mockserver.engine.step import Step

WORK: Mapping[Due, Callable[[Step, ScheduledWork], None]] = {
    Due.VAULT_EXPIRY: lambda step, entry: vault.expire(step, entry.subject),
    Due.CCV_DELAY: lambda step, entry: vault.expire_ccv(step, entry.subject),
    Due.AUTHORISATION_EXPIRY: lambda step, entry: charges.expire(step, entry.subject),
    Due.CHALLENGE_EXPIRY: lambda step, entry: three_ds.abandon(step, entry.subject),
    Due.SETTLEMENT: lambda step, entry: charges.settle(step, entry.subject, ChargeEvent.SETTLED),
    Due.RETURN: lambda step, entry: charges.settle(step, entry.subject, ChargeEvent.RETURNED),
    Due.REFUND_SETTLEMENT: lambda step, entry: charges.answer_refund(step, entry.subject, entry.detail, settled=True),
    Due.REFUND_RETURN: lambda step, entry: charges.answer_refund(step, entry.subject, entry.detail, settled=False),
    Due.TRANSFER_SETTLEMENT: lambda step, entry: transfers.settle(step, entry.subject),
    Due.SUBSCRIPTION_RENEWAL: charges.renew,
    Due.METHOD_LOST: lambda step, entry: subscriptions.lose_method(step, entry.subject),
    Due.CUSTOMER_SHOWN: customers.show_on,
    Due.TOKEN_EXPIRY: lambda step, entry: tokens.expire(step, entry.subject),
    Due.PAYTO: lambda step, entry: payto.come_due(step, entry.subject, PayToState(entry.detail)),
    Due.LATER: later.happen,
    Due.WEBHOOK: lambda step, entry: deliveries.come_due(step, entry.subject),
    Due.WEBHOOK_HELD: lambda step, entry: deliveries.let_pass(step.sandbox, entry.subject),
    Due.BATCH_PREPARED: lambda step, entry: batches.prepare(step, entry.subject),
    Due.BATCH_STARTED: lambda step, entry: batches.start(step, entry.subject),
    Due.BATCH_ROWS: lambda step, entry: batches.run(step, entry.subject),
}
"""What to do when an entry comes due. An entry whose object has moved on does nothing."""


HEAVY = frozenset({Due.BATCH_ROWS, Due.BATCH_PREPARED, Due.BATCH_STARTED, Due.METHOD_LOST, Due.CUSTOMER_SHOWN})
"""Work after which others get their turn."""

SLICE = 100
"""Entries that one slice runs, and webhooks that they cause, at most."""


def run_due(sandbox: Sandbox, until: Micros) -> None:
    """Run all due work up to ``until`` in the order of its sandbox time, what it causes included."""
    run_slice(sandbox, until)
    while is_behind(sandbox):
        run_slice(sandbox, until)


def run_slice(sandbox: Sandbox, until: Micros) -> None:
    """The next piece of due work up to ``until``, bounded in length.

    It ends after the instant at which webhooks are to be sent: ``sandbox.now`` stays there, so that they can be sent,
    and answered, before time goes on. Once nothing is left, ``sandbox.now`` is ``until``.
    """
    schedule, outbox, sandbox.horizon = sandbox.schedule, sandbox.deliveries.outbox, until
    sent, left = len(outbox), SLICE
    while left > 0 and (entry := schedule.next_due(until)) is not None:
        sandbox.now = max(sandbox.now, entry.at)
        step = Step(sandbox, Asked(f"clock.{entry.what}"))
        WORK[entry.what](step, entry)
        step_effects.plan(step)
        sandbox.journal.note_due(sandbox.now, step.asked, step.result)
        if sandbox.watch is not None:
            for event in step.result.events:
                if event.data is None:
                    sandbox.watch.moved(event, sandbox.journal.last)
        left -= 1 + len(step.result.webhooks)
        if entry.what in HEAVY or (len(outbox) > sent and not schedule.is_due(sandbox.now)):
            break
    if len(outbox) == sent and not schedule.is_due(until):
        sandbox.now = max(sandbox.now, until)


def is_idle_until(sandbox: Sandbox, until: Micros) -> bool:
    """Whether nothing is due up to ``until``, as is mostly so; the sandbox is there then."""
    entries = sandbox.schedule.entries
    if entries and entries[0].at <= until:
        return False
    sandbox.horizon = until
    if sandbox.now < until:
        sandbox.now = until
    return True


def is_behind(sandbox: Sandbox) -> bool:
    """Whether a slice of work has left some that is due, or webhooks that are to be sent before time goes on."""
    return sandbox.now < sandbox.horizon or sandbox.schedule.is_due(sandbox.horizon)
