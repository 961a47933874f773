"""The tables of a sandbox: which rows are found by which values. Every search parameter that can be is an index."""

from __future__ import annotations

from collections.abc import Hashable
from operator import attrgetter

from mockserver.domain.charge import Charge
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.provider import Provider
from mockserver.domain.subscription import Subscription
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


def charges() -> Table[Charge]:
    """Charges by everything that their search can ask for exactly."""
    return Table(
        attrgetter("charge_id"),
        (
            Index("reference", attrgetter("reference")),
            Index("provider", attrgetter("provider.provider_id")),
            Index("customer", attrgetter("customer_id")),
            Index("status", attrgetter("status"), frozenset({"status"})),
            Index("payment_method", attrgetter("instrument.payment_method_id")),
            Index("payment_type", attrgetter("instrument.type")),
            Index("brand", _brand),
            Index("currency", attrgetter("currency")),
            Index("fingerprint", _fingerprint),
            Index("cardholder", _holder),
            Index("batch", attrgetter("batch_id")),
            Index("subscription", attrgetter("subscription_id")),
        ),
    )


def payment_methods() -> Table[PaymentMethod]:
    """Payment methods by provider, customer and vault item."""
    return Table(
        attrgetter("payment_method_id"),
        (
            Index("provider", attrgetter("provider.provider_id")),
            Index("customer", attrgetter("customer_id"), frozenset({"customer_id"})),
            Index("vault", attrgetter("vault_id")),
        ),
    )


def vault() -> Table[VaultItem]:
    """Vault items by card."""
    return Table(attrgetter("vault_id"), (Index("fingerprint", attrgetter("facts.fingerprint")),))


def providers() -> Table[Provider]:
    """Providers by id."""
    return Table(attrgetter("provider_id"))


def payment_links() -> Table[PaymentLink]:
    """Payment links by id."""
    return Table(attrgetter("payment_link_id"))


def webhook_subscriptions() -> Table[WebhookSubscription]:
    """Webhook subscriptions by id."""
    return Table(attrgetter("webhook_subscription_id"))


def subscriptions() -> Table[Subscription]:
    """Subscriptions by everything that their search can ask for exactly."""
    return Table(
        attrgetter("subscription_id"),
        (
            Index("status", attrgetter("status"), frozenset({"status"})),
            Index("currency", attrgetter("currency"), frozenset({"currency"})),
        ),
    )
