"""Subscription use cases: create, read, change, suspend, resume, cancel; what follows from each of
its payments, and when the next one is due (``charges.renew`` takes it).

A subscription is a row of dates: payment number ``period`` is due so many intervals after its
``anchor``. The next one stands in the schedule under a number, ``awaited``. A pause, another rhythm
or a failed payment changes what is next: then ``awaited`` counts on, and the entry that was planned
before finds that it is awaited no more.

Each payment is a charge of its own, and may end days after it began, as debits of bank accounts
do. So what a payment means for its subscription follows each move of the charge (``follow``): it
counts as paid, as under way, or not at all; a failed one is tried again, skipped, or suspends.

Sources: docs/spec/published-facts.md, 1.1 rows 63-68, 2.11, 8 row 16, 10 (Subscriptions);
assumptions ``subscription.*``.
"""

from decimal import Decimal

from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.clock import Instant, Micros, iso
from mockserver.domain.codes import Code
from mockserver.domain.commands import ChangeSubscription, NewSubscription
from mockserver.domain.errors import Faults
from mockserver.domain.money import check_positive, currency, exact, number_text
from mockserver.domain.payment_link import PAID, UNDER_WAY
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.record import made_of, replace, updated
from mockserver.domain.states import (
    SUBSCRIPTION,
    ChargeState,
    Subject,
    SubscriptionEvent,
    SubscriptionState,
)
from mockserver.domain.subscription import MOST_STEPS, EndAfter, Retry, Subscription
from mockserver.engine.intake import PROVIDERS_OWN
from mockserver.engine.schedule import Due
from mockserver.engine.step import Step, finder, method_in_use

MOST_EVENTS = 500
"""Events of a step after which the loss of a payment method goes on in the next: others wait no
longer than that takes, and each can send a webhook."""

get = finder(Subscription, Code.INVALID_SUBSCRIPTION_ID)
"""A subscription. Raises ``NotFound`` (104)."""


def create(step: Step, command: NewSubscription) -> Subscription:
    """Subscribe. The first payment is due at the start, by default now. Raises ``Invalid`` 56, 73
    (payment method), 74, 2 (amount), 29 (currency), 90 (frequency, end, retry, start)."""
    sandbox = step.sandbox
    faults = Faults()
    method = faults.attempt(method_in_use, step, command.payment_method_id, "PaymentMethodId")
    code, amount = _money(step, command.amount, command.currency, method, faults)
    start = Instant(sandbox.now) if command.start is None else command.start
    # When the dates begin on which payments are due.
    anchor: Micros = start
    on_its_dates = False
    if start < sandbox.now:
        if step.assume("subscription.past_start") == "refuse":
            faults.wrong("StartDate", f"got {iso(start)}, wanted {iso(sandbox.now)} or later")
        on_its_dates = step.assume("subscription.past_start_dates") == "from_start"
        if not on_its_dates:
            anchor = sandbox.now
    _check_steps(command.frequency, command.end_after, command.retry, start, faults)
    faults.refuse()
    row = made_of(
        Subscription,
        command,
        subscription_id=sandbox.ids.hex32("subscription"),
        amount=amount,
        currency=code,
        start=start,
        added=sandbox.now,
        anchor=anchor,
        status=SUBSCRIPTION.begin(SubscriptionEvent.CREATED),
        walks=True if step.assume("subscription.month_end") == "walk" else None,
    )
    if on_its_dates:
        # The dates that have passed are not made up for: what is due now is the payment of the last
        # of them.
        row = replace(row, period=row.period_from(sandbox.now + 1) - 1)
    return go_on(step, step.add(row, SubscriptionEvent.CREATED))


def update(step: Step, subscription_id: str, command: ChangeSubscription) -> Subscription:
    """Change what is given; end, retries and webhook are replaced, or removed when they are not
    given. Raises ``NotFound`` (104), ``WrongState`` (108), ``Invalid`` as ``create``."""
    row = get(step, subscription_id)
    # Raises for one that has ended, before anything is said of the fields.
    row.after(SubscriptionEvent.UPDATED)
    faults, wanted = Faults(), updated(row, command)
    method = step.sandbox.payment_methods.get(row.payment_method_id)
    code, amount = _money(step, wanted.amount, command.currency or row.currency, method, faults)
    _check_steps(wanted.frequency, command.end_after, command.retry, row.start, faults)
    faults.refuse()
    anchor, period = row.anchor, row.period
    is_other_rhythm = (wanted.interval, wanted.frequency) != (row.interval, row.frequency)
    if is_other_rhythm and row.period > 0:
        last_due = row.due(row.period - 1)
        if last_due is not None:
            # The new rhythm counts from the last payment that was due in the old one.
            anchor, period = last_due, 1
    after = replace(
        wanted,
        amount=amount,
        currency=code,
        anchor=anchor,
        period=period,
        end_after=command.end_after,
        retry=command.retry,
        webhook=command.webhook,
    )
    row = step.change(row, after, SubscriptionEvent.UPDATED)
    # The next payment of a suspended one is planned as it resumes; a payment that is being tried
    # again keeps its time.
    if row.status is SubscriptionState.ACTIVE and row.retries == 0:
        row = catch_up(step, row)
    return row


def set_status(step: Step, subscription_id: str, status: SubscriptionState) -> Subscription:
    """Suspend, resume, complete or cancel; asking for the status that it has changes nothing.
    Raises ``NotFound`` (104), ``WrongState`` (108), ``Invalid`` 56, 73 when resuming without its
    payment method."""
    row = get(step, subscription_id)
    if row.status is status:
        return row
    event = SUBSCRIPTION.event_to(status)
    if event is None:
        raise RuntimeError(f"no event leads to {status}")
    # Raises for a move that there is not, before the payment method is looked at.
    row.after(event)
    if event is SubscriptionEvent.RESUMED:
        method_in_use(step, row.payment_method_id, "PaymentMethodId")
    row = move(step, row, event)
    if event is SubscriptionEvent.RESUMED:
        row = catch_up(step, row)
    return row


def cancel(step: Step, subscription_id: str) -> Subscription:
    """Cancel for good. Raises ``NotFound`` (104), ``WrongState`` (108)."""
    return move(step, get(step, subscription_id), SubscriptionEvent.CANCELLED)


def follow(
    step: Step, charge: Charge, before: ChargeState | None, *, is_copy: bool = False
) -> None:
    """A payment of a subscription began (``before`` None) or moved: count it, and go on, try again
    or end. A copy of one that was taken twice is counted, and moves no date."""
    row = step.sandbox.subscriptions.get(charge.subscription_id or "")
    if row is None:
        return
    after = charge.status
    # By how much the counts move: 1, 0 or, for a payment that is returned, -1.
    paid = (after in PAID) - (before in PAID)
    waiting = (after in UNDER_WAY) - (before in UNDER_WAY)
    row = step.change(row, row.after_payment(charge.amount, paid, waiting))
    if row.status is not SubscriptionState.ACTIVE:
        return
    if after is ChargeState.FAILED:
        if before is not None:
            # It had begun as the payment of its period, and is that no longer.
            row = step.change(row, replace(row, period=max(row.period - 1, 0)))
        _try_again(step, row, charge)
    elif before is None:
        # It has begun, and counts as the payment of its period even while it is pending: debits
        # that take days do not shift the calendar.
        if not is_copy:
            go_on(step, step.change(row, replace(row, period=row.period + 1)))
    elif paid > 0 and row.next_due is None:
        # It was the last one under way, which the end has waited for.
        go_on(step, row)


def go_on(step: Step, row: Subscription) -> Subscription:
    """Plan the next payment of an active subscription, or complete it when none is to come."""
    due = row.due(row.period)
    is_paid_up = row.has_enough_payments() or not next_amount(step, row)
    # Beyond the calendar there is no further date.
    is_over = due is None or is_paid_up or row.ends_before(due)
    if due is not None and not is_over:
        return _plan_next(step, row, max(due, step.sandbox.now))
    row = _plan_next(step, row, None)
    if row.open_payments:
        # One of them may fail: only then another is due after all.
        return row
    return move(step, row, SubscriptionEvent.COMPLETED)


def next_amount(step: Step, row: Subscription) -> Decimal:
    """What the next payment takes; 0 when the amount that ends the subscription leaves room for
    none."""
    left = row.left()
    if left is None or left >= row.amount:
        return row.amount
    if left <= 0:
        return ZERO
    match step.assume("subscription.end_amount"):
        case "whole":
            return row.amount
        case "rest":
            # As much of it as the currency can say.
            return left - left % currency(row.currency).unit
        case _:
            return ZERO


def catch_up(step: Step, row: Subscription) -> Subscription:
    """Plan the next payment after a pause or a change: those missed are skipped or made up for, as
    assumed. Made up for, each is due at once, one after the other, as its date has passed."""
    period = row.period
    if step.assume("subscription.missed_payments") == "skip":
        period = row.period_from(step.sandbox.now)
        owes_payment = row.retries > 0 and period > row.period
        if owes_payment and step.assume("subscription.owed_payment") == "collect":
            # It is due now, before the next of the plan.
            period -= 1
    return go_on(step, step.change(row, replace(row, period=period, retries=0)))


def lose_method(step: Step, payment_method_id: str) -> None:
    """The payment method of subscriptions was removed: those that are active are suspended now or,
    as assumed, when their next payment is due and cannot be tried. Of very many the rest follows in
    the next steps of this instant."""
    for row in step.sandbox.subscriptions.find("payment_method", payment_method_id):
        if row.status is not SubscriptionState.ACTIVE:
            continue
        # Asked only where there is one: the journal names what a call rests on.
        if step.assume("subscription.method_removed") != "at_once":
            return
        if len(step.result.events) >= MOST_EVENTS:
            step.sandbox.schedule.plan(step.sandbox.now, Due.METHOD_LOST, payment_method_id)
            return
        move(step, row, SubscriptionEvent.SUSPENDED)


def move(step: Step, row: Subscription, event: SubscriptionEvent) -> Subscription:
    """Move by the table. Raises ``WrongState`` (108). Nothing is awaited of one that is not
    active."""
    after = step.change(row, row.after(event))
    if after.status is not SubscriptionState.ACTIVE:
        after = _plan_next(step, after, None)
    step.emit(Subject.SUBSCRIPTION, row.subscription_id, event, row.status, after.status)
    return after


def _try_again(step: Step, row: Subscription, charge: Charge) -> None:
    """A payment has failed: plan the next try of it, or do as assumed when there is none left."""
    retry = row.retry
    if retry is None or row.retries >= retry.maximum or _is_final(step, charge):
        _give_up_payment(step, row)
        return
    tried = step.change(row, replace(row, retries=row.retries + 1))
    _plan_next(step, tried, step.sandbox.now + retry.pause)


def _give_up_payment(step: Step, row: Subscription) -> None:
    """No try of a payment is left: the subscription ends, goes on without it, or waits for its
    owner, as assumed."""
    match step.assume("subscription.retries_exhausted"):
        case "cancel":
            move(step, row, SubscriptionEvent.CANCELLED)
        case "next_payment":
            # This payment is given up, the subscription is not.
            go_on(step, step.change(row, replace(row, period=row.period + 1, retries=0)))
        case _:
            move(step, row, SubscriptionEvent.SUSPENDED)


def _is_final(step: Step, charge: Charge) -> bool:
    """Whether a declined payment is not tried again, because its provider says that it is not worth
    it."""
    attempts = charge.failed_attempts
    if not attempts or attempts[-1].is_retryable:
        return False
    return bool(step.assume("subscription.hard_declines") == "final")


def _plan_next(step: Step, row: Subscription, due: Micros | None) -> Subscription:
    """Await the next payment at an instant (None: none). What was awaited before is not any more:
    ``awaited`` has counted on, so its entry of the schedule finds another number."""
    after = step.change(row, replace(row, awaited=row.awaited + 1, next_due=due))
    if due is not None:
        step.sandbox.schedule.plan(
            due, Due.SUBSCRIPTION_RENEWAL, row.subscription_id, str(after.awaited)
        )
    return after


def _money(
    step: Step, amount: Decimal, code: str | None, method: PaymentMethod | None, faults: Faults
) -> tuple[str, Decimal]:
    """Currency and exact amount of each payment; without a code, the usual currency.

    With a fault what is returned has no meaning: the caller refuses all faults together, and takes
    nothing before."""
    code = code or _usual_currency(step, method)
    faults.attempt(check_positive, amount)
    money = faults.attempt(currency, code)
    if money is None or faults.blames("Amount"):
        return code, amount
    exact_amount = faults.attempt(exact, amount, money)
    return money.code, amount if exact_amount is None else exact_amount


def _usual_currency(step: Step, method: PaymentMethod | None) -> str:
    """The currency of payments that name none: one for all, or that of the method's provider."""
    usual: str = step.assume("currency.default")
    if usual != PROVIDERS_OWN:
        return usual
    provider = None
    if method is not None:
        provider = step.sandbox.providers.get(method.provider.provider_id)
    if provider is None:
        # The method is refused in this step: any currency will do to check the rest.
        own: str = step.assume("provider.currency")
        return own
    return provider.currency


def _check_steps(
    frequency: int, end: EndAfter | None, retry: Retry | None, start: Micros, faults: Faults
) -> None:
    """Faults (90) of frequency, end and retries."""
    _check_bound("Frequency", frequency, 1, faults)
    if end is not None:
        _check_end(end, start, faults)
    if retry is not None:
        _check_bound("Retry.Maximum", retry.maximum, 0, faults)
        _check_bound("Retry.Frequency", retry.frequency, 1, faults)


def _check_bound(field: str, number: int, least: int, faults: Faults) -> None:
    """A fault (90) of a number of intervals or tries that is out of bounds."""
    if not least <= number <= MOST_STEPS:
        faults.wrong(field, f"got {number}, wanted {least} to {MOST_STEPS}")


def _check_end(end: EndAfter, start: Micros, faults: Faults) -> None:
    """Faults (90) of what ends a subscription. A 0, which clients send where they mean no end, is
    None here."""
    if end.count is not None and end.count < 0:
        faults.wrong("EndAfter.Count", f"got {end.count}, wanted 1 or more")
    if end.amount is not None and end.amount < 0:
        faults.wrong("EndAfter.Amount", f"got {number_text(end.amount)}, wanted more than 0")
    # A start that is itself at fault says nothing of the end.
    if end.date is not None and end.date < start and not faults.blames("StartDate"):
        faults.wrong("EndAfter.Date", f"got {iso(end.date)}, wanted {iso(start)} or later")
