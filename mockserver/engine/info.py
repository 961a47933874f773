"""What the account can do: which providers are offered for a payment, and how.

Source: docs/spec/published-facts.md, 1.1 rows 59-62, 2.13, 7.2; assumption ``provider.other_currency``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from mockserver.domain.codes import Code
from mockserver.domain.errors import NotFound
from mockserver.domain.money import currency
from mockserver.domain.provider import Capability, Provider, is_offered
from mockserver.domain.record import record
from mockserver.engine import providers, tokens
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step

PAYPAL = "paypal"


@record
class Offer:
    """The providers that take a payment, by feature, in the order of their configuration."""

    able: Mapping[Capability, Sequence[Provider]]
    card_provider: Provider | None

    @property
    def paypal(self) -> list[Provider]:
        return [one for one in self.able[Capability.CHECKOUT] if one.summary.type == PAYPAL]

    @property
    def pay_later(self) -> list[Provider]:
        """Those that are nothing but a checkout of their own."""
        others = (one for one in self.able[Capability.CHECKOUT] if one.summary.type != PAYPAL)
        return [one for one in others if Capability.CARD not in one.capabilities]


def offer(step: Step, amount: Decimal | None, given: str | None, card_provider_id: str | None) -> Offer:
    """What is offered for an amount and a currency; without them, everything in use that no row hides. Raises
    ``Invalid`` 29 (currency), ``NotFound`` 39 (card provider)."""
    sandbox = step.sandbox
    code = currency(given).code if given else None
    able: dict[Capability, Sequence[Provider]] = {}
    for feature in Capability:
        offered = [one for one in providers.in_use(sandbox, feature) if is_offered(one.hide, one.require, amount, code)]
        able[feature] = providers.taking(step, offered, code)
    named = providers.get(sandbox, card_provider_id) if card_provider_id else None
    return Offer(able, named or next(iter(able[Capability.CARD]), None))


def of_token(step: Step, token_id: str) -> Provider:
    """The provider that a payment token belongs to. Raises ``NotFound`` 87 (token), 39 (provider removed)."""
    return providers.get(step.sandbox, tokens.get(step, token_id).provider.provider_id)


def default_fallback(sandbox: Sandbox) -> Provider:
    """The provider that takes over where none is configured to: the first in use that takes cards. Raises ``NotFound``
    (65)."""
    for provider in providers.in_use(sandbox, Capability.CARD):
        return provider
    raise NotFound(Code.NO_PROVIDER_FOUND, {"Provider": "no provider of this sandbox takes cards"})
