"""The tables of a sandbox: which rows are found by which values. Every search parameter that can be
is an index.

An index that no client has asked costs nothing (``indexed_table``), so there may be one for each
parameter. Those that ``is_asked`` by use cases themselves, such as the subscriptions of a payment
method that is removed, are kept up to date as rows come: a step cannot wait while one learns.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields
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
from mockserver.domain.states import CcvState, Presence
from mockserver.domain.subscription import Subscription
from mockserver.domain.token import Token
from mockserver.domain.transfer import Transfer
from mockserver.domain.vault import VaultItem
from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.engine.indexed_table import Index, Table, index_by


def _by(*, is_asked: bool = False, **paths: str) -> list[Index[Any]]:
    """Indexes by the values at dotted paths, by the name of each."""
    return [index_by(name, attrgetter(path), is_asked=is_asked) for name, path in paths.items()]


def _by_card(**paths: str) -> list[Index[Any]]:
    """Indexes by the values at dotted paths of the card, if there is one."""

    def of_card(path: str) -> Callable[[Charge | PaymentMethod], Hashable | None]:
        value_at = attrgetter(path)

        def read(row: Charge | PaymentMethod) -> Hashable | None:
            card = row.instrument.card
            if card is None:
                return None
            value: Hashable | None = value_at(card)
            return value

        return read

    return [index_by(name, of_card(path)) for name, path in paths.items()]


def _card_types(row: Charge | PaymentMethod) -> tuple[str, ...]:
    """Scheme and funding of the card, if there is one: clients call either the type of a card."""
    card = row.instrument.card
    if card is None:
        return ()
    return card.number.brand, card.number.funding


def _references(transfer: Transfer) -> tuple[str, ...]:
    """That of a transfer and that of its group."""
    # The values by which an index has a row must differ.
    references = dict.fromkeys((transfer.reference, transfer.group_reference))
    return tuple(reference for reference in references if reference is not None)


def _email(customer: Customer) -> str | None:
    """Addresses are found in any letter case."""
    if customer.email is None:
        return None
    return customer.email.lower()


def _owner_in_use(method: PaymentMethod) -> str | None:
    """The customer of a payment method that can still be used."""
    if method.state is not Presence.ACTIVE:
        return None
    return method.customer_id


def _card_with_ccv(item: VaultItem) -> str | None:
    """The card of a vault item that still holds a ccv: what a payment must look for."""
    if item.ccv_state is not CcvState.HELD:
        return None
    return item.facts.fingerprint


_INDEXES: Mapping[str, Sequence[Index[Any]]] = {
    "batches": _by(status="status"),
    "charges": [
        *_by(
            reference="reference",
            provider="provider.provider_id",
            customer="customer_id",
            status="status",
            payment_method="instrument.payment_method_id",
            payment_type="instrument.type",
            currency="currency",
            batch="batch_id",
            subscription="subscription_id",
            payment_link="payment_link_id",
        ),
        *_by_card(
            brand="number.brand",
            funding="number.funding",
            fingerprint="number.fingerprint",
            cardholder="cardholder",
        ),
        Index("card_type", _card_types),
        Index("money_day", Charge.money_days),
    ],
    "customers": [
        *_by(id="customer_id", reference="reference", state="state"),
        index_by("email", _email),
    ],
    "payment_methods": [
        *_by(is_asked=True, customer="customer_id"),
        index_by("in_use", _owner_in_use, is_asked=True),
        *_by(
            provider="provider.provider_id",
            payment_type="instrument.type",
            state="state",
            vault="vault_id",
        ),
        *_by(is_asked=True, payto="payto_id"),
        *_by_card(brand="number.brand", funding="number.funding"),
        Index("card_type", _card_types),
    ],
    "subscriptions": [
        *_by(status="status", currency="currency"),
        *_by(is_asked=True, payment_method="payment_method_id"),
    ],
    "tokens": _by(provider="provider.provider_id", state="state"),
    "transfers": [
        *_by(is_asked=True, group="group_reference", reference="reference", charge="charge_id"),
        *_by(provider="provider_id", status="status"),
        Index("references", _references),
    ],
    "vault": [index_by("card_with_ccv", _card_with_ccv, is_asked=True)],
    "webhook_subscriptions": [
        *_by(id="webhook_subscription_id"),
        *_by(is_asked=True, state="state"),
        Index("types", attrgetter("types")),
    ],
}
"""How the rows of each table are found, beside their ids. All sandboxes share it."""


class Tables:
    """The tables of one sandbox. Charges are found also by the days on which they moved money,
    vault items by their card as long as they hold a ccv: those that a payment must look for."""

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
        for name, id_of in _ID_OF.items():
            # A new value for each move of a batch would copy up to 100,000 transactions.
            in_place = name == "batches"
            table: Table[Any] = Table(id_of, _INDEXES.get(name, ()), changes_in_place=in_place)
            setattr(self, name, table)


ROW_CLASSES: Mapping[str, type] = {
    name: get_args(table)[0] for name, table in get_type_hints(Tables).items()
}
"""The class of the rows of every table, by the table's name, in alphabetical order."""

_ID_OF = {name: attrgetter(fields(rows)[0].name) for name, rows in ROW_CLASSES.items()}
"""Rows begin with their id."""

TABLE_NAMES: Mapping[type, str] = {rows: name for name, rows in ROW_CLASSES.items()}
"""The same the other way round."""
