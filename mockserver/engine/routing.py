"""From the source of a charge to the routes it may take: which instrument, which provider, and who is next when
one fails.

Sources: service document, What the service does, 3; assumptions ``failover``, ``least_cost``, ``provider.unknown``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from mockserver.assumptions.conduct import THREE_DS
from mockserver.domain.charge import Payer
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewCharge
from mockserver.domain.faults import Faults
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.record import record
from mockserver.domain.sources import BankSource, CardSource, Instrument, MethodSource, PaymentType
from mockserver.domain.states import Presence
from mockserver.engine import card_entry, payment_methods, providers
from mockserver.engine.sandbox import Sandbox

NEEDS: dict[PaymentType, Capability] = {
    PaymentType.CARD: Capability.CARD,
    PaymentType.BANK_ACCOUNT: Capability.DIRECT_DEBIT,
    PaymentType.PAYTO: Capability.PAYTO,
    PaymentType.NETWORK_TOKEN: Capability.NETWORK_TOKEN,
    PaymentType.WALLET: Capability.WALLET,
    PaymentType.APPLEPAY: Capability.WALLET,
}
"""What a provider must be able to do for each type of payment."""


@record
class Route:
    """One way for the money: an instrument through a provider; ``method`` is the stored method behind it."""

    provider: Provider
    instrument: Instrument
    method: PaymentMethod | None = None


@record
class Plan:
    """Where a charge starts: its first route, the name of its source for rules, and what is known of the payer."""

    source: str
    first: Route
    others: tuple[Provider, ...] = ()
    payer: Payer | None = None
    verified: bool = False


def plan(box: Sandbox, command: NewCharge, faults: Faults) -> Plan | None:
    """Resolve the source of a charge, or None with at least one fault added."""
    match command.source:
        case CardSource():
            return _from_card(box, command, command.source, faults)
        case BankSource(account=account, provider_id=provider_id):
            provider = providers.named(box, provider_id, Capability.DIRECT_DEBIT, faults)
            if provider is None:
                return None
            instrument = Instrument(PaymentType.BANK_ACCOUNT, bank=account, display_type=account.bank_code)
            return Plan("bank_account", Route(provider, instrument))
        case MethodSource(payment_method_id=method_id):
            return _from_method(box, method_id, faults)
        case _:
            assert_never(command.source)


def routes(box: Sandbox, begun: Plan) -> Iterator[Route]:
    """The first route, then whoever takes over: the other cheap providers, each provider's fallback, the method's
    fallback."""
    tried: set[tuple[str, str | None]] = set()
    waiting = [begun.first, *(Route(provider, begun.first.instrument) for provider in begun.others)]
    while waiting:
        route = waiting.pop(0)
        here = (route.provider.provider_id, route.instrument.payment_method_id)
        if here in tried:
            continue
        tried.add(here)
        yield route
        waiting = [*_fallback_provider(box, route), *waiting] or _fallback_method(box, route)


def _from_card(box: Sandbox, command: NewCharge, source: CardSource, faults: Faults) -> Plan | None:
    card = card_entry.check(box, source.details, faults)
    if source.provider_id is not None:
        provider = providers.named(box, source.provider_id, Capability.CARD, faults)
        if card is None or provider is None:
            return None
        return Plan("card", Route(provider, payment_methods.card_instrument(card)), verified=_is_verified(box, source))
    if card is None or faults:
        return None
    found = providers.by_cost(box, command.amount, command.currency, card.number)
    if not found:
        faults.add(Code.NO_CARD_PROVIDERS_CONFIGURED, "Currency", "no provider takes this card in this currency")
        return None
    first = Route(found[0], payment_methods.card_instrument(card))
    return Plan("card", first, tuple(found[1:]), verified=_is_verified(box, source))


def _is_verified(box: Sandbox, source: CardSource) -> bool:
    details = source.details
    given = bool(details and (details.three_ds_server_trans_id or details.external_three_ds))
    return given and box.assume(THREE_DS) == "trusted"


def _from_method(box: Sandbox, method_id: str, faults: Faults) -> Plan | None:
    method = box.payment_methods.get(method_id)
    if method is None:
        faults.add(Code.INVALID_PAYMENT_METHOD_ID, "PaymentMethodId", payment_methods.unknown(method_id))
        return None
    if method.state is Presence.REMOVED:
        faults.add(Code.INVALID_PAYMENT_METHOD_ID_REMOVED, "PaymentMethodId", "this payment method was removed")
        return None
    box.turn.about["payment_method"] = method
    route = stored_route(box, method, faults)
    return Plan("payment_method", route, payer=method.payer) if route else None


def stored_route(box: Sandbox, method: PaymentMethod, faults: Faults) -> Route | None:
    """The route of a stored method through its own provider, or None and a fault (39, 32, 103)."""
    provider = providers.named(box, method.provider.provider_id, NEEDS[method.instrument.type], faults)
    return Route(provider, _of_method(method), method) if provider else None


def _of_method(method: PaymentMethod) -> Instrument:
    held = method.instrument
    return Instrument(
        held.type,
        held.card,
        held.bank,
        payment_method_id=method.payment_method_id,
        customer_id=method.customer_id,
        token_id=held.token_id,
        display_type=held.display_type,
    )


def _fallback_provider(box: Sandbox, route: Route) -> list[Route]:
    fallback_id = route.provider.fallback_provider_id
    fallback = box.providers.get(fallback_id) if fallback_id else None
    if (
        fallback is None
        or fallback.state is Presence.REMOVED
        or NEEDS[route.instrument.type] not in fallback.capabilities
    ):
        return []
    return [Route(fallback, route.instrument, route.method)]


def _fallback_method(box: Sandbox, route: Route) -> list[Route]:
    fallback_id = route.method.fallback_payment_method_id if route.method else None
    fallback = box.payment_methods.get(fallback_id) if fallback_id else None
    if fallback is None or fallback.state is Presence.REMOVED:
        return []
    found = stored_route(box, fallback, Faults())
    return [found] if found else []
