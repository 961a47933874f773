"""All rules in force, in the order in which they are asked, indexed by what most of them test; and
the director of one sandbox, which asks them, counts, and says what happens and why.

Everything is computed from the rules, the attempt, the counters and draws, which are hashes of
(seed, sandbox, rule, key, n), without the sandbox where a scenario says ``draws: seed``: the same
whatever order parallel clients of other keys arrive in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Reversible
from contextlib import contextmanager
from dataclasses import field
from itertools import count
from operator import itemgetter

from mockserver.domain.clock import DAY, Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import nearest
from mockserver.domain.ids import digest
from mockserver.domain.record import record, replace
from mockserver.scenario.matching import (
    Attempt,
    Difference,
    FieldTest,
    Reader,
    Stage,
    Value,
    Words,
    canonical,
    shown,
)
from mockserver.scenario.outcome import NOTHING, Outcome, applicability
from mockserver.scenario.provider_outcome import Decline, draw_latency
from mockserver.scenario.rule import (
    DRAW_BITS,
    Always,
    AtEnd,
    Chance,
    Named,
    RandomScope,
    Rule,
    Sequence,
)
from mockserver.scenario.scalars import LAST_MOVE
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.tally import UNSEEN, CountedCall, CountedRule, Tallies, Tally
from mockserver.scenario.transport import At, ErrorBody, Transport

_SELECTIVE = (
    "request.",
    "header.",
    "bank_account.",
    "card.test",
    "card.last4",
    "provider",
    "source",
    "card.",
)
"""Fields by which rules are indexed, the most selective first. None of them changes once an attempt
is made."""


class Bucket:
    """The rules of one stage and operation, each with its place in the order of asking;
    ``ruleset`` is the id of all rules of which they are some."""

    def __init__(self, rules: list[tuple[int, Rule]], ruleset: str = "") -> None:
        self.ruleset = ruleset
        self.rules = tuple(rule for _, rule in rules)
        self._always: list[tuple[int, Rule]] = []
        self._given: dict[str, tuple[Reader, list[tuple[int, Rule]]]] = {}
        self._indexes: dict[str, tuple[Reader, dict[Value, list[tuple[int, Rule]]]]] = {}
        for placed in rules:
            test = indexed_test(placed[1])
            if test is None:
                self._always.append(placed)
            elif test.equals is None:
                self._given.setdefault(test.path, (test.read, []))[1].append(placed)
            else:
                _, index = self._indexes.setdefault(test.path, (test.read, {}))
                for value in test.equals:
                    index.setdefault(value, []).append(placed)

    def candidates(self, attempt: Attempt) -> list[Rule]:
        """Rules whose indexed test holds, in the order of asking."""
        found = self._always.copy()
        for read, waiting in self._given.values():
            found += waiting if read(attempt) is not None else ()
        for read, index in self._indexes.values():
            value = read(attempt)
            found += index.get(value if value is None else canonical(value), ())
        return [rule for _, rule in sorted(found, key=itemgetter(0))] if found else []


def indexed_test(rule: Rule) -> FieldTest | None:
    """The test by which a rule is found, when it has one: a plain equality, else that a field is
    there at all when that is what it asks first."""
    plain = [test for test in rule.when.tests if test.equals is not None]
    for prefix in _SELECTIVE:
        for test in plain:
            if test.path.startswith(prefix):
                return test
    first = next(iter(rule.when.tests), None)
    return (
        first
        if first is not None and first.wants_presence and first.path.startswith(_SELECTIVE)
        else None
    )


class Buckets(dict[tuple[Stage, str, str | None], Bucket | None]):
    """The rules of a stage that name an operation, or the second name of the step: None when there
    are none."""

    def __init__(self, rules: list[Rule], ruleset: str) -> None:
        self._rules = rules
        self._ruleset = ruleset

    def __missing__(self, key: tuple[Stage, str, str | None]) -> Bucket | None:
        stage, *ops = key
        rules = [
            (place, rule)
            for place, rule in enumerate(self._rules)
            if rule.stage is stage and not rule.operations.isdisjoint(ops)
        ]
        self[key] = bucket = Bucket(rules, self._ruleset) if rules else None
        return bucket


class Ruleset:
    """The rules of scenarios in the order in which they were given: later files before earlier
    ones, built-in test values last, each file in its order. A rule id used twice is distinguished
    by its file's name; rules of a built-in scenario are built in.

    ``id`` is the same for the same rules in the same order, also in another run. ``asked`` are the
    stages and operations in which any rule is asked: in others no attempt need be
    described. ``expecting`` are the rules that expect how often they fire. ``longest_lag`` is how
    far back a read may have to see, ``replays`` says whether answers may be given again,
    ``overlaps`` whether a rule looks at the calls that are under way, ``connections`` whether at
    the connection.
    """

    def __init__(self, scenarios: Reversible[Scenario]) -> None:
        asked = [one for one in reversed(scenarios) if not one.builtin] + [
            one for one in scenarios if one.builtin
        ]
        self.by_id: dict[str, Rule] = {}
        for scenario in asked:
            for rule in scenario.rules:
                name = next(name for name in _names_of(rule, scenario) if name not in self.by_id)
                is_same = name == rule.id and rule.builtin is scenario.builtin
                self.by_id[name] = (
                    rule if is_same else replace(rule, id=name, builtin=scenario.builtin)
                )
        self.rules = list(self.by_id.values())
        self.id = digest("rules", *(f"{rule.id} {rule.text}" for rule in self.rules)).hex()
        self.asked = frozenset((rule.stage, op) for rule in self.rules for op in rule.operations)
        self.stages = {rule.stage for rule in self.rules}
        self.expecting = [rule for rule in self.rules if rule.may_be_unmet]
        outcomes = [outcome for rule in self.rules for outcome in rule.plan.outcomes]
        self.longest_lag = max(
            (DAY if one.lag == LAST_MOVE else one.lag for one in outcomes), default=0
        )
        tested = {test.path for rule in self.rules for test in rule.when.tests}
        self.overlaps = not tested.isdisjoint(("in_flight", "overlaps"))
        self.connections = any(rule.by_connection for rule in self.rules)
        self.replays = any(outcome.replay for outcome in outcomes)
        self.buckets = Buckets(self.rules, self.id)

    def prepare(self) -> None:
        """Sort the rules by stage and operation before they are asked."""
        for stage, op in self.asked:
            self.buckets[stage, op, None]


def _names_of(rule: Rule, scenario: Scenario) -> Iterator[str]:
    """What a rule may be known by; the first name that no other has counts."""
    yield rule.id
    yield f"{scenario.name}/{rule.id}"
    yield from (f"{scenario.name}-{number}/{rule.id}" for number in count(2))


@record
class Decision:
    """What happens in one stage of an operation: the outcome, the rule that fired (None: no rule
    did), and the evidence.

    ``salt`` parts draws that belong to this decision (rows of a batch) from all others'.
    ``attempt`` is what the rules of the id ``rules`` were asked with; ``passed`` names those that
    did not fire, with the first test that failed; ``fired`` is the rule that did, ``passing`` are
    the decisions before it that left the outcome to later rules. It lives as long as its step:
    what is kept of it is a ``decisions.StageDecision``.
    """

    outcome: Outcome
    rule: str | None
    stage: Stage
    rules: str = field(default="", repr=False, compare=False)
    attempt: Attempt | None = field(default=None, repr=False, compare=False)
    passed: tuple[tuple[str, Difference], ...] = field(default=(), repr=False, compare=False)
    delay: Micros = 0
    salt: str = ""
    fired: Rule | None = field(default=None, repr=False, compare=False)
    passing: tuple[Decision, ...] = field(default=(), repr=False, compare=False)

    @property
    def choice(self) -> int | None:
        """Which outcome of the sequence or chance of the rule that fired it was, from 1; None when
        it was none."""
        return self.fired.choice_of(self.outcome) if self.fired is not None else None

    @property
    def slowing(self) -> Decision | None:
        """The decision that says how long the provider takes; None when no rule does."""
        return next((one for one in (*self.passing, self) if one.outcome.latency is not None), None)

    @property
    def number(self) -> int:
        """Which provider it was that was tried, from 1."""
        return self.attempt.attempt if self.attempt is not None else 1


SILENCE = {stage: Decision(NOTHING, None, stage) for stage in Stage}
"""What no rule decided, where none was asked."""


_MOST_WAITED = 5
"""Rules of an idle scenario whose conditions are named."""


class Director:
    """The rules of one sandbox, those of ``ruleset``, and their counters. ``on_count`` gets each
    rule and key that is counted, and of each rule whose keys begin anew (None). ``is_setting_up``
    says that what is asked belongs to a set-up."""

    def __init__(self, rules: Ruleset, seed: int, sandbox: str) -> None:
        self.ruleset = rules
        self._worlds = {RandomScope.SANDBOX: (seed, sandbox), RandomScope.SEED: (seed, "")}
        self.tallies = Tallies()
        self.on_count: Callable[[str, str | None], None] | None = None
        self.is_setting_up = False

    @contextmanager
    def during_set_up(self) -> Iterator[None]:
        """Inside of it a sandbox is set up: the built-in test values alone hear what is asked, and
        calls have no number."""
        self.is_setting_up = True
        try:
            yield
        finally:
            self.is_setting_up = False

    def count(self, op: str) -> int | None:
        """The number of a request that has come in, among those of its operation: what ``call`` in
        ``when`` tests. None for one of a set-up."""
        if self.is_setting_up:
            return None
        calls = self.tallies.calls
        number = calls[op] = calls.get(op, 0) + 1
        return number

    def decide(self, stage: Stage, attempt: Attempt) -> Decision:
        """The outcome of the first rule of this stage that matches, which is counted; nothing when
        none does."""
        bucket = self.ruleset.buckets[stage, attempt.op, attempt.also]
        if bucket is None:
            return Decision(NOTHING, None, stage, attempt=attempt)
        if self.tallies.first is None and not self.is_setting_up:
            self.tallies.first = attempt.now
        passed: list[tuple[str, Difference]] = []
        passing: tuple[Decision, ...] = ()
        for rule in bucket.candidates(attempt):
            found = self._unheard(rule) or _kept_out(rule, passing) or self._ask(rule, attempt)
            if isinstance(found, Difference):
                passed.append((rule.id, found))
                continue
            silent = Decision(
                NOTHING, None, stage, bucket.ruleset, attempt, tuple(passed), passing=passing
            )
            decision = self._fired(silent, rule, *found)
            if not decision.outcome.passes:
                return decision
            passing += (decision,)
        return (
            passing[-1]
            if passing
            else Decision(NOTHING, None, stage, bucket.ruleset, attempt, tuple(passed))
        )

    def _unheard(self, rule: Rule) -> Difference | None:
        """Why a rule is not asked during a set-up."""
        if self.is_setting_up and not rule.builtin:
            return Difference("setup", "what is not part of a set-up", Words("a part of one"))
        return None

    def _fired(self, silent: Decision, rule: Rule, outcome: Outcome, salt: str) -> Decision:
        """The decision of a rule that has fired, in place of that of none."""
        delay, world = 0, self._worlds[rule.draws]
        if outcome.latency is not None:
            delay = draw_latency(outcome.latency, _draw("latency", *world, salt))
        if outcome.batch is not None:
            salt = digest("rows", *world, salt).hex()
        return replace(silent, outcome=outcome, rule=rule.id, delay=delay, salt=salt, fired=rule)

    def _ask(self, rule: Rule, attempt: Attempt) -> Difference | tuple[Outcome, str]:
        """What a rule makes happen, with what its draws go by; else why it does not fire. A call is
        counted that meets the tests of a rule which is not used up, whatever comes of it."""
        unlike = next(rule.when.differences(attempt, self.tallies.first), None)
        if unlike is not None:
            return unlike
        call = self._met(rule, attempt)
        if (spent := call.spent or call.key_spent) is not None:
            return spent
        call.count()
        if call.key is not None and self.on_count is not None:
            self.on_count(rule.id, call.key)
        outcome = call.untimely or self._outcome(call)
        if isinstance(outcome, Difference):
            return outcome
        call.fire()
        return outcome, call.salt

    def _met(self, rule: Rule, attempt: Attempt) -> CountedCall:
        """A call that meets the tests of a rule, beside the counters of the period that it comes
        in."""
        tally = self.tallies.rules.get(rule.id)
        if tally is None:
            tally = self.tallies.rules[rule.id] = Tally.of(rule)
        if tally.period_begins(rule, attempt.now) and self.on_count is not None:
            self.on_count(rule.id, None)
        key = rule.key_of(attempt) if rule.counts_by_key else None
        return CountedCall(
            rule, tally, attempt.now, attempt, key, before=tally.keys.get(key or "", UNSEEN)
        )

    def _outcome(self, call: CountedCall) -> Outcome | Difference:
        rule = call.rule
        match rule.plan:
            case Always(outcomes):
                return outcomes[0]
            case Sequence() as sequence:
                return sequence.step(call.before.fired) or _at_end(sequence, call)
            case Chance() as chance:
                draw = _draw(
                    "chance", rule.id, call.drawn_by, call.times.seen, *self._worlds[rule.draws]
                )
                struck = chance.pick(draw)
                return struck or Difference(
                    "chance", "a draw that strikes", Words(f"draw {draw / (1 << DRAW_BITS):.4f}")
                )
            case Named() as named:
                return named_outcome(named, call.attempt)

    def replace(self, rules: Ruleset) -> None:
        """Put other rules in force; counters of rules whose text is the same live on."""
        self.ruleset = rules
        self.take_over(self.tallies)

    def take_over(self, tallies: Tallies) -> None:
        """Count on from ``tallies``, for rules that are in force with the same text."""
        by_id = self.ruleset.by_id
        same = {
            name: one
            for name, one in tallies.rules.items()
            if name in by_id and one.text == by_id[name].text
        }
        self.tallies = Tallies(tallies.first, same, tallies.calls)

    def rules(self, now: Micros | None = None) -> list[CountedRule]:
        """How every rule stands, in the order of asking, at ``now``, or as it first fired."""
        return [self._counted(rule, now) for rule in self.ruleset.rules]

    def _counted(self, rule: Rule, now: Micros | None) -> CountedRule:
        tally = self.tallies.rules.get(rule.id) or Tally.of(rule)
        return CountedRule(rule, tally, tally.first or 0 if now is None else now)

    def unmet(self) -> list[str]:
        """Every expectation that does not hold, in words: ``expect`` of a rule, or a sequence that
        had to suffice."""
        words = []
        for rule in self.ruleset.expecting:
            unmet = self._counted(rule, None).unmet
            if unmet is not None:
                words.append(f"rule '{rule.id}' ({rule.file}): {unmet}")
        return words

    def idle(self, scenarios: Iterable[Scenario]) -> list[str]:
        """A sentence on each of some scenarios of which no rule has fired: what its rules wait for.
        Not on the built-in test values, nor on rules of connections, which are counted for all
        sandboxes."""
        fired = {rule_id for rule_id, count in self.tallies.rules.items() if count.hits}
        found = []
        for scenario in scenarios:
            rules = () if scenario.builtin else scenario.rules
            if rules and not any(rule.id in fired or rule.stage is Stage.CONNECT for rule in rules):
                waited = list(dict.fromkeys(rule.waits_for for rule in rules))
                more = ["..."] if len(waited) > _MOST_WAITED else []
                words = ", or ".join([*waited[:_MOST_WAITED], *more])
                found.append(f"no rule of {scenario.name} fired: it waits for {words}")
        return found


def _kept_out(rule: Rule, passing: tuple[Decision, ...]) -> Difference | None:
    """Why a rule is not asked after others that left the outcome to later rules: one says how slow
    the provider is, and what is as usual is left to the built-in test values."""
    for decision in passing:
        if decision.outcome.latency is None and not rule.builtin:
            return Difference(
                "as_usual",
                "a call that no earlier rule leaves as usual",
                Words(f"one of {decision.rule}"),
            )
        if decision.outcome.latency is not None and rule.only_slows:
            return Difference(
                "latency", "a call that no earlier rule slows", Words(f"one of {decision.rule}")
            )
    return None


def _draw(*of: object) -> int:
    return int.from_bytes(digest(*of, size=DRAW_BITS // 8), "big")


def _at_end(sequence: Sequence, call: CountedCall) -> Outcome | Difference:
    """What happens to a call after the last step of a sequence."""
    call.tally.exhausted += 1
    if sequence.at_end is AtEnd.FAIL:
        return exhausted(call.rule)
    return Difference(
        "sequence", f"one of its {sequence.ends[-1]} steps", Words("a call after the last")
    )


def exhausted(rule: Rule) -> Outcome:
    """The refusal of a call that comes after the end of a sequence with ``at_end: fail``."""
    message = f"The sequence of rule '{rule.id}' is used up and says at_end: fail"
    if rule.stage is Stage.PROVIDER:
        return Outcome(
            provider=Decline("sequence_exhausted", 1, message, None, None, is_retryable=False)
        )
    return Outcome(
        transport=Transport(At.RECEIVE, status=400, body=ErrorBody(Code.UNKNOWN_ERROR, message))
    )


def named_outcome(named: Named, attempt: Attempt) -> Outcome | Difference:
    """The outcome that the request names, or the refusal of a name that no outcome has."""
    given = named.read(attempt)
    if given is None:
        return Difference(named.path, "the name of an outcome", given)
    name = str(given)
    found = named.by_name.get(name.strip().lower().replace("-", "_").replace(" ", "_"))
    if found is not None and all(attempt.op in fit for _, fit in applicability(found)):
        return found
    why = (
        f"names no outcome{nearest(name, named.by_name)}"
        if found is None
        else f"means nothing in {attempt.op}"
    )
    message = f"{named.path}: got {shown(name)}, which {why}"
    return Outcome(provider=Decline("unknown_outcome", 90, message, None, None, is_retryable=False))
