"""Everything that time alone will cause, as data: the only place from which it does is
``run_due``.

As data and not as timers or functions: so a document and a store hold it, a fork copies it, and the
control page can show what is to come. Entries of one instant come due in the order in which they
were planned, so that the same requests always cause the same.
"""

from collections.abc import Callable
from dataclasses import field
from enum import StrEnum
from heapq import heappop, heappush
from typing import NamedTuple

from mockserver.domain.clock import LATEST, Micros
from mockserver.domain.constraints import NonNegative
from mockserver.domain.record import mutable


class Due(StrEnum):
    """What can come due: its name, the table of the object that it is about, and what people call
    it.

    The object of a webhook may have been dropped since; that of ``later`` is named by its
    detail."""

    table: str | None
    words: str

    def __new__(cls, name: str, table: str | None, words: str) -> "Due":
        member = str.__new__(cls, name)
        member._value_, member.table, member.words = name, table, words
        return member

    VAULT_EXPIRY = "vault_expiry", "vault", "a vault item expires"
    CCV_DELAY = "ccv_delay", "vault", "a ccv is deleted"
    AUTHORISATION_EXPIRY = "authorisation_expiry", "charges", "an authorisation expires"
    CHALLENGE_EXPIRY = "challenge_expiry", "charges", "a 3-D Secure challenge expires"
    SETTLEMENT = "settlement", "charges", "a payment settles"
    RETURN = "return", "charges", "a payment is returned"
    REFUND_SETTLEMENT = "refund_settlement", "charges", "a refund settles"
    REFUND_RETURN = "refund_return", "charges", "a refund fails"
    TRANSFER_SETTLEMENT = "transfer_settlement", "transfers", "a transfer settles"
    SUBSCRIPTION_RENEWAL = (
        "subscription_renewal",
        "subscriptions",
        "a subscription takes its next payment",
    )
    METHOD_LOST = "method_lost", "payment_methods", "more subscriptions lose their payment method"
    CUSTOMER_SHOWN = (
        "customer_shown",
        "customers",
        "more payment methods show a change of their customer",
    )
    TOKEN_EXPIRY = "token_expiry", "tokens", "a token expires"
    PAYTO = "payto", "payto", "a PayTo agreement moves on"
    LATER = "later", None, "a rule acts later"
    WEBHOOK = "webhook", None, "a webhook is sent"
    WEBHOOK_HELD = "webhook_held", None, "a held webhook goes out"
    BATCH_PREPARED = "batch_prepared", "batches", "a batch is prepared"
    BATCH_STARTED = "batch_started", "batches", "a batch starts"
    BATCH_ROWS = "batch_rows", "batches", "rows of a batch are taken"


class ScheduledWork(NamedTuple):
    """One thing to come: at this instant, in this order among equals, for this object. ``detail``
    belongs to ``what``."""

    at: Micros
    order: int
    what: Due
    subject: str
    detail: str = ""


@mutable
class Schedule:
    """A queue by sandbox time. An entry whose object has moved on meanwhile is ignored when it
    comes due.

    ``order`` counts the entries that were ever planned, ``ran`` those that have come due.
    ``on_change`` is called with the order of each entry and the entry, None for one that is
    taken."""

    order: NonNegative
    entries: list[ScheduledWork]
    ran: int = field(default=0, init=False)
    on_change: Callable[[int, ScheduledWork | None], None] | None = field(
        default=None, init=False, compare=False
    )

    def plan(self, at: Micros, what: Due, subject: str, detail: str = "") -> None:
        """Add an entry. What lies beyond the calendar never comes due, and is not kept."""
        self.order += 1
        if at <= LATEST:
            entry = ScheduledWork(at, self.order, what, subject, detail)
            heappush(self.entries, entry)
            if self.on_change is not None:
                self.on_change(entry.order, entry)

    def next_due(self, now: Micros) -> ScheduledWork | None:
        """Take the earliest entry that is due at ``now``."""
        if not self.is_due(now):
            return None
        self.ran += 1
        entry = heappop(self.entries)
        if self.on_change is not None:
            self.on_change(entry.order, None)
        return entry

    def earliest(self, most: int) -> list[ScheduledWork]:
        """So many entries that come due next, in order: the way down the heap reads few more than
        these."""
        entries = self.entries
        earliest: list[ScheduledWork] = []
        # Entries of which all that come before are taken, each with its place in the heap.
        candidates: list[tuple[ScheduledWork, int]] = []
        if entries:
            candidates.append((entries[0], 0))
        while candidates and len(earliest) < most:
            entry, place = heappop(candidates)
            earliest.append(entry)
            # The two below a place in a heap are the next after it.
            for below in (2 * place + 1, 2 * place + 2):
                if below < len(entries):
                    heappush(candidates, (entries[below], below))
        return earliest

    def take(self, most: int) -> list[ScheduledWork]:
        """Take out the earliest entries, at most so many, without running them: to put a long
        schedule in order without keeping others waiting."""
        return [heappop(self.entries) for _ in range(min(most, len(self.entries)))]

    def is_due(self, now: Micros) -> bool:
        """Whether anything is."""
        return bool(self.entries) and self.entries[0].at <= now
