"""The course of a subscription: what follows from each of its payments, and when the next one is due.

Source: docs/spec/published-facts.md, 10 (Subscriptions); assumptions ``subscription.*``.
"""

from __future__ import annotations

from decimal import Decimal

from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.clock import Micros
from mockserver.domain.events import Subject
from mockserver.domain.money import currency
from mockserver.domain.payment_link import PAID, UNDER_WAY
from mockserver.domain.record import replace
from mockserver.domain.states import ChargeState, SubscriptionEvent, SubscriptionState
from mockserver.domain.subscription import Subscription
from mockserver.engine.schedule import Due
from mockserver.engine.step import Step

MOST_EVENTS = 500
"""Events of a step after which the loss of a payment method goes on in the next: others wait no longer than that takes,
and each can send a webhook."""


def follow(step: Step, charge: Charge, before: ChargeState | None) -> None:
    """A payment of a subscription began (``before`` None) or moved: count it, and go on, try again or end."""
    row = step.sandbox.subscriptions.get(charge.subscription_id or "")
    if row is None:
        return
    after = charge.status
    paid = (after in PAID) - (before in PAID)
    waiting = (after in UNDER_WAY) - (before in UNDER_WAY)
    row = _keep(step, row, row.after_payment(charge.amount, paid, waiting))
    if row.status is not SubscriptionState.ACTIVE:
        return
    if after is ChargeState.FAILED:
        if before is not None:  # it had begun as the payment of its period, and is that no longer
            row = _keep(step, row, replace(row, period=max(row.period - 1, 0)))
        _try_again(step, row, charge)
    elif before is None:
        go_on(step, _keep(step, row, replace(row, period=row.period + 1)))
    elif paid > 0 and row.next_due is None:
        go_on(step, row)


def go_on(step: Step, row: Subscription) -> Subscription:
    """Plan the next payment of an active subscription, or complete it when none is to come."""
    due = row.due(row.period)
    if row.has_enough_payments() or not next_amount(step, row) or row.ends_before(due) or due is None:
        row = _await(step, row, None)
        return row if row.open_payments else move(step, row, SubscriptionEvent.COMPLETED)
    return _await(step, row, max(due, step.sandbox.now))


def next_amount(step: Step, row: Subscription) -> Decimal:
    """What the next payment takes; 0 when the amount that ends the subscription leaves room for none."""
    left = row.left()
    if left is None or left >= row.amount:
        return row.amount
    taken = step.assume("subscription.end_amount") if left > 0 else "before"
    if taken == "whole":
        return row.amount
    return left - left % currency(row.currency).unit if taken == "rest" else ZERO


def catch_up(step: Step, row: Subscription) -> Subscription:
    """Plan the next payment after a pause or a change: those missed are skipped or made up for, as assumed."""
    period = row.period
    if step.assume("subscription.missed_payments") == "skip":
        period = row.period_from(step.sandbox.now)
        if row.retries and period > row.period and step.assume("subscription.owed_payment") == "collect":
            period -= 1  # one payment is due now, before the next of the plan
    return go_on(step, _keep(step, row, replace(row, period=period, retries=0)))


def lose_method(step: Step, payment_method_id: str) -> None:
    """The payment method of subscriptions was removed: those that are active are suspended now or, as assumed, when
    their next payment is due and cannot be tried. Of very many the rest follows in the next steps of this instant."""
    for row in step.sandbox.subscriptions.find("payment_method", payment_method_id):
        if row.status is SubscriptionState.ACTIVE and step.assume("subscription.method_removed") == "at_once":
            if len(step.result.events) >= MOST_EVENTS:
                step.sandbox.schedule.plan(step.sandbox.now, Due.METHOD_LOST, payment_method_id)
                return
            move(step, row, SubscriptionEvent.SUSPENDED)


def move(step: Step, row: Subscription, event: SubscriptionEvent) -> Subscription:
    """Move by the table. Raises ``WrongState`` (108). Nothing is awaited of one that is not active."""
    after = _keep(step, row, row.after(event))
    if after.status is not SubscriptionState.ACTIVE:
        after = _await(step, after, None)
    step.emit(Subject.SUBSCRIPTION, row.subscription_id, event, row.status, after.status)
    return after


def _try_again(step: Step, row: Subscription, charge: Charge) -> None:
    if row.retry is None or row.retries >= row.retry.maximum or _is_final(step, charge):
        match step.assume("subscription.retries_exhausted"):
            case "cancel":
                move(step, row, SubscriptionEvent.CANCELLED)
            case "next_payment":
                go_on(step, _keep(step, row, replace(row, period=row.period + 1, retries=0)))
            case _:
                move(step, row, SubscriptionEvent.SUSPENDED)
        return
    tried = _keep(step, row, replace(row, retries=row.retries + 1))
    _await(step, tried, step.sandbox.now + row.retry.pause)


def _is_final(step: Step, charge: Charge) -> bool:
    """Whether a declined payment is not tried again, because its provider says that it is not worth it."""
    attempts = charge.failed_attempts
    hard = bool(attempts) and not attempts[-1].is_retryable
    return hard and step.assume("subscription.hard_declines") == "final"


def _await(step: Step, row: Subscription, due: Micros | None) -> Subscription:
    after = _keep(step, row, replace(row, awaited=row.awaited + 1, next_due=due))
    if due is not None:
        step.sandbox.schedule.plan(due, Due.SUBSCRIPTION_RENEWAL, row.subscription_id, str(after.awaited))
    return after


def _keep(step: Step, before: Subscription, after: Subscription) -> Subscription:
    return step.replace(step.sandbox.subscriptions, before, after)
