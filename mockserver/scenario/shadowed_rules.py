"""Warnings of a valid file: rules that can never fire, and rules that an earlier one shadows.

A test under such a rule passes and has tested nothing. But what is certain of two tests is little:
a pattern may mean anything, and a rule that is spent leaves the call to later ones. So everything
here answers *as far as that can be known*, and in doubt there is no warning: one that is wrong
would be silenced, and those that are right with it. A rule shadows a later one when every call that
passes the tests of the later passes its own (``_all_imply``), and it then always decides.

Source: docs/scenario-language.md, When a rule is asked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from itertools import islice
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from mockserver.domain.clock import DAY, iso
from mockserver.domain.money import CURRENCIES
from mockserver.domain.provider import DEFAULT_PROVIDER_ID
from mockserver.domain.reading import snake
from mockserver.domain.record import record
from mockserver.scenario.batch_script import BatchScript
from mockserver.scenario.matching import ORDER, FieldTest, Range
from mockserver.scenario.operations import ABOUT_A_CHARGE, PROVIDER_OPERATIONS, STATE, TAKING
from mockserver.scenario.outcome import NOTHING, Outcome
from mockserver.scenario.rule import DRAW_BITS, Always, AtEnd, Chance, Named, Rule, Sequence
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.stored_fields import STORED
from mockserver.scenario.transport import FaultKind
from mockserver.scenario.values import excerpt
from mockserver.scenario.webhook_plan import WebhookPlan
from mockserver.scenario.when import Window

_MOST_PAIRS = 500_000
"""Pairs of rules that are compared, at most: a file of a thousand rules is looked at as a whole."""

_MOST_NAMED = 4

_Tests: TypeAlias = Mapping[str, FieldTest]


class _Bound(NamedTuple):
    """A bound of a test; ``beyond`` is 1 or -1 where the number itself does not pass: ``gt: 5``
    lies just above 5. Tuples compare as bounds do."""

    number: Decimal
    beyond: int = 0


_ENDLESS = Decimal("inf")
_LEAST: Mapping[str, int] = {"gt": 1, "above": 1, "gte": 0}
_MOST: Mapping[str, int] = {"lt": -1, "below": -1, "lte": 0}
"""Words that bound a number, with 1 or -1 where the number itself does not pass."""

_ORDER = frozenset(ORDER)
_FRAME = attrgetter("daily", "for_", "days", "month_days", "zone")
"""What spans of time of one kind have in common."""

_QUIET = frozenset({"latency", "webhook", "later"})
_COUNTED = frozenset({"nth", "call", "attempt"})
_PROVIDER_PATHS = frozenset({"provider", "request.providerId", "state.charge.provider"})
_AFTERWARDS = PROVIDER_OPERATIONS & ABOUT_A_CHARGE - TAKING
_MADE_BY: Mapping[str, frozenset[str]] = {
    **{kind: frozenset({f"{kind}.create"}) for kind in STORED},
    "charge": TAKING,
    "payment_method": frozenset({"payment_method.create", "customer.create"}),
}
"""Operations that make an object of a kind: rules are asked before it is there."""


@record
class Warned:
    """A rule of a file of which a part has no effect."""

    rule: Rule
    words: str

    def __str__(self) -> str:
        return f"{self.rule.file}:{self.rule.line}: warning: rule '{self.rule.id}' {self.words}"


def warnings(scenario: Scenario) -> list[Warned]:
    """Every rule of a file that never fires, or not where it seems to; one warning a rule."""
    by_rule: dict[str, Warned] = {}
    for rule in scenario.rules:
        words = next(_alone(scenario, rule), None)
        if words is not None:
            by_rule[rule.id] = Warned(rule, words)
    for first, later in islice(_pairs(scenario.rules), _MOST_PAIRS):
        if first.rule.stage is not later.rule.stage or _are_apart(first.tests, later.tests):
            continue
        words = _shadowed(first, later)
        if words is None:
            continue
        # A rule that never fires shadows none; one that is warned of already has its warning.
        if first.rule.id not in by_rule and later.rule.id not in by_rule:
            by_rule[later.rule.id] = Warned(later.rule, words)
    return list(by_rule.values())


@record
class _Seen:
    """A rule with what is asked of it in every pair. ``levels`` are what its outcomes say anything
    of."""

    rule: Rule
    tests: _Tests
    levels: frozenset[str]

    @staticmethod
    def of(rule: Rule) -> "_Seen":
        """A rule, looked at once for the thousand pairs in which it stands."""
        levels: set[str] = set()
        for outcome in rule.plan.outcomes:
            levels |= _levels(outcome)
        tests = {test.path: test for test in rule.when.tests}
        return _Seen(rule, tests, frozenset(levels))

    @property
    def quiet(self) -> str:
        """What it sets that says nothing of the answer of a provider or of the connection; empty
        when it says more. Such a rule seems to leave the answer to later ones, and does not."""
        if not self.levels <= _QUIET:
            return ""
        return " and ".join(sorted(self.levels))


def _pairs(rules: tuple[Rule, ...]) -> Iterator[tuple[_Seen, _Seen]]:
    """Each rule that may shadow others, with each that comes after it. Made one by one: of a long
    file only the first pairs are compared."""
    seen = [_Seen.of(rule) for rule in rules]
    for place, first in enumerate(seen):
        if _always_decides(first.rule):
            for later in seen[place + 1 :]:
                yield first, later


def _are_apart(own: _Tests, others: _Tests) -> bool:
    """Whether nothing passes the tests of both rules, as far as that can be known. It rules out
    most pairs at little cost."""
    for path, test in own.items():
        other = others.get(path)
        if other is not None and _excludes(test, other):
            return True
    return False


def _alone(scenario: Scenario, rule: Rule) -> Iterator[str]:
    """Why a rule never fires, whatever the others do: each reason that there is, of which the first
    is told."""
    when = rule.when
    for test in (*when.tests, when.nth, when.idle):
        if test is None:
            continue
        yield from _of_no_value(test)
        yield from _not_there_yet(test, rule.operations)
        yield from _in_small_letters(test)
        yield from _of_no_source(rule, test)
        yield from _of_no_provider(scenario, test)
    yield from _of_no_effect(rule)
    yield from _of_no_time(scenario, rule)
    yield from _of_too_few(rule)


def _of_no_value(test: FieldTest) -> Iterator[str]:
    """Its bounds exclude each other."""
    operands = test.operands
    if test.path in _COUNTED:
        # Calls are counted from 1.
        operands = {"gte": Decimal(1), **operands}
    lowest, highest = _range(operands)
    if lowest > highest:
        yield f"never fires: no value passes its test of {test.path}"


def _of_no_source(rule: Rule, test: FieldTest) -> Iterator[str]:
    """What acts on a charge has the source ``charge``, whatever the charge was made of."""
    if test.path != "source" or test.holds("charge"):
        return
    if rule.operations <= _AFTERWARDS:
        yield (
            f"never fires: {_named(rule.operations)} acts on a charge that exists already, "
            "whatever its source"
        )


def _of_no_provider(scenario: Scenario, test: FieldTest) -> Iterator[str]:
    """It names none of the providers that there are when the file's sandbox opens."""
    if test.path not in _PROVIDER_PATHS or not test.equals:
        return
    known = {DEFAULT_PROVIDER_ID, *(provider.id for provider in scenario.said.providers)}
    if test.equals.isdisjoint(known):
        wanted = " or ".join(sorted(map(excerpt, test.equals)))
        there = ", ".join(sorted(known))
        yield (
            f"fires only for a provider created later: {wanted} is not in this file, which has "
            f"{there}"
        )


def _of_no_effect(rule: Rule) -> Iterator[str]:
    """Its one outcome is the default."""
    if not isinstance(rule.plan, Always):
        return
    word = _without_effect(rule.plan.outcomes[0])
    if word is not None:
        yield f"changes nothing by its {word}, which only says what is the default"


def _of_no_time(scenario: Scenario, rule: Rule) -> Iterator[str]:
    """Its time is over when the file's clock starts."""
    window, clock = rule.when.window, scenario.clock
    if window is None or window.end is None or window.daily:
        # Without an end, or with one of each day, it is never over.
        return
    if clock is None or clock.start is None:
        return
    if window.end <= clock.start:
        yield (
            f"never fires: its time ends at {iso(window.end)}, and the clock starts at "
            f"{iso(clock.start)}"
        )


def _of_too_few(rule: Rule) -> Iterator[str]:
    """It is expected more often than its limit lets it fire."""
    if rule.expect is None or rule.limit is None or rule.per is not None:
        # A limit for each key is another field, and one for each period says nothing of all.
        return
    least = rule.expect.least
    if least > rule.limit:
        yield (
            f"cannot fire as often as it is expected to: {least} times, with a limit of "
            f"{rule.limit}"
        )


def _not_there_yet(test: FieldTest, operations: frozenset[str]) -> Iterator[str]:
    """Whether a test wants something of an object that the operations make: rules are asked before
    that is there."""
    group, _, rest = test.path.partition(".")
    if group != "state" or test.holds(None):
        return
    kind = snake(rest.partition(".")[0])
    others = operations - _MADE_BY[kind]
    is_there = any(kind in STATE[op] for op in others)
    if not is_there:
        words = f"no {kind.replace('_', ' ')} exists yet, so {test.path} has no value"
        yield f"never fires: in {_named(operations)} {words}"


def _in_small_letters(test: FieldTest) -> Iterator[str]:
    """Whether a test wants a currency otherwise than the service writes it: one in small letters
    is taken from clients, and stored in capitals."""
    if not test.path.endswith(".currency"):
        return
    for wanted in test.equals or ():
        if not isinstance(wanted, str):
            continue
        code = wanted.upper()
        if code not in CURRENCIES or wanted == code:
            continue
        if test.path.startswith("state."):
            yield f"never fires: a stored currency is written {code}, not {wanted}"
        else:
            yield (
                f"fires only for clients that write '{wanted}': texts are compared letter by "
                f"letter, and most write {code}"
            )


def _without_effect(outcome: Outcome) -> str | None:
    """What of an outcome is the default, and so has no effect: its author has left out what it was
    to say."""
    fault, webhook = outcome.transport, outcome.webhook
    if fault is not None and fault.kind is FaultKind.DELAY and not fault.delay:
        return "transport"
    if webhook is not None and webhook.copies == 1:
        # There is nothing between a single one.
        webhook = replace(webhook, gap=0)
    if webhook == WebhookPlan():
        return "webhook"
    if outcome.batch == BatchScript():
        return "batch"
    return None


def _range(operands: Mapping[str, object]) -> tuple[_Bound, _Bound]:
    """The tightest bounds of a test, which may have several."""
    lowest, highest = _Bound(-_ENDLESS), _Bound(_ENDLESS)
    between = operands.get("between")
    if isinstance(between, Range):
        lowest, highest = _Bound(between.low), _Bound(between.high)
    for word, beyond in _LEAST.items():
        least = operands.get(word)
        if isinstance(least, Decimal):
            lowest = max(lowest, _Bound(least, beyond))
    for word, beyond in _MOST.items():
        most = operands.get(word)
        if isinstance(most, Decimal):
            highest = min(highest, _Bound(most, beyond))
    return lowest, highest


def _shadowed(first: _Seen, later: _Seen) -> str | None:
    """Why a rule is not asked where it seems to be: an earlier one decides there."""
    rule, other = first.rule, later.rule
    both = rule.operations & other.operations
    if not both:
        return None
    is_within = _is_within(other.when.window, rule.when.window)
    if is_within and _all_imply(later.tests, first.tests):
        if both == other.operations:
            return f"never fires: {_decides(first)}"
        return f"never fires in {_named(both)}: {_decides(first)}"
    # Who says only how webhooks go, and says more of the same calls in a later rule, takes both to
    # happen; but the first rule that matches decides.
    later_says_more = not later.levels <= _QUIET
    if first.quiet and later_says_more and rule.when.window is None:
        return f"is not asked wherever both match: {_decides(first)}"
    return None


def _all_imply(tests: _Tests, wanted: _Tests) -> bool:
    """Whether whatever passes some tests passes all that are wanted."""
    for path, wanted_test in wanted.items():
        test = tests.get(path)
        if test is None or not _implies(test, wanted_test):
            return False
    return True


def _decides(first: _Seen) -> str:
    """That an earlier rule decides, and what to do about it."""
    words = f"rule '{first.rule.id}' (line {first.rule.line}) decides first"
    if first.quiet:
        words += f", which only sets {first.quiet}: say both in one rule"
    return words


def _always_decides(rule: Rule) -> bool:
    """Whether every call that meets the tests of a rule, within its time, ends there: none is left
    to later rules because the rule waits, is spent, or does not strike."""
    waits = rule.when.nth is not None or rule.when.idle is not None
    ends = any(bound is not None for bound in (rule.limit, rule.limit_by_key, rule.lives))
    if waits or ends or rule.only_slows:
        return False
    match rule.plan:
        case Always():
            return True
        case Sequence():
            return rule.plan.at_end is not AtEnd.PASS
        case Chance():
            # Weights always strike one; a probability may be 1.
            return rule.plan.thresholds[-1] >= 1 << DRAW_BITS
        case Named():
            # A request that names no outcome is left to later rules.
            return False


def _implies(own: FieldTest, wanted: FieldTest) -> bool:
    """Whether whatever passes ``own`` passes ``wanted``, a test of the same field."""
    if own == wanted:
        return True
    if own.equals is not None:
        return all(wanted.holds(value) for value in own.equals)
    if wanted.wants_presence:
        # Whatever does not pass without a value has one.
        return not own.holds(None)
    return all(_follows(own.operands, word, operand) for word, operand in wanted.operands.items())


def _is_within(own: Window | None, wanted: Window | None) -> bool:
    """Whether an instant within one span of time is within the other, as far as that can be
    known."""
    if wanted is None or own == wanted:
        return True
    if own is None or not own.daily or own.for_ is not None:
        # Where a length of time begins, or an instant lies among days, is not looked at.
        return False
    if _FRAME(own) != _FRAME(wanted):
        return False
    # Times of day of the same days and zone. Neither goes over midnight: the start comes first.
    start, end = own.start or 0, own.end or DAY
    wanted_start, wanted_end = wanted.start or 0, wanted.end or DAY
    return wanted_start <= start < end <= wanted_end


def _follows(operands: Mapping[str, object], word: str, wanted: object) -> bool:
    """Whether what passes a test with some operands passes one operator, as far as that can be
    known from the operators: a test that names its values was judged before, by trying them."""
    if word == "starts_with":
        # What begins with 4111 begins with 41.
        return str(operands.get(word, "")).startswith(str(wanted))
    if word == "ends_with":
        return str(operands.get(word, "")).endswith(str(wanted))
    if word not in ORDER:
        # What a pattern, or a part of a text, says of another is not known.
        return False
    least, most = _range(operands)
    lowest, highest = _range({word: wanted})
    return least >= lowest and most <= highest


def _excludes(test: FieldTest, other: FieldTest) -> bool:
    """Whether no value passes both tests of a field, as far as that can be known."""
    if test.equals is not None and other.equals is not None:
        return test.equals.isdisjoint(other.equals)
    have_bounds = not (_ORDER.isdisjoint(test.operands) or _ORDER.isdisjoint(other.operands))
    if have_bounds:
        low, high = _range(test.operands)
        other_low, other_high = _range(other.operands)
        if max(low, other_low) > min(high, other_high):
            return True
    if test.equals is not None:
        return not any(other.holds(value) for value in test.equals)
    if other.equals is not None:
        return not any(test.holds(value) for value in other.equals)
    return False


def _levels(outcome: Outcome) -> set[str]:
    """The levels of an operation's life of which an outcome says anything."""
    levels: set[str] = set()
    for level in fields(outcome):
        if getattr(outcome, level.name) != getattr(NOTHING, level.name):
            levels.add(level.name)
    return levels


def _named(operations: frozenset[str]) -> str:
    """Some operations as a warning names them: of many the first."""
    names = sorted(operations)
    words = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        words += " ..."
    return words
