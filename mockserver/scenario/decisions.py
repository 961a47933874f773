"""What rules decided in a step, as the journal keeps it, and the words of it.

A step asks the rules of a stage with an attempt, which refers to the sandbox and to the request as
it was read. A journal of many steps can hold neither, so at the end of a step each decision becomes
a ``StageDecision``: texts, numbers and words of enumerations, which a store writes as they stand.
Sentences are made of them when somebody reads them; most are never read.

Two kinds of rules come before the one that fires. Those that were asked failed a test, the first of
which is kept with what it got, of ``MOST_FAILED`` rules a step. Those that the index ruled out were
not asked, and nothing is kept of them: a thousand of them cost a step nothing. They follow from the
rules and from what was asked, since the index goes by nothing that changes later. So they can be
named as long as the same rules are in force, which their id says.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import Micros
from mockserver.domain.record import record
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Decision, Ruleset, exhausted, indexed_test, named_outcome
from mockserver.scenario.matching import Difference, Words
from mockserver.scenario.outcome import NOTHING, Outcome
from mockserver.scenario.rule import Named, Rule
from mockserver.scenario.values import LONGEST_LOOKED_AT, plain_text, text_excerpt

MOST_FAILED = 20
"""Rules of which a step keeps the test that they failed."""

Got = StrEnum("Got", "NOTHING TEXT VALUE WORDS")
"""What a test got: no value, a text, another value, or something that is said in words."""


@record
class FailedTest:
    """The first test that a rule failed. ``got`` is the beginning of the value as it came: it is
    masked before it is shown."""

    rule: str
    path: str
    wanted: str
    got: str
    kind: Got

    def __str__(self) -> str:
        return f"{self.path}: wanted {self.wanted}, got {self._got_in_words()}"

    def _got_in_words(self) -> str:
        """What the test got, as a ``Difference`` would say it; masked, as it may be a card
        number."""
        match self.kind:
            case Got.NOTHING:
                return "nothing"
            case Got.WORDS:
                return self.got
            case Got.TEXT:
                return f"'{text_excerpt(self.got)}'"
            case Got.VALUE:
                return text_excerpt(self.got)


@record
class Firing:
    """A rule that fired. ``choice`` is the place of its outcome in its sequence or chance, from 1,
    None where it has made one up; ``after`` is how many rules had been asked before it in vain."""

    rule: str
    choice: int | None
    delay: Micros
    after: int


@record
class StageDecision:
    """What was decided in one stage. Without an ``op`` no rule could decide anything.

    ``rules`` is the id of those that were asked. The facts from ``op`` to ``bank_account`` are
    those of the attempt; ``said`` is what a webhook says that rules were asked about, None where
    that was the request. Of the rules that ``fired`` the last decides, those before it left the
    outcome to later rules. ``failed`` are the first of those that were asked in vain, ``more`` is
    how many others there were.
    """

    stage: Stage
    rules: str = ""
    op: str = ""
    also: str | None = None
    now: Micros = 0
    source: str | None = None
    provider: str | None = None
    attempt: int = 1
    card: CardNumber | None = None
    subject: str | None = None
    row: int | None = None
    bank_account: str | None = None
    said: Mapping[str, object] | None = None
    fired: tuple[Firing, ...] = ()
    failed: tuple[FailedTest, ...] = ()
    more: int = 0

    @property
    def is_about_request(self) -> bool:
        """Whether rules saw the whole request, or the due work, of the step."""
        return bool(self.op) and self.said is None and self.stage is not Stage.UPLOAD


_NOT_ASKED = {stage: StageDecision(stage) for stage in Stage}


def kept_decisions(
    decisions: Sequence[Decision], request: Mapping[str, object], most_failed: int = MOST_FAILED
) -> tuple[StageDecision, ...]:
    """The decisions of a step that asked for ``request``, as they are kept; of all of them together
    at most ``most_failed`` tests that rules failed, as a thousand rules would fill the journal."""
    kept: list[StageDecision] = []
    for decision in decisions:
        if decision.passing:
            # A rule left the outcome to later ones. A step lists its decision before this one,
            # which has it and its failed tests too: so it is kept once, as a part of this one.
            most_failed += len(kept.pop().failed)
        if decision.attempt is None:
            kept.append(_NOT_ASKED[decision.stage])
            continue
        kept.append(_kept(decision, decision.attempt, request, most_failed))
        most_failed -= len(kept[-1].failed)
    return tuple(kept)


def _kept(
    decision: Decision, attempt: Attempt, request: Mapping[str, object], most_failed: int
) -> StageDecision:
    """One decision, as it is kept. Rules of a step mostly see its own request, which the journal
    has; another, as of a row of a batch or of a webhook, is kept beside the decision."""
    # Fields by their places: it is done for every provider call of every step.
    # As a body is sent rules see none of it, and there is nothing of their own to keep.
    is_of_step = attempt.request is request or decision.stage is Stage.UPLOAD
    failed = decision.failed
    return StageDecision(
        decision.stage,
        decision.rules,
        attempt.op,
        attempt.also,
        attempt.now,
        attempt.source,
        attempt.provider,
        attempt.attempt,
        attempt.card,
        attempt.subject,
        attempt.row,
        attempt.bank_account,
        None if is_of_step else attempt.request,
        _firings(decision) if decision.fired is not None else (),
        tuple([_failed(rule, test) for rule, test in failed[:most_failed]]) if failed else (),
        max(len(failed) - most_failed, 0),
    )


def _firings(decision: Decision) -> tuple[Firing, ...]:
    """The rule that decided, and before it those that left the outcome to it."""
    firings: list[Firing] = []
    for fired in (*decision.passing, decision):
        if fired.rule is not None:
            firings.append(Firing(fired.rule, fired.choice, fired.delay, len(fired.failed)))
    return tuple(firings)


def _failed(rule: str, difference: Difference) -> FailedTest:
    """A difference as it is kept: what was got as a text, no longer than what is ever shown of it,
    and of what kind it was, as the words put a text in quotes and another value not."""
    got = difference.got
    if got is None:
        return FailedTest(rule, difference.field, difference.wanted, "", Got.NOTHING)
    if isinstance(got, Words):
        return FailedTest(rule, difference.field, difference.wanted, str(got), Got.WORDS)
    kind = Got.TEXT if isinstance(got, str) else Got.VALUE
    start = plain_text(got)[:LONGEST_LOOKED_AT]
    return FailedTest(rule, difference.field, difference.wanted, start, kind)


def attempt_of(
    decision: StageDecision,
    request: Mapping[str, object],
    headers: Mapping[str, str],
    call: int | None = None,
    connection: str | None = None,
) -> Attempt:
    """What the rules were asked with, by the request of the step: to say of each rule why it did
    not fire. What is stored, and which calls are under way, has changed since: it is as if there
    were none. The tests of these rules are of neither, as the index goes by nothing that
    changes."""
    said = decision.said
    if said is not None:
        # A webhook or a row of a batch came with no request of its own.
        request, headers = said, {}
    return Attempt(
        op=decision.op,
        now=decision.now,
        also=decision.also,
        source=decision.source,
        provider=decision.provider,
        attempt=decision.attempt,
        card=decision.card,
        request=request,
        headers=headers,
        subject=decision.subject,
        row=decision.row,
        bank_account=decision.bank_account,
        call=call,
        connection=connection,
    )


def reasons(
    decision: StageDecision,
    firing: Firing | None,
    rules: Ruleset,
    attempt: Callable[[], Attempt],
) -> list[tuple[str, str]]:
    """Rules that came before a ``firing`` of a decision, or before its end, each with the first
    test that it failed, in words. When other ``rules`` are in force by now, those that the index
    ruled out are not known any more."""
    failed = decision.failed
    if firing is not None:
        failed = failed[: firing.after]
    bucket = None
    if decision.rules == rules.id:
        bucket = rules.buckets[decision.stage, decision.op, decision.also]
    if bucket is None:
        return [(test.rule, str(test)) for test in failed]
    failed_by_rule = {test.rule: test for test in failed}
    # What rules were asked with is made when the first of them is found that needs it.
    asked_with: Attempt | None = None
    told: list[tuple[str, str]] = []
    for rule in bucket.rules:
        if firing is not None and rule.id == firing.rule:
            break
        if rule.id in failed_by_rule:
            told.append((rule.id, str(failed_by_rule[rule.id])))
            continue
        test = indexed_test(rule)
        if test is None:
            # It was asked, and is one of those of which no test is kept.
            continue
        if asked_with is None:
            asked_with = attempt()
        difference = test.difference(asked_with)
        if difference is None:
            # So the index let it through: again one of which no test is kept.
            continue
        told.append((rule.id, str(difference)))
    return told


def fired_in(decisions: Sequence[StageDecision]) -> list[str]:
    """The rules that fired in a step, in their order."""
    return [firing.rule for decision in decisions for firing in decision.fired]


def unnamed_before(decision: StageDecision, firing: Firing | None) -> int:
    """How many rules were asked in vain before a firing, or in all, of which no test is kept: who
    reads the reasons is told that there were more."""
    if firing is None:
        return decision.more
    return max(firing.after - len(decision.failed), 0)


def outcome_of(firing: Firing, rule: Rule, attempt: Callable[[], Attempt]) -> Outcome:
    """What a rule made happen when it fired: not kept, as it follows from the rule."""
    if isinstance(rule.plan, Named):
        outcome = named_outcome(rule.plan, attempt())
        if isinstance(outcome, Difference):
            # It has fired, so the request named one: that is not among what is kept of it.
            return NOTHING
        return outcome
    if firing.choice is None:
        # Of no step of its sequence: it fired because there was none left.
        return exhausted(rule)
    return rule.plan.outcomes[firing.choice - 1]
