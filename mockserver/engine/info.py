"""What the account can do: which providers are offered for a payment, and how.

Source: published facts, 1.1 rows 59-62, 2.13, 7.2; assumption ``least_cost`` (a card needs a provider in its currency).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from mockserver.domain.codes import Code
from mockserver.domain.errors import NotFound
from mockserver.domain.money import currency
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.provider_condition import is_offered
from mockserver.domain.states import Presence
from mockserver.engine import providers, tokens
from mockserver.engine.sandbox import Sandbox

PAYPAL = "paypal"


@dataclass(frozen=True, slots=True)
class Offer:
    """The providers that take a payment, in the order of their configuration."""

    providers: Sequence[Provider]
    card_provider: Provider | None

    def able(self, feature: Capability) -> list[Provider]:
        """Those that have a feature."""
        return [provider for provider in self.providers if feature in provider.capabilities]

    @property
    def paypal(self) -> list[Provider]:
        """Those that are PayPal."""
        return [provider for provider in self.able(Capability.CHECKOUT) if provider.summary.type == PAYPAL]

    @property
    def pay_later(self) -> list[Provider]:
        """Those that are nothing but a checkout of their own."""
        return [
            provider
            for provider in self.able(Capability.CHECKOUT)
            if Capability.CARD not in provider.capabilities and provider.summary.type != PAYPAL
        ]


def offer(box: Sandbox, amount: Decimal | None, given: str | None, card_provider_id: str | None) -> Offer:
    """What is offered for an amount and a currency; without them, everything in use that no row hides.

    Raises ``Invalid`` 29 (currency), ``NotFound`` 39 (card provider).
    """
    code = currency(given).code if given else None
    found = [
        provider
        for provider in box.providers
        if provider.state is Presence.ACTIVE
        and (code is None or provider.currency == code)
        and is_offered(provider.hide, provider.require, amount, code)
    ]
    named = providers.get(box, card_provider_id) if card_provider_id else None
    cards = (provider for provider in found if Capability.CARD in provider.capabilities)
    return Offer(found, named or next(cards, None))


def of_token(box: Sandbox, token_id: str) -> Provider:
    """The provider that a payment token belongs to. Raises ``NotFound`` 87 (token), 39 (provider removed)."""
    return providers.get(box, tokens.get(box, token_id).provider.provider_id)


def default_fallback(box: Sandbox) -> Provider:
    """The provider that takes over where none is configured to: the first in use that takes cards.

    Raises ``NotFound`` (65).
    """
    for provider in box.providers:
        if provider.state is Presence.ACTIVE and Capability.CARD in provider.capabilities:
            return provider
    raise NotFound(Code.NO_PROVIDER_FOUND, {"Provider": "no provider of this sandbox takes cards"})


def three_ds_of(box: Sandbox, provider: Provider) -> Provider | None:
    """The provider that challenges the payers of another one."""
    found = box.providers.get(provider.three_ds_provider_id) if provider.three_ds_provider_id else None
    return found if found is not None and found.state is Presence.ACTIVE else None
