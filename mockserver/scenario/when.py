"""``when``: the tests that an attempt must pass, as a file says them and as they are made.

Source: docs/scenario-language.md, when.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from mockserver.domain.cards import TEST_CARDS, Brand
from mockserver.domain.clock import (
    DAY,
    EARLIEST,
    LATEST,
    UTC_ZONE,
    Micros,
    Zone,
    datetime_of,
    duration_text,
    iso,
)
from mockserver.domain.errors import nearest
from mockserver.domain.provider import DEFAULT_PROVIDER_ID
from mockserver.domain.reading import whole_of
from mockserver.domain.record import record
from mockserver.scenario.file_model import file_model, read_part
from mockserver.scenario.matching import (
    LENGTH,
    Attempt,
    Difference,
    FieldTest,
    Patterns,
    Words,
    compile_test,
    excerpt,
    known_operators,
)
from mockserver.scenario.operations import (
    ALL_OPERATIONS,
    OPERATIONS,
    SOURCES,
    meaning_of,
    operations_like,
    unspaced,
)
from mockserver.scenario.paths import CARD_FACTS, STORED, fields_of, known_path, overlap
from mockserver.scenario.problems import Problems
from mockserver.scenario.scalars import Duration, Point, ZoneName

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LAST = "last"
"""The last day of a month, whichever that is."""

BOUNDS = ("above", "gt", "gte", "below", "lt", "lte")
_NOT_TESTS = ("op", "nth", "clock", "idle")
"""Keys of ``when`` that are no tests of a field."""

KEYS = (
    *("op", "source", "provider", "card", "bank_account.accountNumber"),
    *("attempt", "batch.row", "call", "in_flight", "nth", "overlaps", "age", "idle", "clock"),
)
"""Keys of ``when``, the paths of members apart."""

_PREFIXES = ("request.", "state.", "header.")
_MOST_BIN_DIGITS = 6


@record
class When:
    """What must hold: tests of the attempt, of how often its key was seen, and a span of time, as
    the clock of the scenario begins and in its zone."""

    tests: tuple[FieldTest, ...]
    nth: FieldTest | None
    idle: FieldTest | None
    window: Window | None
    begins: Micros | None
    zone: Zone

    def differences(self, attempt: Attempt, first: Micros | None = None) -> Iterator[Difference]:
        """Every test that an attempt fails, then the span of time if it lies outside, when the
        sandbox took its first decision at ``first``, or takes it now."""
        yield from filter(None, (test.difference(attempt) for test in self.tests))
        begins = first if self.begins is None else self.begins
        begins = attempt.now if begins is None else begins
        if self.window is not None and not self.window.holds(attempt.now, begins, self.zone):
            yield Difference("clock", self.window.words(self.zone), Words(iso(attempt.now)))


def compile_when(
    when: Mapping[str, object],
    problems: Problems,
    operations: frozenset[str],
    *,
    begins: Micros | None = None,
    declared: frozenset[str] = frozenset(),
    zone: Zone = UTC_ZONE,
) -> When:
    """The meaning of ``when`` in some operations, ``op`` apart; its faults go to ``problems``."""
    tests = _tests(when, problems, operations or ALL_OPERATIONS, declared)
    nth = idle = None
    if "idle" in when:
        with problems.at("idle"):
            idle = compile_test("idle", LENGTH.wanted(_bounds(when["idle"])))
    if "nth" in when:
        with problems.at("nth"):
            known_operators(when["nth"])
            nth = compile_test("nth", _counted(when["nth"]))
    window = read_part(Window, when["clock"], problems.below("clock")) if "clock" in when else None
    return When(tests, nth, idle, window, begins, zone)


def operations_of(when: Mapping[str, object], problems: Problems) -> frozenset[str]:
    """The operations that ``op`` of ``when`` names, all of them when it is absent."""
    if "op" not in when:
        return ALL_OPERATIONS
    wanted, problems = when["op"], problems.below("op")
    found: frozenset[str] = frozenset()
    for pattern in _patterns(wanted):
        with problems.at():
            if not isinstance(pattern, str):
                raise ValueError(
                    f"got {excerpt(pattern)}, wanted an operation's name or a glob such as charge.*"
                )
            found |= operations_like(pattern)
    return found


def named_in(wanted: object) -> frozenset[str]:
    """The operations that ``op`` names in full, not by a glob."""
    return frozenset(
        pattern
        for pattern in _patterns(wanted)
        if isinstance(pattern, str) and pattern in OPERATIONS
    )


def _patterns(wanted: object) -> list[object]:
    return wanted if isinstance(wanted, list) and wanted else [wanted]


def is_test(key: str) -> bool:
    return key in KEYS or key.startswith(_PREFIXES)


def _tests(
    when: Mapping[str, object],
    problems: Problems,
    operations: frozenset[str],
    declared: frozenset[str],
) -> tuple[FieldTest, ...]:
    """The tests of ``when``, ``op``, ``nth`` and ``clock`` apart, as they are made in some
    operations."""
    tests: list[FieldTest] = []
    for key, wanted in when.items():
        with problems.at(key):
            if key == "card":
                tests += _card_tests(wanted, problems.below(key))
            elif key not in _NOT_TESTS:
                tests.append(_test_of(key, wanted, operations, declared, problems.patterns))
    return tuple(tests)


def _test_of(
    key: str,
    wanted: object,
    operations: frozenset[str],
    declared: frozenset[str],
    patterns: Patterns,
) -> FieldTest:
    if not is_test(key):
        keys = [*KEYS, "request.<path>", "state.<path>", "header.<name>"]
        meant = (
            "card"
            if key.startswith("card.")
            else f"request.{key}"
            if key in fields_of(operations)
            else ""
        )
        hint = f" - did you mean '{meant}'?" if meant else unspaced(key, keys) or nearest(key, keys)
        raise ValueError(f"unknown key '{key[:60]}'{hint or ', allowed: ' + ', '.join(keys)}")
    if key == "overlaps":
        _among({"eq": wanted}, tuple(STORED))
        return compile_test(key, wanted, overlap(str(wanted)))
    if key == "provider" and declared:
        _declared(wanted, declared)
    return _test(key, wanted, patterns, operations)


def _test(
    path: str, wanted: object, patterns: Patterns, operations: frozenset[str] = ALL_OPERATIONS
) -> FieldTest:
    known_operators(wanted)
    wanted = _OPERANDS[path](wanted) if path in _OPERANDS else wanted
    known = known_path(path, operations)
    return compile_test(path, known.kind.wanted(wanted), known.read, patterns)


def _card_tests(wanted: object, problems: Problems) -> list[FieldTest]:
    if not isinstance(wanted, dict) or not wanted:
        raise ValueError(f"got {excerpt(wanted or None)}, wanted a map of {', '.join(CARD_FACTS)}")
    tests = []
    for fact, value in wanted.items():
        with problems.at(fact):
            if fact not in CARD_FACTS:
                hint = (
                    nearest(fact, CARD_FACTS)
                    or f", allowed: {', '.join(CARD_FACTS)} (never a full number)"
                )
                raise ValueError(f"unknown key '{fact[:60]}'{hint}")
            tests.append(_test(f"card.{fact}", value, problems.patterns))
    return tests


def _wanted_values(wanted: object) -> list[object]:
    """The values that a test wants a field to be, or not to be."""
    tests: dict[str, Any] = wanted if isinstance(wanted, dict) else {"eq": wanted}
    values = [operand for word, operand in tests.items() if word in ("eq", "ne")]
    return values + (tests["in"] if isinstance(tests.get("in"), list) else [])


def _bounds(wanted: object) -> object:
    """A time that has passed is more or less than another, never exactly so long."""
    if not isinstance(wanted, dict) or not wanted:
        raise ValueError(
            f"got {excerpt(wanted) if wanted else 'nothing'}, wanted a map such as {{above: 30d}}"
        )
    for word in wanted:
        if word not in (*BOUNDS, "between"):
            known = (*BOUNDS, "between")
            raise ValueError(
                f"unknown test '{word[:60]}'{meaning_of(word, known)}, allowed: {', '.join(known)}"
            )
    return wanted


def _among(wanted: object, allowed: tuple[str, ...]) -> object:
    for value in _wanted_values(wanted):
        if value not in allowed:
            raise ValueError(
                f"got {excerpt(value)}, allowed: {', '.join(allowed)}{nearest(str(value), allowed)}"
            )
    return wanted


def _counted(wanted: object) -> object:
    """Requests, calls and attempts count from 1: nothing else can ever be equal to them."""
    for value in _wanted_values(wanted):
        if whole_of(value, 1) is None:
            raise ValueError(f"got {excerpt(value)}, wanted a whole number from 1 on")
    return wanted


def _declared(wanted: object, declared: frozenset[str]) -> None:
    known_operators(wanted)
    for value in _wanted_values(wanted):
        hint = nearest(str(value), declared)
        if value not in declared and value != DEFAULT_PROVIDER_ID and hint:
            raise ValueError(f"got {excerpt(value)}, which is not a provider of this file{hint}")


def _operands(wanted: object, read: Callable[[object, str], object], word: str = "eq") -> object:
    """A test with each operand as it is read, by its operator."""
    if isinstance(wanted, dict):
        return {word: _operands(operand, read, word) for word, operand in wanted.items()}
    return (
        [_operands(one, read, word) for one in wanted]
        if isinstance(wanted, list)
        else read(wanted, word)
    )


def _brand(wanted: object) -> object:
    upper = _operands(wanted, lambda one, _: one.upper() if isinstance(one, str) else one)
    return _among(upper, tuple(Brand))


def _digits(wanted: object, most: int, word: str = "eq") -> object:
    """The digits of a test of leading or last ones: only for a beginning or an end fewer than
    ``most`` will do."""

    def read(value: object, word: str) -> object:
        if word in ("exists", "matches"):
            return value
        text, whole = (
            "" if isinstance(value, bool) or value is None else str(value),
            "with" not in word,
        )
        if (
            not text.isascii()
            or not text.isdecimal()
            or len(text) > most
            or (whole and len(text) < most)
        ):
            allowed = f"{most} digits" if whole else f"1 to {most} digits"
            raise ValueError(f"got {excerpt(value)}, wanted {allowed} (never a full number)")
        return text

    return _operands(wanted, read, word)


def _bin(wanted: object) -> object:
    """Fewer leading digits than are kept of a card mean a beginning."""
    if isinstance(wanted, dict):
        return _digits(wanted, _MOST_BIN_DIGITS)
    text = _digits(wanted, _MOST_BIN_DIGITS, "starts_with")
    return text if len(str(text)) == _MOST_BIN_DIGITS else {"starts_with": text}


_OPERANDS: Mapping[str, Callable[[object], object]] = {
    "source": partial(_among, allowed=SOURCES),
    "attempt": _counted,
    "batch.row": _counted,
    "call": _counted,
    "in_flight": _counted,
    "age": _bounds,
    "card.brand": _brand,
    "card.bin": _bin,
    "card.last4": partial(_digits, most=4),
    "card.test": partial(_among, allowed=tuple(TEST_CARDS)),
}
"""How the operands of a test are read, where its field has few values. Each raises
``ValueError``."""


def _month_day(value: object) -> object:
    if value != LAST and (
        isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 31
    ):
        raise ValueError(f"got {excerpt(value)}, wanted a day from 1 to 31 or {LAST}")
    return value


def _weekday(value: object) -> object:
    if value not in WEEKDAYS:
        hint = nearest(str(value)[:3].lower(), WEEKDAYS)
        raise ValueError(f"got {excerpt(value)}, allowed: {', '.join(WEEKDAYS)}{hint}")
    return value


Weekday = Annotated[
    str, BeforeValidator(_weekday, Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"])
]
MonthDay = Annotated[
    int | str,
    BeforeValidator(_month_day, Annotated[int, Field(ge=1, le=31)] | Literal["last"]),
]


@file_model
class Window:
    """``clock``: a span of sandbox time. Times of day are those of its ``zone``, or of the clock's,
    repeat every day, or on some ``days`` of the week or the month, on which they begin, and may
    wrap over midnight; ``for`` alone counts from the scenario's start, or else from the first
    decision that the sandbox took. The start is included, the end excluded."""

    from_: Annotated[Point | None, Field(alias="from")] = None
    to: Point | None = None
    for_: Annotated[Duration | None, Field(alias="for")] = None
    days: Annotated[tuple[Weekday, ...], Field(max_length=7)] | None = None
    month_days: Annotated[tuple[MonthDay, ...], Field(max_length=31)] | None = None
    zone: ZoneName = None
    start: Micros | None = field(init=False)
    end: Micros | None = field(init=False)
    daily: bool = field(init=False)

    def __post_init__(self) -> None:
        points = [point for point in (self.from_, self.to) if point is not None]
        on_days = self.days is not None or self.month_days is not None
        self._check_keys(points, on_days)
        start, end = self.from_ and self.from_[0], self.to and self.to[0]
        daily = on_days or any(is_daily for _, is_daily in points)
        if not daily and start is not None and end is not None and end <= start:
            raise ValueError("got an end that is not after the start")
        if daily and end is not None and end == (start or 0):
            raise ValueError("got an end that is the start: no time of day lies between them")
        if self.for_ == 0 or (daily and self.for_ is not None and self.for_ > DAY):
            most = ", and at most 24h after a time of day, which comes every day" if daily else ""
            raise ValueError(f"got for: {duration_text(self.for_)}, wanted more than 0{most}")
        if start is not None and self.for_ is not None:
            end = start + self.for_
        for name, value in (("start", start), ("end", end), ("daily", daily)):
            object.__setattr__(self, name, value)

    def _check_keys(self, points: list[tuple[Micros, bool]], on_days: bool) -> None:
        """Refuse keys that do not go together."""
        if () in (self.days, self.month_days):
            raise ValueError("got no day, wanted at least one")
        if not points and self.for_ is None and not on_days:
            raise ValueError("got nothing, wanted at least one of from, to, for, days, month_days")
        if self.to is not None and self.for_ is not None:
            raise ValueError("got to and for, only one of them is allowed")
        if len({is_daily for _, is_daily in points}) > 1:
            raise ValueError("got a time of day and a date-time, wanted both bounds of one kind")
        is_timed = any(is_daily for _, is_daily in points)
        if (
            (on_days or self.zone is not None)
            and not is_timed
            and (points or self.for_ is not None)
        ):
            word = "days" if self.days else "month_days" if on_days else "zone"
            raise ValueError(
                f"got {word} without a time of day, wanted {word} alone or with from or to such "
                "as 08:00"
            )

    def holds(self, now: Micros, begins: Micros, zone: Zone) -> bool:
        """Whether an instant lies within, when what says no start begins at ``begins``."""
        if self.daily:
            return self._holds_daily(now, self.zone or zone)
        is_relative = self.start is None and self.for_ is not None
        start, end = (begins, begins + (self.for_ or 0)) if is_relative else (self.start, self.end)
        return (start is None or start <= now) and (end is None or now < end)

    def _holds_daily(self, now: Micros, zone: Zone) -> bool:
        start, end = self.start or 0, DAY if self.end is None else self.end
        wall = zone.wall(now)
        midnight = wall - wall % DAY
        for day in (midnight, midnight - DAY):
            begin = zone.instant(day + start)
            until = (
                zone.instant(day + end + (0 if start < end else DAY))
                if self.for_ is None
                else begin + self.for_
            )
            if begin <= now < until and self._is_on(day):
                return True
        return False

    def _is_on(self, day: Micros) -> bool:
        """Whether the span begins on a day, by its midnight."""
        if self.days is None and self.month_days is None:
            return True
        date = datetime_of(min(max(day, EARLIEST), LATEST))
        last = monthrange(date.year, date.month)[1]
        return (self.days is None or WEEKDAYS[date.weekday()] in self.days) and (
            self.month_days is None
            or date.day in self.month_days
            or (LAST in self.month_days and date.day == last)
        )

    def words(self, zone: Zone) -> str:

        def point(bound: tuple[Micros, bool]) -> str:
            return f"{duration_text(bound[0])} after midnight" if bound[1] else iso(bound[0])

        bounds = [
            f"{word} {point(at)}"
            for word, at in (("from", self.from_), ("to", self.to))
            if at is not None
        ]
        bounds += [f"for {duration_text(self.for_)}"] if self.for_ is not None else []
        bounds += [f"on {', '.join(self.days)}"] if self.days else []
        bounds += (
            [f"on day {', '.join(map(str, self.month_days))} of the month"]
            if self.month_days
            else []
        )
        zone = self.zone or zone
        return " ".join(bounds) + (
            f" in {zone.name}" if self.daily and zone is not UTC_ZONE else ""
        )
