"""The keys under which a file says what happens: one map of levels, in ``then``, in a step, in a chance."""

from __future__ import annotations

from typing import Annotated, Any

from mockserver.domain.marks import Before
from mockserver.scenario.batch_script import BatchScript
from mockserver.scenario.later_step import Later, act_of_payer
from mockserver.scenario.outcome import Outcome
from mockserver.scenario.outcome_catalogue import DeclineWord, Down, TimedOut
from mockserver.scenario.part import any_of, at_most_one_of, given, keys_of, needs, part
from mockserver.scenario.provider_outcome import Approve, Challenge, LatencyWord, PartialApprove, Pending
from mockserver.scenario.scalars import Count, Lag, Positive, Switch, Text
from mockserver.scenario.transport import Transport
from mockserver.scenario.webhook_plan import WebhookPlan

PROVIDER_WORDS = ("approve", "decline", "pending", "challenge", "provider_down", "provider_timeout", "partial_approve")


def _amount(value: object) -> object:
    return None if value is None else {"amount": value}


def _schema(schema: dict[str, Any]) -> None:
    """What an outcome refuses as a whole, for editors."""
    words = [word for word in schema["properties"] if word != "times"]
    schema["allOf"] = [any_of(words), at_most_one_of(PROVIDER_WORDS)]
    if "outcome_from" in words:
        schema["allOf"].append(needs(given("outcome_from"), {"maxProperties": 1}))


@part
class OutcomeMap:
    """What happens, level by level; one outcome may combine several levels."""

    schema = staticmethod(_schema)

    approve: Approve | None = None
    decline: DeclineWord | None = None
    pending: Pending | None = None
    challenge: Challenge | None = None
    provider_down: Down | None = None
    provider_timeout: TimedOut | None = None
    partial_approve: Annotated[PartialApprove | None, Before(_amount, takes=Positive | None)] = None
    latency: LatencyWord | None = None
    transport: Transport | None = None
    webhook: WebhookPlan | None = None
    batch: BatchScript | None = None
    later: tuple[Later, ...] = ()
    lag: Lag | None = None
    replay: Switch = False

    def __post_init__(self) -> None:
        asked = [word for word in PROVIDER_WORDS if getattr(self, word) is not None]
        if len(asked) > 1:
            raise ValueError(f"got {' and '.join(asked)}, only one of {', '.join(PROVIDER_WORDS)} is allowed")
        if not self.names_another and self.outcome == Outcome():
            raise ValueError(f"got no outcome, wanted at least one of {', '.join(keys_of(OutcomeMap))}")

    @property
    def names_another(self) -> bool:
        """Whether the outcome stands elsewhere."""
        return False

    @property
    def outcome(self) -> Outcome:
        """What happens."""
        said = (getattr(self, word) for word in PROVIDER_WORDS)
        return Outcome(
            provider=next((one for one in said if one is not None), None),
            latency=self.latency,
            transport=self.transport,
            webhook=self.webhook,
            batch=self.batch,
            later=self.later + (act_of_payer(self.challenge) if self.challenge is not None else ()),
            lag=self.lag or 0,
            replay=self.replay,
        )


@part
class ThenMap(OutcomeMap):
    """What happens; or, alone, where its name stands."""

    outcome_from: Text | None = None

    @property
    def names_another(self) -> bool:
        """Whether the outcome stands in the request."""
        return self.outcome_from is not None


@part
class StepMap(OutcomeMap):
    """A step of a sequence."""

    times: Count = 1
