"""The ways that a charge may take: a route through a provider, and who is next when it fails.

Sources: docs/spec/service.md, What the service does, 3; assumptions ``failover``, ``provider.unknown``,
``payto.status``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from mockserver.domain.errors import Faults
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import check_charge
from mockserver.domain.provider import Provider
from mockserver.domain.record import record
from mockserver.domain.sources import Instrument
from mockserver.domain.states import Presence
from mockserver.engine import card_entry, providers
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step


@record
class ProviderRoute:
    """One way for the money: an instrument through a provider; ``method`` is the stored method behind it."""

    provider: Provider
    instrument: Instrument
    method: PaymentMethod | None = None


def others(step: Step, first: ProviderRoute, cheaper: Sequence[Provider], amount: Decimal) -> Iterator[ProviderRoute]:
    """The routes after the first: the other cheap providers, each provider's fallback, the method's
    fallback."""
    tried = {_way(first)}
    cheap = [ProviderRoute(provider, first.instrument) for provider in cheaper]
    waiting = _next(step, first, cheap, amount)
    while waiting:
        route = waiting.pop(0)
        if _way(route) not in tried:
            tried.add(_way(route))
            yield route
            waiting = _next(step, route, waiting, amount)


def _way(route: ProviderRoute) -> tuple[str, str | None]:
    return route.provider.provider_id, route.instrument.payment_method_id


def _next(step: Step, failed: ProviderRoute, waiting: list[ProviderRoute], amount: Decimal) -> list[ProviderRoute]:
    return [*_fallback_provider(step.sandbox, failed), *waiting] or _fallback_method(step, failed, amount)


def stored_route(step: Step, method: PaymentMethod, amount: Decimal, faults: Faults) -> ProviderRoute | None:
    """The route of a stored method through its own provider, or None.

    Faults: 39, 32, 103 (provider), 33, 24 (PayTo agreement that is not active, or not for so much), 14 (expired card).
    """
    sandbox = step.sandbox
    provider = providers.named(sandbox, method.provider.provider_id, providers.NEEDS[method.instrument.type], faults)
    agreement = sandbox.payto.get(method.payto_id) if method.payto_id else None
    if agreement is not None:
        step.result.about["payto"] = agreement
        check_charge(agreement, amount, faults)
    card_entry.check_stored(step, method.instrument.card, "PaymentMethodId", faults)
    return ProviderRoute(provider, method.charged(), method) if provider else None


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
    found = stored_route(step, fallback, amount, faults)
    return [found] if found and not faults else []
