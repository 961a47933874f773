"""The tables of a sandbox: which rows are found by which values. Every search parameter that can be is an index."""

from __future__ import annotations

from collections.abc import Hashable

from mockserver.domain.charge import Charge
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.provider import Provider
from mockserver.domain.vault import VaultItem
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
        lambda charge: charge.charge_id,
        (
            Index("reference", lambda charge: charge.reference),
            Index("provider", lambda charge: charge.provider.provider_id),
            Index("customer", lambda charge: charge.customer_id),
            Index("status", lambda charge: charge.status, frozenset({"status"})),
            Index("payment_method", lambda charge: charge.instrument.payment_method_id),
            Index("payment_type", lambda charge: charge.instrument.type),
            Index("brand", _brand),
            Index("currency", lambda charge: charge.currency),
            Index("fingerprint", _fingerprint),
            Index("cardholder", _holder),
            Index("batch", lambda charge: charge.batch_id),
            Index("subscription", lambda charge: charge.subscription_id),
        ),
    )


def payment_methods() -> Table[PaymentMethod]:
    """Payment methods by provider, customer and vault item."""
    return Table(
        lambda method: method.payment_method_id,
        (
            Index("provider", lambda method: method.provider.provider_id),
            Index("customer", lambda method: method.customer_id, frozenset({"customer_id"})),
            Index("vault", lambda method: method.vault_id),
        ),
    )


def vault() -> Table[VaultItem]:
    """Vault items by card."""
    return Table(lambda item: item.vault_id, (Index("fingerprint", lambda item: item.facts.fingerprint),))


def providers() -> Table[Provider]:
    """Providers by id."""
    return Table(lambda provider: provider.provider_id)
