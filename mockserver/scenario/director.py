"""All rules in force, and the director of one sandbox, which asks them: what happens, and why.

The engine asks the director at fixed points of an operation's life, the stages: as a connection is
made, as a body is sent, as the request has arrived, as a provider is asked. It hands over an
``Attempt``, the facts that rules may look at, and gets a ``Decision``. The first rule that matches
decides. Rules of later files come before those of earlier ones, so that a file may be put on top of
another; the built-in test values come last, so that every file may overrule them.

An attempt meets a rule in this order, and the first step that says no is kept as a ``Difference``,
the evidence that journal and ``explain`` show:

1. the rule is kept out: it hears no set-up, or an earlier rule has said what it would say;
2. a test of its ``when`` fails;
3. it is spent: its ``limit`` is reached, or its time ``for`` is over. From here on the attempt is
   counted, whatever comes of it: ``nth``, sequences and chance go by all calls that the rule means;
4. ``nth`` or ``idle`` wants another call;
5. its chance does not strike, or its sequence is used up.

A rule that fires ends the search, but for one that *passes*: it only says how slow the provider is,
or that all is as usual, and leaves the outcome to later rules.

Two things must always hold. The same seed, rules and attempts of one client give the same
decisions, in whatever order other clients come: a draw is a hash of seed, sandbox, rule, key and
count, never the next number of a stream that all share. (Where a scenario says ``draws: seed`` the
sandbox is left out.) And rules that match nothing cost next to nothing. Most of them test one field
for one value (a card, an amount, a reference), so the rules of a stage and operation are looked up
by the value of their most selective field, and only the candidates are asked: 1,000 rules that
match nothing add 1.4 to 5.5 % to a create (benchmarks/README.md). Rules that the index rules out
are neither asked nor counted nor noted; ``decisions`` names them when somebody asks why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Reversible
from contextlib import contextmanager
from dataclasses import field
from itertools import count
from operator import attrgetter
from typing import NamedTuple

from mockserver.domain.clock import DAY, Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import nearest
from mockserver.domain.ids import digest
from mockserver.domain.record import record, replace
from mockserver.scenario.attempt import Attempt, Reader, Stage
from mockserver.scenario.matching import Difference, FieldTest, Words
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
from mockserver.scenario.values import Value, canonical, excerpt

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


class PlacedRule(NamedTuple):
    """A rule with its place in the order of asking."""

    place: int
    rule: Rule


class Bucket:
    """The rules of one stage and operation, found by what they test; ``ruleset`` is the id of all
    rules of which they are some.

    A rule stands in one of three places: under the values that its indexed test allows, under the
    field that must be there, or, without such a test, among those that are always asked.
    """

    def __init__(self, placed_rules: list[PlacedRule], ruleset: str = "") -> None:
        """Put each rule where an attempt finds it that it may match: the others are not asked."""
        self.ruleset = ruleset
        self.rules = tuple(placed.rule for placed in placed_rules)
        self._always: list[PlacedRule] = []
        self._by_presence: dict[str, tuple[Reader, list[PlacedRule]]] = {}
        self._by_value: dict[str, tuple[Reader, dict[Value, list[PlacedRule]]]] = {}
        for placed in placed_rules:
            test = indexed_test(placed.rule)
            if test is None:
                self._always.append(placed)
            elif test.equals is None:
                _, present = self._by_presence.setdefault(test.path, (test.read, []))
                present.append(placed)
            else:
                _, index = self._by_value.setdefault(test.path, (test.read, {}))
                for value in test.equals:
                    index.setdefault(value, []).append(placed)

    def candidates(self, attempt: Attempt) -> list[Rule]:
        """Rules whose indexed test holds, in the order of asking."""
        candidates = self._always.copy()
        for read, present in self._by_presence.values():
            if read(attempt) is not None:
                candidates += present
        for read, index in self._by_value.values():
            value = read(attempt)
            if value is not None:
                value = canonical(value)
            # A field that is absent is looked up too: a rule may want null.
            candidates += index.get(value, ())
        candidates.sort(key=_PLACE)
        return [placed.rule for placed in candidates]


_PLACE = attrgetter("place")


def indexed_test(rule: Rule) -> FieldTest | None:
    """The test by which a rule is found, when it has one: its most selective plain equality, else
    that a field is there at all, when it asks that first. The test values have a rule of that kind,
    on ``request.metadata.mock``, which nearly no call meets."""
    equalities = [test for test in rule.when.tests if test.equals is not None]
    for prefix in _SELECTIVE:
        for test in equalities:
            if test.path.startswith(prefix):
                return test
    for test in rule.when.tests[:1]:
        if test.wants_presence and test.path.startswith(_SELECTIVE):
            return test
    return None


class Buckets(dict[tuple[Stage, str, str | None], Bucket | None]):
    """The rules of a stage that name an operation, or the second name of the step: None when there
    are none."""

    def __init__(self, rules: list[Rule], ruleset: str) -> None:
        self._rules = rules
        self._ruleset = ruleset

    def __missing__(self, key: tuple[Stage, str, str | None]) -> Bucket | None:
        """Sort out the rules of a key when it is first asked for: of all stages and operations a
        client uses few."""
        stage, *ops = key
        rules = [
            PlacedRule(place, rule)
            for place, rule in enumerate(self._rules)
            if rule.stage is stage and not rule.operations.isdisjoint(ops)
        ]
        self[key] = bucket = Bucket(rules, self._ruleset) if rules else None
        return bucket


class Ruleset:
    """The rules of scenarios in the order in which they are asked.

    ``id`` is the same for the same rules in the same order, also in another run.
    ``asked_at`` are the stages and operations in which any rule is asked: in others no attempt
    need be described. ``expecting`` are the rules that expect how often they fire. ``longest_lag``
    is how far back a read may have to see, ``replays`` says whether answers may be given again,
    ``overlaps`` whether a rule looks at the calls that are under way, ``connections`` whether at
    the connection.
    """

    def __init__(self, scenarios: Reversible[Scenario]) -> None:
        """Work out once what each request would otherwise have to ask of every rule."""
        self.by_id = _rules_by_id(scenarios)
        self.rules = list(self.by_id.values())
        self.id = digest("rules", *(f"{rule.id} {rule.text}" for rule in self.rules)).hex()
        self.asked_at = frozenset((rule.stage, op) for rule in self.rules for op in rule.operations)
        self.stages = {rule.stage for rule in self.rules}
        self.expecting = [rule for rule in self.rules if rule.may_be_unmet]
        outcomes = [outcome for rule in self.rules for outcome in rule.plan.outcomes]
        # Of no other past need rows be kept. How far back the last change lies is not known.
        lags = [DAY if outcome.lag == LAST_MOVE else outcome.lag for outcome in outcomes]
        self.longest_lag = max(lags, default=0)
        tested = {test.path for rule in self.rules for test in rule.when.tests}
        self.overlaps = not tested.isdisjoint(("in_flight", "overlaps"))
        self.connections = any(rule.by_connection for rule in self.rules)
        self.replays = any(outcome.replay for outcome in outcomes)
        self.buckets = Buckets(self.rules, self.id)

    def prepare(self) -> None:
        """Sort the rules by stage and operation before they are asked."""
        for stage, op in self.asked_at:
            self.buckets[stage, op, None]


def _rules_by_id(scenarios: Reversible[Scenario]) -> dict[str, Rule]:
    """The rules of scenarios, each under an id of its own, in the order of asking: later files
    before earlier ones, built-in test values last, each file in its order. An id that two rules
    have is distinguished by the file's name."""
    own = [scenario for scenario in reversed(scenarios) if not scenario.builtin]
    builtin = [scenario for scenario in scenarios if scenario.builtin]
    by_id: dict[str, Rule] = {}
    for scenario in (*own, *builtin):
        for rule in scenario.rules:
            name = next(name for name in _names_of(rule, scenario) if name not in by_id)
            # A scenario that was read as a text becomes built-in afterwards, its rules here.
            if name != rule.id or rule.builtin is not scenario.builtin:
                rule = replace(rule, id=name, builtin=scenario.builtin)
            by_id[name] = rule
    return by_id


def _names_of(rule: Rule, scenario: Scenario) -> Iterator[str]:
    """What a rule may be known by; the first name that no other has counts."""
    yield rule.id
    yield f"{scenario.name}/{rule.id}"
    yield from (f"{scenario.name}-{number}/{rule.id}" for number in count(2))


@record
class Decision:
    """What happens in one stage of an operation: the outcome, the rule that fired (None: no rule
    did), and the evidence.

    ``attempt`` is what the rules of the id ``rules`` were asked with. ``failed`` names those that
    were asked and did not fire, each with the first test that failed; ``fired`` is the rule that
    did; ``passing`` are the decisions before it that left the outcome to later rules. ``delay`` is
    the time that the provider takes; ``salt`` parts draws that belong to this decision (rows of a
    batch) from all others'. A decision lives as long as its step: what is kept of it is a
    ``decisions.StageDecision``.
    """

    outcome: Outcome
    rule: str | None
    stage: Stage
    rules: str = field(default="", repr=False, compare=False)
    attempt: Attempt | None = field(default=None, repr=False, compare=False)
    failed: tuple[tuple[str, Difference], ...] = field(default=(), repr=False, compare=False)
    delay: Micros = 0
    salt: str = ""
    fired: Rule | None = field(default=None, repr=False, compare=False)
    passing: tuple[Decision, ...] = field(default=(), repr=False, compare=False)

    @property
    def choice(self) -> int | None:
        """Which outcome of the sequence or chance of the rule that fired it was, from 1; None when
        it was none. The journal keeps this number instead of the outcome."""
        if self.fired is None:
            return None
        return self.fired.choice_of(self.outcome)

    @property
    def slowing(self) -> Decision | None:
        """The decision that says how long the provider takes; None when no rule does."""
        for decision in (*self.passing, self):
            if decision.outcome.latency is not None:
                return decision
        return None

    @property
    def number(self) -> int:
        """Which provider it was that was tried, from 1."""
        return self.attempt.attempt if self.attempt is not None else 1


SILENCE = {stage: Decision(NOTHING, None, stage) for stage in Stage}
"""What no rule decided, where none was asked."""


_MOST_WAITED = 5
"""Rules of an idle scenario whose conditions are named."""


class _Effect(NamedTuple):
    """What a rule that has fired makes happen."""

    outcome: Outcome
    delay: Micros
    salt: str


class Director:
    """The rules of one sandbox, those of ``ruleset``, and their counters. ``on_count`` gets each
    rule and key that is counted, and of each rule whose keys begin anew (None). ``is_setting_up``
    says that what is asked belongs to a set-up."""

    def __init__(self, rules: Ruleset, seed: int, sandbox: str) -> None:
        self.ruleset = rules
        self._draw_scopes = {RandomScope.SANDBOX: (seed, sandbox), RandomScope.SEED: (seed, "")}
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
        ``when`` tests. None for one of a set-up: ``call: 1`` is the first of the client itself."""
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
        # Spans of ``clock`` that say no start begin with the client's first decision.
        if self.tallies.first is None and not self.is_setting_up:
            self.tallies.first = attempt.now
        failed: list[tuple[str, Difference]] = []
        passing: tuple[Decision, ...] = ()
        for rule in bucket.candidates(attempt):
            # The first step that says no; where none does, what the rule makes happen.
            answer = self._unheard(rule) or _kept_out(rule, passing) or self._ask(rule, attempt)
            if isinstance(answer, Difference):
                failed.append((rule.id, answer))
                continue
            decision = Decision(
                answer.outcome,
                rule.id,
                stage,
                bucket.ruleset,
                attempt,
                tuple(failed),
                answer.delay,
                answer.salt,
                rule,
                passing,
            )
            if not answer.outcome.passes:
                return decision
            passing = (*passing, decision)
        if passing:
            # No later rule had an outcome: that of the last one which left it to them stands.
            return passing[-1]
        return Decision(NOTHING, None, stage, bucket.ruleset, attempt, tuple(failed))

    def _unheard(self, rule: Rule) -> Difference | None:
        """Why a rule is not asked during a set-up: that makes what a test begins with, and would
        fail or be counted under the rules of the test."""
        if self.is_setting_up and not rule.builtin:
            return Difference("setup", "what is not part of a set-up", Words("a part of one"))
        return None

    def _ask(self, rule: Rule, attempt: Attempt) -> Difference | _Effect:
        """What a rule makes happen, else why it does not fire. A call is counted that meets the
        tests of a rule which is not used up, whatever comes of it."""
        failed_test = next(rule.when.differences(attempt, self.tallies.first), None)
        if failed_test is not None:
            return failed_test
        call = self._met(rule, attempt)
        spent = call.spent or call.key_spent
        if spent is not None:
            return spent
        call.count()
        if call.key is not None and self.on_count is not None:
            self.on_count(rule.id, call.key)
        outcome = call.untimely or self._outcome(call)
        if isinstance(outcome, Difference):
            return outcome
        call.fire()
        return self._effect(rule, outcome, call.salt)

    def _effect(self, rule: Rule, outcome: Outcome, salt: str) -> _Effect:
        """What a rule that has fired makes happen, with all that is drawn for it."""
        scope = self._draw_scopes[rule.draws]
        delay = 0
        if outcome.latency is not None:
            delay = draw_latency(outcome.latency, _draw("latency", *scope, salt))
        if outcome.batch is not None:
            # Each row of the batch draws by it alone, long after: so the scope is made part of it.
            salt = digest("rows", *scope, salt).hex()
        return _Effect(outcome, delay, salt)

    def _met(self, rule: Rule, attempt: Attempt) -> CountedCall:
        """A call that meets the tests of a rule, beside the counters of the period that it comes
        in: those of a period that is over are dropped first."""
        tally = self.tallies.rules.get(rule.id)
        if tally is None:
            tally = self.tallies.rules[rule.id] = Tally.of(rule)
        if tally.period_begins(rule, attempt.now) and self.on_count is not None:
            self.on_count(rule.id, None)
        # Nothing depends on a key of other rules, and there may be one for every call.
        key = rule.key_of(attempt) if rule.counts_by_key else None
        return CountedCall(
            rule, tally, attempt.now, attempt, key, before=tally.keys.get(key or "", UNSEEN)
        )

    def _outcome(self, call: CountedCall) -> Outcome | Difference:
        """What the plan of a rule has for a call that it is to fire on, if anything."""
        match call.rule.plan:
            case Always(outcomes):
                return outcomes[0]
            case Sequence() as sequence:
                # By firings: a call on which the rule does not fire uses up no step.
                return sequence.step(call.before.fired) or _at_end(sequence, call)
            case Chance() as chance:
                # By calls: the call after one that was not struck must be drawn anew.
                scope = self._draw_scopes[call.rule.draws]
                draw = _draw("chance", call.rule.id, call.drawn_by, call.times.seen, *scope)
                share = Words(f"draw {draw / (1 << DRAW_BITS):.4f}")
                return chance.pick(draw) or Difference("chance", "a draw that strikes", share)
            case Named() as named:
                return named_outcome(named, call.attempt)

    def replace(self, rules: Ruleset) -> None:
        """Put other rules in force; counters of rules whose text is the same live on."""
        self.ruleset = rules
        self.take_over(self.tallies)

    def take_over(self, tallies: Tallies) -> None:
        """Count on from ``tallies``, for rules that are in force with the same text: who edits one
        rule of a file does not begin the sequences of the others anew."""
        unchanged: dict[str, Tally] = {}
        for rule_id, tally in tallies.rules.items():
            rule = self.ruleset.by_id.get(rule_id)
            if rule is not None and rule.text == tally.text:
                unchanged[rule_id] = tally
        self.tallies = Tallies(tallies.first, unchanged, tallies.calls)

    def rules(self, now: Micros | None = None) -> list[CountedRule]:
        """How every rule stands, in the order of asking, at ``now``; without it, each as it first
        fired."""
        return [self._counted(rule, now) for rule in self.ruleset.rules]

    def _counted(self, rule: Rule, now: Micros | None) -> CountedRule:
        """A rule with its counters, as it stands at ``now``, or as it first fired."""
        tally = self.tallies.rules.get(rule.id) or Tally.of(rule)
        if now is None:
            now = tally.first or 0
        return CountedRule(rule, tally, now)

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
        A test that passes under one has tested nothing. Not on the built-in test values, nor on
        rules of connections, which are counted for all sandboxes."""
        fired = {rule_id for rule_id, tally in self.tallies.rules.items() if tally.hits}
        sentences = []
        for scenario in scenarios:
            if scenario.builtin or not scenario.rules:
                continue
            if any(rule.id in fired or rule.stage is Stage.CONNECT for rule in scenario.rules):
                continue
            # Several rules may wait for the same, as a decline and its webhook do.
            conditions = list(dict.fromkeys(rule.waits_for for rule in scenario.rules))
            if len(conditions) > _MOST_WAITED:
                conditions[_MOST_WAITED:] = ["..."]
            words = ", or ".join(conditions)
            sentences.append(f"no rule of {scenario.name} fired: it waits for {words}")
        return sentences


def _kept_out(rule: Rule, passing: tuple[Decision, ...]) -> Difference | None:
    """Why a rule is not asked after others that passed. One that says how slow the provider is has
    said it for all that only say that; one that says that all is as usual shields from the rules
    after it, but for the built-in test values: what their cards mean is usual."""
    for decision in passing:
        earlier = Words(f"one of {decision.rule}")
        if decision.outcome.latency is not None:
            if rule.only_slows:
                return Difference("latency", "a call that no earlier rule slows", earlier)
        elif not rule.builtin:
            return Difference("as_usual", "a call that no earlier rule leaves as usual", earlier)
    return None


def _draw(*of: object) -> int:
    """A number of ``DRAW_BITS`` bits, always the same of the same things."""
    return int.from_bytes(digest(*of, size=DRAW_BITS // 8), "big")


def _at_end(sequence: Sequence, call: CountedCall) -> Outcome | Difference:
    """What happens to a call after the last step of a sequence. It is counted: with ``at_end:
    fail`` the sequence had to suffice, and a sandbox that is verified says that it did not."""
    call.tally.exhausted += 1
    if sequence.at_end is AtEnd.FAIL:
        return exhausted(call.rule)
    return Difference(
        "sequence", f"one of its {sequence.ends[-1]} steps", Words("a call after the last")
    )


def exhausted(rule: Rule) -> Outcome:
    """The refusal of a call that comes after the end of a sequence with ``at_end: fail``, in a form
    that the stage can give: a provider declines, before that the request is refused."""
    message = f"The sequence of rule '{rule.id}' is used up and says at_end: fail"
    code = int(Code.UNKNOWN_ERROR)
    if rule.stage is Stage.PROVIDER:
        return Outcome(
            provider=Decline("sequence_exhausted", code, message, None, None, is_retryable=False)
        )
    return Outcome(transport=Transport(At.RECEIVE, status=400, body=ErrorBody(code, message)))


def named_outcome(named: Named, attempt: Attempt) -> Outcome | Difference:
    """The outcome that the request names, or the refusal of a name that no outcome has."""
    value = named.read(attempt)
    if value is None:
        return Difference(named.path, "the name of an outcome", value)
    name = str(value)
    # Metadata is typed by people: Insufficient-Funds means insufficient_funds.
    folded_name = name.strip().lower().replace("-", "_").replace(" ", "_")
    outcome = named.by_name.get(folded_name)
    if outcome is None:
        problem = f"names no outcome{nearest(name, named.by_name)}"
    elif all(attempt.op in operations for _, operations in applicability(outcome)):
        return outcome
    else:
        problem = f"means nothing in {attempt.op}"
    # Declined rather than passed over: a test that misspells an outcome must not see an approval.
    message = f"{named.path}: got {excerpt(name)}, which {problem}"
    code = int(Code.VALIDATION_ERROR)
    return Outcome(
        provider=Decline("unknown_outcome", code, message, None, None, is_retryable=False)
    )
