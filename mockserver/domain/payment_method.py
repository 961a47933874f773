"""A stored payment method: a card or an account known to one provider, with or without a customer.

Source: docs/spec/service.md, Payment method; settled fact
``removed.customer_or_method``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from mockserver.domain.charge import Payer, WebhookTarget
from mockserver.domain.clock import Micros
from mockserver.domain.constraints import (
    CustomerId,
    NetworkTokenId,
    PaymentMethodId,
    PayToId,
    VaultId,
)
from mockserver.domain.customer import DELETED
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.record import record, replace
from mockserver.domain.sources import Instrument
from mockserver.domain.states import PAYMENT_METHOD, Presence, PresenceEvent

MOST_METHODS = 1_000
"""Payment methods in use that one customer has at most: they are removed with it, in one step."""


@record
class PaymentMethod:
    """A payment method as stored. The full card number lives in the vault only, under
    ``vault_id``."""

    payment_method_id: str
    instrument: Instrument
    provider: ProviderSummary
    added: Micros
    provider_payment_method_id: str | None = None
    customer_id: CustomerId | None = None
    payer: Payer | None = None
    email: str | None = None
    ip: str | None = None
    vault_id: VaultId | None = None
    token: str | None = None
    network_token_id: NetworkTokenId | None = None
    payto_id: PayToId | None = None
    fallback_payment_method_id: PaymentMethodId | None = None
    provider_data: Mapping[str, str] | None = None
    metadata: Mapping[str, str] | None = None
    webhook: WebhookTarget | None = None
    removed: Micros | None = None
    state: Presence = Presence.ACTIVE
    seq: int = -1
    _charged: list[Instrument] = field(default_factory=list, init=False, repr=False, compare=False)
    """What ``charged`` gives, once it has been asked."""

    def charged(self) -> Instrument:
        """The instrument as all of its charges show it: one object, of which they keep no
        copies. Kept in a list, as a record's own fields are not assigned."""
        if not self._charged:
            instrument = replace(
                self.instrument,
                payment_method_id=self.payment_method_id,
                customer_id=self.customer_id,
            )
            self._charged.append(instrument)
        return self._charged[0]

    def after_removal(self, now: Micros) -> PaymentMethod:
        """Removed, without e-mail, also that of a payer who is not a customer. Raises
        ``WrongState`` (73)."""
        state = PAYMENT_METHOD.advance(self.state, PresenceEvent.REMOVED)
        payer = self.payer
        if payer is not None and payer.customer_id is None:
            payer = replace(payer, email=DELETED)
        return replace(self, state=state, removed=now, email=DELETED, payer=payer)
