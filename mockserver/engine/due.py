"""Due work: the only place where the passing of time changes anything.

A service that runs settles payments and expires tokens by timers. Here every request, and every
advance of the clock, first does what was due before it, in the order of its sandbox time, each
piece as a step at the very instant at which it was due. So it does not matter when a timer fired or
how far a test has moved the clock: what is read afterwards is the same.

Entries are never removed from the schedule. What has moved on meanwhile, such as an authorisation
that was captured before it expired, is left as it is when its entry comes due: ``_while`` says in
which state each piece of work still has an object.

A jump by a year may be hundreds of thousands of steps, which would keep all other sandboxes
waiting, so ``run_slice`` does some of them and returns. It also returns where webhooks are to be
sent: a client that reacts to one does so at that instant, not after the jump.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Protocol

from mockserver.domain import states
from mockserver.domain.clock import Micros
from mockserver.engine import (
    batches,
    charges,
    customers,
    deliveries,
    journaling,
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


class Work(Protocol):
    """What is done in a step because an entry has come due."""

    def __call__(self, step: Step, entry: ScheduledWork) -> object: ...


def _while(state: StrEnum | None, act: Callable[..., object], *arguments: object) -> Work:
    """Work on the object of an entry, as long as that is in a state (None: in any, where the work
    itself looks)."""

    def work(step: Step, entry: ScheduledWork) -> None:
        row = _object_in(state, step.sandbox, entry)
        if row is not None:
            act(step, row, *arguments)

    return work


def _while_with_detail(state: StrEnum | None, act: Callable[..., object]) -> Work:
    """The same, and the detail of the entry says what is to be done."""

    def work(step: Step, entry: ScheduledWork) -> None:
        row = _object_in(state, step.sandbox, entry)
        if row is not None:
            act(step, row, entry.detail)

    return work


def _object_in(state: StrEnum | None, sandbox: Sandbox, entry: ScheduledWork) -> object:
    """The object of an entry; None when it is gone, or not in that state any more."""
    # Work without a table, such as a webhook, finds its object itself and does not come here.
    table_name = entry.what.table or ""
    row: object = getattr(sandbox, table_name).get(entry.subject)
    if row is None or state is None:
        return row
    # Objects that the service gives a status have that, others a state of our own.
    stands = getattr(row, "status", None) or getattr(row, "state", None)
    return row if stands is state else None


def _lose_method(step: Step, entry: ScheduledWork) -> None:
    subscriptions.lose_method(step, entry.subject)


def _move_agreement(step: Step, entry: ScheduledWork) -> None:
    payto.come_due(step, entry.subject, states.PayToState(entry.detail))


def _send_webhook(step: Step, entry: ScheduledWork) -> None:
    deliveries.come_due(step, entry.subject)


def _release_webhook(step: Step, entry: ScheduledWork) -> None:
    deliveries.release_held(step.sandbox, entry.subject)


WORK: Mapping[Due, Work] = {
    Due.VAULT_EXPIRY: _while(states.VaultState.STORED, vault.end, states.VaultEvent.EXPIRED),
    Due.CCV_DELAY: _while(None, vault.remove_ccv, states.CcvEvent.DELAY_PASSED),
    Due.AUTHORISATION_EXPIRY: _while(None, charges.expire),
    Due.CHALLENGE_EXPIRY: _while(states.ChargeState.PENDING_CHECKOUT, three_ds.abandon),
    Due.SETTLEMENT: _while(states.ChargeState.PENDING, charges.settle, states.ChargeEvent.SETTLED),
    Due.RETURN: _while(states.ChargeState.PENDING, charges.settle, states.ChargeEvent.RETURNED),
    Due.REFUND_SETTLEMENT: _while_with_detail(None, partial(charges.answer_refund, settled=True)),
    Due.REFUND_RETURN: _while_with_detail(None, partial(charges.answer_refund, settled=False)),
    Due.TRANSFER_SETTLEMENT: _while(states.TransferState.PENDING, transfers.settle),
    Due.SUBSCRIPTION_RENEWAL: _while_with_detail(states.SubscriptionState.ACTIVE, charges.renew),
    Due.METHOD_LOST: _lose_method,
    Due.CUSTOMER_SHOWN: _while_with_detail(None, customers.show_on),
    Due.TOKEN_EXPIRY: _while(states.TokenState.ACTIVE, tokens.expire),
    Due.PAYTO: _move_agreement,
    Due.LATER: later.happen,
    Due.WEBHOOK: _send_webhook,
    Due.WEBHOOK_HELD: _release_webhook,
    Due.BATCH_PREPARED: _while(states.BatchState.RECEIVED, batches.prepare),
    Due.BATCH_STARTED: _while(states.BatchState.CREATED, batches.start),
    Due.BATCH_ROWS: _while(states.BatchState.IN_PROGRESS, batches.run),
}
"""What to do when an entry comes due. An entry whose object has moved on does nothing."""


HEAVY = frozenset(
    {Due.BATCH_ROWS, Due.BATCH_PREPARED, Due.BATCH_STARTED, Due.METHOD_LOST, Due.CUSTOMER_SHOWN}
)
"""Work after which others get their turn."""

SLICE = 100
"""Entries that one slice runs, and webhooks that they cause, at most."""


def run_due(sandbox: Sandbox, until: Micros) -> None:
    """Run all due work up to ``until`` in the order of its sandbox time, what it causes
    included."""
    run_slice(sandbox, until)
    while is_behind(sandbox):
        run_slice(sandbox, until)


def run_slice(sandbox: Sandbox, until: Micros) -> None:
    """The next piece of due work up to ``until``, bounded in length.

    It ends after the instant at which webhooks are to be sent: ``sandbox.now`` stays there, so that
    they can be sent, and answered, before time goes on; and where everything begins to be held.
    Once nothing is left, ``sandbox.now`` is ``until``.
    """
    schedule, outbox = sandbox.schedule, sandbox.deliveries.outbox
    sandbox.horizon = until
    waiting_before = len(outbox)
    left = SLICE
    # Each turn takes one entry. Batches move ``now`` on within theirs, so it never goes back.
    while left > 0:
        entry = schedule.next_due(until)
        if entry is None:
            break
        sandbox.now = max(sandbox.now, entry.at)
        asked = Asked(f"clock.{entry.what}", is_setup=sandbox.director.is_setting_up)
        step = carry_out(sandbox, asked, partial(WORK[entry.what], entry=entry))
        left -= 1 + len(step.result.webhooks)
        if entry.what in HEAVY or sandbox.holding.is_all:
            break
        # All of this instant is done, and there is something to send before time goes on.
        has_to_send = len(outbox) > waiting_before
        if has_to_send and not schedule.is_due(sandbox.now):
            break
    has_nothing_to_send = len(outbox) == waiting_before
    if has_nothing_to_send and not schedule.is_due(until):
        sandbox.now = max(sandbox.now, until)


def carry_out(sandbox: Sandbox, asked: Asked, work: Callable[[Step], object]) -> Step:
    """Do something that no client asks for, with what follows from it, and note it. Raises what
    ``work`` raises; then nothing has happened."""
    step = Step(sandbox, asked)
    work(step)
    step_effects.plan(step)
    journaling.note_due(step)
    if step.result.ruled:
        sandbox.config.counts.strike(step.result)
    for event in step.result.events:
        # One with data has moved nothing: a scenario has made it up for a webhook.
        if event.data is None:
            for observer in sandbox.observers:
                observer.moved(event, sandbox.journal.last)
    return step


def is_behind(sandbox: Sandbox) -> bool:
    """Whether a slice of work has left some that is due, or webhooks that are to be sent before
    time goes on."""
    return sandbox.now < sandbox.horizon or sandbox.schedule.is_due(sandbox.horizon)
