"""A subscription: a stored payment method charged again and again until something ends it.

A month or a year later is the same day of the month at the same time in UTC, or the last day of a
month that is too short. Every step is counted from the anchor, so that a month-end never drifts (31
January, 28 February, 31 March), or each from the one before (31 January, 28 February, 28 March).
Sources: docs/spec/published-facts.md, 1.2, 2.11, 3, 8 row 16, 10 (Subscriptions); assumptions
``subscription.*``.
"""

from __future__ import annotations

import calendar
from bisect import bisect_left
from collections.abc import Mapping
from datetime import MAXYEAR, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from mockserver.domain.charge import ZERO, WebhookTarget
from mockserver.domain.clock import DAY, HOUR, LATEST, Instant, Micros, datetime_of, instant_of
from mockserver.domain.constraints import Amount, CurrencyCode, NonNegative, PaymentMethodId, Within
from mockserver.domain.record import record, replace
from mockserver.domain.states import SUBSCRIPTION, SubscriptionEvent, SubscriptionState


class Interval(StrEnum):
    """Between two payments; the order gives the index (published facts, 3)."""

    DAY = "Day"
    WEEK = "Week"
    MONTH = "Month"
    YEAR = "Year"


class RetryInterval(StrEnum):
    """Between two tries of one payment; the order gives the index (published facts, 3)."""

    HOUR = "Hour"
    DAY = "Day"


_MONTHS_OF_YEAR = 12
_LENGTHS: dict[Interval, Micros] = {Interval.DAY: DAY, Interval.WEEK: 7 * DAY}
_MONTHS_OF: dict[Interval, int] = {Interval.MONTH: 1, Interval.YEAR: _MONTHS_OF_YEAR}
RETRY_LENGTHS: dict[RetryInterval, Micros] = {RetryInterval.HOUR: HOUR, RetryInterval.DAY: DAY}
_DAY_OF_EVERY_MONTH = 28


def later(
    anchor: Micros, interval: Interval, count: int, *, walks_by: int | None = None
) -> Micros | None:
    """``count`` intervals (0 or more) after the anchor; None beyond the year 9999. ``walks_by``: in
    steps of so many intervals, each counted from the one before; None: all from the anchor."""
    months = _MONTHS_OF.get(interval)
    if months is None:
        instant = anchor + _LENGTHS[interval] * count
        return instant if instant <= LATEST else None
    # Counted from the anchor, it is one step.
    step = count if walks_by is None else walks_by
    return _months_later(anchor, months * count, months * step)


def _months_later(anchor: Micros, count: int, step: int) -> Micros | None:
    """``count`` months after the anchor, in steps of ``step`` months: each month on the way that is
    too short for the day shortens it for good."""
    moment = datetime_of(anchor)
    year, month = _month_after(moment, count)
    if year > MAXYEAR:
        return None
    day = moment.day
    passed = step
    while step and passed <= count and day > _DAY_OF_EVERY_MONTH:
        _, last_day = calendar.monthrange(*_month_after(moment, passed))
        day = min(day, last_day)
        passed += step
    instant = instant_of(moment.replace(year=year, month=month, day=day))
    return instant if instant <= LATEST else None


def _month_after(moment: datetime, count: int) -> tuple[int, int]:
    """The year and the month (1 to 12) so many months after a moment."""
    years, month = divmod(moment.month - 1 + count, _MONTHS_OF_YEAR)
    return moment.year + years, month + 1


MOST_STEPS = 1000
"""Intervals between two payments, and tries of one payment, that a subscription may have."""


@record
class EndAfter:
    """When a subscription is complete: after so many payments, so much money, or a date; None does
    not end it."""

    count: NonNegative | None = None
    amount: Annotated[Decimal, Within(0)] | None = None
    date: Instant | None = None


@record
class Retry:
    """How often, and after how many hours or days, a declined payment is tried again."""

    maximum: Annotated[int, Within(0, MOST_STEPS)]
    interval: RetryInterval
    frequency: Annotated[int, Within(1, MOST_STEPS)] = 1

    @property
    def pause(self) -> Micros:
        """Time between two tries."""
        return RETRY_LENGTHS[self.interval] * self.frequency


_PERIODS = range(4_000_000)
"""Days from the year 1 to 9999: no subscription has more payments."""


@record
class Subscription:
    """A subscription as stored.

    Payment number ``period`` (0 is the first) is due ``period`` times ``frequency`` intervals after
    ``anchor``. ``payments`` and ``paid`` count what succeeded; ``open_payments`` and
    ``open_amount`` what still may. ``walks`` says that each is counted from the one before
    (assumption ``subscription.month_end``). ``awaited`` numbers the schedule entry that counts: any
    other is of the past. ``next_due`` is its instant.
    """

    subscription_id: str
    payment_method_id: PaymentMethodId
    amount: Amount
    currency: CurrencyCode
    interval: Interval
    frequency: Annotated[int, Within(1, MOST_STEPS)]
    start: Instant
    added: Micros
    anchor: Micros
    status: SubscriptionState
    end_after: EndAfter | None = None
    retry: Retry | None = None
    webhook: WebhookTarget | None = None
    metadata: Mapping[str, str] | None = None
    period: NonNegative = 0
    retries: NonNegative = 0
    payments: int = 0
    paid: Annotated[Decimal, Within(0)] = ZERO
    open_payments: int = 0
    open_amount: Decimal = ZERO
    awaited: NonNegative = 0
    next_due: Micros | None = None
    walks: bool | None = None
    seq: int = -1

    def after(self, event: SubscriptionEvent) -> Subscription:
        """Moved by the state table. Raises ``WrongState`` (108)."""
        return replace(self, status=SUBSCRIPTION.advance(self.status, event))

    def after_payment(self, amount: Decimal, paid: int, waiting: int) -> Subscription:
        """A payment of this amount moved. ``paid``: 1, it has succeeded; -1, what had succeeded was
        taken back; ``waiting``: 1, it is under way; -1, it is so no longer; else 0. A success ends
        the tries: the next payment that fails has all of them again."""
        return replace(
            self,
            payments=self.payments + paid,
            paid=self.paid + paid * amount,
            open_payments=self.open_payments + waiting,
            open_amount=self.open_amount + waiting * amount,
            retries=0 if paid > 0 else self.retries,
        )

    def due(self, period: int) -> Micros | None:
        """When payment number ``period`` is due; None beyond the year 9999."""
        step = self.frequency if self.walks else None
        return later(self.anchor, self.interval, period * self.frequency, walks_by=step)

    def period_from(self, instant: Micros) -> int:
        """The number of the first payment, from ``period`` on, that is due at ``instant`` or later,
        or never. Dates only grow, so it is looked for by halves: a daily subscription may have
        slept for a century."""

        def is_due_then(period: int) -> bool:
            due = self.due(period)
            return due is None or due >= instant

        return bisect_left(_PERIODS, x=True, lo=self.period, key=is_due_then)

    def has_enough_payments(self) -> bool:
        """Whether the payments made and under way reach the count that ends it."""
        count = self.end_after.count if self.end_after is not None else None
        return count is not None and self.payments + self.open_payments >= count

    def left(self) -> Decimal | None:
        """What the payments made and under way leave of the amount that ends it; None when no
        amount does."""
        total = self.end_after.amount if self.end_after is not None else None
        return None if total is None else total - self.paid - self.open_amount

    def ends_before(self, instant: Micros | None) -> bool:
        """Whether its end date lies before ``instant``; nothing is due beyond the end of the
        calendar."""
        end = self.end_after
        return instant is None or (end is not None and end.date is not None and instant > end.date)
