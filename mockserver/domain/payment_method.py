"""A stored payment method: a card or an account known to one provider, with or without a customer.

Source: service document, Payment method; assumption ``removed.customer_or_method``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mockserver.domain.charge import Payer, WebhookTarget
from mockserver.domain.clock import Micros
from mockserver.domain.constraints import CustomerId, NetworkTokenId, PaymentMethodId, PayToId, VaultId
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.sources import Instrument
from mockserver.domain.states import Presence


@dataclass(slots=True)
class PaymentMethod:
    """A payment method as stored. The full card number lives in the vault only, under ``vault_id``."""

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
    _charged: tuple[Instrument, Instrument] | None = field(default=None, init=False, repr=False, compare=False)

    def charged(self) -> Instrument:
        """The instrument as its charges show it: one and the same for all of them until it changes."""
        known, held = self._charged, self.instrument
        if known is not None and known[0] is held:
            return known[1]
        shown = replace(held, payment_method_id=self.payment_method_id, customer_id=self.customer_id)
        self._charged = held, shown
        return shown
