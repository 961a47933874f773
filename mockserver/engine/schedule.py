"""Everything that time alone will cause, as data: the only place from which it does is ``run_due``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from typing import NamedTuple

from mockserver.domain.clock import LATEST, Micros
from mockserver.domain.constraints import NonNegative


class Due(StrEnum):
    """What can come due."""

    VAULT_EXPIRY = "vault_expiry"
    CCV_DELAY = "ccv_delay"
    AUTHORISATION_EXPIRY = "authorisation_expiry"
    CHALLENGE_EXPIRY = "challenge_expiry"
    SETTLEMENT = "settlement"
    RETURN = "return"
    REFUND_SETTLEMENT = "refund_settlement"
    REFUND_RETURN = "refund_return"
    TRANSFER_SETTLEMENT = "transfer_settlement"
    SUBSCRIPTION_RENEWAL = "subscription_renewal"
    TOKEN_EXPIRY = "token_expiry"
    PAYTO = "payto"
    LATER = "later"
    WEBHOOK = "webhook"
    WEBHOOK_HELD = "webhook_held"
    BATCH_PREPARED = "batch_prepared"
    BATCH_STARTED = "batch_started"
    BATCH_ROWS = "batch_rows"


SUBJECTS: Mapping[Due, str | None] = {
    Due.VAULT_EXPIRY: "vault",
    Due.CCV_DELAY: "vault",
    Due.AUTHORISATION_EXPIRY: "charges",
    Due.CHALLENGE_EXPIRY: "charges",
    Due.SETTLEMENT: "charges",
    Due.RETURN: "charges",
    Due.REFUND_SETTLEMENT: "charges",
    Due.REFUND_RETURN: "charges",
    Due.TRANSFER_SETTLEMENT: "transfers",
    Due.SUBSCRIPTION_RENEWAL: "subscriptions",
    Due.TOKEN_EXPIRY: "tokens",
    Due.PAYTO: "payto",
    Due.LATER: None,
    Due.WEBHOOK: None,
    Due.WEBHOOK_HELD: None,
    Due.BATCH_PREPARED: "batches",
    Due.BATCH_STARTED: "batches",
    Due.BATCH_ROWS: "batches",
}
"""The table of the object that an entry is about. That of a webhook may have been dropped since; that of ``later`` is
named by its detail."""


class ScheduledWork(NamedTuple):
    """One thing to come: at this instant, in this order among equals, for this object. ``detail`` belongs to
    ``what``."""

    at: Micros
    order: int
    what: Due
    subject: str
    detail: str = ""


@dataclass(slots=True)
class Schedule:
    """A queue by sandbox time. An entry whose object has moved on meanwhile is ignored when it comes due.

    ``order`` counts the entries that were ever planned, ``ran`` those that have come due.
    """

    order: NonNegative
    entries: list[ScheduledWork]
    ran: int = field(default=0, init=False)

    def plan(self, at: Micros, what: Due, subject: str, detail: str = "") -> None:
        """Add an entry. What lies beyond the calendar never comes due, and is not kept."""
        self.order += 1
        if at <= LATEST:
            heappush(self.entries, ScheduledWork(at, self.order, what, subject, detail))

    def next_due(self, now: Micros) -> ScheduledWork | None:
        """Take the earliest entry that is due at ``now``."""
        if not self.is_due(now):
            return None
        self.ran += 1
        return heappop(self.entries)

    def is_due(self, now: Micros) -> bool:
        """Whether something is due at ``now``."""
        return bool(self.entries) and self.entries[0].at <= now
