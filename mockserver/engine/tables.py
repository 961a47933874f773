"""The tables of a sandbox: which rows are found by which values. Every search parameter that can be is an index."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from operator import attrgetter
from typing import Any, get_args, get_type_hints

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


def _by(name: str, path: str = "") -> Index[Any]:
    """An index by the value at a dotted path, or by the field of its own name."""
    return Index(name, attrgetter(path or name))


def _fingerprint(charge: Charge) -> Hashable | None:
    card = charge.instrument.card
    return card.number.fingerprint if card else None


def _brand(row: Charge | PaymentMethod) -> Hashable | None:
    card = row.instrument.card
    return card.number.brand if card else None


def _holder(charge: Charge) -> Hashable | None:
    card = charge.instrument.card
    return card.cardholder if card else None


def _card_with_ccv(item: VaultItem) -> Hashable | None:
    return item.facts.fingerprint if item.ccv_state is CcvState.HELD else None


def _email(customer: Customer) -> Hashable | None:
    return customer.email.lower() if customer.email is not None else None


def _table(id_name: str, *indexes: Index[Any]) -> Table[Any]:
    return Table(attrgetter(id_name), indexes)


class Tables:
    """The tables of one sandbox. Charges are found also by the days on which they moved money, vault items by their
    card as long as they hold a ccv: those that a payment must look for."""

    batches: Table[Batch]
    charges: Table[Charge]
    customers: Table[Customer]
    network_tokens: Table[NetworkToken]
    payment_links: Table[PaymentLink]
    payment_methods: Table[PaymentMethod]
    payto: Table[Agreement]
    providers: Table[Provider]
    subscriptions: Table[Subscription]
    tokens: Table[Token]
    transfers: Table[Transfer]
    vault: Table[VaultItem]
    webhook_subscriptions: Table[WebhookSubscription]
    __slots__ = tuple(__annotations__)

    def __init__(self) -> None:
        self.batches = _table("batch_id")
        self.charges = _table(
            "charge_id",
            _by("reference"),
            _by("provider", "provider.provider_id"),
            _by("customer", "customer_id"),
            _by("status"),
            _by("payment_method", "instrument.payment_method_id"),
            _by("payment_type", "instrument.type"),
            Index("brand", _brand),
            _by("currency"),
            Index("fingerprint", _fingerprint),
            Index("cardholder", _holder),
            _by("batch", "batch_id"),
            _by("subscription", "subscription_id"),
            Index("money_day", Charge.money_days, several=True),
        )
        self.customers = _table(
            "customer_id", _by("id", "customer_id"), _by("reference"), Index("email", _email), _by("state")
        )
        self.network_tokens = _table("network_token_id")
        self.payment_links = _table("payment_link_id")
        self.payment_methods = _table(
            "payment_method_id",
            _by("provider", "provider.provider_id"),
            _by("customer", "customer_id"),
            _by("payment_type", "instrument.type"),
            Index("brand", _brand),
            _by("state"),
            _by("vault", "vault_id"),
            _by("payto", "payto_id"),
        )
        self.payto = _table("payto_id")
        self.providers = _table("provider_id")
        self.subscriptions = _table(
            "subscription_id", _by("status"), _by("currency"), _by("payment_method", "payment_method_id")
        )
        self.tokens = _table("token_id", _by("provider", "provider.provider_id"), _by("state"))
        self.transfers = _table(
            "transfer_id",
            _by("provider", "provider_id"),
            _by("charge", "charge_id"),
            _by("group", "group_reference"),
            _by("reference"),
            _by("status"),
        )
        self.vault = _table("vault_id", Index("card_with_ccv", _card_with_ccv))
        self.webhook_subscriptions = _table("webhook_subscription_id", _by("state"))


ROW_CLASSES: Mapping[str, type] = {name: get_args(table)[0] for name, table in get_type_hints(Tables).items()}
"""The class of the rows of every table, by the table's name, in alphabetical order."""
