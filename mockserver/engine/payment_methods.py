"""Payment-method use cases: store, read, change the card, remove.

Sources: docs/spec/service.md, Payment methods; docs/spec/published-facts.md, 1.1 rows 29-39; assumptions
``removed.customer_or_method``, ``gateway_delete``.
"""

from __future__ import annotations

from mockserver.assumptions.table import DEFAULT_REMOVED
from mockserver.domain.charge import Payer
from mockserver.domain.codes import Code
from mockserver.domain.commands import CardChanges, NewMethod
from mockserver.domain.customer import Customer
from mockserver.domain.errors import Faults, Invalid, WrongState
from mockserver.domain.events import Subject
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.record import or_kept, replace
from mockserver.domain.sources import PaymentType
from mockserver.domain.states import NetworkTokenState, PayToState, Presence
from mockserver.engine import (
    asking,
    card_entry,
    network_tokens,
    payto,
    prepared_methods,
    subscription_course,
    tokens,
    vault,
)
from mockserver.engine.lookup import found
from mockserver.engine.prepared_methods import Prepared
from mockserver.engine.step import Step


def create(step: Step, command: NewMethod) -> PaymentMethod:
    """Store a payment method. Raises ``Invalid`` with what ``prepared_methods.prepare`` finds, ``ProviderRefused``."""
    wanted = checked(step, command)
    ask(step, "payment_method.create", wanted)
    return store(step, wanted, prepared_methods.owner_of(step.sandbox, wanted.inherited))


def checked(step: Step, command: NewMethod, owner: Customer | None = None) -> Prepared:
    """A payment method prepared for a customer, without faults. Raises ``Invalid`` with all of them otherwise."""
    faults = Faults()
    wanted = prepared_methods.prepare(step, command, owner, faults)
    faults.refuse()
    if wanted is None:
        raise RuntimeError("a faulty payment method passed its checks")
    return wanted


def ask(step: Step, op: str, wanted: Prepared) -> None:
    """Let the provider store it too. Raises ``ProviderRefused`` when it declines; then nothing has changed."""
    asking.refuse_declined(asking.ask(step, op, wanted.provider, wanted.instrument, wanted.source))


def store(step: Step, wanted: Prepared, owner: Customer | None) -> PaymentMethod:
    """Keep a checked payment method, with all that it brings: vault item, agreement, network token, a used token."""
    sandbox = step.sandbox
    method = sandbox.payment_methods.add(_method(step, wanted, owner))
    step.result.about["payment_method"] = method
    if wanted.token is not None:
        tokens.use(step, wanted.token)
    card = method.instrument.card
    if wanted.create_network_token and card is not None:
        made = network_tokens.create(step, method, card)
        after = replace(method, network_token_id=made.network_token_id)
        method = step.replace(sandbox.payment_methods, method, after)
    step.emit(Subject.PAYMENT_METHOD, method.payment_method_id, "created", None, method.state)
    return method


def _method(step: Step, wanted: Prepared, owner: Customer | None) -> PaymentMethod:
    sandbox = step.sandbox
    terms, secret = wanted.terms, wanted.to_vault
    vault_id, payto_id = wanted.vault_id, wanted.payto_id
    if secret is not None:
        vault_id = vault.store(step, secret.facts, secret.number, secret.ccv, secret.expires).vault_id
    if wanted.agreement is not None:
        payto_id = payto.store(step, wanted.agreement, wanted.provider).payto_id
    return PaymentMethod(
        payment_method_id=sandbox.ids.hex32("payment_method"),
        instrument=wanted.instrument,
        provider=wanted.provider.summary,
        added=sandbox.now,
        provider_payment_method_id=wanted.provider_token or "pm_" + sandbox.ids.hex24("provider_payment_method"),
        customer_id=owner.customer_id if owner else None,
        payer=owner.payer() if owner else terms.payer,
        email=terms.email or (owner.email if owner else None),
        ip=terms.ip,
        vault_id=vault_id,
        token=wanted.shown_token,
        payto_id=payto_id,
        fallback_payment_method_id=terms.fallback_payment_method_id,
        provider_data=wanted.provider_data,
        metadata=terms.metadata,
        webhook=terms.webhook,
    )


def get(step: Step, payment_method_id: str) -> PaymentMethod:
    """A payment method, removed ones included. Raises ``NotFound`` (56)."""
    return found(
        step, step.sandbox.payment_methods, "payment_method", payment_method_id, Code.INVALID_PAYMENT_METHOD_ID
    )


def update_card(step: Step, payment_method_id: str, wanted: CardChanges) -> PaymentMethod:
    """Change expiry, holder or number of a stored card, or its metadata.

    Raises ``NotFound`` 56, ``WrongState`` 73 (removed), ``Invalid`` 106 (no card), 105 (nothing given), 5, 9, 14.
    """
    sandbox = step.sandbox
    method = get(step, payment_method_id)
    if method.state is Presence.REMOVED:
        raise WrongState(
            Code.INVALID_PAYMENT_METHOD_ID_REMOVED, {"PaymentMethodId": "a removed payment method cannot be changed"}
        )
    card = method.instrument.card
    if method.instrument.type is not PaymentType.CARD or card is None:
        text = f"got one of type {method.instrument.type.value}, wanted one whose card is known"
        raise Invalid(Code.PAYMENT_METHOD_MUST_BE_OF_TYPE_CARD, {"PaymentMethodId": text})
    faults = Faults()
    given = wanted.number or wanted.expiry or wanted.cardholder is not None or wanted.metadata is not None
    if not given:
        words = "wanted at least one of expiryDate, cardholder, cardNumber, metadata"
        faults.add(Code.NO_DATA_TO_UPDATE_THE_PAYMENT_METHOD, "Card", words)
    number = card_entry.check_number(step, wanted.number, faults) if wanted.number else card.number
    expiry = card_entry.check_expiry_date(sandbox, wanted.expiry, faults) if wanted.expiry else card.expiry
    faults.refuse()
    changed = replace(
        card,
        number=card_entry.sure(number),
        expiry=expiry,
        cardholder=or_kept(wanted.cardholder, card.cardholder),
    )
    metadata, vault_id = or_kept(wanted.metadata, method.metadata), method.vault_id
    item = prepared_methods.vaulted(sandbox, method)
    if wanted.number and item is not None:
        # Another method may share the item, so the new number gets one of its own.
        vault_id = vault.store(step, changed.number, wanted.number, None, item.expires).vault_id
    after = replace(method, instrument=sandbox.cards.instrument(changed), metadata=metadata, vault_id=vault_id)
    method = step.replace(sandbox.payment_methods, method, after)
    step.emit(Subject.PAYMENT_METHOD, payment_method_id, "updated", method.state, method.state)
    return method


def delete(step: Step, payment_method_id: str, *, ask_provider: bool) -> PaymentMethod:
    """Remove a payment method from use; a customer whose default it was gets what the assumption
    ``removed.default_method`` says.

    Raises ``NotFound`` 56, ``WrongState`` 73 (removed before), ``ProviderRefused``.
    """
    sandbox = step.sandbox
    method = get(step, payment_method_id)
    method.after_removal(sandbox.now)
    if ask_provider:
        ask_to_forget(step, "payment_method.delete", method)
    method = remove(step, method)
    owner = prepared_methods.owner_of(sandbox, method)
    if owner is not None and owner.default_payment_method_id == payment_method_id:
        after = replace(owner, default_payment_method_id=_next_default(step, owner))
        step.replace(sandbox.customers, owner, after)
        step.emit(Subject.CUSTOMER, owner.customer_id, "updated", owner.state, owner.state)
    return method


def _next_default(step: Step, owner: Customer) -> str | None:
    if step.assume(DEFAULT_REMOVED) == "none":
        return None
    in_use = list(step.sandbox.payment_methods.find("in_use", owner.customer_id))
    return in_use[-1].payment_method_id if in_use else None


def ask_to_forget(step: Step, op: str, method: PaymentMethod) -> None:
    """Let the provider remove its copy too (assumption ``gateway_delete``). Raises ``ProviderRefused``."""
    provider = step.sandbox.providers.get(method.provider.provider_id)
    if provider is not None:
        known = replace(method.instrument, payment_method_id=method.payment_method_id)
        asking.refuse_declined(asking.ask(step, op, provider, known, "payment_method"))


def remove(step: Step, method: PaymentMethod, payer: Payer | None = None) -> PaymentMethod:
    """Take a method out of use, with its agreement and its network token; it can still be read, and shows ``payer``
    from now on when one is given.

    Its subscriptions are suspended when the assumption ``subscription.method_removed`` says so.
    """
    sandbox = step.sandbox
    after = method.after_removal(sandbox.now)
    if payer is not None:
        after = replace(after, payer=payer)
    step.replace(sandbox.payment_methods, method, after)
    if method.payto_id is not None:
        payto.turn_to(step, method.payto_id, PayToState.CANCELLED)
    if method.network_token_id is not None:
        network_tokens.turn_to(step, method.network_token_id, NetworkTokenState.DELETED)
    step.emit(Subject.PAYMENT_METHOD, method.payment_method_id, "removed", method.state, after.state)
    subscription_course.lose_method(step, method.payment_method_id)
    return after
