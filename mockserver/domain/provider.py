"""Payment providers (gateways): what they can do, what they cost, who takes over when they fail.

A provider's type says what it can do (``CAPABILITIES``); its price list what a payment costs, by
which the cheapest is found; its conditions for which payments it is offered at all.

Sources: docs/spec/service.md, What the service does, 1; docs/spec/published-facts.md, 2.12 (fields,
``hideConfiguration``, ``requireConfiguration``), 3 (types), 10 (the dummy provider's id).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from mockserver.domain.cards import Brand, CardNumber
from mockserver.domain.clock import MILLISECOND, Micros
from mockserver.domain.constraints import CurrencyCode, OneOf, ProviderId, Within
from mockserver.domain.errors import Faults
from mockserver.domain.fake_lookups import iin_data
from mockserver.domain.money import Currency, share
from mockserver.domain.reading import whole_of
from mockserver.domain.record import record, replace, updated
from mockserver.domain.sources import CHECKOUTS
from mockserver.domain.states import PROVIDER, Presence, PresenceEvent

DEFAULT_PROVIDER_ID = "a26c371f-94f6-40da-add2-28ec8e9da8ed"

ENVIRONMENTS = ("SANDBOX", "PRODUCTION")
"""Environments of a provider (published facts, 3)."""


class Capability(StrEnum):
    """A feature that a provider may lack."""

    CARD = "card"
    DIRECT_DEBIT = "direct debit"
    PAYTO = "PayTo"
    WALLET = "wallet"
    NETWORK_TOKEN = "network token"
    PARTIAL_CAPTURE = "partial capture"
    AUTHORISE = "authorise and capture"
    PARTIAL_REFUND = "partial refund"
    THREE_DS = "3-D Secure"
    CHECKOUT = "checkout"


_CHECKOUT_ONLY = frozenset({Capability.CHECKOUT, Capability.PARTIAL_REFUND})

CAPABILITIES: Mapping[str, frozenset[Capability]] = {
    "dummy": frozenset(Capability),
    "nab_transact": frozenset(
        {
            Capability.CARD,
            Capability.AUTHORISE,
            Capability.PARTIAL_CAPTURE,
            Capability.PARTIAL_REFUND,
        }
    ),
    **dict.fromkeys(CHECKOUTS, _CHECKOUT_ONLY),
    "azupay": _CHECKOUT_ONLY | {Capability.PAYTO},
}
"""What each provider type can do; the types are the published ones."""


LONGEST_LATENCY = 600_000
"""Milliseconds that the dummy provider may be set to take."""

SimulatedLatency = Annotated[Micros, Within(0, LONGEST_LATENCY * MILLISECOND)]


@record
class Cost:
    """One row of a provider's price list; ``scheme`` or ``international`` None means any.
    ``percent`` of the amount.

    A card is international when its issuer sits in another country than the provider.
    """

    fixed: Annotated[Decimal, Within(0, MOST_COST)] = Decimal(0)
    percent: Annotated[Decimal, Within(0, MOST_COST)] = Decimal(0)
    scheme: Brand | None = None
    international: bool | None = None


@record
class ProviderSummary:
    """The provider as a charge or a payment method shows it."""

    provider_id: ProviderId
    type: Annotated[str, OneOf(tuple(CAPABILITIES))]
    name: str


@record
class Provider:
    """A configured provider of one sandbox. ``latency`` is the simulated time of the dummy type, in
    microseconds; ``capabilities`` are what its type can do."""

    provider_id: str
    summary: ProviderSummary
    currency: CurrencyCode
    added: Micros
    environment: Annotated[str, OneOf(ENVIRONMENTS)] = "SANDBOX"
    country: str | None = None
    three_ds_provider_id: str | None = None
    fallback_provider_id: ProviderId | None = None
    authentication: dict[str, str] = field(default_factory=dict)
    additional: dict[str, str] = field(default_factory=dict)
    costs: tuple[Cost, ...] = ()
    latency: tuple[SimulatedLatency, SimulatedLatency] | None = None
    max_capability: str | None = None
    hide: tuple[ProviderCondition, ...] = ()
    require: tuple[ProviderCondition, ...] = ()
    state: Presence = Presence.ACTIVE
    seq: int = -1
    capabilities: frozenset[Capability] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Worked out once: each charge asks several times. A record's fields are not assigned.
        object.__setattr__(
            self, "capabilities", CAPABILITIES.get(self.summary.type, _CHECKOUT_ONLY)
        )

    def after_update(
        self, details: ProviderDetails, latency: tuple[Micros, Micros] | None
    ) -> Provider:
        """With the fields that a request gives; ``latency`` is that of its authentication
        parameters, where it has any."""
        return replace(
            updated(self, details),
            summary=replace(self.summary, name=details.name or self.summary.name),
            latency=self.latency if details.authentication is None else latency,
        )

    def after_removal(self) -> Provider:
        """Removed; what it charged stays. Raises ``WrongState`` (39)."""
        return replace(self, state=PROVIDER.advance(self.state, PresenceEvent.REMOVED))

    def cost_of(self, amount: Decimal, money: Currency, card: CardNumber | None) -> Decimal | None:
        """Estimated cost of a payment, to the digits of its currency, by the first row of the price
        list that fits; None when none does."""
        brand = card.brand if card is not None else None
        for cost in self.costs:
            if cost.scheme not in (None, brand):
                continue
            # Asked last: it takes a lookup of the card's issuer.
            if cost.international is None or cost.international is self._is_international(card):
                return share(amount, cost.percent, money.digits, cost.fixed)
        return None

    def is_offered(self, amount: Decimal | None, currency: str | None) -> bool:
        """Whether no row hides a payment, and one of those required, if any, fits it."""
        if any(row.holds(amount, currency) for row in self.hide):
            return False
        return not self.require or any(row.holds(amount, currency) for row in self.require)

    def _is_international(self, card: CardNumber | None) -> bool:
        """Whether a card was issued abroad; what is not known is at home, which is cheaper."""
        if card is None or self.country is None:
            return False
        return iin_data(card.iin, card.brand, card.funding).country_code != self.country.upper()


@record
class ProviderDetails:
    """A provider as a caller describes it; None leaves a field as it is."""

    type: str | None = None
    name: str | None = None
    environment: str | None = None
    currency: str | None = None
    country: str | None = None
    three_ds_provider_id: str | None = None
    fallback_provider_id: str | None = None
    authentication: Mapping[str, str] | None = None
    additional: Mapping[str, str] | None = None
    costs: tuple[Cost, ...] | None = None
    hide: tuple[ProviderCondition, ...] | None = None
    require: tuple[ProviderCondition, ...] | None = None


MOST_COST = Decimal(1_000_000)
"""Bound of both numbers of a cost row: far beyond any price list, and safe for exact arithmetic."""


def check_costs(costs: Sequence[Cost] | None, faults: Faults) -> None:
    """Faults (90) of cost rows with a negative or absurd number."""
    for place, cost in enumerate(costs or ()):
        numbers = {"TransactionCost": cost.fixed, "TransactionPercentage": cost.percent}
        for field_name, number in numbers.items():
            if not 0 <= number <= MOST_COST:
                faults.wrong(f"CostData.{place}.{field_name}", f"wanted 0 to {MOST_COST}")


def simulated_latency(
    authentication: Mapping[str, str], faults: Faults
) -> tuple[Micros, Micros] | None:
    """The dummy provider's MinMilliseconds and MaxMilliseconds (published facts, 3), any letter
    case; None when both are absent. Adds a fault (90) for anything but whole numbers up to ten
    minutes."""
    folded = {key.lower(): value.strip() for key, value in authentication.items()}
    low = _milliseconds(folded, "MinMilliseconds", faults)
    high = _milliseconds(folded, "MaxMilliseconds", faults)
    if low is None and high is None:
        return None
    # One alone is the other too, as far as it can be: from 0, or at least the least.
    least = low or 0
    return least * MILLISECOND, max(least, high or 0) * MILLISECOND


def _milliseconds(folded: Mapping[str, str], name: str, faults: Faults) -> int | None:
    """A parameter, by its name in small letters; None where it is absent, or is at fault."""
    text = folded.get(name.lower(), "")
    number = whole_of(text, 0, LONGEST_LATENCY)
    if text and number is None:
        words = f"wanted whole milliseconds from 0 to {LONGEST_LATENCY}"
        faults.wrong(f"AuthenticationParameters.{name}", words)
    return number


def default_provider(added: Micros) -> Provider:
    """The dummy provider that every sandbox starts with."""
    return Provider(
        provider_id=DEFAULT_PROVIDER_ID,
        summary=ProviderSummary(DEFAULT_PROVIDER_ID, "dummy", "Dummy"),
        currency="AUD",
        added=added,
        country="AU",
        costs=(Cost(Decimal("0.30"), Decimal("1.5")),),
    )


@record
class ProviderCondition:
    """One row: a currency and bounds of an amount; None means any. The bounds themselves are not
    inside."""

    currency: str | None = None
    less_than: Decimal | None = None
    greater_than: Decimal | None = None
    applies_conversion: bool = False

    def holds(self, amount: Decimal | None, currency: str | None) -> bool:
        """Whether a payment fits; an amount or a currency that the caller does not say (None) is
        unknown and meets no condition on it."""
        if self.currency is not None and self.currency != currency:
            return False
        if self.less_than is not None and (amount is None or amount >= self.less_than):
            return False
        return self.greater_than is None or (amount is not None and amount > self.greater_than)
