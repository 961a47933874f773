"""Gives a rule of a file its meaning: operations, stage, tests of ``when``, key, plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from itertools import accumulate

from mockserver.domain.cards import TEST_CARDS, Brand
from mockserver.domain.clock import DAY, UTC_ZONE, Micros, Zone, duration_text
from mockserver.domain.errors import nearest
from mockserver.domain.ids import digest
from mockserver.domain.provider import DEFAULT_PROVIDER_ID
from mockserver.domain.reading import whole_of
from mockserver.domain.record import record
from mockserver.scenario.attempt import Stage
from mockserver.scenario.matching import FieldTest, Reader, compile_test, known_operators, shown
from mockserver.scenario.model import PLANS, ChanceOne, ClockWindow, RuleMap
from mockserver.scenario.operations import (
    ABOUT_ONE,
    ALL_OPERATIONS,
    CONNECTION,
    OPERATIONS,
    PROVIDER_OPERATIONS,
    SOURCES,
    UNREQUESTED,
    operations_like,
)
from mockserver.scenario.outcome import Outcome, ThenMap, fitting
from mockserver.scenario.outcome_catalogue import CATALOGUE
from mockserver.scenario.part import read_part
from mockserver.scenario.paths import CARD_FACTS, DAY_OF_CLOCK, day_reader, known_path
from mockserver.scenario.problems import Path, Problems
from mockserver.scenario.provider_outcome import BY_NAME
from mockserver.scenario.rule import (
    Always,
    AtEnd,
    Chance,
    Draws,
    Expectation,
    Named,
    Plan,
    Rule,
    Sequence,
    Window,
    outcomes_of,
    thresholds,
)
from mockserver.scenario.transport import At, FaultKind

_PLAIN_KEYS = ("op", "source", "provider", "card", "bank_account.accountNumber", "attempt", "call", "nth", "clock")
_PREFIXES = ("request.", "state.", "header.")
_MOST_BIN_DIGITS = 6


@record
class When:
    """What must hold: tests of the attempt, of how often its key was seen, and a span of time."""

    tests: tuple[FieldTest, ...]
    nth: FieldTest | None
    window: Window | None


def compile_when(
    when: Mapping[str, object],
    path: Path,
    problems: Problems,
    operations: frozenset[str],
    *,
    begins: Micros | None = None,
    declared: frozenset[str] = frozenset(),
    zone: Zone = UTC_ZONE,
) -> When:
    """The meaning of ``when`` in some operations, ``op`` apart; its faults go to ``problems``."""
    tests = tests_of(when, path, problems, operations or ALL_OPERATIONS, declared)
    nth = None
    if "nth" in when:
        with problems.at(*path, "nth"):
            known_operators(when["nth"])
            _counted(when["nth"])
            nth = compile_test("nth", when["nth"])
    window = window_of(when["clock"], (*path, "clock"), problems, begins, zone) if "clock" in when else None
    return When(tests, nth, window)


def operations_of(wanted: object, path: Path, problems: Problems) -> frozenset[str]:
    """The operations that ``op`` names, all of them when it is absent."""
    if wanted is None:
        return ALL_OPERATIONS
    found: frozenset[str] = frozenset()
    for pattern in _patterns(wanted):
        with problems.at(*path):
            if not isinstance(pattern, str):
                raise ValueError(f"got {shown(pattern)}, wanted an operation's name or a glob such as charge.*")
            found |= operations_like(pattern)
    return found


def named_in(wanted: object) -> frozenset[str]:
    """The operations that ``op`` names in full, not by a glob."""
    return frozenset(pattern for pattern in _patterns(wanted) if isinstance(pattern, str) and pattern in OPERATIONS)


def _patterns(wanted: object) -> list[object]:
    return wanted if isinstance(wanted, list) and wanted else [wanted]


def is_test(key: str) -> bool:
    """Whether a key of ``when`` is known."""
    return key in _PLAIN_KEYS or key.startswith(_PREFIXES)


def tests_of(
    when: Mapping[str, object],
    path: Path,
    problems: Problems,
    operations: frozenset[str],
    declared: frozenset[str],
) -> tuple[FieldTest, ...]:
    """The tests of ``when``, ``op``, ``nth`` and ``clock`` apart, as they are made in some operations."""
    tests: list[FieldTest] = []
    for key, wanted in when.items():
        with problems.at(*path, key):
            if key in ("op", "nth", "clock"):
                continue
            if key == "card":
                tests += _card_tests(wanted, (*path, key), problems)
                continue
            if not is_test(key):
                keys = [*_PLAIN_KEYS, "request.<path>", "state.<path>", "header.<name>"]
                raise ValueError(f"unknown key '{key[:60]}'{nearest(key, keys) or ', allowed: ' + ', '.join(keys)}")
            known_operators(wanted)
            if key == "source":
                _among(wanted, SOURCES)
            if key in ("attempt", "call"):
                _counted(wanted)
            if key == "provider" and declared:
                _declared(wanted, declared)
            known = known_path(key, operations)
            tests.append(compile_test(key, known.kind.wanted(wanted), known.read))
    return tuple(tests)


def _wanted_values(wanted: object) -> list[object]:
    if not isinstance(wanted, dict):
        return [wanted]
    values: list[object] = []
    for word, operand in wanted.items():
        if word in ("eq", "ne"):
            values.append(operand)
        elif word == "in" and isinstance(operand, list):
            values += operand
    return values


def _among(wanted: object, allowed: tuple[str, ...]) -> None:
    for value in _wanted_values(wanted):
        if value not in allowed:
            raise ValueError(f"got {shown(value)}, allowed: {', '.join(allowed)}{nearest(str(value), allowed)}")


def _counted(wanted: object) -> None:
    """Requests, calls and attempts count from 1: nothing else can ever be equal to them."""
    for value in _wanted_values(wanted):
        if whole_of(value, 1) is None:
            raise ValueError(f"got {shown(value)}, wanted a whole number from 1 on")


def _declared(wanted: object, declared: frozenset[str]) -> None:
    for value in _wanted_values(wanted):
        hint = nearest(str(value), declared)
        if value not in declared and value != DEFAULT_PROVIDER_ID and hint:
            raise ValueError(f"got {shown(value)}, which is not a provider of this file{hint}")


def _card_tests(wanted: object, path: Path, problems: Problems) -> list[FieldTest]:
    if not isinstance(wanted, dict) or not wanted:
        raise ValueError(f"got {shown(wanted) if wanted else 'nothing'}, wanted a map of {', '.join(CARD_FACTS)}")
    tests = []
    for fact, value in wanted.items():
        with problems.at(*path, fact):
            if fact not in CARD_FACTS:
                hint = nearest(fact, CARD_FACTS) or f", allowed: {', '.join(CARD_FACTS)} (never a full number)"
                raise ValueError(f"unknown key '{fact[:60]}'{hint}")
            known_operators(value)
            name = f"card.{fact}"
            match fact:
                case "brand":
                    value = _upper(value)
                    _among(value, tuple(Brand))
                case "test":
                    _among(value, tuple(TEST_CARDS))
                case "bin":
                    value = _bin(value)
                case _:
                    value = _digits(value, 4, whole=True)
            tests.append(compile_test(name, value, known_path(name).read))
    return tests


def _upper(wanted: object) -> object:
    match wanted:
        case dict():
            return {word: _upper(operand) for word, operand in wanted.items()}
        case list():
            return [_upper(one) for one in wanted]
        case str():
            return wanted.upper()
        case _:
            return wanted


def _digits(wanted: object, most: int, *, whole: bool) -> object:
    """The digits of a test of leading or last ones; ``whole`` when fewer than ``most`` cannot be equal to them."""
    match wanted:
        case dict():
            return {
                word: operand if word in ("exists", "matches") else _digits(operand, most, whole="with" not in word)
                for word, operand in wanted.items()
            }
        case list():
            return [_digits(one, most, whole=whole) for one in wanted]
        case _:
            text = "" if isinstance(wanted, bool) or wanted is None else str(wanted)
            if not text.isascii() or not text.isdecimal() or len(text) > most or (whole and len(text) < most):
                allowed = f"{most} digits" if whole else f"1 to {most} digits"
                raise ValueError(f"got {shown(wanted)}, wanted {allowed} (never a full number)")
            return text


def _bin(wanted: object) -> object:
    """Fewer leading digits than are kept of a card mean a beginning."""
    if isinstance(wanted, dict):
        return _digits(wanted, _MOST_BIN_DIGITS, whole=True)
    text = _digits(wanted, _MOST_BIN_DIGITS, whole=False)
    return text if len(str(text)) == _MOST_BIN_DIGITS else {"starts_with": text}


def window_of(
    wanted: object, path: Path, problems: Problems, begins: Micros | None, zone: Zone = UTC_ZONE
) -> Window | None:
    """The span of time that ``clock`` means, or None when ``problems`` got a fault of it."""
    from pydantic_core import ValidationError

    try:
        model = read_part(ClockWindow, wanted)
    except ValidationError as refused:
        for fault in refused.errors(include_url=False):
            words = str(fault.get("ctx", {}).get("error") or fault["msg"])
            problems.add((*path, *fault["loc"]), words)
        return None
    window = None
    with problems.at(*path):
        points = [point for point in (model.from_, model.to) if point is not None]
        if not points and model.for_ is None:
            raise ValueError("got nothing, wanted at least one of from, to, for")
        if model.to is not None and model.for_ is not None:
            raise ValueError("got to and for, only one of them is allowed")
        if len({daily for _, daily in points}) > 1:
            raise ValueError("got a time of day and a date-time, wanted both bounds of one kind")
        daily = bool(points) and points[0][1]
        start = model.from_[0] if model.from_ is not None else None
        end = model.to[0] if model.to is not None else None
        if not daily and start is not None and end is not None and end <= start:
            raise ValueError("got an end that is not after the start")
        if daily and end is not None and end == (start or 0):
            raise ValueError("got an end that is the start: no time of day lies between them")
        if model.for_ == 0 or (daily and model.for_ is not None and model.for_ > DAY):
            most = ", and at most 24h after a time of day, which comes every day" if daily else ""
            raise ValueError(f"got for: {duration_text(model.for_)}, wanted more than 0{most}")
        window = Window(start, end, model.for_, daily, begins, zone)
    return window


NAMED_OUTCOMES = {name: Outcome(provider=row.provider) for name, row in CATALOGUE.items()}
"""What a request can name: every row of the catalogue."""

_NEED_PROVIDER = ("provider", "attempt", "source", "card", "bank_account.", "batch.row")
_KNOWN_EARLY = ("op", "nth", "clock")
_DELIVERY = frozenset({"webhook.deliver"})
_ASKED_WITH_PROVIDER = UNREQUESTED - _DELIVERY
"""Operations whose rules are all asked as the provider is: nothing arrives before."""


def compile_rule(
    model: RuleMap,
    raw: object,
    path: Path,
    problems: Problems,
    *,
    begins: Micros | None,
    declared: frozenset[str] = frozenset(),
    draws: Draws = Draws.SANDBOX,
    zone: Zone = UTC_ZONE,
) -> Rule | None:
    """A rule from a model of sound shape, or None when ``problems`` got a fault of it."""
    before = len(problems.found)
    operations = operations_of(model.when.get("op"), (*path, "when", "op"), problems)
    plan = _plan(model, operations, path, problems)
    stage = Stage.ARRIVAL
    if plan is not None and len(problems.found) == before:
        stage, operations = _placed(model, plan, operations, path, problems)
    when = compile_when(model.when, (*path, "when"), problems, operations, begins=begins, declared=declared, zone=zone)
    key = _key(model, operations or ALL_OPERATIONS, path, problems, zone)
    if key is None and stage is Stage.ARRIVAL and not operations <= ABOUT_ONE:
        key = ()
    if model.per is not None and model.limit is None and model.sequence is None and "nth" not in model.when:
        problems.add((*path, "per"), "per resets nothing here: it needs nth, a sequence or a limit")
    expect = _expectation(model, path, problems)
    if len(problems.found) > before or plan is None:
        return None
    return Rule(
        id=model.id,
        file=problems.file,
        line=problems.place(path)[0],
        text=digest(json.dumps(raw, sort_keys=True, default=str)).hex(),
        stage=stage,
        operations=operations,
        tests=when.tests,
        plan=plan,
        nth=when.nth,
        window=when.window,
        key=key,
        limit=model.limit.times if model.limit is not None else None,
        limit_by_key=model.limit is not None and model.limit.per is not None,
        per=model.per,
        zone=zone,
        lives=model.for_,
        expect=expect,
        draws=draws,
    )


def _key(
    model: RuleMap, operations: frozenset[str], path: Path, problems: Problems, zone: Zone
) -> tuple[Reader, ...] | None:
    if model.key is None:
        return None
    readers = []
    for index, part in enumerate(model.key):
        with problems.at(*path, "key", index):
            day = part == DAY_OF_CLOCK
            readers.append(day_reader(zone) if day else known_path(part, operations).read)
    return tuple(readers)


def _plan(model: RuleMap, operations: frozenset[str], path: Path, problems: Problems) -> Plan | None:
    found = [word for word in PLANS if getattr(model, word) is not None]
    if len(found) != 1:
        problems.add(path, f"got {' and '.join(found) or 'none'}, wanted exactly one of {', '.join(PLANS)}")
        return None
    if model.at_end is not None and model.sequence is None:
        problems.add((*path, "at_end"), "got at_end without a sequence")
    if model.then is not None:
        return _then(model.then, operations, (*path, "then"), problems)
    if model.sequence is not None:
        ends = tuple(accumulate(step.times for step in model.sequence))
        return Sequence(tuple(step.outcome for step in model.sequence), ends, model.at_end or AtEnd.PASS)
    match model.chance:
        case ChanceOne() as one:
            return Chance((one.then.outcome,), thresholds([one.p], Decimal(1)))
        case list() as weighted:
            weights = [one.weight for one in weighted]
            outcomes = tuple(one.then.outcome for one in weighted)
            return Chance(outcomes, thresholds(weights, sum(weights, Decimal(0))))
        case _:
            return None


def _then(model: ThenMap, operations: frozenset[str], path: Path, problems: Problems) -> Plan | None:
    if model.outcome_from is None:
        return Always(model.outcome)
    named = None
    with problems.at(*path, "outcome_from"):
        if model != ThenMap(outcome_from=model.outcome_from):
            raise ValueError("outcome_from names the whole outcome: it cannot be combined with anything else")
        if not model.outcome_from.startswith(("request.", "header.")):
            raise ValueError(f"got '{model.outcome_from}', wanted request.<path> or header.<name>")
        named = Named(model.outcome_from, known_path(model.outcome_from, operations).read, NAMED_OUTCOMES)
    return named


def _placed(
    model: RuleMap, plan: Plan, operations: frozenset[str], path: Path, problems: Problems
) -> tuple[Stage, frozenset[str]]:
    """When the rule is asked, and in which operations: those in which all that it looks at and makes happen has a
    place. A fault where none is left, or one that ``op`` names in full is not among them."""
    if any(_strikes(At.CONNECT, one) for one in outcomes_of(plan)):
        _check_connect(model, plan, path, problems)
        return Stage.CONNECT, frozenset({CONNECTION})
    looks = [key for key in (*model.when, *(model.key or ())) if key.startswith(_NEED_PROVIDER)]
    fits = [(key, PROVIDER_OPERATIONS) for key in looks]
    if isinstance(plan, Named):
        fits.append(("outcome_from", PROVIDER_OPERATIONS))
    else:
        fits += [fit for outcome in outcomes_of(plan) for fit in fitting(outcome)]
    asks = looks or any(one.provider is not None or one.latency is not None for one in outcomes_of(plan))
    if not asks and not operations <= _ASKED_WITH_PROVIDER:
        fits.append(("a rule that looks at no provider", ALL_OPERATIONS - _ASKED_WITH_PROVIDER))
    if any(one.replay for one in outcomes_of(plan)):
        _check_replay(model, plan, asks, path, problems)
    exact = named_in(model.when.get("op"))
    left = operations
    for word, everywhere in fits:
        fit = everywhere - (BY_NAME.get(word, frozenset()) - exact)
        lost = exact - fit if left & fit else left
        if lost:
            problems.add((*path, "when", "op"), _misfit(word, lost, everywhere))
            return Stage.ARRIVAL, operations
        left &= fit
    if any(_strikes(At.UPLOAD, one) for one in outcomes_of(plan)):
        _check_upload(model, plan, path, problems)
        return Stage.UPLOAD, left
    return Stage.PROVIDER if asks or left <= _ASKED_WITH_PROVIDER else Stage.ARRIVAL, left


def _strikes(at: At, outcome: Outcome) -> bool:
    return outcome.transport is not None and outcome.transport.at is at


def _is_all(at: At, plan: Plan) -> bool:
    """Whether a plan does nothing besides faults at one place."""
    return all(_strikes(at, one) and one == Outcome(transport=one.transport) for one in outcomes_of(plan))


def _check_connect(model: RuleMap, plan: Plan, path: Path, problems: Problems) -> None:
    """When a connection is made, neither its sandbox nor the request is known."""
    for key in model.when:
        if key != "nth":
            words = (
                f"got {key}, and no request and no sandbox is known when a connection is made: only nth can be tested"
            )
            problems.add((*path, "when"), words)
    for word in ("key", "per", "for_", "expect"):
        if getattr(model, word, None) is not None:
            name = word.rstrip("_")
            problems.add(path, f"{name} has no meaning at: connect: no request and no sandbox time is known")
    if model.limit is None or model.limit.per is not None:
        why = "at: connect needs a limit, a number: without one no client of any API could ever connect"
        problems.add(path, why)
    if not _is_all(At.CONNECT, plan):
        problems.add(path, "a fault at: connect comes before any request: it cannot be combined with anything else")


def _check_upload(model: RuleMap, plan: Plan, path: Path, problems: Problems) -> None:
    """While a body is sent only the head of the request is known."""
    for part, keys in (("when", list(model.when)), ("key", model.key or [])):
        for key in keys:
            if key not in _KNOWN_EARLY and not key.startswith("header."):
                known = ", ".join(_KNOWN_EARLY)
                problems.add(
                    (*path, part), f"got {key}, and at: upload only the head has come: it knows {known}, header.<name>"
                )
    if not _is_all(At.UPLOAD, plan):
        problems.add(
            path, "a fault at: upload ends or slows the request itself: it cannot be combined with anything else"
        )


def _check_replay(model: RuleMap, plan: Plan, asks: object, path: Path, problems: Problems) -> None:
    """The first answer is looked for as a request arrives, by a key that it has then; it is that of the first firing,
    so there must be one and more after it."""
    nth = model.when.get("nth")
    fires_once = [
        *(["limit: 1"] if model.limit is not None and model.limit.times == 1 else []),
        *([f"nth: {nth}"] if isinstance(nth, int) else []),
        *(["a sequence with one step of it"] if _replays_once(plan) else []),
    ]
    if fires_once:
        why = "it repeats the answer of its first firing, and fires once"
        problems.add(path, f"got replay with {fires_once[0]}: {why}")
    for one in outcomes_of(plan):
        fault = one.transport
        if one.replay and fault is not None and fault.at is At.RECEIVE and fault.kind is not FaultKind.DELAY:
            problems.add(
                path, "got replay with a fault at: receive: nothing happens, so there is no first answer to repeat"
            )
    if model.key is None:
        problems.add(path, "replay needs a key that says which calls are the same, such as key: [request.reference]")
    if asks:
        problems.add(
            path, "replay answers before a provider is asked: tests and outcomes of a provider cannot be used with it"
        )


def _replays_once(plan: Plan) -> bool:
    """Whether a sequence comes to a replay a single time."""
    if not isinstance(plan, Sequence) or plan.at_end in (AtEnd.HOLD, AtEnd.LOOP):
        return False
    steps = zip(plan.outcomes, (0, *plan.ends), plan.ends, strict=False)
    return sum(end - start for outcome, start, end in steps if outcome.replay) == 1


def _misfit(word: str, lost: frozenset[str], fit: frozenset[str]) -> str:
    named = " and ".join(sorted(lost))
    if word == "batch":
        return "batch scripts a whole batch: use op: batch.create, and rows for its rows"
    if lost == _DELIVERY:
        return "a delivery takes only webhook outcomes, such as webhook: {receiver: [500, 200]}"
    if word == "transport":
        return f"no request comes in for {named}, so transport cannot be used there"
    if fit == PROVIDER_OPERATIONS:
        return f"no provider is asked in {named}, so {word} cannot be used there; it fits {', '.join(sorted(fit))}"
    return f"{word} means nothing in {named}; it fits {', '.join(sorted(fit))}"


def _expectation(model: RuleMap, path: Path, problems: Problems) -> Expectation | None:
    if model.expect is None:
        return None
    least, most = model.expect.min, model.expect.max
    if least is None:
        least = 0 if most is not None else 1
    if most is not None and most < least:
        problems.add((*path, "expect"), f"got min {least} and max {most}, wanted the smaller first")
    return Expectation(least, most)
