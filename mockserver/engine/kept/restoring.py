"""A sandbox from what a store has kept of it, and when it must be woken that nobody asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mockserver.assumptions import Assumed
from mockserver.domain.clock import EARLIEST, Micros
from mockserver.domain.slices import at_once
from mockserver.domain.states import DeliveryState
from mockserver.engine import deliveries, vault
from mockserver.engine.config import Beginning, SandboxConfig
from mockserver.engine.kept.head import Head, KeptConfig, tally_of
from mockserver.engine.kept.keeping import DamagedSandbox, Keeping, Surroundings
from mockserver.engine.kept.parts import KeptRow
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.scenario.director import Tallies
from mockserver.scenario.scenario import Scenario

BEGINNING = ("head", "marks")
"""The parts that a sandbox begins with again when it is emptied."""


def kept_sandbox(
    key: str, kept: Mapping[str, Sequence[KeptRow]], around: Surroundings, real: Micros
) -> tuple[Sandbox, Keeping]:
    """The sandbox of a key from its rows by part, in the order of their numbers. A clock that runs goes on, what was
    being answered when the server ended has been answered, and webhooks that were on their way are sent again.

    Raises ``DamagedSandbox``.
    """
    head, config = _head(kept, around)
    sandbox = Sandbox(key, config, real)
    sandbox.origin, sandbox.cards.salt, sandbox.clock = head.origin, head.salt, head.clock
    if head.is_held:
        # Time stood still for a try of a webhook, which is made again.
        sandbox.clock.real = real
    sandbox.own = _own(head)
    sandbox.assumed = config.assumed.or_else(*head.config.assumed)
    by_id = sandbox.config.rules.by_id
    sandbox.director.tallies = Tallies(
        head.first_asked,
        {name: tally_of(by_id[name].text, kept) for name, kept in head.rules.items() if name in by_id},
        head.calls,
    )
    sandbox.look_back(head.lag)
    keeping = Keeping(sandbox, around, head.book, head.books)
    keeping.load(kept, head)
    _release(sandbox)
    at_once(sandbox.vault.learning(vault.CCV_INDEX))
    return sandbox, keeping


def kept_beginning(kept: Mapping[str, Sequence[KeptRow]], around: Surroundings) -> Beginning:
    """How a sandbox begins, from its rows of the parts ``BEGINNING``. Raises ``DamagedSandbox``."""
    head, config = _head(kept, around)
    try:
        marks = [str(name) for _, (name, _) in kept.get("marks", ())]
    except (ValueError, TypeError) as fault:
        raise DamagedSandbox(f"marks: {type(fault).__name__}: {fault}"[:300]) from fault
    return Beginning(config, _own(head), marks)


def _head(kept: Mapping[str, Sequence[KeptRow]], around: Surroundings) -> tuple[Head, SandboxConfig]:
    try:
        head: Head = around.forms.of(Head).to_value(kept["head"][0][1])
        scenarios = [around.scenario(place) for place in head.config.scenarios]
    except (ValueError, LookupError, TypeError, ArithmeticError) as fault:
        raise DamagedSandbox(f"head: {type(fault).__name__}: {fault}"[:300]) from fault
    return head, _config(head.config, around, scenarios)


def _own(head: Head) -> Assumed | None:
    return Assumed(*head.config.own) if head.config.own is not None else None


def _config(kept: KeptConfig, around: Surroundings, scenarios: list[Scenario]) -> SandboxConfig:
    """The config of a sandbox: what it was opened with counts, and the rest is that of the server. Where both are the
    same it is the config of the server itself, so that reloaded files count for the sandbox too."""
    config, seed = around.config(scenarios), int(kept.seed)
    assumed = config.assumed.or_else(kept.profile, kept.overrides)
    if assumed is config.assumed and (seed, kept.clock) == (config.seed, config.clock):
        return config
    return replace(config, seed=seed, clock=kept.clock, assumed=assumed)


def _release(sandbox: Sandbox) -> None:
    """Let webhooks go out whose step was still being answered."""
    planned = {entry.subject for entry in sandbox.schedule.entries if entry.what in (Due.WEBHOOK, Due.WEBHOOK_HELD)}
    waiting = (DeliveryState.HELD, DeliveryState.WAITING)
    held = [one.delivery_id for one in sandbox.deliveries if one.state in waiting and one.delivery_id not in planned]
    deliveries.release(sandbox, held)


def next_due(sandbox: Sandbox) -> Micros | None:
    """The instant of sandbox time at which something is to be done in a sandbox that nobody asks; ``EARLIEST`` when
    webhooks of it are being sent, or will be as soon as their step has been answered."""
    if sandbox.deliveries.sending or sandbox.deliveries.unanswered:
        return EARLIEST
    return sandbox.schedule.entries[0].at if sandbox.schedule.entries else None
