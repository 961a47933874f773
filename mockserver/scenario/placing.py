"""When the rules of a file are asked, and in which operations: all that a rule looks at and makes
happen must have a place there.

A file does not say the stage: it follows. What names the provider, or makes it say something, is
asked as a provider is; a fault ``at: connect`` or ``at: upload`` there; all else as the request
arrives. The operations are those of ``op`` in which every word of the rule can mean something, so
that ``op: charge.*`` with ``decline`` does not touch reads. A rule that fits nowhere, or not in an
operation that it names in full, would never fire, and is refused.

Source: docs/scenario-language.md, When a rule is asked.
"""

from collections.abc import Iterator

from mockserver.domain.record import record
from mockserver.scenario.attempt import Stage
from mockserver.scenario.operations import (
    ALL_OPERATIONS,
    CONNECTION,
    PROVIDER_OPERATIONS,
    UNREQUESTED,
)
from mockserver.scenario.outcome import NOTHING, Outcome, applicability
from mockserver.scenario.problems import Path, Problems
from mockserver.scenario.provider_outcome import BY_NAME
from mockserver.scenario.rule import AtEnd, Named, Plan, RuleMap, Sequence
from mockserver.scenario.transport import At
from mockserver.scenario.when import named_in

# What ``when`` and ``key`` may name only once a provider is asked, and what is known as soon as a
# request has a head.
_NEED_PROVIDER = ("provider", "attempt", "source", "card", "bank_account.", "batch.row")
_KNOWN_EARLY = ("op", "nth", "clock")
_DELIVERY = frozenset({"webhook.deliver"})
_UNDER_WAY = {"in_flight": UNREQUESTED, "overlaps": _DELIVERY}
"""What looks at calls that are not answered yet, and where no such call can be meant."""
_TESTED_OF_DELIVERIES = "request.<path>, state.<path>, age, idle, nth and clock"
_ASKED_WITH_PROVIDER = UNREQUESTED - _DELIVERY
"""Operations whose rules are all asked as the provider is: nothing arrives before."""


@record
class Placing:
    """A rule that is to be placed, with what it makes happen and the operations that its ``op``
    means."""

    model: RuleMap
    plan: Plan
    operations: frozenset[str]

    def place(self, problems: Problems) -> tuple[Stage, frozenset[str]]:
        """When it is asked, and in which operations: those in which all of it has a place. A fault
        where none is left, or one that ``op`` names in full is not among them."""
        if self._strikes(At.CONNECT):
            problems.add_all(self._misused_at_connect())
            return Stage.CONNECT, frozenset({CONNECTION})
        outcomes = self.plan.outcomes
        faults = [outcome.transport for outcome in outcomes if outcome.transport is not None]
        has_early_fault = any(fault.comes_first for fault in faults)
        if has_early_fault and self._asks:
            early = "copies, hold, virtual at: receive come before a provider is asked"
            problems.add((), f"{early}: they go with no test of one")
        if any(outcome.replay for outcome in outcomes):
            problems.add_all(self._misused_replay())
        remaining = self._allowed(problems)
        if remaining is None:
            return Stage.ARRIVAL, self.operations
        if self._strikes(At.UPLOAD):
            problems.add_all(self._misused_at_upload())
            return Stage.UPLOAD, remaining
        if self._asks or remaining <= _ASKED_WITH_PROVIDER:
            return Stage.PROVIDER, remaining
        return Stage.ARRIVAL, remaining

    def _allowed(self, problems: Problems) -> frozenset[str] | None:
        """The operations in which all of it has a place; None with a fault."""
        remaining = self.operations
        exact = named_in(self.model.when.get("op"))
        for word, everywhere in self._fits():
            # A rule for all payments of a card is not meant for their refunds.
            unnamed = BY_NAME.get(word, frozenset()) - exact
            fit = everywhere - unnamed
            misfits = remaining
            if remaining & fit:
                # Some fit: those that a glob means besides are left out in silence.
                misfits = exact - fit
            if misfits:
                key = word if word in _UNDER_WAY else "op"
                problems.add(("when", key), _misfit(word, misfits, everywhere))
                return None
            remaining &= fit
        return remaining

    def _fits(self) -> Iterator[tuple[str, frozenset[str]]]:
        """What it looks at and makes happen, and the operations in which each has a place: with its
        words, so that the refusal names the one that does not fit."""
        for key in self._provider_keys:
            yield key, PROVIDER_OPERATIONS
        for word, meaningless in _UNDER_WAY.items():
            if word in self.model.when:
                yield word, ALL_OPERATIONS - meaningless
        if isinstance(self.plan, Named):
            yield "outcome_from", PROVIDER_OPERATIONS
        else:
            for outcome in self.plan.outcomes:
                yield from applicability(outcome)
        if not self._asks and not self.operations <= _ASKED_WITH_PROVIDER:
            yield "a rule that looks at no provider", ALL_OPERATIONS - _ASKED_WITH_PROVIDER

    @property
    def _provider_keys(self) -> list[str]:
        """What it looks at that is there when a provider is asked."""
        keys = [*self.model.when, *(self.model.key or ())]
        return [key for key in keys if key.startswith(_NEED_PROVIDER)]

    @property
    def _asks(self) -> bool:
        """Whether it is asked when a provider is. ``as_usual`` is meant to shield from later rules,
        most of which are about the provider: where one is asked, it is asked with them."""
        if self._provider_keys:
            return True
        outcomes = self.plan.outcomes
        if any(outcome.provider or outcome.latency for outcome in outcomes):
            return True
        is_as_usual = all(outcome == NOTHING for outcome in outcomes)
        return is_as_usual and self.operations <= PROVIDER_OPERATIONS

    def _strikes(self, at: At) -> bool:
        """Whether any of its outcomes is a fault at a place."""
        return any(_strikes(at, outcome) for outcome in self.plan.outcomes)

    def _strikes_alone(self, at: At) -> bool:
        """Whether it does nothing besides faults at one place. All else that it might say happens
        at a later stage, of which the rule is not asked."""
        return all(
            _strikes(at, outcome) and outcome == Outcome(transport=outcome.transport)
            for outcome in self.plan.outcomes
        )

    def _misused_at_connect(self) -> Iterator[tuple[Path, str]]:
        """When a connection is made, neither its sandbox nor the request is known."""
        model = self.model
        unknown = "no request and no sandbox is known when a connection is made"
        for key in model.when:
            if key != "nth":
                yield ("when",), f"got {key}, and {unknown}: only nth can be tested"
        unneeded = {"key": model.key, "per": model.per, "for": model.for_, "expect": model.expect}
        for word, value in unneeded.items():
            if value is not None:
                yield (
                    (),
                    f"{word} has no meaning at: connect: no request and no sandbox time is known",
                )
        if model.limit is None or model.limit.per is not None:
            yield (
                (),
                "at: connect needs a limit, a number: without one no client of any API could ever "
                "connect",
            )
        if not self._strikes_alone(At.CONNECT):
            yield (
                (),
                "a fault at: connect comes before any request: it cannot be combined with "
                "anything else",
            )

    def _misused_at_upload(self) -> Iterator[tuple[Path, str]]:
        """While a body is sent only the head of the request is known: operation, headers, time."""
        known = (
            f"at: upload only the head has come: it knows {', '.join(_KNOWN_EARLY)}, header.<name>"
        )
        for part, keys in (("when", list(self.model.when)), ("key", self.model.key or [])):
            for key in keys:
                is_in_head = key in _KNOWN_EARLY or key.startswith("header.")
                if not is_in_head:
                    yield (part,), f"got {key}, and {known}"
        if not self._strikes_alone(At.UPLOAD):
            yield (
                (),
                "a fault at: upload ends or slows the request itself: it cannot be combined with "
                "anything else",
            )

    def _misused_replay(self) -> Iterator[tuple[Path, str]]:
        """The first answer is looked for as a request arrives, by a key that it has then; it is
        that of the first firing, so there must be one and more after it."""
        model = self.model
        once = self._why_once()
        if once is not None:
            yield (
                (),
                f"got replay with {once}: it repeats the answer of its first firing, and fires "
                "once",
            )
        replays = [outcome for outcome in self.plan.outcomes if outcome.replay]
        faults = [outcome.transport for outcome in replays if outcome.transport is not None]
        ends_before = any(fault.at is At.RECEIVE and not fault.goes_on for fault in faults)
        if ends_before:
            yield (
                (),
                "got replay with a fault at: receive: nothing happens, so there is no first "
                "answer to repeat",
            )
        if model.key is None:
            yield (
                (),
                "replay needs a key that says which calls are the same, such as key: "
                "[request.reference]",
            )
        if self._asks:
            yield (
                (),
                "replay answers before a provider is asked: tests and outcomes of a provider "
                "cannot be used with it",
            )

    def _why_once(self) -> str | None:
        """Why the rule comes to a replay a single time; None where it may come to another."""
        limit, nth = self.model.limit, self.model.when.get("nth")
        if limit is not None and limit.times == 1:
            return "limit: 1"
        if isinstance(nth, int):
            return f"nth: {nth}"
        if _replays_once(self.plan):
            return "a sequence with one step of it"
        return None


def _strikes(at: At, outcome: Outcome) -> bool:
    """Whether an outcome is a fault at a place."""
    return outcome.transport is not None and outcome.transport.at is at


def _replays_once(plan: Plan) -> bool:
    """Whether a sequence comes to a replay a single time: that one makes the answer which is to be
    repeated, and no call would get it."""
    if not isinstance(plan, Sequence) or plan.at_end in (AtEnd.HOLD, AtEnd.LOOP):
        # Held or begun anew, it comes to its steps again and again.
        return False
    replays = 0
    start = 0
    for outcome, end in zip(plan.outcomes, plan.ends, strict=True):
        if outcome.replay:
            replays += end - start
        start = end
    return replays == 1


def _misfit(word: str, misfits: frozenset[str], fit: frozenset[str]) -> str:
    """The refusal of a word of a rule in operations, of which it fits others: first the confusions
    that are common, each with what its author probably wants, then the plain list."""
    named = " and ".join(sorted(misfits))
    if word == "batch":
        return "batch scripts a whole batch: use op: batch.create, and rows for its rows"
    if misfits == _DELIVERY and word not in _UNDER_WAY:
        return "a delivery takes only webhook outcomes, such as webhook: {receiver: [500, 200]}"
    if word in _UNDER_WAY or word == "transport":
        allowed = ""
        if misfits == _DELIVERY:
            allowed = f"; a rule for it may test {_TESTED_OF_DELIVERIES}"
        return f"no request comes in for {named}, so {word} cannot be used there{allowed}"
    if fit == PROVIDER_OPERATIONS:
        return (
            f"no provider is asked in {named}, so {word} cannot be used there; it fits "
            f"{', '.join(sorted(fit))}"
        )
    return f"{word} means nothing in {named}; it fits {', '.join(sorted(fit))}"
