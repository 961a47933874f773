"""Providers: how one is configured, and what payment is to be offered.

Source: docs/spec/published-facts.md, 1.1 (rows 55-62), 3, 7.2.
"""

from decimal import Decimal
from typing import Annotated

from mockserver.domain.cards import Brand
from mockserver.domain.provider import Cost, ProviderCondition, ProviderDetails
from mockserver.wire.field_types import Flag, Many, Number, Text, TextMap, one_of
from mockserver.wire.fields import Body

_FREE = Decimal(0)


class CostData(Body):
    """One row of a provider's price list."""

    is_international_card: Flag | None = None
    card_scheme: Annotated[Brand, one_of(Brand)] | None = None
    transaction_cost: Number | None = None
    transaction_percentage: Number | None = None

    def command(self) -> Cost:
        """The row; what it does not say costs nothing."""
        return Cost(
            fixed=_FREE if self.transaction_cost is None else self.transaction_cost,
            percent=_FREE if self.transaction_percentage is None else self.transaction_percentage,
            scheme=self.card_scheme,
            international=self.is_international_card,
        )


class Condition(Body):
    """For which currency and amounts a provider is hidden or offered."""

    currency: Text | None = None
    less_than_amount: Number | None = None
    greater_than_amount: Number | None = None
    apply_currency_conversion: Flag | None = None

    def command(self) -> ProviderCondition:
        """The condition; currencies are compared in capitals."""
        return ProviderCondition(
            currency=self.currency.upper() if self.currency else None,
            less_than=self.less_than_amount,
            greater_than=self.greater_than_amount,
            applies_conversion=self.apply_currency_conversion is True,
        )


class ProviderFields(Body):
    """A provider to configure, or the fields of one to change."""

    type: Text | None = None
    name: Text | None = None
    environment: Text | None = None
    currency: Text | None = None
    provider_country: Text | None = None
    three_ds_provider_id: Text | None = None
    fallback_provider_id: Text | None = None
    authentication_parameters: TextMap | None = None
    additional_parameters: TextMap | None = None
    cost_data: Many[CostData] | None = None
    hide_configuration: Many[Condition] | None = None
    require_configuration: Many[Condition] | None = None

    def command(self) -> ProviderDetails:
        """The provider as it is described; what is not given stays."""
        costs = None
        if self.cost_data is not None:
            costs = tuple(row.command() for row in self.cost_data)
        return ProviderDetails(
            type=self.type,
            name=self.name,
            environment=self.environment,
            currency=self.currency,
            country=self.provider_country,
            three_ds_provider_id=self.three_ds_provider_id,
            fallback_provider_id=self.fallback_provider_id,
            authentication=self.authentication_parameters,
            additional=self.additional_parameters,
            costs=costs,
            hide=_conditions(self.hide_configuration),
            require=_conditions(self.require_configuration),
        )


def _conditions(rows: list[Condition] | None) -> tuple[ProviderCondition, ...] | None:
    """The conditions of a list; None, which changes nothing, where a body has no list. An empty
    list takes away those that there were."""
    return None if rows is None else tuple(row.command() for row in rows)


class OfferQuery(Body):
    """The payment that is to be offered."""

    amount: Number | None = None
    currency: Text | None = None
    card_provider_id: Text | None = None
