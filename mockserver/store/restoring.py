"""The way back from a store: a sandbox from its lines, or only how it began.

First comes what a sandbox was opened with (``Settled``), by which it is opened again; then its
parts fill it (``SandboxPersister.load``). Last is what the end of the server has broken off: a
clock that ran goes on, and webhooks that were on their way are sent again.
"""

from dataclasses import replace

from mockserver.assumptions import Assumed
from mockserver.domain.clock import Micros
from mockserver.domain.states import DeliveryState
from mockserver.engine import deliveries
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.config import Beginning, SandboxConfig
from mockserver.engine.line_reading import read_plain
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.store.persister import Assumptions, SandboxPersister, Settled
from mockserver.store.scenarios import StoredScenarios
from mockserver.store.schema import SETTLED, StoredRows, StoredSandbox, damage_in

BEGINNING = (SETTLED, "marks")
"""The parts that a sandbox begins with again when it is emptied."""


def stored_sandbox(
    known: StoredSandbox, stored: StoredRows, scenarios: StoredScenarios, real: Micros
) -> SandboxPersister:
    """A sandbox from its lines, in the order of their keys. A clock that runs goes on, what was
    being answered when the server ended has been answered, and webhooks that were on their way are
    sent again.

    Raises ``DamagedSandbox``.
    """
    settled, config = _read_settled(stored, scenarios)
    sandbox = Sandbox(known.key, config, real)
    sandbox.used = known.used
    sandbox.clock = replace(settled.clock)
    if settled.is_held:
        # Time stood still for a try of a webhook, which is made again.
        sandbox.clock.real = real
    sandbox.own = _assumed(settled.own)
    sandbox.assumed = config.assumed.reused_or_new(*settled.assumed)
    sandbox.opened = settled.opened
    sandbox.warned.update(settled.warned)
    persister = SandboxPersister(sandbox, known.number, scenarios, settled)
    persister.load(stored)
    _release(sandbox)
    return persister


def stored_beginning(stored: StoredRows, scenarios: StoredScenarios) -> Beginning:
    """How a sandbox begins, from its rows of the parts ``BEGINNING``. Raises ``DamagedSandbox``."""
    settled, config = _read_settled(stored, scenarios)
    with damage_in("marks"):
        marks = [str(name) for _, (name, _) in stored.get("marks", ())]
        return Beginning(config, _assumed(settled.own), marks)


def _read_settled(stored: StoredRows, scenarios: StoredScenarios) -> tuple[Settled, SandboxConfig]:
    """What seldom changes in a sandbox, and the config that follows from it. Raises
    ``DamagedSandbox``."""
    with damage_in(SETTLED):
        [(_, plain)] = stored[SETTLED]
        settled: Settled = read_plain(Settled, plain, CardRegistry(""))
        config = scenarios.config(settled.scenarios)
    return settled, _config(settled, config)


def _assumed(own: Assumptions | None) -> Assumed | None:
    """The answers that a sandbox gives by its own wish; None where it has not asked for any."""
    if own is None:
        return None
    profile, overrides = own
    return Assumed(profile, overrides)


def _config(settled: Settled, config: SandboxConfig) -> SandboxConfig:
    """The config of a sandbox: what it was opened with counts, and the rest is that of the server.
    Where both are the same it is the config of the server itself, so that reloaded files count for
    the sandbox too."""
    seed = int(settled.seed)
    assumed = config.assumed.reused_or_new(*settled.opened_with)
    is_as_server = (
        assumed is config.assumed and seed == config.seed and settled.clock_plan == config.clock
    )
    if is_as_server:
        return config
    return replace(config, seed=seed, clock=settled.clock_plan, assumed=assumed)


def _release(sandbox: Sandbox) -> None:
    """Let webhooks go out whose step was still being answered; those that came due behind one that
    blocks wait on."""
    log = sandbox.deliveries
    planned = {
        entry.subject
        for entry in sandbox.schedule.entries
        if entry.what in (Due.WEBHOOK, Due.WEBHOOK_HELD)
    }
    to_release = []
    for delivery in log:
        if delivery.state not in (DeliveryState.HELD, DeliveryState.WAITING):
            continue
        if delivery.delivery_id in planned:
            continue
        # One that is due and blocked is planned by nobody: the one before it lets it go.
        waits_on = log.is_blocked(delivery) and delivery.due <= sandbox.now
        if not waits_on:
            to_release.append(delivery.delivery_id)
    deliveries.release(sandbox, to_release)
