"""The tables of a sandbox: which rows are found by which values. Every search parameter that can be is an index."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from operator import attrgetter
from types import FunctionType
from typing import get_args, get_origin, get_type_hints

from mockserver.domain.batch import Batch
from mockserver.domain.charge import Charge
from mockserver.domain.customer import Customer
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import Agreement
from mockserver.domain.provider import Provider
from mockserver.domain.states import CcvState
from mockserver.domain.subscription import Subscription
from mockserver.domain.token import Token
from mockserver.domain.transfer import Transfer
from mockserver.domain.vault import VaultItem
from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.engine.store import Index, Table


def _fingerprint(charge: Charge) -> Hashable | None:
    card = charge.instrument.card
    return card.number.fingerprint if card else None


def _brand(charge: Charge) -> Hashable | None:
    card = charge.instrument.card
    return card.number.brand if card else None


def _holder(charge: Charge) -> Hashable | None:
    card = charge.instrument.card
    return card.cardholder if card else None


def _card_with_ccv(item: VaultItem) -> Hashable | None:
    return item.facts.fingerprint if item.ccv_state is CcvState.HELD else None


def charges() -> Table[Charge]:
    """Charges by everything that their search can ask for exactly, and by the days on which they moved money."""
    return Table(
        attrgetter("charge_id"),
        (
            Index("reference", attrgetter("reference")),
            Index("provider", attrgetter("provider.provider_id")),
            Index("customer", attrgetter("customer_id")),
            Index("status", attrgetter("status")),
            Index("payment_method", attrgetter("instrument.payment_method_id")),
            Index("payment_type", attrgetter("instrument.type")),
            Index("brand", _brand),
            Index("currency", attrgetter("currency")),
            Index("fingerprint", _fingerprint),
            Index("cardholder", _holder),
            Index("batch", attrgetter("batch_id")),
            Index("subscription", attrgetter("subscription_id")),
            Index("money_day", Charge.money_days, several=True),
        ),
    )


def _method_brand(method: PaymentMethod) -> Hashable | None:
    card = method.instrument.card
    return card.number.brand if card else None


def payment_methods() -> Table[PaymentMethod]:
    """Payment methods by everything that their search can ask for exactly, by vault item and by agreement."""
    return Table(
        attrgetter("payment_method_id"),
        (
            Index("provider", attrgetter("provider.provider_id")),
            Index("customer", attrgetter("customer_id")),
            Index("payment_type", attrgetter("instrument.type")),
            Index("brand", _method_brand),
            Index("state", attrgetter("state")),
            Index("vault", attrgetter("vault_id")),
            Index("payto", attrgetter("payto_id")),
        ),
    )


def _email(customer: Customer) -> Hashable | None:
    return customer.email.lower() if customer.email is not None else None


def customers() -> Table[Customer]:
    """Customers by id, reference, e-mail (in any letter case) and presence."""
    return Table(
        attrgetter("customer_id"),
        (
            Index("id", attrgetter("customer_id")),
            Index("reference", attrgetter("reference")),
            Index("email", _email),
            Index("state", attrgetter("state")),
        ),
    )


def tokens() -> Table[Token]:
    """Payment tokens by provider and state."""
    return Table(
        attrgetter("token_id"),
        (
            Index("provider", attrgetter("provider.provider_id")),
            Index("state", attrgetter("state")),
        ),
    )


def payto() -> Table[Agreement]:
    """PayTo agreements by id."""
    return Table(attrgetter("payto_id"))


def network_tokens() -> Table[NetworkToken]:
    """Network tokens by id."""
    return Table(attrgetter("network_token_id"))


def vault() -> Table[VaultItem]:
    """Vault items by card, as long as they hold a ccv: those that a payment must look for."""
    return Table(attrgetter("vault_id"), (Index("card_with_ccv", _card_with_ccv),))


def providers() -> Table[Provider]:
    """Providers by id."""
    return Table(attrgetter("provider_id"))


def payment_links() -> Table[PaymentLink]:
    """Payment links by id."""
    return Table(attrgetter("payment_link_id"))


def webhook_subscriptions() -> Table[WebhookSubscription]:
    """Webhook subscriptions by presence."""
    return Table(attrgetter("webhook_subscription_id"), (Index("state", attrgetter("state")),))


def subscriptions() -> Table[Subscription]:
    """Subscriptions by everything that their search can ask for exactly, and by payment method."""
    return Table(
        attrgetter("subscription_id"),
        (
            Index("status", attrgetter("status")),
            Index("currency", attrgetter("currency")),
            Index("payment_method", attrgetter("payment_method_id")),
        ),
    )


def batches() -> Table[Batch]:
    """Batches by id."""
    return Table(attrgetter("batch_id"))


def transfers() -> Table[Transfer]:
    """Transfers by everything that their search and their checks ask for exactly."""
    return Table(
        attrgetter("transfer_id"),
        (
            Index("provider", attrgetter("provider_id")),
            Index("charge", attrgetter("charge_id")),
            Index("group", attrgetter("group_reference")),
            Index("reference", attrgetter("reference")),
            Index("status", attrgetter("status")),
        ),
    )


@cache
def row_classes() -> Mapping[str, type]:
    """The class of the rows of every table, by the table's name, in alphabetical order."""
    makers = [make for make in globals().values() if isinstance(make, FunctionType) and make.__module__ == __name__]
    returned = {make.__name__: get_type_hints(make)["return"] for make in makers}
    return {name: get_args(table)[0] for name, table in sorted(returned.items()) if get_origin(table) is Table}
