"""Gives a rule of a file its meaning: operations, stage, tests, key, plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal

from mockserver.domain.cards import TEST_CARDS, Brand
from mockserver.domain.clock import DAY, Micros, duration_text
from mockserver.domain.errors import nearest
from mockserver.domain.ids import digest
from mockserver.domain.provider import DEFAULT_PROVIDER_ID
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.catalogue import CATALOGUE
from mockserver.scenario.compile_outcome import compile_outcome
from mockserver.scenario.matching import FieldTest, Reader, compile_test, known_operators, shown, spelt
from mockserver.scenario.model import ChanceOne, ClockWindow, RuleMap
from mockserver.scenario.operations import ALL_OPERATIONS, PROVIDER_OPERATIONS, SOURCES, operations_like
from mockserver.scenario.outcome import NOTHING, Outcome
from mockserver.scenario.outcome_model import OutcomeMap, ThenMap
from mockserver.scenario.paths import CARD_FACTS, reader
from mockserver.scenario.problems import Path, Problems
from mockserver.scenario.rule import Always, AtEnd, Chance, Expectation, Named, Plan, Rule, Sequence, Window, thresholds

NAMED_OUTCOMES = {name: Outcome(provider=row.provider) for name, row in CATALOGUE.items()}
"""What a request can name: every row of the catalogue."""

_PLAIN_KEYS = ("op", "source", "provider", "card", "bank_account.accountNumber", "attempt", "nth", "clock")
_PREFIXES = ("request.", "state.", "header.")
_PLANS = ("then", "sequence", "chance")
_NEED_PROVIDER = ("provider", "attempt", "card.", "bank_account.")
_MOST_BIN_DIGITS = 6
_WEBHOOK_ONLY = frozenset({"webhook.deliver"})
_NO_REQUEST = frozenset({"batch.row", "subscription.renew"})


def compile_rule(
    model: RuleMap,
    raw: object,
    path: Path,
    problems: Problems,
    *,
    begins: Micros | None,
    declared: frozenset[str] = frozenset(),
) -> Rule | None:
    """A rule from a model of sound shape, or None when ``problems`` got a fault of it."""
    before = len(problems.found)
    operations = operations_of(model.when.get("op"), (*path, "when", "op"), problems)
    tests = tests_of(model.when, (*path, "when"), problems, declared)
    nth = None
    if "nth" in model.when:
        with problems.at(*path, "when", "nth"):
            known_operators(model.when["nth"])
            _counted(model.when["nth"])
            nth = compile_test("nth", _unread, model.when["nth"])
    window = None
    if "clock" in model.when:
        window = window_of(model.when["clock"], (*path, "when", "clock"), problems, begins)
    key = _key(model, path, problems)
    plan = _plan(model, path, problems)
    if len(problems.found) > before or plan is None:
        return None
    paths = [*(test.path for test in tests), *(model.key or [])]
    stage = (
        Stage.PROVIDER
        if _asks_provider(plan) or any(one.startswith(_NEED_PROVIDER) for one in paths)
        else Stage.ARRIVAL
    )
    if stage is Stage.PROVIDER:
        operations = _narrowed(operations, path, problems)
    if operations:
        _fits(plan, operations, path, problems)
    if len(problems.found) > before:
        return None
    return Rule(
        id=model.id,
        file=problems.file,
        line=problems.place(path)[0],
        text=digest(json.dumps(raw, sort_keys=True, default=str)).hex(),
        stage=stage,
        operations=operations,
        tests=tests,
        plan=plan,
        nth=nth,
        window=window,
        key=key,
        limit=model.limit,
        lives=model.for_,
        expect=_expectation(model, path, problems),
    )


def _unread(attempt: Attempt) -> object:
    return None


def operations_of(wanted: object, path: Path, problems: Problems) -> frozenset[str]:
    """The operations that ``op`` names, all of them when it is absent."""
    if wanted is None:
        return ALL_OPERATIONS
    found: frozenset[str] = frozenset()
    for pattern in wanted if isinstance(wanted, list) and wanted else [wanted]:
        with problems.at(*path):
            if not isinstance(pattern, str):
                raise ValueError(f"got {shown(pattern)}, wanted an operation's name or a glob such as charge.*")
            found |= operations_like(pattern)
    return found


def tests_of(
    when: Mapping[str, object], path: Path, problems: Problems, declared: frozenset[str]
) -> tuple[FieldTest, ...]:
    """The tests of ``when``, ``op``, ``nth`` and ``clock`` apart."""
    tests: list[FieldTest] = []
    for key, wanted in when.items():
        with problems.at(*path, key):
            if key in ("op", "nth", "clock"):
                continue
            if key == "card":
                tests += _card_tests(wanted, (*path, key), problems)
                continue
            if key not in _PLAIN_KEYS and not key.startswith(_PREFIXES):
                known = [*_PLAIN_KEYS, "request.<path>", "state.<path>", "header.<name>"]
                raise ValueError(f"unknown key '{key[:60]}'{nearest(key, known) or ', allowed: ' + ', '.join(known)}")
            known_operators(wanted)
            if key == "source":
                _among(wanted, SOURCES)
            if key == "attempt":
                _counted(wanted)
            if key == "provider" and declared:
                _declared(wanted, declared)
            if key.startswith("state.") and key.endswith("charge.status"):
                wanted = spelt(wanted)
            tests.append(compile_test(key, reader(key), wanted))
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
    """Calls and attempts count from 1: nothing else can ever be equal to them."""
    for value in _wanted_values(wanted):
        text = str(value)
        if not text.isascii() or not text.isdecimal() or int(text) < 1:
            raise ValueError(f"got {shown(value)}, wanted a whole number from 1 on")


def _declared(wanted: object, declared: frozenset[str]) -> None:
    for value in _wanted_values(wanted):
        hint = nearest(str(value), declared)
        if value not in declared and value != DEFAULT_PROVIDER_ID and hint:
            raise ValueError(f"got {shown(value)}, which is no provider of this file{hint}")


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
            tests.append(compile_test(name, reader(name), value))
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


def window_of(wanted: object, path: Path, problems: Problems, begins: Micros | None) -> Window | None:
    """The span of time that ``clock`` means, or None when ``problems`` got a fault of it."""
    from pydantic import ValidationError

    try:
        model = ClockWindow.model_validate(wanted)
    except ValidationError as refused:
        for fault in refused.errors(include_url=False):
            words = str(fault.get("ctx", {}).get("error") or fault["msg"])
            problems.add((*path, *fault["loc"]), words)
        return None
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
        return Window(start, end, model.for_, daily, begins)
    return None


def _key(model: RuleMap, path: Path, problems: Problems) -> tuple[Reader, ...] | None:
    if model.key is None:
        return None
    readers = []
    for index, part in enumerate(model.key):
        with problems.at(*path, "key", index):
            readers.append(reader(part))
    return tuple(readers)


def _plan(model: RuleMap, path: Path, problems: Problems) -> Plan | None:
    found = [word for word in _PLANS if getattr(model, word) is not None]
    if len(found) != 1:
        problems.add(path, f"got {' and '.join(found) or 'none'}, wanted exactly one of {', '.join(_PLANS)}")
        return None
    if model.at_end is not None and model.sequence is None:
        problems.add((*path, "at_end"), "got at_end without a sequence")
    if model.then is not None:
        return _then(model.then, (*path, "then"), problems)
    if model.sequence is not None:
        outcomes = _outcomes(
            list(model.sequence), [(*path, "sequence", i) for i in range(len(model.sequence))], problems
        )
        ends: list[int] = []
        for step in model.sequence:
            ends.append(step.times + (ends[-1] if ends else 0))
        return Sequence(outcomes, tuple(ends), model.at_end or AtEnd.PASS)
    match model.chance:
        case ChanceOne() as one:
            outcomes = _outcomes([one.then], [(*path, "chance", "then")], problems)
            return Chance(outcomes, thresholds([one.p], Decimal(1)))
        case list() as weighted:
            places: list[Path] = [(*path, "chance", index, "then") for index in range(len(weighted))]
            outcomes = _outcomes([one.then for one in weighted], places, problems)
            weights = [one.weight for one in weighted]
            return Chance(outcomes, thresholds(weights, sum(weights, Decimal(0))))
        case _:
            return None


def _then(model: ThenMap, path: Path, problems: Problems) -> Plan | None:
    if model.outcome_from is None:
        outcomes = _outcomes([model], [path], problems)
        return Always(outcomes[0])
    with problems.at(*path, "outcome_from"):
        if model.model_fields_set != {"outcome_from"}:
            raise ValueError("outcome_from names the whole outcome, so nothing else can stand beside it")
        if not model.outcome_from.startswith(("request.", "header.")):
            raise ValueError(f"got '{model.outcome_from}', wanted request.<path> or header.<name>")
        return Named(model.outcome_from, reader(model.outcome_from), NAMED_OUTCOMES)
    return None


def _outcomes(models: list[OutcomeMap], places: list[Path], problems: Problems) -> tuple[Outcome, ...]:
    found = []
    for model, place in zip(models, places, strict=True):
        outcome = NOTHING
        with problems.at(*place):
            outcome = compile_outcome(model)
        found.append(outcome)
    return tuple(found)


def outcomes_of(plan: Plan) -> tuple[Outcome, ...]:
    """Everything that a plan can make happen."""
    match plan:
        case Always(outcome):
            return (outcome,)
        case Named():
            return tuple(plan.outcomes.values())
        case Sequence() | Chance():
            return plan.outcomes


def _asks_provider(plan: Plan) -> bool:
    return any(outcome.provider is not None or outcome.latency is not None for outcome in outcomes_of(plan))


def _narrowed(operations: frozenset[str], path: Path, problems: Problems) -> frozenset[str]:
    narrowed = operations & PROVIDER_OPERATIONS
    if not narrowed:
        problems.add(
            (*path, "when", "op"),
            f"no provider is asked in {', '.join(sorted(operations))}, so what a provider does or sees has no place "
            f"there; providers are asked in {', '.join(sorted(PROVIDER_OPERATIONS))}",
        )
    return narrowed


def _fits(plan: Plan, operations: frozenset[str], path: Path, problems: Problems) -> None:
    for outcome in outcomes_of(plan):
        if outcome.batch is not None and "batch.create" not in operations:
            problems.add(path, "batch says what becomes of a whole batch: use op: batch.create, and rows for its rows")
        if outcome.transport is not None and operations <= _NO_REQUEST:
            named = " and ".join(sorted(operations))
            problems.add(path, f"no request comes in for {named}, so transport has no place there")
        if operations == _WEBHOOK_ONLY and (outcome.webhook is None or outcome != Outcome(webhook=outcome.webhook)):
            problems.add(path, "a delivery knows only webhook outcomes, such as webhook: {receiver: [500, 200]}")


def _expectation(model: RuleMap, path: Path, problems: Problems) -> Expectation | None:
    if model.expect is None:
        return None
    least, most = model.expect.min, model.expect.max
    if least is None:
        least = 0 if most is not None else 1
    if most is not None and most < least:
        problems.add((*path, "expect"), f"got min {least} and max {most}, wanted the smaller first")
    return Expectation(least, most)
