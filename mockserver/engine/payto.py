"""PayTo use cases: ask a payer for an agreement, and move it on the clock.

Sources: docs/spec/service.md, NewPayToAgreement; assumption
``payto.active_after``; settled fact ``payto.status``.
"""

from mockserver.domain.clock import Micros
from mockserver.domain.commands import NewPayToMethod
from mockserver.domain.errors import Faults
from mockserver.domain.payto import LEAST_MAXIMUM, MOST_MAXIMUM, Agreement
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.record import made_of
from mockserver.domain.sources import Instrument, PaymentType
from mockserver.domain.states import PAYTO, PayToState
from mockserver.engine import providers
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.step import Step, turn_to

INSTRUMENT = Instrument(PaymentType.PAYTO, display_type="PayTo")

_STATUS = "payto.status"
"""Path by which a scenario's ``later: set`` names the status."""


def check(sandbox: Sandbox, command: NewPayToMethod) -> Provider:
    """The provider of an agreement to come. Raises ``Invalid`` 39, 32 (provider), 90
    (``maximumAmount``)."""
    faults = Faults()
    if not LEAST_MAXIMUM <= command.maximum_amount <= MOST_MAXIMUM:
        faults.wrong(
            "MaximumAmount",
            f"got {command.maximum_amount}, wanted {LEAST_MAXIMUM} to {MOST_MAXIMUM}",
        )
    return faults.sure(
        faults.attempt(providers.named, sandbox, command.provider_id, Capability.PAYTO)
    )


def store(step: Step, command: NewPayToMethod, provider: Provider) -> Agreement:
    """Keep a checked agreement and plan what the payer does: as the scenario says, else the
    assumption."""
    sandbox = step.sandbox
    agreement = made_of(
        Agreement,
        command,
        payto_id=sandbox.ids.hex32("payto"),
        provider=provider.summary,
        added=sandbox.now,
    )
    step.add(agreement)
    for after, status in _moves(step):
        # What happens at once is there in the answer already, as in production.
        if after == 0:
            come_due(step, agreement.payto_id, status)
        else:
            sandbox.schedule.plan(sandbox.now + after, Due.PAYTO, agreement.payto_id, status)
    return agreement


def come_due(step: Step, payto_id: str, status: PayToState) -> None:
    """The payer of an agreement acts. Where the state table has no way to the status by then, the
    journal says so."""
    agreement = step.sandbox.payto.get(payto_id)
    if not turn_to(step, agreement, PAYTO, status):
        by_then = agreement.status.value if agreement is not None else "gone"
        words = f"payto {payto_id} does not become {status.value}: it is {by_then} by then"
        step.result.warnings += (words,)


def _moves(step: Step) -> list[tuple[Micros, PayToState]]:
    """What the payer of a new agreement does, and how long after: what the rules say that decided
    the step, else that it becomes active."""
    scripted: list[tuple[Micros, PayToState]] = []
    for decision in step.result.decisions:
        for later in decision.outcome.later:
            changes = later.set or {}
            if _STATUS in changes:
                scripted.append((later.after, PayToState(changes[_STATUS])))
    if scripted:
        return scripted
    return [(step.assume("payto.active_after"), PayToState.ACTIVE)]
