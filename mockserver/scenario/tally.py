"""How often rules were met and have fired in one sandbox: what their limits, sequences, chance and
times go by.

A call *meets* a rule when it passes the tests of its ``when``, and the rule may then *fire* or not.
Three pairs of numbers follow from that, and each answers another question:

- of the rule: ``calls`` met it, ``hits`` of them made it fire, ever. ``expect`` is about hits.
- of the period of a rule with ``per``: ``fired`` and ``keys`` begin anew with each day, week or so.
  ``limit`` is about this period's firings where there are periods, else about hits.
- of a key, such as one customer or one reference: ``seen`` and ``fired`` of ``Times``. ``nth`` and
  chance go by ``seen``; the step of a sequence by ``fired``, so that a call on which the rule does
  not fire uses up no step.

Counters are kept from one reading of a file to the next as long as the text of the rule is the
same. ``Tally`` is what is kept and stored; ``CountedRule`` reads it at an instant, ``CountedCall``
for one call, which it then counts.
"""

from dataclasses import field
from typing import NamedTuple

from mockserver.domain.clock import Micros
from mockserver.domain.constraints import NonNegative
from mockserver.domain.record import mutable, record
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.kinds import Length
from mockserver.scenario.matching import Difference, Words
from mockserver.scenario.paths import age_of
from mockserver.scenario.rule import AtEnd, Rule, Sequence


class Times(NamedTuple):
    """How often a key of a rule was seen, and how often the rule fired for it; of a rule that tests
    ``idle`` also when the key was last seen."""

    seen: NonNegative
    fired: NonNegative
    last: Micros | None = None


UNSEEN = Times(0, 0)
KEYS = dict[str, Times]
"""The counters of the keys of a rule: there may be as many as calls were made."""


@mutable
class Tally:
    """Counters of one rule: ``calls`` that met its tests, ``hits``, which are all firings that
    there ever were, ``exhausted``, which are the calls after its sequence ended, when it ``first``
    fired, and the counters of each key.

    Of a rule that counts ``per`` period ``fired`` are the firings of this ``period`` alone, and so
    are those of the keys; of others both are None. State documents have these names. ``text`` is
    that of the rule.
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
        """Whether another period begins of a rule that counts by them: then it is counted anew. It
        begins with its first call: until then ``CountedRule`` sees that the last is over."""
        if rule.per is None:
            return False
        period = rule.period(now)
        if period == self.period:
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
        if self.tally.period != self.rule.period(self.now):
            # What was counted belongs to a period that is over.
            return 0
        return self.tally.fired or 0

    @property
    def left(self) -> int | None:
        """Firings that its limit leaves; None when it has none, or one for each key, where no one
        number says it."""
        if self.rule.limit is None:
            return None
        return max(self.rule.limit - self.fired, 0)

    @property
    def spent(self) -> Difference | None:
        """Why it does not fire, whatever comes: its limit is reached, or its time is over. None
        while it may."""
        rule, first = self.rule, self.tally.first
        if rule.limit is not None and self.fired >= rule.limit:
            return Difference("limit", f"fewer than {rule.limit} firings", self.fired)
        if rule.lives is None or first is None:
            # The time of a rule begins when it first fires.
            return None
        if self.now < first + rule.lives:
            return None
        return Difference("for", "a call while the rule is alive", Words("a call after its time"))

    @property
    def unmet(self) -> str | None:
        """What was expected of it and has not come, in words."""
        plan, exhausted = self.rule.plan, self.tally.exhausted
        if isinstance(plan, Sequence) and plan.at_end is AtEnd.FAIL and exhausted:
            # Told before ``expect``, which counts firings: those calls were none.
            return f"its sequence of {plan.ends[-1]} was used up, and {exhausted} more calls came"
        if self.rule.expect is None:
            return None
        return self.rule.expect.unmet(self.tally.hits)


@record
class CountedCall(CountedRule):
    """A call that meets the tests of a rule. ``key`` is that by which it is counted, None where
    nothing depends on one; ``before`` is how often that was met before it."""

    attempt: Attempt
    key: str | None
    before: Times

    @property
    def times(self) -> Times:
        """How often its key was met, this call included. When that was is kept only for ``idle``:
        there may be a key for every call."""
        is_timed = self.rule.when.idle is not None
        last = self.now if is_timed else None
        return Times(self.before.seen + 1, self.before.fired, last)

    @property
    def drawn_by(self) -> str:
        """What its draws follow besides the rule: the key, and the period."""
        key = self.key or ""
        if self.rule.per is None:
            return key
        # Counters begin anew with each period: without it each would draw the same again.
        return f"{key}|{self.tally.period}"

    @property
    def salt(self) -> str:
        """What parts its draws from those of every other call of the rule, once it is counted."""
        number = self.times.seen
        if self.key is None:
            # Nothing is counted by key: all calls of the rule are one series.
            number = self.tally.calls
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
        when = self.rule.when
        if when.nth is not None:
            difference = when.nth.difference_of(self.times.seen)
            if difference is not None:
                return difference
        if when.idle is None:
            return None
        if self.before.last is None:
            # It was never seen: it has been idle since its object was made.
            return when.idle.difference_of(age_of(self.attempt))
        return when.idle.difference_of(Length(self.now - self.before.last))

    def count(self) -> None:
        """Count that it has met the tests."""
        self.tally.calls += 1
        if self.key is not None:
            self.tally.keys[self.key] = self.times

    def fire(self) -> None:
        """Count that its rule has fired on it."""
        tally = self.tally
        if self.key is not None:
            tally.keys[self.key] = self.times._replace(fired=self.before.fired + 1)
        tally.hits += 1
        if tally.fired is not None:
            tally.fired += 1
        if tally.first is None:
            tally.first = self.now
