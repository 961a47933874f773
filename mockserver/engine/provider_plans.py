"""From a scenario's provider to the configured provider of a sandbox."""

from __future__ import annotations

from mockserver.domain.clock import Micros
from mockserver.domain.provider import Cost, Provider, ProviderSummary
from mockserver.scenario.scenario import ProviderPlan


def planned(plan: ProviderPlan, now: Micros) -> Provider:
    """The provider that a scenario describes, as it is when the scenario comes into force."""
    cost = plan.cost
    return Provider(
        provider_id=plan.id,
        summary=ProviderSummary(plan.id, plan.type, plan.name or plan.id),
        currency=plan.currency,
        added=now,
        country=plan.country,
        fallback_provider_id=plan.fallback,
        costs=(Cost(cost.fixed, cost.percent),) if cost else (),
        latency=(plan.latency.low, plan.latency.high) if plan.latency else None,
    )
