"""The course of a subscription: what follows from each of its payments, and when the next one is due.

Source: docs/spec/published-facts.md, 10 (Subscriptions); assumptions ``subscription.*``.
"""

from __future__ import annotations

from decimal import Decimal

from mockserver.assumptions.table import (
    SUBSCRIPTION_END_AMOUNT,
    SUBSCRIPTION_HARD_DECLINES,
    SUBSCRIPTION_METHOD_REMOVED,
    SUBSCRIPTION_MISSED,
    SUBSCRIPTION_OWED_PAYMENT,
    SUBSCRIPTION_RETRIES_EXHAUSTED,
)
from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.clock import Micros
from mockserver.domain.events import Subject
from mockserver.domain.money import currency
from mockserver.domain.payment_link import PAID, UNDER_WAY
from mockserver.domain.record import replace
from mockserver.domain.states import ChargeState, SubscriptionEvent, SubscriptionState
from mockserver.domain.subscription import Subscription
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due

MOST_EVENTS = 500
"""Events of a step after which the loss of a payment method goes on in the next: others wait no longer than that takes,
and each can send a webhook."""


def follow(sandbox: Sandbox, charge: Charge, before: ChargeState | None) -> None:
    """A payment of a subscription began (``before`` None) or moved: count it, and go on, try again or end."""
    row = sandbox.subscriptions.get(charge.subscription_id or "")
    if row is None:
        return
    after = charge.status
    paid = (after in PAID) - (before in PAID)
    waiting = (after in UNDER_WAY) - (before in UNDER_WAY)
    row = _keep(sandbox, row, row.after_payment(charge.amount, paid, waiting))
    if row.status is not SubscriptionState.ACTIVE:
        return
    if after is ChargeState.FAILED:
        if before is not None:  # it had begun as the payment of its period, and is that no longer
            row = _keep(sandbox, row, replace(row, period=max(row.period - 1, 0)))
        _try_again(sandbox, row, charge)
    elif before is None:
        go_on(sandbox, _keep(sandbox, row, replace(row, period=row.period + 1)))
    elif paid > 0 and row.next_due is None:
        go_on(sandbox, row)


def go_on(sandbox: Sandbox, row: Subscription) -> Subscription:
    """Plan the next payment of an active subscription, or complete it when none is to come."""
    due = row.due(row.period)
    if row.has_enough_payments() or not next_amount(sandbox, row) or row.ends_before(due) or due is None:
        row = _await(sandbox, row, None)
        return row if row.open_payments else move(sandbox, row, SubscriptionEvent.COMPLETED)
    return _await(sandbox, row, max(due, sandbox.now))


def next_amount(sandbox: Sandbox, row: Subscription) -> Decimal:
    """What the next payment takes; 0 when the amount that ends the subscription leaves room for none."""
    left = row.left()
    if left is None or left >= row.amount:
        return row.amount
    taken = sandbox.assume(SUBSCRIPTION_END_AMOUNT) if left > 0 else "before"
    if taken == "whole":
        return row.amount
    return left - left % currency(row.currency).unit if taken == "rest" else ZERO


def catch_up(sandbox: Sandbox, row: Subscription) -> Subscription:
    """Plan the next payment after a pause or a change: those missed are skipped or made up for, as assumed."""
    period = row.period
    if sandbox.assume(SUBSCRIPTION_MISSED) == "skip":
        period = row.period_from(sandbox.now)
        if row.retries and period > row.period and sandbox.assume(SUBSCRIPTION_OWED_PAYMENT) == "collect":
            period -= 1  # one payment is due now, before the next of the plan
    return go_on(sandbox, _keep(sandbox, row, replace(row, period=period, retries=0)))


def lose_method(sandbox: Sandbox, payment_method_id: str) -> None:
    """The payment method of subscriptions was removed: those that are active are suspended now or, as assumed, when
    their next payment is due and cannot be tried. Of very many the rest follows in the next steps of this instant."""
    for row in sandbox.subscriptions.find("payment_method", payment_method_id):
        if row.status is SubscriptionState.ACTIVE and sandbox.assume(SUBSCRIPTION_METHOD_REMOVED) == "at_once":
            if len(sandbox.step.events) >= MOST_EVENTS:
                sandbox.schedule.plan(sandbox.now, Due.METHOD_LOST, payment_method_id)
                return
            move(sandbox, row, SubscriptionEvent.SUSPENDED)


def move(sandbox: Sandbox, row: Subscription, event: SubscriptionEvent) -> Subscription:
    """Move by the table. Raises ``WrongState`` (108). Nothing is awaited of one that is not active."""
    after = _keep(sandbox, row, row.after(event))
    if after.status is not SubscriptionState.ACTIVE:
        after = _await(sandbox, after, None)
    sandbox.emit(Subject.SUBSCRIPTION, row.subscription_id, event, row.status, after.status)
    return after


def _try_again(sandbox: Sandbox, row: Subscription, charge: Charge) -> None:
    if row.retry is None or row.retries >= row.retry.maximum or _is_final(sandbox, charge):
        match sandbox.assume(SUBSCRIPTION_RETRIES_EXHAUSTED):
            case "cancel":
                move(sandbox, row, SubscriptionEvent.CANCELLED)
            case "next_payment":
                go_on(sandbox, _keep(sandbox, row, replace(row, period=row.period + 1, retries=0)))
            case _:
                move(sandbox, row, SubscriptionEvent.SUSPENDED)
        return
    tried = _keep(sandbox, row, replace(row, retries=row.retries + 1))
    _await(sandbox, tried, sandbox.now + row.retry.pause)


def _is_final(sandbox: Sandbox, charge: Charge) -> bool:
    """Whether a declined payment is not tried again, because its provider says that it is not worth it."""
    attempts = charge.failed_attempts
    hard = bool(attempts) and not attempts[-1].is_retryable
    return hard and sandbox.assume(SUBSCRIPTION_HARD_DECLINES) == "final"


def _await(sandbox: Sandbox, row: Subscription, due: Micros | None) -> Subscription:
    after = _keep(sandbox, row, replace(row, awaited=row.awaited + 1, next_due=due))
    if due is not None:
        sandbox.schedule.plan(due, Due.SUBSCRIPTION_RENEWAL, row.subscription_id, str(after.awaited))
    return after


def _keep(sandbox: Sandbox, before: Subscription, after: Subscription) -> Subscription:
    return sandbox.replace(sandbox.subscriptions, before, after)
