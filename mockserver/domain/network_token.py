"""A network token: what a card scheme gives instead of a card number. It goes on working when the
card behind it is replaced, so it knows its payment method and follows the card of that.

Source: docs/spec/service.md, Payment method, networkToken; settled fact ``network_token.status``.
"""

from __future__ import annotations

from collections.abc import Mapping

from mockserver.domain.cards import Card
from mockserver.domain.clock import Micros
from mockserver.domain.constraints import CustomerId, PaymentMethodId
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.record import record, replace
from mockserver.domain.states import NETWORK_TOKEN, NetworkTokenEvent, NetworkTokenState


@record
class NetworkToken:
    """A network token as stored, with the card it stands for and the payment method it was made
    with."""

    network_token_id: str
    scheme_token_id: str
    provider: ProviderSummary
    card: Card
    added: Micros
    scheme_data: Mapping[str, str]
    payment_method_id: PaymentMethodId
    customer_id: CustomerId | None = None
    status: NetworkTokenState = NetworkTokenState.ACTIVE
    seq: int = -1

    def after(self, event: NetworkTokenEvent) -> NetworkToken:
        """Moved by the state table. Raises ``WrongState`` (51)."""
        return replace(self, status=NETWORK_TOKEN.advance(self.status, event))
