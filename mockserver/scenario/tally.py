"""How often rules were met and have fired in one sandbox: what their limits, sequences, chance and
times go by."""

from dataclasses import field
from typing import NamedTuple

from mockserver.domain.clock import Micros
from mockserver.domain.constraints import NonNegative
from mockserver.domain.record import mutable, record
from mockserver.scenario.matching import Attempt, Difference, Length, Words
from mockserver.scenario.paths import age_of
from mockserver.scenario.rule import AtEnd, Rule, Sequence


class Times(NamedTuple):
    """How often a key of a rule was seen, and how often the rule fired for it; of one that tests
    ``idle`` also when it was last seen."""

    seen: NonNegative
    fired: NonNegative
    last: Micros | None = None


UNSEEN = Times(0, 0)
KEYS = dict[str, Times]
"""The counters of the keys of a rule: there may be as many as calls were made."""


@mutable
class Tally:
    """Counters of one rule: ``calls`` that met its tests, ``hits``, which are all firings that
    there ever were, calls after its sequence ended, the ``first`` firing, and counters of each key.

    Of a rule that counts ``per`` period ``fired`` are the firings of this ``period`` alone, and so
    are those of the keys. State documents have these names.
    """

    text: str
    calls: NonNegative
    hits: NonNegative
    exhausted: NonNegative
    first: Micros | None
    keys: KEYS
    period: int | None = None
    fired: NonNegative | None = None

    @classmethod
    def of(cls, rule: Rule) -> "Tally":
        """Those of a rule that was never met."""
        return cls(rule.text, 0, 0, 0, None, {})

    def period_begins(self, rule: Rule, now: Micros) -> bool:
        """Whether another period begins of a rule that counts by them: then it is counted anew."""
        if rule.per is None or (period := rule.period(now)) == self.period:
            return False
        self.period, self.fired, self.keys = period, 0, {}
        return True


@mutable
class Tallies:
    """Counters of all rules, when the first rule was asked, and how many requests of each operation
    came in."""

    first: Micros | None = None
    rules: dict[str, Tally] = field(default_factory=dict)
    calls: dict[str, NonNegative] = field(default_factory=dict)


@record
class CountedRule:
    """A rule with its counters at an instant."""

    rule: Rule
    tally: Tally
    now: Micros

    @property
    def fired(self) -> int:
        """Firings that count for its limit: with ``per`` those of this period."""
        if self.rule.per is None:
            return self.tally.hits
        return self.tally.fired or 0 if self.tally.period == self.rule.period(self.now) else 0

    @property
    def left(self) -> int | None:
        """Firings that its limit leaves; None when it has none, or one for each key."""
        return None if self.rule.limit is None else max(self.rule.limit - self.fired, 0)

    @property
    def spent(self) -> Difference | None:
        """Why it does not fire, whatever comes."""
        rule, first = self.rule, self.tally.first
        if rule.limit is not None and self.fired >= rule.limit:
            return Difference("limit", f"fewer than {rule.limit} firings", self.fired)
        if rule.lives is not None and first is not None and self.now >= first + rule.lives:
            return Difference(
                "for", "a call while the rule is alive", Words("a call after its time")
            )
        return None

    @property
    def unmet(self) -> str | None:
        """What was expected of it and has not come, in words."""
        plan, expect = self.rule.plan, self.rule.expect
        if isinstance(plan, Sequence) and plan.at_end is AtEnd.FAIL and self.tally.exhausted:
            return (
                f"its sequence of {plan.ends[-1]} was used up, and {self.tally.exhausted} more "
                "calls came"
            )
        return expect.unmet(self.tally.hits) if expect is not None else None


@record
class CountedCall(CountedRule):
    """A call that meets the tests of a rule. ``key`` is that by which it is counted, None where
    nothing depends on one; ``before`` is how often that was met before it."""

    attempt: Attempt
    key: str | None
    before: Times

    @property
    def times(self) -> Times:
        """How often its key was met, this call included."""
        is_timed = self.rule.when.idle is not None
        return Times(self.before.seen + 1, self.before.fired, self.now if is_timed else None)

    @property
    def drawn_by(self) -> str:
        """What its draws follow besides the rule: the key, and the period."""
        key = self.key or ""
        return key if self.rule.per is None else f"{key}|{self.tally.period}"

    @property
    def salt(self) -> str:
        """What parts its draws from those of every other call of the rule, once it is counted."""
        number = self.tally.calls if self.key is None else self.times.seen
        return f"{self.rule.id}|{self.drawn_by}|{number}"

    @property
    def key_spent(self) -> Difference | None:
        """Why the rule does not fire any more for its key."""
        most, fired = self.rule.limit_by_key, self.before.fired
        if most is None or fired < most:
            return None
        return Difference("limit", f"fewer than {most} firings for its key", fired)

    @property
    def untimely(self) -> Difference | None:
        """Why its rule does not fire this time: ``nth`` and ``idle`` want another one."""
        when, last = self.rule.when, self.before.last
        if (
            when.nth is not None
            and (difference := when.nth.difference_of(self.times.seen)) is not None
        ):
            return difference
        if when.idle is None:
            return None
        # Before it was seen at all, its object was made.
        return when.idle.difference_of(
            age_of(self.attempt) if last is None else Length(self.now - last)
        )

    def count(self) -> None:
        """It has met the tests."""
        self.tally.calls += 1
        if self.key is not None:
            self.tally.keys[self.key] = self.times

    def fire(self) -> None:
        """Its rule has fired."""
        tally = self.tally
        if self.key is not None:
            tally.keys[self.key] = self.times._replace(fired=self.before.fired + 1)
        tally.hits += 1
        if tally.fired is not None:
            tally.fired += 1
        if tally.first is None:
            tally.first = self.now
