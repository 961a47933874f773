"""Payment-method use cases: store from a card, switch provider through the vault, read.

Sources: service document, Payment methods; What the service does, 6-7.
"""

from __future__ import annotations

from dataclasses import replace

from mockserver.domain.cards import Card
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewCardMethod, SwitchProvider
from mockserver.domain.errors import Invalid, NotFound
from mockserver.domain.events import Subject
from mockserver.domain.faults import Faults
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.provider import Capability
from mockserver.domain.sources import Instrument, PaymentType
from mockserver.domain.states import Presence, VaultState
from mockserver.domain.vault import WITH_A_CARD, VaultItem, check_expiry
from mockserver.engine import card_entry, providers, vault
from mockserver.engine.sandbox import Sandbox


def create_from_card(box: Sandbox, command: NewCardMethod) -> PaymentMethod:
    """Store a card with a provider, and in the vault when wished.

    Raises ``Invalid`` 39 (provider), 5, 6, 9, 14, 81 (card), 85, 86 (vault expiry), 56 (fallback).
    """
    faults = Faults()
    provider = providers.named(box, command.provider_id, Capability.CARD, faults)
    card = card_entry.check(box, command.details, faults, skip_expiry_check=command.skip_expiry_check)
    expires = check_expiry(command.vault.expiry, WITH_A_CARD, box.now, faults)
    check_fallback(box, command.fallback_payment_method_id, faults)
    faults.refuse()
    if provider is None or card is None or command.details.number is None:
        raise RuntimeError("a faulty card passed its checks")
    item = None
    if command.vault.wanted:
        item = vault.store(box, card.number, command.details.number, command.details.ccv, expires)
    return add(
        box,
        PaymentMethod(
            payment_method_id=box.ids.hex32("payment_method"),
            instrument=card_instrument(card),
            provider=provider.summary,
            added=box.now,
            provider_payment_method_id="pm_" + box.ids.hex24("provider_payment_method"),
            email=command.email,
            ip=command.ip,
            vault_id=item.vault_id if item else None,
            fallback_payment_method_id=command.fallback_payment_method_id,
            metadata=command.metadata,
            webhook=command.webhook,
        ),
    )


def switch_provider(box: Sandbox, command: SwitchProvider) -> PaymentMethod:
    """Store the vaulted card of a payment method with another provider.

    Raises ``Invalid`` 39 (provider), 6 (ccv), 66 (nothing vaulted, or no longer), 56 (unknown method), 73 (removed
    one).
    """
    faults = Faults()
    provider = providers.named(box, command.provider_id, Capability.CARD, faults)
    source = box.payment_methods.get(command.payment_method_id)
    card = source.instrument.card if source else None
    if source is None:
        faults.add(Code.INVALID_PAYMENT_METHOD_ID, "PaymentMethodId", unknown(command.payment_method_id))
    elif source.state is Presence.REMOVED:
        faults.add(Code.INVALID_PAYMENT_METHOD_ID_REMOVED, "PaymentMethodId", "this payment method was removed")
    card_entry.check_ccv(command.ccv, "Ccv", card.number if card else None, faults)
    check_fallback(box, command.fallback_payment_method_id, faults)
    faults.refuse()
    if provider is None or source is None:
        raise RuntimeError("a faulty switch passed its checks")
    item = vaulted(box, source)
    if item is None or card is None:
        raise Invalid(
            Code.NO_VAULT_ID_ASSOCIATED_WITH_THIS_PAYMENT_METHOD,
            {"PaymentMethodId": "its card is not in the vault, or no longer"},
        )
    return add(
        box,
        PaymentMethod(
            payment_method_id=box.ids.hex32("payment_method"),
            instrument=card_instrument(replace(card, ccv_given=bool(command.ccv or item.ccv))),
            provider=provider.summary,
            added=box.now,
            provider_payment_method_id="pm_" + box.ids.hex24("provider_payment_method"),
            customer_id=source.customer_id,
            payer=source.payer,
            email=source.email,
            ip=source.ip,
            vault_id=item.vault_id,
            fallback_payment_method_id=command.fallback_payment_method_id,
            metadata=source.metadata,
            webhook=command.webhook,
        ),
    )


def get(box: Sandbox, payment_method_id: str) -> PaymentMethod:
    """A payment method, removed ones included. Raises ``NotFound`` (56)."""
    method = box.payment_methods.get(payment_method_id)
    if method is None:
        raise NotFound(Code.INVALID_PAYMENT_METHOD_ID, {"PaymentMethodId": unknown(payment_method_id)})
    box.turn.about["payment_method"] = method
    return method


def add(box: Sandbox, method: PaymentMethod) -> PaymentMethod:
    """Keep a new payment method and say so."""
    box.payment_methods.add(method)
    box.turn.about["payment_method"] = method
    box.emit(Subject.PAYMENT_METHOD, method.payment_method_id, "created", None, method.state)
    return method


def vaulted(box: Sandbox, method: PaymentMethod) -> VaultItem | None:
    """The vault item of a payment method while it lasts."""
    item = box.vault.get(method.vault_id) if method.vault_id else None
    return item if item is not None and item.state is VaultState.STORED else None


def card_instrument(card: Card) -> Instrument:
    """A card as something that can be charged and shown."""
    return Instrument(PaymentType.CARD, card=card, display_type=card.number.brand)


def check_fallback(box: Sandbox, payment_method_id: str | None, faults: Faults) -> None:
    """A fault (56) when a fallback names no payment method in use."""
    if payment_method_id:
        fallback = box.payment_methods.get(payment_method_id)
        if fallback is None or fallback.state is Presence.REMOVED:
            faults.add(Code.INVALID_PAYMENT_METHOD_ID, "FallbackPaymentMethodId", unknown(payment_method_id))


def unknown(payment_method_id: str) -> str:
    """What to say of an id that names no payment method."""
    return f"no payment method '{payment_method_id[:64]}' in this sandbox"
