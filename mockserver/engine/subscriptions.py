"""Subscription use cases: create, read, list, change, suspend, resume, cancel, and the due payment.

Sources: docs/spec/published-facts.md, 1.1 rows 63-68, 2.11, 8 row 16, 10 (Subscriptions); assumptions
``subscription.*``.
"""

from __future__ import annotations

from decimal import Decimal

from mockserver.domain.clock import Instant, Micros, iso
from mockserver.domain.codes import Code
from mockserver.domain.commands import ChangeSubscription, NewCharge, NewSubscription
from mockserver.domain.errors import Faults, Invalid, Refused
from mockserver.domain.events import Subject
from mockserver.domain.money import currency, exact, number_text
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.record import or_kept, replace
from mockserver.domain.sources import Initiator, MethodSource
from mockserver.domain.states import SUBSCRIPTION, SubscriptionEvent, SubscriptionState
from mockserver.domain.subscription import MOST_STEPS, EndAfter, Retry, Subscription
from mockserver.engine import charges, subscription_course
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import ScheduledWork
from mockserver.engine.step import Step, check_in_use, found


def create(step: Step, command: NewSubscription) -> Subscription:
    """Subscribe. The first payment is due at the start, by default now.

    Raises ``Invalid`` 56, 73 (payment method), 74, 2 (amount), 29 (currency), 90 (frequency, end, retry, start).
    """
    sandbox = step.sandbox
    faults = Faults()
    method = _usable_method(sandbox, command.payment_method_id, faults)
    code, amount = _money(step, command.amount, command.currency, method, faults)
    start = Instant(sandbox.now) if command.start is None else command.start
    if start < sandbox.now and step.assume("subscription.past_start") == "refuse":
        faults.wrong("StartDate", f"got {iso(start)}, wanted {iso(sandbox.now)} or later")
    on_its_dates = start < sandbox.now and step.assume("subscription.past_start_dates") == "from_start"
    _check_steps(command.frequency, command.end_after, command.retry, start, faults)
    faults.refuse()
    row = sandbox.subscriptions.add(
        Subscription(
            subscription_id=sandbox.ids.hex32("subscription"),
            payment_method_id=command.payment_method_id,
            amount=amount,
            currency=code,
            interval=command.interval,
            frequency=command.frequency,
            start=start,
            added=sandbox.now,
            anchor=start if on_its_dates else max(start, sandbox.now),
            status=SUBSCRIPTION.begin(SubscriptionEvent.CREATED),
            end_after=command.end_after,
            retry=command.retry,
            webhook=command.webhook,
            metadata=command.metadata,
            walks=True if step.assume("subscription.month_end") == "walk" else None,
        )
    )
    step.result.about["subscription"] = row
    step.emit(Subject.SUBSCRIPTION, row.subscription_id, SubscriptionEvent.CREATED, None, row.status)
    if on_its_dates:
        # The payment that is due now is that of the last of the dates that have passed.
        on_plan = replace(row, period=row.period_from(sandbox.now + 1) - 1)
        row = step.replace(sandbox.subscriptions, row, on_plan)
    return subscription_course.go_on(step, row)


def update(step: Step, subscription_id: str, command: ChangeSubscription) -> Subscription:
    """Change what is given; end, retries and webhook are replaced, or removed when they are not given.

    Raises ``NotFound`` (104), ``WrongState`` (108), ``Invalid`` as ``create``.
    """
    row = get(step, subscription_id)
    row.after(SubscriptionEvent.UPDATED)
    faults = Faults()
    method = step.sandbox.payment_methods.get(row.payment_method_id)
    code, amount = _money(step, or_kept(command.amount, row.amount), command.currency or row.currency, method, faults)
    interval = command.interval or row.interval
    frequency = or_kept(command.frequency, row.frequency)
    _check_steps(frequency, command.end_after, command.retry, row.start, faults)
    faults.refuse()
    anchor, period = row.anchor, row.period
    if (interval, frequency) != (row.interval, row.frequency) and row.period:
        last = row.due(row.period - 1)
        anchor, period = (anchor, period) if last is None else (last, 1)
    after = replace(
        row,
        amount=amount,
        currency=code,
        interval=interval,
        frequency=frequency,
        anchor=anchor,
        period=period,
        end_after=command.end_after,
        retry=command.retry,
        webhook=command.webhook,
        metadata=or_kept(command.metadata, row.metadata),
    )
    row = step.replace(step.sandbox.subscriptions, row, after)
    step.emit(Subject.SUBSCRIPTION, subscription_id, SubscriptionEvent.UPDATED, row.status, row.status)
    if row.status is SubscriptionState.ACTIVE and row.retries == 0:
        row = subscription_course.catch_up(step, row)
    return row


def set_status(step: Step, subscription_id: str, status: SubscriptionState) -> Subscription:
    """Suspend, resume, complete or cancel; asking for the status that it has changes nothing.

    Raises ``NotFound`` (104), ``WrongState`` (108), ``Invalid`` 56, 73 when resuming without its payment method.
    """
    row = get(step, subscription_id)
    if row.status is status:
        return row
    event = SUBSCRIPTION.event_to(status)
    if event is None:
        raise RuntimeError(f"no event leads to {status}")
    row.after(event)
    if event is SubscriptionEvent.RESUMED:
        faults = Faults()
        _usable_method(step.sandbox, row.payment_method_id, faults)
        faults.refuse()
    row = subscription_course.move(step, row, event)
    return subscription_course.catch_up(step, row) if event is SubscriptionEvent.RESUMED else row


def cancel(step: Step, subscription_id: str) -> Subscription:
    """Cancel for good. Raises ``NotFound`` (104), ``WrongState`` (108)."""
    return subscription_course.move(step, get(step, subscription_id), SubscriptionEvent.CANCELLED)


def get(step: Step, subscription_id: str) -> Subscription:
    """A subscription. Raises ``NotFound`` (104)."""
    return found(step, step.sandbox.subscriptions, "subscription", subscription_id, Code.INVALID_SUBSCRIPTION_ID)


def renew(step: Step, entry: ScheduledWork) -> None:
    """One due payment. A payment that cannot even be tried (its method or provider is gone) suspends."""
    row = step.sandbox.subscriptions.get(entry.subject)
    if row is None or row.status is not SubscriptionState.ACTIVE or entry.detail != str(row.awaited):
        return
    step.result.about["subscription"] = row
    amount = subscription_course.next_amount(step, row)
    if not amount:
        subscription_course.go_on(step, row)
        return
    step.learn(
        {
            "subscriptionId": row.subscription_id,
            "paymentMethodId": row.payment_method_id,
            "amount": amount,
            "currency": row.currency,
            "metadata": dict(row.metadata or {}),
        }
    )
    try:
        charges.create(
            step,
            NewCharge(
                source=MethodSource(row.payment_method_id),
                amount=amount,
                currency=row.currency,
                initiator=Initiator.MERCHANT,
                webhook=row.webhook,
                metadata=row.metadata,
                subscription_id=row.subscription_id,
            ),
        )
    except Refused:
        subscription_course.move(step, row, SubscriptionEvent.SUSPENDED)


def _usable_method(sandbox: Sandbox, payment_method_id: str, faults: Faults) -> PaymentMethod | None:
    method = sandbox.payment_methods.get(payment_method_id)
    check_in_use(method, payment_method_id, "PaymentMethodId", faults)
    return method


def _money(
    step: Step, amount: Decimal, given: str | None, method: PaymentMethod | None, faults: Faults
) -> tuple[str, Decimal]:
    """Currency and exact amount; without a currency, the assumption's or that of the method's provider."""
    default: str = step.assume("currency.default")
    provider = step.sandbox.providers.get(method.provider.provider_id) if method else None
    own: str = provider.currency if provider else step.assume("provider.currency")
    if amount <= 0:
        faults.add(Code.INVALID_AMOUNT_MUST_BE_POSITIVE, "Amount", f"got {number_text(amount)}, wanted more than 0")
        amount = Decimal(1)
    try:
        money = currency(given or (own if default == "provider" else default))
        return money.code, exact(amount, money)
    except Invalid as refused:
        faults.absorb(refused)
        return own, amount


def _check_steps(frequency: int, end: EndAfter | None, retry: Retry | None, start: Micros, faults: Faults) -> None:
    if not 1 <= frequency <= MOST_STEPS:
        faults.wrong("Frequency", f"got {frequency}, wanted 1 to {MOST_STEPS}")
    if end is not None:
        if end.count is not None and end.count < 0:
            faults.wrong("EndAfter.Count", f"got {end.count}, wanted 1 or more")
        if end.amount is not None and end.amount < 0:
            words = f"got {number_text(end.amount)}, wanted more than 0"
            faults.wrong("EndAfter.Amount", words)
        if end.date is not None and end.date < start and not faults.blames("StartDate"):
            words = f"got {iso(end.date)}, wanted {iso(start)} or later"
            faults.wrong("EndAfter.Date", words)
    if retry is not None:
        if not 0 <= retry.maximum <= MOST_STEPS:
            faults.wrong("Retry.Maximum", f"got {retry.maximum}, wanted 0 to {MOST_STEPS}")
        if not 1 <= retry.frequency <= MOST_STEPS:
            faults.wrong("Retry.Frequency", f"got {retry.frequency}, wanted 1 to {MOST_STEPS}")
