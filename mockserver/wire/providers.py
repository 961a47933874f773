"""Providers on the wire. Source: docs/spec/published-facts.md, 1.2, 2.12."""

from __future__ import annotations

from typing import ClassVar

from mockserver.domain.cards import Brand
from mockserver.domain.provider import Capability, Cost, Provider, ProviderCondition, ProviderDetails
from mockserver.wire.base import Body, Flag, Map, Number, Objects, one_of
from mockserver.wire.replies import Members, reply_of


class CostData(Body):
    """One row of a provider's price list."""

    makes = Cost
    named: ClassVar = {
        "is_international_card": "international",
        "card_scheme": "scheme",
        "transaction_cost": "fixed",
        "transaction_percentage": "percent",
    }

    is_international_card: Flag | None = None
    card_scheme: one_of(Brand) | None = None  # type: ignore[valid-type]
    transaction_cost: Number | None = None
    transaction_percentage: Number | None = None


class Condition(Body):
    """For which currency and amounts a provider is hidden or offered."""

    named: ClassVar = {
        "less_than_amount": "less_than",
        "greater_than_amount": "greater_than",
        "apply_currency_conversion": "applies_conversion",
    }

    currency: str | None = None
    less_than_amount: Number | None = None
    greater_than_amount: Number | None = None
    apply_currency_conversion: Flag | None = None

    def command(self) -> ProviderCondition:
        return self.made(ProviderCondition, currency=self.currency.upper() if self.currency else None)


class ProviderFields(Body):
    """A provider to configure, or the fields of one to change."""

    makes = ProviderDetails
    named: ClassVar = {
        "provider_country": "country",
        "authentication_parameters": "authentication",
        "additional_parameters": "additional",
        "cost_data": "costs",
        "hide_configuration": "hide",
        "require_configuration": "require",
    }

    type: str | None = None
    name: str | None = None
    environment: str | None = None
    currency: str | None = None
    provider_country: str | None = None
    three_ds_provider_id: str | None = None
    fallback_provider_id: str | None = None
    authentication_parameters: Map | None = None
    additional_parameters: Map | None = None
    cost_data: Objects[CostData] | None = None
    hide_configuration: Objects[Condition] | None = None
    require_configuration: Objects[Condition] | None = None


def provider_reply(provider: Provider, fallback: Provider | None) -> Members:
    """A provider as the published object."""
    return reply_of(
        "ProviderReply",
        provider,
        hasPartialRefund=Capability.PARTIAL_REFUND in provider.capabilities,
        hasThreeDsCapability=Capability.THREE_DS in provider.capabilities,
        fallbackProvider=fallback and reply_of("FallbackProviderReply", fallback),
    )
