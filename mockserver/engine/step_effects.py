"""What follows from a step once it has happened: webhooks, and what a scenario says of later."""

from __future__ import annotations

from mockserver.engine import deliveries, later
from mockserver.engine.step import Step


def plan(step: Step) -> None:
    """Plan all that the present step causes."""
    if step.result.ruled:
        later.plan(step)
    deliveries.plan(step)
