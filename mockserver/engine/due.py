"""Due work: the only place where the passing of time changes anything. Every request and every
advance runs it first."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import TypeAlias

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

Work: TypeAlias = Callable[..., object]
"""What is done in a step because of an ``entry``."""


def _while(
    state: StrEnum | None, act: Callable[..., object], *given: object, takes_detail: bool = False
) -> Work:
    """Work on the object of an entry, with what is given, or its detail, as long as it is in a
    state (None: in any)."""

    def work(step: Step, entry: ScheduledWork) -> None:
        row = getattr(step.sandbox, entry.what.table or "").get(entry.subject)
        if row is not None and state in (
            None,
            getattr(row, "status", None),
            getattr(row, "state", None),
        ):
            act(step, row, *((entry.detail,) if takes_detail else given))

    return work


WORK: Mapping[Due, Work] = {
    Due.VAULT_EXPIRY: _while(states.VaultState.STORED, vault.end, states.VaultEvent.EXPIRED),
    Due.CCV_DELAY: _while(None, vault.remove_ccv, states.CcvEvent.DELAY_PASSED),
    Due.AUTHORISATION_EXPIRY: _while(None, charges.expire),
    Due.CHALLENGE_EXPIRY: _while(states.ChargeState.PENDING_CHECKOUT, three_ds.abandon),
    Due.SETTLEMENT: _while(states.ChargeState.PENDING, charges.settle, states.ChargeEvent.SETTLED),
    Due.RETURN: _while(states.ChargeState.PENDING, charges.settle, states.ChargeEvent.RETURNED),
    Due.REFUND_SETTLEMENT: _while(
        None, partial(charges.answer_refund, settled=True), takes_detail=True
    ),
    Due.REFUND_RETURN: _while(
        None, partial(charges.answer_refund, settled=False), takes_detail=True
    ),
    Due.TRANSFER_SETTLEMENT: _while(states.TransferState.PENDING, transfers.settle),
    Due.SUBSCRIPTION_RENEWAL: _while(
        states.SubscriptionState.ACTIVE, charges.renew, takes_detail=True
    ),
    Due.METHOD_LOST: lambda step, entry: subscriptions.lose_method(step, entry.subject),
    Due.CUSTOMER_SHOWN: _while(None, customers.show_on, takes_detail=True),
    Due.TOKEN_EXPIRY: _while(states.TokenState.ACTIVE, tokens.expire),
    Due.PAYTO: lambda step, entry: payto.come_due(
        step, entry.subject, states.PayToState(entry.detail)
    ),
    Due.LATER: later.happen,
    Due.WEBHOOK: lambda step, entry: deliveries.come_due(step, entry.subject),
    Due.WEBHOOK_HELD: lambda step, entry: deliveries.release_held(step.sandbox, entry.subject),
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
    schedule, outbox, sandbox.horizon = sandbox.schedule, sandbox.deliveries.outbox, until
    sent, left = len(outbox), SLICE
    while left > 0 and (entry := schedule.next_due(until)) is not None:
        sandbox.now = max(sandbox.now, entry.at)
        asked = Asked(f"clock.{entry.what}", is_setup=sandbox.director.is_setting_up)
        step = carry_out(sandbox, asked, partial(WORK[entry.what], entry=entry))
        left -= 1 + len(step.result.webhooks)
        is_over = entry.what in HEAVY or sandbox.holding.is_all
        if is_over or (len(outbox) > sent and not schedule.is_due(sandbox.now)):
            break
    if len(outbox) == sent and not schedule.is_due(until):
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
        if event.data is None:
            for observer in sandbox.observers:
                observer.moved(event, sandbox.journal.last)
    return step


def is_behind(sandbox: Sandbox) -> bool:
    """Whether a slice of work has left some that is due, or webhooks that are to be sent before
    time goes on."""
    return sandbox.now < sandbox.horizon or sandbox.schedule.is_due(sandbox.horizon)
