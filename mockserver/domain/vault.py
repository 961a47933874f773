"""The vault: a card number and, for a short while, its ccv.

A payment does not ask whether the item of its card has expired: the payment method still pays, but
can no longer be given to another provider.

Source: docs/spec/service.md, What the service does, 6-9; assumption
``vault.ccv_delay``; settled facts ``vault.gone``, ``vault.both_expiries``.
"""

from __future__ import annotations

from dataclasses import field

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


def check_expiry(expiry: Expiry, now: Micros, faults: Faults, *, with_card: bool) -> Instant | None:
    """The instant of expiry, or None for never. Adds a fault for both fields at once (82, 85), or a
    time that is not in the future (83, 86). ``with_card``: the card is vaulted with something else,
    so that its fields say vault."""
    if with_card:
        both = Code.CANNOT_PROVIDE_BOTH_VAULT_EXPIRE_DATE_AND_VAULT_EXPIRE_SECONDS
        bad = Code.INVALID_VAULT_EXPIRY_DATE
        seconds_field, date_field = "VaultExpireSeconds", "VaultExpireDate"
    else:
        both = Code.CANNOT_PROVIDE_BOTH_EXPIRE_DATE_AND_EXPIRE_SECONDS
        bad = Code.INVALID_EXPIRE_DATE_OR_EXPIRE_SECONDS
        seconds_field, date_field = "ExpireSeconds", "ExpireDate"
    seconds, date = expiry.seconds, expiry.date
    if seconds is not None and date is not None:
        faults.add(both, seconds_field, f"got {seconds_field} and {date_field}, give one of them")
        return None
    if seconds is not None:
        if seconds <= 0:
            faults.add(bad, seconds_field, f"got {seconds}, wanted 1 or more seconds")
            return None
        if now + seconds * SECOND > LATEST:
            faults.add(bad, seconds_field, "wanted an expiry before the year 10000")
            return None
        return Instant(now + seconds * SECOND)
    if date is not None and date <= now:
        faults.add(bad, date_field, f"got {iso(date)}, wanted a time after {iso(now)}")
        return None
    return date
