"""What storing a payment method needs, prepared: every check of every way in, and no change yet.

Sources: docs/spec/service.md, Payment methods, and Customers; What the service does, 6-7; docs/spec/published-facts.md,
3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import Instant
from mockserver.domain.codes import Code
from mockserver.domain.commands import (
    MethodTerms,
    NewBankMethod,
    NewCardMethod,
    NewMethod,
    NewPayToMethod,
    NewProviderTokenMethod,
    NewTokenMethod,
    SwitchProvider,
    TokenKind,
)
from mockserver.domain.customer import Customer
from mockserver.domain.errors import Faults
from mockserver.domain.fake_lookups import bank_name
from mockserver.domain.payment_method import MOST_METHODS, PaymentMethod
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.record import record
from mockserver.domain.sources import BankAccount, Instrument, PaymentType
from mockserver.domain.states import Presence, VaultState
from mockserver.domain.token import Token
from mockserver.domain.vault import WITH_A_CARD, VaultItem, check_expiry
from mockserver.engine import card_entry, payto, providers, tokens
from mockserver.engine.lookup import check_in_use
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step


@record
class ToVault:
    """A checked card that shall be vaulted with the payment method."""

    facts: CardNumber
    number: str = field(repr=False)
    ccv: str | None = field(repr=False)
    expires: Instant | None


@record
class Prepared:
    """A payment method that passed its checks, with what storing it will cause.

    ``source`` is its name for rules; ``inherited`` the method whose card it takes over; ``provider_token`` the
    lasting id that the provider already gave it.
    """

    source: str
    provider: Provider
    instrument: Instrument
    terms: MethodTerms
    to_vault: ToVault | None = None
    vault_id: str | None = None
    token: Token | None = None
    payto_id: str | None = None
    agreement: NewPayToMethod | None = None
    inherited: PaymentMethod | None = None
    provider_token: str | None = None
    provider_data: Mapping[str, str] | None = None
    shown_token: str | None = None
    create_network_token: bool = False


def prepare(step: Step, command: NewMethod, owner: Customer | None, faults: Faults) -> Prepared | None:
    """The payment method of a command for a customer (None: without one, or for a new one), or None and at least
    one fault.

    Faults: 39, 32, 103 (provider), 56 (fallback), and those of the way in: 5, 6, 9, 14, 81, 85, 86 (card), 51 (token),
    90 (agreement), 56, 66, 73 (vaulted method), 90 (``MOST_METHODS``).
    """
    sandbox = step.sandbox
    made = _of(step, command, faults)
    if isinstance(command, SwitchProvider):
        owner = owner_of(sandbox, sandbox.payment_methods.get(command.payment_method_id))
    if owner is not None and sandbox.payment_methods.count("in_use", owner.customer_id) >= MOST_METHODS:
        faults.wrong("CustomerId", f"the customer has {MOST_METHODS:,} payment methods in use, as many as there may be")
    check_fallback(sandbox, command.terms.fallback_payment_method_id, owner, faults)
    return made


def _of(step: Step, command: NewMethod, faults: Faults) -> Prepared | None:
    sandbox = step.sandbox
    match command:
        case NewCardMethod():
            return _card(step, command, faults)
        case NewTokenMethod():
            return _token(step, command, faults)
        case NewProviderTokenMethod():
            return _provider_token(sandbox, command, faults)
        case NewBankMethod(account=account, provider_id=provider_id, terms=terms):
            provider = providers.named(sandbox, provider_id, Capability.DIRECT_DEBIT, faults)
            return Prepared("bank_account", provider, bank_instrument(account), terms) if provider else None
        case NewPayToMethod():
            provider = payto.check(sandbox, command, faults)
            if provider is None:
                return None
            return Prepared("payment_method", provider, payto.INSTRUMENT, command.terms, agreement=command)
        case SwitchProvider():
            return _switch(sandbox, command, faults)


def _card(step: Step, command: NewCardMethod, faults: Faults) -> Prepared | None:
    sandbox = step.sandbox
    provider = providers.named(sandbox, command.provider_id, Capability.CARD, faults)
    if provider is not None and command.create_network_token and Capability.NETWORK_TOKEN not in provider.capabilities:
        faults.add(*providers.lacks(provider, Capability.NETWORK_TOKEN))
    found = card_entry.check(step, command.details, faults, skip_expiry_check=command.skip_expiry_check)
    expires = check_expiry(command.vault.expiry, WITH_A_CARD, sandbox.now, faults)
    number = command.details.number
    if provider is None or found is None or number is None:
        return None
    card, instrument = found
    to_vault = ToVault(card.number, number, command.details.ccv, expires) if command.vault.wanted else None
    return Prepared(
        "card",
        provider,
        instrument,
        command.terms,
        to_vault=to_vault,
        create_network_token=command.create_network_token,
    )


def _token(step: Step, command: NewTokenMethod, faults: Faults) -> Prepared | None:
    token = tokens.usable(step, command.token, faults)
    if token is None:
        return None
    provider = providers.named(step.sandbox, token.provider.provider_id, providers.NEEDS[token.instrument.type], faults)
    if provider is None:
        return None
    terms = command.terms
    return Prepared(
        "token",
        provider,
        token.instrument,
        replace(terms, ip=terms.ip or token.ip, metadata=token.metadata if terms.metadata is None else terms.metadata),
        vault_id=token.vault_id,
        token=token,
        payto_id=token.payto_id,
        shown_token=token.token_id,
    )


def _provider_token(sandbox: Sandbox, command: NewProviderTokenMethod, faults: Faults) -> Prepared | None:
    provider = providers.named(sandbox, command.provider_id, Capability.CARD, faults)
    if provider is None:
        return None
    return Prepared(
        "token",
        provider,
        Instrument(PaymentType.CARD),
        command.terms,
        provider_token=command.token if command.kind is TokenKind.LASTING else None,
        provider_data=command.data,
        shown_token=command.token,
    )


def _switch(sandbox: Sandbox, command: SwitchProvider, faults: Faults) -> Prepared | None:
    provider = providers.named(sandbox, command.provider_id, Capability.CARD, faults)
    method = sandbox.payment_methods.get(command.payment_method_id)
    card = method.instrument.card if method else None
    item = vaulted(sandbox, method) if method else None
    check_in_use(method, command.payment_method_id, "PaymentMethodId", faults)
    if method is not None and method.state is Presence.ACTIVE and (item is None or card is None):
        faults.add(
            Code.NO_VAULT_ID_ASSOCIATED_WITH_THIS_PAYMENT_METHOD,
            "PaymentMethodId",
            "its card is not in the vault, or no longer",
        )
    card_entry.check_ccv(command.ccv, card.number if card else None, faults)
    if provider is None or method is None or item is None or card is None:
        return None
    return Prepared(
        "card",
        provider,
        sandbox.cards.instrument(replace(card, ccv_given=bool(command.ccv or item.ccv))),
        replace(command.terms, email=method.email, ip=method.ip, metadata=method.metadata, payer=method.payer),
        vault_id=item.vault_id,
        inherited=method,
    )


def vaulted(sandbox: Sandbox, method: PaymentMethod) -> VaultItem | None:
    """The vault item of a payment method while it lasts."""
    item = sandbox.vault.get(method.vault_id) if method.vault_id else None
    return item if item is not None and item.state is VaultState.STORED else None


def bank_instrument(account: BankAccount) -> Instrument:
    """A bank account as something that can be charged and shown."""
    return Instrument(PaymentType.BANK_ACCOUNT, bank=account, display_type=bank_name(account.bank_code))


def owner_of(sandbox: Sandbox, method: PaymentMethod | None) -> Customer | None:
    """The customer that a payment method belongs to."""
    return sandbox.customers.get(method.customer_id) if method and method.customer_id else None


def check_fallback(sandbox: Sandbox, payment_method_id: str | None, owner: Customer | None, faults: Faults) -> None:
    """A fault when a fallback names no payment method or one of another customer than ``owner`` (56), or one that was
    removed (73)."""
    if payment_method_id is not None:
        field = "FallbackPaymentMethodId"
        fallback = sandbox.payment_methods.get(payment_method_id)
        check_in_use(fallback, payment_method_id, field, faults)
        theirs = owner_of(sandbox, fallback)
        if fallback is not None and fallback.state is Presence.ACTIVE and theirs is not None and theirs is not owner:
            faults.add(Code.INVALID_PAYMENT_METHOD_ID, field, "this payment method belongs to another customer")
