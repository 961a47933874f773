"""One rule, as a file says it and as it runs: when it matches, what it counts, what it makes
happen.

``RuleMap`` has the keys of a file. ``Rule`` is what ``parse`` makes of them, and never changes: how
often it was met is kept in each sandbox (``tally``), so that sandboxes share the rules of a file.

Source: docs/scenario-language.md, rule.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from itertools import accumulate
from re import escape
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from mockserver.domain.clock import DAY, EARLIEST, Micros
from mockserver.domain.money import number_text
from mockserver.domain.record import record
from mockserver.scenario.attempt import Attempt, Reader, Stage
from mockserver.scenario.file_model import file_model, keys_of, short_for
from mockserver.scenario.outcome import Outcome, OutcomeMap, StepMap, ThenMap
from mockserver.scenario.paths import NAMED
from mockserver.scenario.provider_outcome import CATALOGUE
from mockserver.scenario.scalars import Count, Duration, Id, Period, Positive, Share, Text, whole
from mockserver.scenario.values import excerpt
from mockserver.scenario.when import KEYS, When

DRAW_BITS = 64
"""A draw is an integer of so many bits; a probability is the share of them that strikes."""


RandomScope = StrEnum("RandomScope", "SANDBOX SEED")
"""What chance follows besides the rule, the key and the count: the sandbox with its seed, or the
seed alone."""


AtEnd = StrEnum("AtEnd", "PASS HOLD LOOP FAIL")
"""What a rule does when its sequence is used up for a key."""


@record
class Always:
    """``then``: the same outcome every time."""

    outcomes: tuple[Outcome]


@record
class Named:
    """``then: {outcome_from: <path>}``: the outcome whose name stands in the request, a row of the
    catalogue."""

    by_name: ClassVar[Mapping[str, Outcome]] = {
        name: Outcome(row.provider) for name, row in CATALOGUE.items()
    }
    outcomes: ClassVar[tuple[Outcome, ...]] = tuple(by_name.values())

    path: str
    read: Reader = field(compare=False)


@record
class Sequence:
    """``sequence``: outcomes one after the other, by key. ``ends`` are the running totals of the
    steps' ``times``."""

    outcomes: tuple[Outcome, ...]
    ends: tuple[int, ...]
    at_end: AtEnd

    def step(self, fired: int) -> Outcome | None:
        """The outcome after ``fired`` earlier ones; None when the sequence is used up."""
        total = self.ends[-1]
        if fired >= total:
            match self.at_end:
                case AtEnd.PASS | AtEnd.FAIL:
                    return None
                case AtEnd.HOLD:
                    fired = total - 1
                case AtEnd.LOOP:
                    fired %= total
        return self.outcomes[bisect_right(self.ends, fired)]


@record
class Chance:
    """``chance``: weighted outcomes; a draw at or above the last threshold strikes none of them."""

    outcomes: tuple[Outcome, ...]
    thresholds: tuple[int, ...]

    @classmethod
    def of(cls, outcomes: Iterable[Outcome], shares: list[Decimal], whole: Decimal) -> Chance:
        """Outcomes by their shares of ``whole``, as draws: exact integers, so that nothing is
        rounded as floats are."""
        thresholds = [int(total * (1 << DRAW_BITS) / whole) for total in accumulate(shares)]
        return cls(tuple(outcomes), tuple(thresholds))

    def pick(self, draw: int) -> Outcome | None:
        """The outcome that a draw (0 to 2**64 - 1) strikes; None when it strikes none."""
        index = bisect_right(self.thresholds, draw)
        if index == len(self.outcomes):
            return None
        return self.outcomes[index]


Plan = Always | Named | Sequence | Chance
"""What a rule makes happen; ``outcomes`` are all that it can be."""


_TIMES = whole(0, 1_000_000_000)


@file_model
class Expectation:
    """How often it must have happened when the sandbox is verified, both bounds included."""

    least: Annotated[int, _TIMES, Field(alias="min")] = 1
    most: Annotated[Annotated[int, _TIMES] | None, Field(alias="max")] = None

    @classmethod
    def prepare(cls, data: Mapping[str, object]) -> Mapping[str, object]:
        """What may happen a number of times at most need not happen: ``max: 3`` alone means 0 to 3,
        not 1 to 3."""
        said = {key: value for key, value in data.items() if value is not None}
        if "max" in said:
            said.setdefault("min", 0)
        return said

    def __post_init__(self) -> None:
        if self.most is not None and self.most < self.least:
            raise ValueError(f"got min {self.least} and max {self.most}, wanted the smaller first")

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {self.least}"
        if self.least == self.most:
            return f"exactly {self.least}"
        return f"{self.least} to {self.most}"

    def hold(self, count: int) -> bool:
        """Whether something that happened so often happened often enough, and not too often."""
        return self.least <= count and (self.most is None or count <= self.most)

    def unmet(self, hits: int) -> str | None:
        """What is wrong with that many hits, in words."""
        if self.hold(hits):
            return None
        if hits < self.least:
            return f"expected at least {self.least}, fired {hits} times"
        return f"expected at most {self.most}, fired {hits} times"


ALL = "all"

PLANS = ("then", "sequence", "chance")
"""What a rule makes happen: it has exactly one of them."""


@file_model
class ChanceOne:
    """Strikes with probability ``p``; otherwise the rule passes and later rules are asked."""

    p: Share
    then: OutcomeMap


@file_model
class ChanceWeighted:
    """One of several outcomes, by weight."""

    weight: Positive
    then: OutcomeMap


def _chance_kind(value: object) -> str:
    """Which of the two a file means, by its shape: else its faults would be told of both."""
    if isinstance(value, list):
        return "<weighted>"
    return "<one>"


ChanceWord = Annotated[
    Annotated[ChanceOne, Tag("<one>")]
    | Annotated[list[ChanceWeighted], Field(min_length=1), Tag("<weighted>")],
    Discriminator(_chance_kind),
]


@file_model
class Limit:
    """How often a rule may fire."""

    times: Count
    per: Literal["key"] | None = None


LimitWord = Annotated[Limit, short_for("times", Count | Limit)]


def _read_key(value: object) -> object:
    """The paths by which calls are counted: none for ``all``, as then no two calls differ."""
    if value == ALL:
        return []
    if not isinstance(value, list) or not value:
        raise ValueError(
            f"got {excerpt(value or None)}, wanted a list of paths such as [request.reference], "
            f"or {ALL}"
        )
    return value


_KEY_PATH = f"^((request|header|state)\\..+|{'|'.join(map(escape, NAMED))})$"
_KeyPath = Annotated[str, Field(pattern=_KEY_PATH)]
KeyWord = Annotated[
    list[Text],
    Field(max_length=10),
    BeforeValidator(
        _read_key, Annotated[list[_KeyPath], Field(min_length=1, max_length=10)] | Literal["all"]
    ),
]
"""Paths; none when all calls count together."""


@file_model
class RuleMap:
    """One rule. Of the rules that are asked at one stage (as the request arrives, as a provider is
    asked, as a webhook is delivered), the first that matches in file order decides."""

    misplaced: ClassVar[dict[str, str]] = {
        **{word: f"then: {{then: {{{word}: ...}}}}" for word in keys_of(OutcomeMap)},
        **{word: f"when: {{when: {{{word}: ...}}}}" for word in KEYS},
    }

    id: Id
    description: Text | None = None
    when: dict[str, object] = field(default_factory=dict)
    key: KeyWord | None = None
    then: ThenMap | None = None
    sequence: Annotated[list[StepMap], Field(min_length=1, max_length=10_000)] | None = None
    at_end: AtEnd | None = None
    chance: ChanceWord | None = None
    limit: LimitWord | None = None
    per: Period | None = None
    for_: Annotated[Duration | None, Field(alias="for")] = None
    expect: Expectation | None = None


_MOST_NAMED = 3
"""Operations that a sentence names."""


@record
class Rule:
    """A rule of one file, ready to be asked. ``text`` is its canonical text: equal text means an
    unchanged rule."""

    id: str
    file: str
    line: int
    text: str
    stage: Stage
    operations: frozenset[str]
    when: When
    plan: Plan
    key: tuple[Reader, ...] | None = None
    limit: int | None = None
    limit_by_key: int | None = None
    per: Micros | None = None
    lives: Micros | None = None
    expect: Expectation | None = None
    draws: RandomScope = RandomScope.SANDBOX
    builtin: bool = field(default=False, compare=False)
    by_connection: bool = False

    @property
    def only_slows(self) -> bool:
        """Whether all that it does is say how long a provider takes."""
        outcomes = self.plan.outcomes
        return all(outcome.passes and outcome.latency is not None for outcome in outcomes)

    @property
    def may_be_unmet(self) -> bool:
        """Whether it expects how often it fires, or has a sequence that must suffice: whoever ends
        a test looks at these rules alone."""
        must_suffice = isinstance(self.plan, Sequence) and self.plan.at_end is AtEnd.FAIL
        return must_suffice or self.expect is not None

    @property
    def waits_for(self) -> str:
        """What it takes to make it fire, in words, for those under whose scenario nothing has."""
        when = self.when
        conditions = [str(test) for test in when.tests]
        if not conditions and len(self.operations) > _MOST_NAMED:
            conditions.append("any call")
        elif not conditions:
            conditions.append(" or ".join(sorted(self.operations)))
        if when.nth is not None:
            conditions.append(str(when.nth))
        if when.idle is not None:
            conditions.append(str(when.idle))
        if when.window is not None:
            conditions.append(f"clock {when.window.words(when.zone)}")
        return " and ".join(conditions)

    @property
    def counts_by_key(self) -> bool:
        """Whether what happens depends on how often the same key was seen. Of other rules no key is
        counted: a rule on a reference would keep one for every call."""
        if isinstance(self.plan, Sequence | Chance):
            return True
        if isinstance(self.plan, Always) and self.plan.outcomes[0].replay:
            # The first answer of a key is looked for by it.
            return True
        has_test_of_key = self.when.nth is not None or self.when.idle is not None
        return has_test_of_key or self.limit_by_key is not None

    def period(self, now: Micros) -> int:
        """The number of the period in which counters of ``per`` count; those of whole days begin at
        midnight in the zone, those of weeks on a Monday. 0 without ``per``."""
        if self.per is None:
            return 0
        # Whole days are those of a shop's wall clock; hours are counted through.
        is_of_days = self.per % DAY == 0
        time = self.when.zone.wall(now) if is_of_days else now
        return (time - EARLIEST) // self.per

    def choice_of(self, outcome: Outcome) -> int | None:
        """Which of the outcomes of its sequence or chance this one is, from 1; None when the rule
        does not hold it, as after the end of a sequence."""
        if isinstance(self.plan, Named):
            # The request has named it, and says it again.
            return 1
        # By identity: two steps may be equal.
        for place, own in enumerate(self.plan.outcomes, 1):
            if own is outcome:
                return place
        return None

    def key_of(self, attempt: Attempt) -> str:
        """The key under which this attempt is counted: what the file names, else the card, method
        or object that the call is about."""
        if self.key is None:
            return attempt.subject or ""
        parts = [key_text(read(attempt)) for read in self.key]
        if len(parts) == 1:
            return parts[0]
        # Escaped, so that ("a|b", "c") and ("a", "b|c") are two keys.
        return "|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)


def key_text(value: object) -> str:
    """One part of a key: short, and never a card number; equal amounts make equal keys."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        value = number_text(value)
    return excerpt(value).strip("'")
