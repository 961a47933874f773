"""Payment-method use cases: every check of every way in, then store, read, change the card, remove.

A payment method comes from a card, a token, a bank account, an agreement or another method, alone
or with a customer. Every way takes the same three steps: ``checked`` names all faults and changes
nothing; ``ask`` lets the provider refuse, which changes nothing either; ``store`` keeps the method
with all that it brings, and has nothing left to refuse.

Sources: docs/spec/service.md, Payment methods, and Customers; What the service does, 6-7;
docs/spec/published-facts.md, 1.1 rows 29-39, 3.1; settled facts ``removed.customer_or_method``,
``gateway_delete``, ``network_token.status``.
"""

from collections.abc import Callable
from dataclasses import field
from functools import partial

from mockserver.domain import commands
from mockserver.domain.cards import Card, CardNumber
from mockserver.domain.charge import Payer
from mockserver.domain.codes import Code
from mockserver.domain.customer import Customer
from mockserver.domain.errors import Faults, Invalid, WrongState
from mockserver.domain.fake_lookups import bank_name
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_method import MOST_METHODS, PaymentMethod
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.record import new_or_old, record, replace, updated
from mockserver.domain.sources import BankAccount, Instrument, PaymentType
from mockserver.domain.states import (
    NETWORK_TOKEN,
    PAYTO,
    NetworkTokenState,
    PayToState,
    Presence,
    VaultState,
)
from mockserver.domain.token import Token
from mockserver.domain.vault import VaultItem, check_expiry
from mockserver.engine import intake, payto, providers, subscriptions, tokens, vault
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step, finder, method_in_use, turn_to

get = finder(PaymentMethod, Code.INVALID_PAYMENT_METHOD_ID)
"""A payment method, removed ones included. Raises ``NotFound`` (56)."""


@record
class Prepared:
    """A payment method that passed its checks, with what storing it will cause.

    ``source`` is its name for rules; ``draft`` lacks only what storing gives it: ids and an owner;
    ``to_vault`` stores its card in the vault; ``inherited`` is the method whose card it takes over.
    """

    source: str
    provider: Provider
    draft: PaymentMethod
    to_vault: Callable[[], VaultItem] | None = field(default=None, repr=False)
    token: Token | None = None
    agreement: commands.NewPayToMethod | None = None
    inherited: PaymentMethod | None = None
    create_network_token: bool = False


def create(step: Step, command: commands.NewMethod) -> PaymentMethod:
    """Store a payment method. Raises ``Invalid`` as ``checked``, ``ProviderRefused``."""
    wanted = checked(step, command)
    ask(step, "payment_method.create", wanted)
    return store(step, wanted, owner_of(step.sandbox, wanted.inherited))


def checked(step: Step, command: commands.NewMethod, owner: Customer | None = None) -> Prepared:
    """The payment method of a command for a customer (None: without one, or for a new one). Raises
    ``Invalid`` 39, 32, 103 (provider), 56, 73 (fallback), 5, 6, 9, 14, 81, 85, 86 (card), 51
    (token), 90 (agreement, ``MOST_METHODS``), 56, 66, 73 (vaulted method)."""
    sandbox = step.sandbox
    faults = Faults()
    wanted = faults.attempt(_prepared, step, command, faults)
    if isinstance(command, commands.SwitchProvider):
        # The new method belongs to whom the old one did.
        owner = owner_of(sandbox, sandbox.payment_methods.get(command.payment_method_id))
    if owner is not None:
        in_use = sandbox.payment_methods.count("in_use", owner.customer_id)
        if in_use >= MOST_METHODS:
            words = f"the customer has {MOST_METHODS:,} payment methods in use"
            faults.wrong("CustomerId", f"{words}, as many as there may be")
    if command.terms.fallback_payment_method_id is not None:
        faults.attempt(_check_fallback, step, command.terms.fallback_payment_method_id, owner)
    return faults.sure(wanted)


def ask(step: Step, op: str, wanted: Prepared) -> None:
    """Let the provider store it too. Raises ``ProviderRefused`` when it declines; then nothing has
    changed."""
    outcome = providers.ask(step, op, wanted.provider, wanted.draft.instrument, wanted.source)
    providers.refuse_declined(outcome)


def store(step: Step, wanted: Prepared, owner: Customer | None) -> PaymentMethod:
    """Keep a checked payment method, with all that it brings: vault item, agreement, network token,
    a used token."""
    ids, draft = step.sandbox.ids, wanted.draft
    vault_id, payto_id = draft.vault_id, draft.payto_id
    if wanted.to_vault is not None:
        vault_id = wanted.to_vault().vault_id
    if wanted.agreement is not None:
        payto_id = payto.store(step, wanted.agreement, wanted.provider).payto_id
    method_id = ids.hex32("payment_method")
    at_provider = draft.provider_payment_method_id
    if not at_provider:
        # Only a token of the provider's own, which lasts, is known there by another name.
        at_provider = "pm_" + ids.hex24("provider_payment_method")
    method = replace(
        draft,
        payment_method_id=method_id,
        provider_payment_method_id=at_provider,
        vault_id=vault_id,
        payto_id=payto_id,
    )
    if owner is not None:
        method = replace(
            method,
            customer_id=owner.customer_id,
            payer=owner.payer(),
            email=draft.email or owner.email,
        )
    if wanted.token is not None:
        tokens.use(step, wanted.token)
    card = method.instrument.card
    if wanted.create_network_token and card is not None:
        token = _network_token(step, method, card)
        method = replace(method, network_token_id=token.network_token_id)
    return step.add(method)


def _network_token(step: Step, method: PaymentMethod, card: Card) -> NetworkToken:
    """Make the network token of a payment method that is being stored."""
    sandbox = step.sandbox
    return step.add(
        NetworkToken(
            network_token_id=sandbox.ids.hex32("network_token"),
            scheme_token_id=sandbox.ids.hex32("scheme_token"),
            provider=method.provider,
            card=card,
            added=sandbox.now,
            scheme_data=_scheme_data(card),
            payment_method_id=method.payment_method_id,
            customer_id=method.customer_id,
        )
    )


def update_card(step: Step, payment_method_id: str, wanted: commands.CardChanges) -> PaymentMethod:
    """Change expiry, holder or number of a stored card, or its metadata. Raises ``NotFound`` 56,
    ``WrongState`` 73 (removed), ``Invalid`` 106 (no card), 105 (nothing given), 5, 9, 14."""
    sandbox = step.sandbox
    method = get(step, payment_method_id)
    card = _changeable_card(method)
    faults = Faults()
    has_card_data = wanted.number or wanted.expiry or wanted.cardholder is not None
    if not has_card_data and wanted.metadata is None:
        words = "wanted at least one of expiryDate, cardholder, cardNumber, metadata"
        faults.add(Code.NO_DATA_TO_UPDATE_THE_PAYMENT_METHOD, "Card", words)
    number: CardNumber | None = card.number
    if wanted.number:
        number = faults.attempt(intake.check_number, step, wanted.number)
    expiry = card.expiry
    if wanted.expiry:
        expiry = faults.attempt(intake.check_expiry_date, step, wanted.expiry)
    holder = new_or_old(wanted.cardholder, card.cardholder)
    changed = replace(card, number=faults.sure(number), expiry=expiry, cardholder=holder)
    vault_id = method.vault_id
    item = vaulted(sandbox, method)
    if wanted.number and item is not None:
        # Another method may share the item, so the new number gets one of its own.
        vault_id = vault.store(step, changed.number, wanted.number, None, item.expires).vault_id
    instrument = sandbox.cards.entered(changed).instrument
    metadata = new_or_old(wanted.metadata, method.metadata)
    after = replace(method, instrument=instrument, metadata=metadata, vault_id=vault_id)
    _show_card_on_network_token(step, method, changed)
    return step.change(method, after, "updated")


def _changeable_card(method: PaymentMethod) -> Card:
    """The card of a payment method that may be changed. Raises ``WrongState`` 73 (removed),
    ``Invalid`` 106 (no card, or one that only the provider knows)."""
    if method.state is Presence.REMOVED:
        words = "a removed payment method cannot be changed"
        raise WrongState(Code.INVALID_PAYMENT_METHOD_ID_REMOVED, {"PaymentMethodId": words})
    card = method.instrument.card
    if method.instrument.type is not PaymentType.CARD or card is None:
        text = f"got one of type {method.instrument.type.value}, wanted one whose card is known"
        raise Invalid(Code.PAYMENT_METHOD_MUST_BE_OF_TYPE_CARD, {"PaymentMethodId": text})
    return card


def _show_card_on_network_token(step: Step, method: PaymentMethod, card: Card) -> None:
    """The network token of a payment method stands for its card as it is now.

    A card scheme moves a token on to the card that replaces another.
    """
    token = step.sandbox.network_tokens.get(method.network_token_id or "")
    if token is not None and token.card != card:
        step.change(token, replace(token, card=card, scheme_data=_scheme_data(card)))


def _scheme_data(card: Card) -> dict[str, str]:
    """What the scheme tells of the card behind a network token."""
    return {"scheme": card.number.brand.value, "panLastFour": card.number.last4}


def delete(step: Step, payment_method_id: str, *, ask_provider: bool) -> PaymentMethod:
    """Remove a payment method from use; a customer whose default it was gets what the assumption
    ``removed.default_method`` says. Raises ``NotFound`` 56, ``WrongState`` 73 (removed before),
    ``ProviderRefused``."""
    method = get(step, payment_method_id)
    # Raises for one that was removed before, while its provider has not been asked.
    method.after_removal(step.sandbox.now)
    if ask_provider:
        ask_to_forget(step, "payment_method.delete", method)
    method = remove(step, method)
    owner = owner_of(step.sandbox, method)
    if owner is not None and owner.default_payment_method_id == payment_method_id:
        after = replace(owner, default_payment_method_id=_next_default(step, owner))
        step.change(owner, after, "updated")
    return method


def _next_default(step: Step, owner: Customer) -> str | None:
    """The method that becomes the default of a customer who has lost it: the newest, or none, as
    assumed."""
    if step.assume("removed.default_method") == "none":
        return None
    in_use = list(step.sandbox.payment_methods.find("in_use", owner.customer_id))
    if not in_use:
        return None
    return in_use[-1].payment_method_id


def ask_to_forget(step: Step, op: str, method: PaymentMethod) -> None:
    """Let the provider remove its copy too (settled fact ``gateway_delete``). Raises
    ``ProviderRefused``."""
    provider = step.sandbox.providers.get(method.provider.provider_id)
    if provider is not None:
        # Rules name the method by its id, which an instrument has only while it is charged.
        known = replace(method.instrument, payment_method_id=method.payment_method_id)
        providers.refuse_declined(providers.ask(step, op, provider, known, "payment_method"))


def remove(step: Step, method: PaymentMethod, payer: Payer | None = None) -> PaymentMethod:
    """Take a method out of use, with its agreement and its network token; it can still be read, and
    shows ``payer`` from now on when one is given.

    Its subscriptions are suspended when the assumption ``subscription.method_removed`` says so.
    """
    after = method.after_removal(step.sandbox.now)
    if payer is not None:
        after = replace(after, payer=payer)
    sandbox = step.sandbox
    turn_to(step, sandbox.payto.get(method.payto_id or ""), PAYTO, PayToState.CANCELLED)
    turn_to(
        step,
        sandbox.network_tokens.get(method.network_token_id or ""),
        NETWORK_TOKEN,
        NetworkTokenState.DELETED,
    )
    step.change(method, after, "removed")
    subscriptions.lose_method(step, method.payment_method_id)
    return after


def _prepared(step: Step, command: commands.NewMethod, faults: Faults) -> Prepared | None:
    """The payment method of a command. Raises ``Invalid`` for what ends the checks at once, and
    gives None with faults added for what does not."""
    sandbox = step.sandbox
    match command:
        case commands.NewCardMethod():
            return _card(step, command, faults)
        case commands.NewTokenMethod():
            return _token(step, command)
        case commands.NewProviderTokenMethod():
            provider = providers.named(sandbox, command.provider_id, Capability.CARD)
            draft = replace(
                _draft(sandbox, provider, Instrument(PaymentType.CARD)),
                # One that lasts is what the provider knows the method by; another is used once.
                provider_payment_method_id=command.token if command.lasts else None,
                provider_data=command.data,
                token=command.token,
            )
            return Prepared("token", provider, updated(draft, command.terms))
        case commands.NewBankMethod(account=account, terms=terms):
            provider = providers.named(sandbox, command.provider_id, Capability.DIRECT_DEBIT)
            draft = _draft(sandbox, provider, bank_instrument(account))
            return Prepared("bank_account", provider, updated(draft, terms))
        case commands.NewPayToMethod(terms=terms):
            provider = payto.check(sandbox, command)
            draft = updated(_draft(sandbox, provider, payto.INSTRUMENT), terms)
            return Prepared("payment_method", provider, draft, agreement=command)
        case commands.SwitchProvider():
            return _switch(step, command, faults)


def _draft(sandbox: Sandbox, provider: Provider, instrument: Instrument) -> PaymentMethod:
    """A payment method that has no id yet, and lacks what its terms say: these come last
    (``updated``), as they count before what is known of it otherwise."""
    return PaymentMethod("", instrument, provider.summary, sandbox.now)


def _card(step: Step, command: commands.NewCardMethod, faults: Faults) -> Prepared | None:
    """A card with the provider that is named, in the vault too when asked for."""
    provider = faults.attempt(providers.named, step.sandbox, command.provider_id, Capability.CARD)
    if command.create_network_token and provider is not None:
        _check_makes_network_tokens(provider, faults)
    details, number = command.details, command.details.number
    accepted = intake.check_card(step, details, faults, skip_expiry_check=command.skip_expiry_check)
    expires = check_expiry(command.expiry, step.sandbox.now, faults, with_card=True)
    if provider is None or accepted is None or number is None:
        return None
    card, instrument = accepted
    prepared = Prepared(
        "card",
        provider,
        updated(_draft(step.sandbox, provider, instrument), command.terms),
        create_network_token=command.create_network_token,
    )
    if command.vault_card:
        to_vault = partial(vault.store, step, card.number, number, details.ccv, expires)
        return replace(prepared, to_vault=to_vault)
    return prepared


def _check_makes_network_tokens(provider: Provider, faults: Faults) -> None:
    """A fault (32) where the network token that is asked for could never be charged."""
    if Capability.NETWORK_TOKEN not in provider.capabilities:
        faults.absorb(providers.lacks(provider, Capability.NETWORK_TOKEN))


def _token(step: Step, command: commands.NewTokenMethod) -> Prepared:
    """What a payment token stands for, with the provider that it was made for."""
    token = tokens.usable(step, command.token)
    needed = providers.NEEDS[token.instrument.type]
    provider = providers.named(step.sandbox, token.provider.provider_id, needed)
    draft = replace(
        _draft(step.sandbox, provider, token.instrument),
        vault_id=token.vault_id,
        payto_id=token.payto_id,
        metadata=token.metadata,
        token=token.token_id,
    )
    # Where the shop's server sends no address of the payer, that of the browser counts, which made
    # the token.
    terms = replace(command.terms, ip=command.terms.ip or token.ip)
    return Prepared("token", provider, updated(draft, terms), token=token)


def _switch(step: Step, command: commands.SwitchProvider, faults: Faults) -> Prepared | None:
    """The vaulted card of a payment method, with another provider: what the vault is for. Without
    a ccv of its own, the request uses the one that the vault still has."""
    sandbox = step.sandbox
    provider = faults.attempt(providers.named, sandbox, command.provider_id, Capability.CARD)
    method = faults.attempt(method_in_use, step, command.payment_method_id, "PaymentMethodId")
    card: Card | None = None
    item: VaultItem | None = None
    if method is not None:
        card = method.instrument.card
        item = vaulted(sandbox, method)
        if item is None or card is None:
            words = "its card is not in the vault, or no longer"
            code = Code.NO_VAULT_ID_ASSOCIATED_WITH_THIS_PAYMENT_METHOD
            faults.add(code, "PaymentMethodId", words)
    intake.check_ccv(command.ccv, card.number if card is not None else None, faults)
    if provider is None or method is None or item is None or card is None:
        return None
    has_ccv = bool(command.ccv or item.ccv)
    entered = sandbox.cards.entered(replace(card, ccv_given=has_ccv))
    draft = replace(
        _draft(sandbox, provider, entered.instrument),
        email=method.email,
        ip=method.ip,
        metadata=method.metadata,
        payer=method.payer,
        vault_id=method.vault_id,
    )
    return Prepared("card", provider, updated(draft, command.terms), inherited=method)


def vaulted(sandbox: Sandbox, method: PaymentMethod) -> VaultItem | None:
    """The vault item of a payment method while it lasts."""
    item = sandbox.vault.get(method.vault_id or "")
    if item is None or item.state is not VaultState.STORED:
        return None
    return item


def bank_instrument(account: BankAccount) -> Instrument:
    """A bank account as something that can be charged and shown."""
    return Instrument(
        PaymentType.BANK_ACCOUNT, bank=account, display_type=bank_name(account.bank_code)
    )


def owner_of(sandbox: Sandbox, method: PaymentMethod | None) -> Customer | None:
    """The customer that a payment method belongs to."""
    if method is None:
        return None
    return sandbox.customers.get(method.customer_id or "")


def _check_fallback(step: Step, payment_method_id: str, owner: Customer | None) -> None:
    """Raises ``Invalid`` when a fallback is no payment method or one of another customer than
    ``owner`` (56), or one that was removed (73). Nobody pays for another customer (settled fact
    ``failover.method``)."""
    field = "FallbackPaymentMethodId"
    theirs = owner_of(step.sandbox, method_in_use(step, payment_method_id, field))
    if theirs is not None and theirs is not owner:
        raise Invalid(
            Code.INVALID_PAYMENT_METHOD_ID,
            {field: "this payment method belongs to another customer"},
        )
