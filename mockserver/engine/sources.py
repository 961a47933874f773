"""From the source of a charge to its routes: which instrument, through which provider, for whom, and who is next when
one fails.

Sources: docs/spec/service.md, What the service does, 3, and Charges; assumptions ``least_cost``, ``failover``,
``provider.unknown``, ``charge.customer_summary``, ``payto.status``.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import assert_never

from mockserver.domain.charge import Payer
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewCharge
from mockserver.domain.errors import Faults, nearest
from mockserver.domain.money import Currency
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import check_charge
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.record import or_kept, record
from mockserver.domain.sources import (
    CHECKOUTS,
    BankSource,
    CardSource,
    CheckoutSource,
    CustomerSource,
    Instrument,
    MethodSource,
    NetworkTokenSource,
    PaymentType,
    TokenSource,
    WalletSource,
    checkout_named,
)
from mockserver.domain.states import NetworkTokenState, Presence
from mockserver.domain.token import Token
from mockserver.engine import card_entry, payment_methods, providers, tokens
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step, method_in_use, unknown

_CARD = Capability.CARD


@record
class ProviderRoute:
    """One route for the money: an instrument through a provider; ``method`` is the stored method behind it."""

    provider: Provider
    instrument: Instrument
    method: PaymentMethod | None = None


@record
class ChargePlan(ProviderRoute):
    """Where a charge starts: its first route, and what is known of the payer.

    ``others`` are routes that may follow; ``token`` is used by the charge, whatever becomes of it.
    """

    others: tuple[ProviderRoute, ...] = ()
    payer: Payer | None = None
    verified: bool = False
    token: Token | None = None


def plan(step: Step, command: NewCharge, money: Currency | None, faults: Faults) -> ChargePlan | None:
    """Resolve the source of a charge in a currency (None: the provider's), or None with at least one fault added."""
    source = command.source
    match source:
        case CardSource():
            return _card(step, command, source, money, faults)
        case BankSource(account=account, provider_id=provider_id):
            provider = providers.named(step.sandbox, provider_id, Capability.DIRECT_DEBIT, faults)
            return ChargePlan(provider, payment_methods.bank_instrument(account)) if provider else None
        case MethodSource(payment_method_id=method_id):
            return _method(step, method_id, command.amount, faults)
        case TokenSource():
            return _token(step, source, command.amount, faults)
        case CustomerSource(customer_id=customer_id):
            return _customer(step, customer_id, command.amount, faults)
        case NetworkTokenSource():
            return _network_token(step, source, faults)
        case WalletSource():
            return _wallet(step, source, money, faults)
        case CheckoutSource():
            return _checkout(step, source, money, faults)
        case _:
            assert_never(source)


def payer_of(given: Payer, stored: Payer) -> Payer:
    """The payer of a charge: the stored customer, under the names that the request gives."""
    return Payer(
        customer_id=stored.customer_id,
        reference=stored.reference if stored.customer_id else given.reference or stored.reference,
        first_name=or_kept(given.first_name, stored.first_name),
        last_name=or_kept(given.last_name, stored.last_name),
        email=or_kept(given.email, stored.email),
        phone=or_kept(given.phone, stored.phone),
        added=stored.added,
        removed=stored.removed,
    )


def _card(
    step: Step, command: NewCharge, source: CardSource, money: Currency | None, faults: Faults
) -> ChargePlan | None:
    found = card_entry.check(step, source if source.is_given else None, faults)
    authenticated = source.three_ds_server_trans_id or source.external_three_ds
    verified = bool(authenticated) and step.assume("charge.three_ds") == "trusted"
    if source.provider_id is not None:
        provider = providers.named(step.sandbox, source.provider_id, _CARD, faults)
        if found is None or provider is None:
            return None
        return ChargePlan(provider, found[1], verified=verified)
    if found is None or faults:
        return None
    card, instrument = found
    able = providers.by_cost(step, command.amount, money, card.number, faults)
    if not able:
        return None
    goes_on = step.assume("least_cost.next") == "next_cheapest"
    others = tuple(ProviderRoute(provider, instrument) for provider in able[1:]) if goes_on else ()
    return ChargePlan(able[0], instrument, others=others, verified=verified)


def _method(step: Step, method_id: str, amount: Decimal, faults: Faults) -> ChargePlan | None:
    method = method_in_use(step, method_id, "PaymentMethodId", faults)
    if method is None:
        return None
    step.result.about["payment_method"] = method
    owner = payment_methods.owner_of(step.sandbox, method)
    if owner is not None:
        if owner.state is Presence.REMOVED:
            faults.add(Code.INVALID_CUSTOMER_ID_REMOVED, "PaymentMethodId", "the customer of this method was removed")
            return None
        step.result.about["customer"] = owner
    route = _stored_route(step, method, amount, faults)
    return ChargePlan(route.provider, route.instrument, method, payer=method.payer) if route else None


def _customer(step: Step, customer_id: str, amount: Decimal, faults: Faults) -> ChargePlan | None:
    customer = step.sandbox.customers.get(customer_id)
    if customer is None:
        faults.add(Code.INVALID_CUSTOMER_ID, "CustomerId", unknown("customer", customer_id))
        return None
    if customer.state is Presence.REMOVED:
        faults.add(Code.INVALID_CUSTOMER_ID_REMOVED, "CustomerId", "this customer was removed")
        return None
    method_id = customer.default_payment_method_id
    if method_id is None:
        text = "this customer has no default payment method"
        faults.add(Code.CUSTOMER_HAS_NO_DEFAULT_PAYMENT_METHOD_ID, "CustomerId", text)
        return None
    return _method(step, method_id, amount, faults)


def _token(step: Step, source: TokenSource, amount: Decimal, faults: Faults) -> ChargePlan | None:
    token = tokens.usable(step, source.token, faults)
    if token is None:
        return None
    held, provider = token.instrument, _provider_of(step, token, "Token", amount, faults)
    if provider is None:
        return None
    instrument = Instrument(held.type, held.card, held.bank, token_id=token.token_id, display_type=held.display_type)
    return ChargePlan(
        provider,
        instrument,
        verified=token.verified and step.assume("charge.three_ds") == "trusted",
        token=token,
    )


def _network_token(step: Step, source: NetworkTokenSource, faults: Faults) -> ChargePlan | None:
    provider = providers.named(step.sandbox, source.provider_id, Capability.NETWORK_TOKEN, faults)
    token = _usable_network_token(step, source.network_token_id, faults)
    if provider is None or token is None:
        return None
    customer = step.sandbox.customers.get(token.customer_id) if token.customer_id else None
    instrument = Instrument(
        PaymentType.NETWORK_TOKEN,
        card=token.card,
        payment_method_id=token.payment_method_id,
        customer_id=token.customer_id,
        display_type=token.card.number.brand,
    )
    return ChargePlan(provider, instrument, payer=customer.payer() if customer else None)


def _usable_network_token(step: Step, network_token_id: str | None, faults: Faults) -> NetworkToken | None:
    """The token that a charge names, or None. Faults: 90 (not given), 51 (unknown, or not active)."""
    if not network_token_id:
        faults.wrong("NetworkTokenId", "required")
        return None
    token = step.sandbox.network_tokens.get(network_token_id)
    if token is None:
        faults.add(Code.INVALID_OR_EXPIRED_TOKEN, "NetworkTokenId", unknown("network_token", network_token_id))
        return None
    if token.status is not NetworkTokenState.ACTIVE:
        text = f"got a network token in {token.status.value}, wanted {NetworkTokenState.ACTIVE.value}"
        faults.add(Code.INVALID_OR_EXPIRED_TOKEN, "NetworkTokenId", text)
        return None
    step.result.about["network_token"] = token
    return token


def _wallet(step: Step, source: WalletSource, money: Currency | None, faults: Faults) -> ChargePlan | None:
    provider = (
        providers.named(step.sandbox, source.provider_id, Capability.WALLET, faults)
        if source.provider_id
        else providers.first_with(step, Capability.WALLET, money.code if money else None, faults)
    )
    if provider is None:
        return None
    shown = source.display_name or source.network
    return ChargePlan(provider, Instrument(_kind(step, source.kind), display_type=shown))


def _checkout(step: Step, source: CheckoutSource, money: Currency | None, faults: Faults) -> ChargePlan | None:
    named = checkout_named(source.kind or "")
    provider = (
        providers.named(step.sandbox, source.provider_id, Capability.CHECKOUT, faults)
        if source.provider_id
        else providers.of_checkout(step, named, money.code if money else None, faults)
    )
    if provider is None:
        return None
    checkout = CHECKOUTS.get(provider.summary.type, named)
    if checkout is None:
        known = nearest(source.kind or "", CHECKOUTS)
        faults.add(Code.VALIDATION_ERROR, "ProviderType", f"wanted a checkout such as paypal or zip{known}")
        return None
    shown = Instrument(_kind(step, PaymentType(checkout.payment_type)), display_type=checkout.name)
    return ChargePlan(provider, shown)


def _kind(step: Step, own: PaymentType | None) -> PaymentType:
    """The type of a payment whose wallet or checkout is known, and of one whose wallet is not."""
    by_kind = own is not None and step.assume("payment_method.checkout_type") == "by_kind"
    return own if own is not None and by_kind else PaymentType(step.assume("payment_method.wallet_type"))


def routes_left(
    step: Step, tried: Sequence[ProviderRoute], waiting: Sequence[ProviderRoute], amount: Decimal
) -> list[ProviderRoute]:
    """The routes that a charge may still take when those that were ``tried`` have failed: the fallback of the last
    provider, those that are ``waiting``, the fallback of the last method."""
    failed = tried[-1]
    left = [*_fallback_provider(step.sandbox, failed), *waiting] or _fallback_method(step, failed, amount)
    known = {(one.provider.provider_id, one.instrument.payment_method_id) for one in tried}
    return [one for one in left if (one.provider.provider_id, one.instrument.payment_method_id) not in known]


def _stored_route(step: Step, method: PaymentMethod, amount: Decimal, faults: Faults) -> ProviderRoute | None:
    provider = _provider_of(step, method, "PaymentMethodId", amount, faults)
    return ProviderRoute(provider, method.charged(), method) if provider else None


def _provider_of(
    step: Step, stored: PaymentMethod | Token, field: str, amount: Decimal, faults: Faults
) -> Provider | None:
    """The provider of a stored instrument, or None.

    Faults: 39, 32, 103 (provider), 33, 24 (PayTo agreement that is not active, or not for so much), 14 (expired card).
    """
    sandbox, kind = step.sandbox, stored.instrument.type
    provider = providers.named(sandbox, stored.provider.provider_id, providers.NEEDS[kind], faults)
    agreement = sandbox.payto.get(stored.payto_id) if stored.payto_id else None
    if agreement is not None:
        step.result.about["payto"] = agreement
        check_charge(agreement, amount, faults)
    card_entry.check_stored(step, stored.instrument.card, field, faults)
    return provider


def _fallback_provider(sandbox: Sandbox, route: ProviderRoute) -> list[ProviderRoute]:
    fallback = providers.known(sandbox, route.provider.fallback_provider_id)
    if fallback is None or providers.NEEDS[route.instrument.type] not in fallback.capabilities:
        return []
    return [ProviderRoute(fallback, route.instrument, route.method)]


def _fallback_method(step: Step, route: ProviderRoute, amount: Decimal) -> list[ProviderRoute]:
    fallback_id = route.method.fallback_payment_method_id if route.method else None
    fallback = step.sandbox.payment_methods.get(fallback_id) if fallback_id else None
    if fallback is None or fallback.state is Presence.REMOVED:
        return []
    faults = Faults()
    found = _stored_route(step, fallback, amount, faults)
    return [found] if found and not faults else []
