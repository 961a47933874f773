"""Gives the tests of ``when`` their meaning: operations, facts of the attempt, spans of time."""

from __future__ import annotations

from collections.abc import Mapping

from mockserver.domain.cards import TEST_CARDS, Brand
from mockserver.domain.clock import DAY, Micros, duration_text
from mockserver.domain.errors import nearest
from mockserver.domain.provider import DEFAULT_PROVIDER_ID
from mockserver.domain.reading import whole_of
from mockserver.domain.record import record
from mockserver.domain.zones import UTC_ZONE, Zone
from mockserver.scenario.matching import FieldTest, compile_test, known_operators, shown
from mockserver.scenario.model import ClockWindow
from mockserver.scenario.operations import ALL_OPERATIONS, OPERATIONS, SOURCES, operations_like
from mockserver.scenario.part import read_part
from mockserver.scenario.paths import CARD_FACTS, known_path
from mockserver.scenario.problems import Path, Problems
from mockserver.scenario.rule import Window

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
        return Window(start, end, model.for_, daily, begins, zone)
    return None
