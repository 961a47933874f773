"""What follows from a step once it has happened: webhooks, and what a scenario says of later."""

from __future__ import annotations

from mockserver.engine import deliveries, later
from mockserver.engine.sandbox import Sandbox


def plan(sandbox: Sandbox) -> None:
    """Plan all that the present step causes."""
    if sandbox.step.ruled:
        later.plan(sandbox)
    deliveries.plan(sandbox)
