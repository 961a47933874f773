"""The ways that a charge may take: a route through a provider, and who is next when it fails.

Sources: service document, What the service does, 3; assumptions ``failover``, ``provider.unknown``, ``payto.status``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from mockserver.domain.faults import Faults
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import check_charge
from mockserver.domain.provider import Provider
from mockserver.domain.record import record
from mockserver.domain.sources import Instrument
from mockserver.domain.states import Presence
from mockserver.engine import card_entry, providers
from mockserver.engine.sandbox import Sandbox


@record
class Route:
    """One way for the money: an instrument through a provider; ``method`` is the stored method behind it."""

    provider: Provider
    instrument: Instrument
    method: PaymentMethod | None = None


def others(box: Sandbox, first: Route, cheaper: Sequence[Provider], amount: Decimal) -> Iterator[Route]:
    """Whoever takes over after the first route: the other cheap providers, each provider's fallback, the method's
    fallback."""
    tried = {_way(first)}
    cheap = [Route(provider, first.instrument) for provider in cheaper]
    waiting = _next(box, first, cheap, amount)
    while waiting:
        route = waiting.pop(0)
        if _way(route) not in tried:
            tried.add(_way(route))
            yield route
            waiting = _next(box, route, waiting, amount)


def _way(route: Route) -> tuple[str, str | None]:
    return route.provider.provider_id, route.instrument.payment_method_id


def _next(box: Sandbox, failed: Route, waiting: list[Route], amount: Decimal) -> list[Route]:
    return [*_fallback_provider(box, failed), *waiting] or _fallback_method(box, failed, amount)


def stored_route(box: Sandbox, method: PaymentMethod, amount: Decimal, faults: Faults) -> Route | None:
    """The route of a stored method through its own provider, or None.

    Faults: 39, 32, 103 (provider), 33, 24 (PayTo agreement that is not active, or not for so much), 14 (expired card).
    """
    provider = providers.named(box, method.provider.provider_id, providers.NEEDS[method.instrument.type], faults)
    agreement = box.payto.get(method.payto_id) if method.payto_id else None
    if agreement is not None:
        box.turn.about["payto"] = agreement
        check_charge(agreement, amount, faults)
    card_entry.check_stored(box, method.instrument.card, "PaymentMethodId", faults)
    return Route(provider, method.charged(), method) if provider else None


def _fallback_provider(box: Sandbox, route: Route) -> list[Route]:
    fallback_id = route.provider.fallback_provider_id
    fallback = box.providers.get(fallback_id) if fallback_id else None
    if (
        fallback is None
        or fallback.state is Presence.REMOVED
        or providers.NEEDS[route.instrument.type] not in fallback.capabilities
    ):
        return []
    return [Route(fallback, route.instrument, route.method)]


def _fallback_method(box: Sandbox, route: Route, amount: Decimal) -> list[Route]:
    fallback_id = route.method.fallback_payment_method_id if route.method else None
    fallback = box.payment_methods.get(fallback_id) if fallback_id else None
    if fallback is None or fallback.state is Presence.REMOVED:
        return []
    faults = Faults()
    found = stored_route(box, fallback, amount, faults)
    return [found] if found and not faults else []
