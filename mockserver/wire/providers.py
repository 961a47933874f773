"""Providers on the wire. Source: docs/spec/published-facts.md, 1.2, 2.12."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from mockserver.domain.cards import Brand
from mockserver.domain.provider import Capability, Cost, Provider, ProviderCondition, ProviderDetails
from mockserver.wire.base import Body, Flag, Map, Number, Objects, one_of
from mockserver.wire.replies import Members, reply_of


class CostData(Body):
    """One row of a provider's price list."""

    is_international_card: Flag | None = None
    card_scheme: one_of(Brand) | None = None  # type: ignore[valid-type]
    transaction_cost: Number | None = None
    transaction_percentage: Number | None = None

    def command(self) -> Cost:
        return Cost(
            fixed=self.transaction_cost or Decimal(0),
            percent=self.transaction_percentage or Decimal(0),
            scheme=self.card_scheme,
            international=self.is_international_card,
        )


class Condition(Body):
    """For which currency and amounts a provider is hidden or offered."""

    currency: str | None = None
    less_than_amount: Number | None = None
    greater_than_amount: Number | None = None
    apply_currency_conversion: Flag | None = None

    def command(self) -> ProviderCondition:
        code = self.currency.upper() if self.currency else None
        return ProviderCondition(
            code, self.less_than_amount, self.greater_than_amount, bool(self.apply_currency_conversion)
        )


class ProviderFields(Body):
    """A provider to configure, or the fields of one to change."""

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

    def command(self) -> ProviderDetails:
        return self.made(
            ProviderDetails,
            country=self.provider_country,
            authentication=self.authentication_parameters,
            additional=self.additional_parameters,
            costs=_commands(self.cost_data),
            hide=_commands(self.hide_configuration),
            require=_commands(self.require_configuration),
        )


def _commands(rows: list[CostData] | list[Condition] | None) -> tuple[Any, ...] | None:
    return tuple(row.command() for row in rows) if rows is not None else None


def provider_reply(provider: Provider, fallback: Provider | None) -> Members:
    """A provider as the published object."""
    return reply_of(
        "ProviderReply",
        provider,
        hasPartialRefund=Capability.PARTIAL_REFUND in provider.capabilities,
        hasThreeDsCapability=Capability.THREE_DS in provider.capabilities,
        fallbackProvider=fallback and reply_of("FallbackProviderReply", fallback),
    )
