"""From the source of a charge to its routes: which instrument, through which provider, for whom,
and who is next when one fails.

Stored cards, tokens, wallets and bank accounts are charged alike once they are a route: an
instrument through a provider. ``plan`` finds the first one and changes nothing, so that a refusal
names every fault of a request at once. When its provider declines, ``routes_left`` says what may
follow: first the provider that takes over for it, then those that were planned as next (dearer
ones, where the cheapest is tried first), and last the payment method that takes over.

Sources: docs/spec/service.md, What the service does, 3, and Charges; assumptions
``failover``, ``least_cost.next``, ``charge.customer_summary``; settled facts ``least_cost``,
``provider.unknown``, ``payto.status``.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import assert_never

from mockserver.domain import sources
from mockserver.domain.charge import Payer
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewCharge
from mockserver.domain.errors import Faults, Invalid, invalid, nearest
from mockserver.domain.money import Currency
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import check_charge
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.record import record, replace
from mockserver.domain.states import NetworkTokenState, Presence
from mockserver.domain.token import Token
from mockserver.engine import intake, payment_methods, providers, tokens
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step, method_in_use, unknown


@record
class ProviderRoute:
    """One route for the money: an instrument through a provider; ``method`` is the stored method
    behind it."""

    provider: Provider
    instrument: sources.Instrument
    method: PaymentMethod | None = None


@record
class ChargePlan(ProviderRoute):
    """Where a charge starts: its first route, and what is known of the payer.

    ``others`` are routes that may follow. ``verified`` says that 3-D Secure was passed before the
    charge, in the shop's own page. ``token`` is used by the charge, whatever becomes of it.
    """

    others: tuple[ProviderRoute, ...] = ()
    payer: Payer | None = None
    verified: bool = False
    token: Token | None = None


def plan(
    step: Step, command: NewCharge, money: Currency | None, faults: Faults
) -> ChargePlan | None:
    """Resolve the source of a charge in a currency (None: the provider's), or None with at least
    one fault added."""
    source = command.source
    try:
        match source:
            case sources.CardSource():
                return _card(step, command, source, money, faults)
            case sources.BankSource(account=account, provider_id=provider_id):
                provider = providers.named(step.sandbox, provider_id, Capability.DIRECT_DEBIT)
                return ChargePlan(provider, payment_methods.bank_instrument(account))
            case sources.MethodSource(payment_method_id=method_id):
                return _method(step, method_id, command.amount, faults)
            case sources.TokenSource():
                return _token(step, source, command.amount, faults)
            case sources.CustomerSource(customer_id=customer_id):
                return _customer(step, customer_id, command.amount, faults)
            case sources.NetworkTokenSource():
                return _network_token(step, source, faults)
            case sources.WalletSource():
                return _wallet(step, source, money)
            case sources.CheckoutSource():
                return _checkout(step, source, money)
            case _:
                assert_never(source)
    except Invalid as refused:
        faults.absorb(refused)
        return None


def _card(
    step: Step,
    command: NewCharge,
    source: sources.CardSource,
    money: Currency | None,
    faults: Faults,
) -> ChargePlan | None:
    """By the provider that is named, else by the cheapest that takes the card; the dearer ones
    follow where assumed."""
    accepted = intake.check_card(step, source if source.is_given else None, faults)
    # The shop's own page, or another service, has put the payer through 3-D Secure before.
    authenticated = source.three_ds_server_trans_id or source.external_three_ds
    verified = bool(authenticated) and step.assume("charge.three_ds") == "trusted"
    if source.provider_id is not None:
        provider = providers.named(step.sandbox, source.provider_id, Capability.CARD)
        if accepted is None:
            return None
        return ChargePlan(provider, accepted.instrument, verified=verified)
    if accepted is None or faults:
        # Prices depend on the card, the amount and the currency.
        return None
    card, instrument = accepted
    cheapest, *dearer = providers.by_cost(step, command.amount, money, card.number)
    others: tuple[ProviderRoute, ...] = ()
    if step.assume("least_cost.next") == "next_cheapest":
        others = tuple(ProviderRoute(provider, instrument) for provider in dearer)
    return ChargePlan(cheapest, instrument, others=others, verified=verified)


def _method(step: Step, method_id: str, amount: Decimal, faults: Faults) -> ChargePlan | None:
    """By the provider of a stored payment method. A customer who was removed pays no more."""
    method = method_in_use(step, method_id, "PaymentMethodId")
    step.result.about["payment_method"] = method
    owner = payment_methods.owner_of(step.sandbox, method)
    if owner is not None:
        if owner.state is Presence.REMOVED:
            words = "the customer of this method was removed"
            raise Invalid(Code.INVALID_CUSTOMER_ID_REMOVED, {"PaymentMethodId": words})
        step.result.about["customer"] = owner
    route = _stored_route(step, method, amount, faults)
    if route is None:
        return None
    return ChargePlan(route.provider, route.instrument, method, payer=method.payer)


def _customer(step: Step, customer_id: str, amount: Decimal, faults: Faults) -> ChargePlan | None:
    """By the customer's default payment method."""
    customer = step.sandbox.customers.get(customer_id)
    if customer is None:
        raise Invalid(Code.INVALID_CUSTOMER_ID, {"CustomerId": unknown("customer", customer_id)})
    if customer.state is Presence.REMOVED:
        raise Invalid(Code.INVALID_CUSTOMER_ID_REMOVED, {"CustomerId": "this customer was removed"})
    method_id = customer.default_payment_method_id
    if method_id is None:
        words = "this customer has no default payment method"
        raise Invalid(Code.CUSTOMER_HAS_NO_DEFAULT_PAYMENT_METHOD_ID, {"CustomerId": words})
    return _method(step, method_id, amount, faults)


def _token(
    step: Step, source: sources.TokenSource, amount: Decimal, faults: Faults
) -> ChargePlan | None:
    """By the provider that the token was made for."""
    token = tokens.usable(step, source.token)
    provider = _provider_of(step, token, "Token", amount, faults)
    if provider is None:
        return None
    instrument = replace(token.instrument, token_id=token.token_id)
    verified = token.verified and step.assume("charge.three_ds") == "trusted"
    return ChargePlan(provider, instrument, verified=verified, token=token)


def _network_token(
    step: Step, source: sources.NetworkTokenSource, faults: Faults
) -> ChargePlan | None:
    """By the provider that is named, which must take network tokens."""
    provider = faults.attempt(
        providers.named, step.sandbox, source.provider_id, Capability.NETWORK_TOKEN
    )
    token = faults.attempt(_usable_network_token, step, source.network_token_id)
    if provider is None or token is None:
        return None
    customer = step.sandbox.customers.get(token.customer_id or "")
    instrument = sources.Instrument(
        sources.PaymentType.NETWORK_TOKEN,
        card=token.card,
        payment_method_id=token.payment_method_id,
        customer_id=token.customer_id,
        display_type=token.card.number.brand,
    )
    payer = customer.payer() if customer is not None else None
    return ChargePlan(provider, instrument, payer=payer)


def _usable_network_token(step: Step, network_token_id: str | None) -> NetworkToken:
    """The token that a charge names. Raises ``Invalid`` 90 (not given), 51 (unknown, or not
    active)."""
    if not network_token_id:
        raise invalid({"NetworkTokenId": "required"})
    token = step.sandbox.network_tokens.get(network_token_id)
    if token is None:
        words = unknown("network_token", network_token_id)
        raise Invalid(Code.INVALID_OR_EXPIRED_TOKEN, {"NetworkTokenId": words})
    if token.status is not NetworkTokenState.ACTIVE:
        words = (
            f"got a network token in {token.status.value}, wanted {NetworkTokenState.ACTIVE.value}"
        )
        raise Invalid(Code.INVALID_OR_EXPIRED_TOKEN, {"NetworkTokenId": words})
    step.result.about["network_token"] = token
    return token


def _wallet(step: Step, source: sources.WalletSource, money: Currency | None) -> ChargePlan:
    """By the provider that is named, else by the first that takes wallets."""
    if source.provider_id:
        provider = providers.named(step.sandbox, source.provider_id, Capability.WALLET)
    else:
        code = money.code if money is not None else None
        provider = providers.first_with(step, Capability.WALLET, code)
    brand = source.display_name or source.network
    return ChargePlan(provider, sources.Instrument(_kind(step, source.kind), display_type=brand))


def _checkout(step: Step, source: sources.CheckoutSource, money: Currency | None) -> ChargePlan:
    """By the provider that is named, else by one of the checkout that is asked for."""
    named = sources.checkout_named(source.kind or "")
    if source.provider_id:
        provider = providers.named(step.sandbox, source.provider_id, Capability.CHECKOUT)
    else:
        code = money.code if money is not None else None
        provider = providers.of_checkout(step, named, code)
    # A provider of one checkout says itself which it is.
    checkout = sources.CHECKOUTS.get(provider.summary.type, named)
    if checkout is None:
        known = nearest(source.kind or "", sources.CHECKOUTS)
        raise invalid({"ProviderType": f"wanted a checkout such as paypal or zip{known}"})
    kind = _kind(step, sources.PaymentType(checkout.payment_type))
    return ChargePlan(provider, sources.Instrument(kind, display_type=checkout.name))


def _kind(step: Step, own: sources.PaymentType | None) -> sources.PaymentType:
    """The type of a payment whose wallet or checkout is known, and of one whose wallet is not."""
    if own is not None and step.assume("payment_method.checkout_type") == "by_kind":
        return own
    return sources.PaymentType(step.assume("payment_method.wallet_type"))


def routes_left(
    step: Step, tried: Sequence[ProviderRoute], waiting: Sequence[ProviderRoute], amount: Decimal
) -> list[ProviderRoute]:
    """The routes that a charge may still take when those that were ``tried`` have failed: the
    fallback of the last provider, those that are ``waiting``, the fallback of the last method."""
    failed = tried[-1]
    routes = [*_fallback_provider(step.sandbox, failed), *waiting]
    if not routes:
        # Another card or account of the payer comes last: it is not what was asked to be charged.
        routes = _fallback_method(step, failed, amount)
    # Providers may be each other's fallback: none is asked twice with one instrument.
    ways_tried = {_way(route) for route in tried}
    return [route for route in routes if _way(route) not in ways_tried]


def _way(route: ProviderRoute) -> tuple[str, str | None]:
    """What makes two routes the same: provider and payment method. The same card through another
    provider is another try."""
    return route.provider.provider_id, route.instrument.payment_method_id


def _stored_route(
    step: Step, method: PaymentMethod, amount: Decimal, faults: Faults
) -> ProviderRoute | None:
    """The route of a stored payment method; None with a fault."""
    provider = _provider_of(step, method, "PaymentMethodId", amount, faults)
    if provider is None:
        return None
    return ProviderRoute(provider, method.charged(), method)


def _provider_of(
    step: Step, stored: PaymentMethod | Token, field: str, amount: Decimal, faults: Faults
) -> Provider | None:
    """The provider of a stored instrument, or None.

    Faults: 39, 32, 103 (provider), 33, 24 (PayTo agreement that is not active, or not for so much),
    14 (expired card).
    """
    sandbox, kind = step.sandbox, stored.instrument.type
    provider = faults.attempt(
        providers.named, sandbox, stored.provider.provider_id, providers.NEEDS[kind]
    )
    agreement = sandbox.payto.get(stored.payto_id or "")
    if agreement is not None:
        step.result.about["payto"] = agreement
        check_charge(agreement, amount, faults)
    intake.check_stored(step, stored.instrument.card, field, faults)
    return provider


def _fallback_provider(sandbox: Sandbox, route: ProviderRoute) -> list[ProviderRoute]:
    """The same instrument through the provider that takes over, if that can charge it."""
    fallback = providers.known(sandbox, route.provider.fallback_provider_id)
    if fallback is None or providers.NEEDS[route.instrument.type] not in fallback.capabilities:
        return []
    return [ProviderRoute(fallback, route.instrument, route.method)]


def _fallback_method(step: Step, route: ProviderRoute, amount: Decimal) -> list[ProviderRoute]:
    """The route of the payment method that takes over. Where that cannot be charged there is none,
    and its faults are told to nobody: the request did not ask for it."""
    if route.method is None:
        return []
    fallback = step.sandbox.payment_methods.get(route.method.fallback_payment_method_id or "")
    if fallback is None or fallback.state is Presence.REMOVED:
        return []
    faults = Faults()
    fallback_route = _stored_route(step, fallback, amount, faults)
    if fallback_route is None or faults:
        return []
    return [fallback_route]
