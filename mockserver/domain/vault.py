"""The vault: a card number and, for a short while, its ccv.

Source: docs/spec/service.md, What the service does, 6-9; assumptions ``vault.gone``, ``vault.ccv_delay``,
``vault.both_expiries``.
"""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal

from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import LATEST, SECOND, Instant, Micros, iso
from mockserver.domain.codes import Code
from mockserver.domain.errors import Faults
from mockserver.domain.record import record, replace
from mockserver.domain.states import CCV, VAULT, CcvEvent, CcvState, VaultEvent, VaultState


@record
class Expiry:
    """When an item shall expire, as given: after so many seconds, or at an instant; never both."""

    seconds: int | None = None
    date: Instant | None = None


NEVER = Expiry()


@record
class ExpiryWords:
    """How an operation names the two expiry fields, and the codes of its refusals."""

    seconds_field: str
    date_field: str
    both: Code
    bad: Code


INDEPENDENT = ExpiryWords(
    "ExpireSeconds",
    "ExpireDate",
    Code.CANNOT_PROVIDE_BOTH_EXPIRE_DATE_AND_EXPIRE_SECONDS,
    Code.INVALID_EXPIRE_DATE_OR_EXPIRE_SECONDS,
)
WITH_A_CARD = ExpiryWords(
    "VaultExpireSeconds",
    "VaultExpireDate",
    Code.CANNOT_PROVIDE_BOTH_VAULT_EXPIRE_DATE_AND_VAULT_EXPIRE_SECONDS,
    Code.INVALID_VAULT_EXPIRY_DATE,
)


@record
class VaultItem:
    """A vaulted card. ``number`` and ``ccv`` are empty once they are gone."""

    vault_id: str
    facts: CardNumber
    added: Micros
    expires: Instant | None
    number: str | None = field(repr=False)
    ccv: str | None = field(repr=False)
    ccv_state: CcvState
    state: VaultState = VaultState.STORED
    seq: int = -1

    def after_ccv(self, event: CcvEvent) -> VaultItem:
        """Without its ccv. Raises ``WrongState`` (6) for an item that holds none."""
        return replace(self, ccv=None, ccv_state=CCV.advance(self.ccv_state, event))

    def after_end(self, event: VaultEvent) -> VaultItem:
        """Expired or deleted: the number is gone. Raises ``WrongState`` (62)."""
        return replace(self, number=None, state=VAULT.advance(self.state, event))


def check_expiry(expiry: Expiry, words: ExpiryWords, now: Micros, faults: Faults) -> Instant | None:
    """The instant of expiry, or None for never. Adds a fault for both fields at once, or a time that is not in the
    future."""
    if expiry.seconds is not None and expiry.date is not None:
        faults.add(
            words.both, words.seconds_field, f"got {words.seconds_field} and {words.date_field}, give one of them"
        )
        return None
    if expiry.seconds is not None:
        if expiry.seconds <= 0:
            faults.add(words.bad, words.seconds_field, f"got {expiry.seconds}, wanted 1 or more seconds")
            return None
        if Decimal(now) + Decimal(expiry.seconds) * SECOND > LATEST:
            faults.add(words.bad, words.seconds_field, "wanted an expiry before the year 10000")
            return None
        return Instant(now + expiry.seconds * SECOND)
    if expiry.date is not None and expiry.date <= now:
        faults.add(words.bad, words.date_field, f"got {iso(expiry.date)}, wanted a time after {iso(now)}")
        return None
    return expiry.date
