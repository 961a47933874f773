"""What a rule can make happen: closed sets of outcomes, one module for each level of an operation's
life.

Each is a part of a file and the value that runs, with the words that explanations say.
``OutcomeMap`` has the keys under which a file says what happens, in ``then``, in a step, in a
chance.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import BeforeValidator

from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.record import record
from mockserver.scenario import operations as ops
from mockserver.scenario.batch_script import BatchScript
from mockserver.scenario.file_model import Empty, file_model, keys_of
from mockserver.scenario.later_step import Later, Move, act_of_payer
from mockserver.scenario.provider_outcome import (
    Approve,
    Challenge,
    DeclineWord,
    Down,
    Latency,
    LatencyWord,
    PartialApprove,
    Pending,
    ProviderOutcome,
    TimedOut,
)
from mockserver.scenario.scalars import LAST_MOVE, Count, Lag, Positive, Switch, Text
from mockserver.scenario.transport import At, Transport
from mockserver.scenario.webhook_plan import WebhookPlan


@record
class Outcome:
    """Everything that one rule makes happen, level by level; None or empty where it says nothing.

    With ``lag`` a read sees things as they stood so long ago, or before the last change; with
    ``replay`` a call is given the first answer of its key.
    """

    provider: ProviderOutcome | None = None
    latency: Latency | None = None
    transport: Transport | None = None
    webhook: WebhookPlan | None = None
    batch: BatchScript | None = None
    later: tuple[Later, ...] = ()
    lag: Micros = 0
    replay: bool = False

    @property
    def passes(self) -> bool:
        """Whether it leaves the outcome to later rules: it says how slow the provider is and
        nothing else, or that all is as usual. So one rule may slow a provider whose declines are
        those of another."""
        return self == Outcome(latency=self.latency)

    @property
    def words(self) -> str:
        levels = (self.provider, self.latency, self.transport, self.webhook, self.batch)
        words = [level.words for level in (*levels, *self.later) if level is not None]
        if self.lag == LAST_MOVE:
            words.append("as things stood before the last change")
        elif self.lag:
            words.append(f"as things stood {duration_text(self.lag)} ago")
        if self.replay:
            words.append("the first answer of its key")
        return "; ".join(words) or "the usual outcome"


NOTHING = Outcome()
"""No rule decided: the usual outcome."""


_WAITED_FOR = ops.PROVIDER_OPERATIONS - ops.UNREQUESTED
_SET: Mapping[str, frozenset[str]] = {
    "payto": ops.TAKING | ops.ABOUT_A_METHOD | {"token.create"},
    "network_token": ops.TAKING | ops.ABOUT_A_METHOD,
    "card": ops.TAKING | ops.ABOUT_A_METHOD,
    "subscription": frozenset(name for name in ops.OPERATIONS if name.startswith("subscription."))
    - {"subscription.search", "subscription.cancel"},
}
"""Operations that are about an object whose status ``later: set`` can change."""

_REQUESTED = ops.ALL_OPERATIONS - ops.UNREQUESTED
FITS: Mapping[str, frozenset[str]] = {
    "latency": _WAITED_FOR,
    "transport": _REQUESTED,
    "transport.edit": _REQUESTED - ops.PAGES,
    "transport.omit": _REQUESTED - ops.PAGES,
    "webhook": ops.NOTIFYING,
    "batch": frozenset({"batch.create"}),
    "lag": ops.READS,
    "replay": _REQUESTED - ops.READS - ops.PAGES,
}
"""Operations in which the parts of an outcome can happen, the words of providers and later work
apart."""


def applicability(outcome: Outcome) -> Iterator[tuple[str, frozenset[str]]]:
    """Each thing that an outcome makes happen, by its word in the file, and the operations in which
    it can. A rule is asked where all of them can; its author is told of the word that cannot."""
    if outcome.provider is not None:
        yield outcome.provider.word, outcome.provider.fits
        if isinstance(outcome.provider, Approve) and outcome.provider.copies > 1:
            yield "approve: copies", ops.TAKING
    if outcome.transport is not None and outcome.transport.at is At.UPLOAD:
        yield "at: upload", ops.BODIES
    for path, operations in FITS.items():
        # ``transport.edit`` is a part of a part, with other operations than the whole.
        part: object = outcome
        for name in path.split("."):
            part = getattr(part, name, None)
        if part:
            yield name, operations
    for later in outcome.later:
        if later.set is None:
            yield f"later: {later.move}", fits_later(later.move)
            continue
        for path in later.set:
            yield f"later: {later.move} {path}", fits_later(later.move, path)


def fits_later(move: Move, path: str = "") -> frozenset[str]:
    """The operations after which something can happen on its own; a change of fields by the path of
    one."""
    match move:
        case Move.SET:
            return _SET[path.partition(".")[0]]
        case Move.DELETE:
            return frozenset(ops.DELETABLE)
        case Move.EXPIRE:
            return frozenset(ops.EXPIRABLE)
        case _:
            return ops.ABOUT_A_CHARGE


def _as_amount(value: object) -> object:
    """``partial_approve: 5`` is short for its one key; null says nothing."""
    if value is None:
        return None
    return {"amount": value}


PROVIDER_WORDS = (
    "approve",
    "decline",
    "pending",
    "challenge",
    "provider_down",
    "provider_timeout",
    "partial_approve",
)


@file_model
class OutcomeMap:
    """What happens, level by level; one outcome may combine several levels."""

    approve: Approve | None = None
    decline: DeclineWord | None = None
    pending: Pending | None = None
    challenge: Challenge | None = None
    provider_down: Down | None = None
    provider_timeout: TimedOut | None = None
    partial_approve: Annotated[
        PartialApprove | None, BeforeValidator(_as_amount, Positive | None)
    ] = None
    latency: LatencyWord | None = None
    transport: Transport | None = None
    webhook: WebhookPlan | None = None
    batch: BatchScript | None = None
    later: tuple[Later, ...] = ()
    lag: Lag | None = None
    replay: Switch = False
    as_usual: Empty | None = None

    def __post_init__(self) -> None:
        words = [word for word in PROVIDER_WORDS if getattr(self, word) is not None]
        if len(words) > 1:
            raise ValueError(
                f"got {' and '.join(words)}, only one of {', '.join(PROVIDER_WORDS)} is allowed"
            )
        says_nothing = self.outcome == NOTHING
        if self.as_usual is not None and not says_nothing:
            raise ValueError(
                "as_usual is the outcome without a scenario: it cannot be combined with anything "
                "else"
            )
        if self.as_usual is None and says_nothing:
            raise ValueError(
                f"got no outcome, wanted at least one of {', '.join(keys_of(OutcomeMap))}"
            )

    @property
    def outcome(self) -> Outcome:
        """What the keys mean together."""
        provider: ProviderOutcome | None = None
        for word in PROVIDER_WORDS:
            # ``__post_init__`` has refused a map with two of them.
            provider = provider or getattr(self, word)
        later = self.later
        if self.challenge is not None:
            # The sandbox acts for the payer as it does for anything else that comes due.
            later += act_of_payer(self.challenge)
        return Outcome(
            provider=provider,
            latency=self.latency,
            transport=self.transport,
            webhook=self.webhook,
            batch=self.batch,
            later=later,
            lag=self.lag or 0,
            replay=self.replay,
        )


@file_model
class ThenMap(OutcomeMap):
    """What happens; or, alone, where its name stands."""

    outcome_from: Text | None = None

    def __post_init__(self) -> None:
        # Where the request names the outcome, none stands here: ``parse`` checks that it is alone.
        if self.outcome_from is None:
            OutcomeMap.__post_init__(self)


@file_model
class StepMap(OutcomeMap):
    """A step of a sequence."""

    times: Count = 1
