"""``when``: the tests that an attempt must pass, as a file says them and as they are made.

Each key becomes one test of a field (``matching``), its operands read as the field's own values are
(``paths``, and ``_OPERANDS`` for fields of few values): a test that nothing can pass is a slip of
its author, and is refused when the file is read. Three keys are no tests of the attempt itself:
``nth`` and ``idle`` go by how often, or when, the key of the rule was seen, so the director tests
them once it has counted; ``clock`` is a span of sandbox time (``Window``).

Source: docs/scenario-language.md, when.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import Annotated, Literal

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
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.file_model import file_model, read_part
from mockserver.scenario.kinds import LENGTH
from mockserver.scenario.matching import Difference, FieldTest, Words, check_operators, compile_test
from mockserver.scenario.operations import (
    ALL_OPERATIONS,
    OPERATIONS,
    SOURCES,
    meaning_of,
    operations_like,
    unspaced,
)
from mockserver.scenario.paths import CARD_FACTS, known_path, overlap
from mockserver.scenario.patterns import Patterns
from mockserver.scenario.problems import Problems
from mockserver.scenario.request_fields import fields_of
from mockserver.scenario.scalars import Duration, Point, TimePoint, ZoneName
from mockserver.scenario.stored_fields import STORED
from mockserver.scenario.values import excerpt

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
        sandbox took its first decision at ``first``, or takes it now. One by one: most rules fail
        their first test, and nobody asks for the rest."""
        for test in self.tests:
            difference = test.difference(attempt)
            if difference is not None:
                yield difference
        if self.window is None:
            return
        begins = self.begins
        if begins is None:
            begins = first
        if begins is None:
            begins = attempt.now
        if not self.window.holds(attempt.now, begins, self.zone):
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
            idle = compile_test("idle", LENGTH.wanted(_checked_bounds(when["idle"])))
    if "nth" in when:
        with problems.at("nth"):
            check_operators(when["nth"])
            nth = compile_test("nth", _counted(when["nth"]))
    window = None
    if "clock" in when:
        window = read_part(Window, when["clock"], problems.below("clock"))
    return When(tests, nth, idle, window, begins, zone)


def operations_of(when: Mapping[str, object], problems: Problems) -> frozenset[str]:
    """The operations that ``op`` of ``when`` names, all of them when it is absent."""
    if "op" not in when:
        return ALL_OPERATIONS
    operations: frozenset[str] = frozenset()
    for pattern in _patterns(when["op"]):
        with problems.at("op"):
            if not isinstance(pattern, str):
                raise ValueError(
                    f"got {excerpt(pattern)}, wanted an operation's name or a glob such as charge.*"
                )
            operations |= operations_like(pattern)
    return operations


def named_in(wanted: object) -> frozenset[str]:
    """The operations that ``op`` names in full, not by a glob: who names one means it, and is told
    when a word of the rule has no place there."""
    named: set[str] = set()
    for pattern in _patterns(wanted):
        # What is no text is refused where ``op`` is read.
        if isinstance(pattern, str) and pattern in OPERATIONS:
            named.add(pattern)
    return frozenset(named)


def _patterns(wanted: object) -> list[object]:
    """Names and globs of operations: one, or a list of them."""
    if isinstance(wanted, list) and wanted:
        return wanted
    return [wanted]


def is_test(key: str) -> bool:
    """Whether ``when`` may have the key."""
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
    """The test of one key of ``when``. Raises ``ValueError``."""
    if not is_test(key):
        raise ValueError(f"unknown key '{key[:60]}'{_meant_by(key, operations)}")
    if key == "overlaps":
        # The kind says what is read, so no operator has a meaning here.
        _among({"eq": wanted}, tuple(STORED))
        return compile_test(key, wanted, overlap(str(wanted)))
    if key == "provider" and declared:
        # A file that declares none is about providers which the shop creates: no name is a slip.
        _declared(wanted, declared)
    return _test(key, wanted, patterns, operations)


def _meant_by(key: str, operations: frozenset[str]) -> str:
    """What an unknown key of ``when`` may mean, as the end of a message. Most are fields of the
    request, without the ``request.`` before them."""
    if key.startswith("card."):
        return " - did you mean 'card'?"
    if key in fields_of(operations):
        return f" - did you mean 'request.{key}'?"
    keys = [*KEYS, "request.<path>", "state.<path>", "header.<name>"]
    # A key with its value in it is near to no key.
    return unspaced(key, keys) or nearest(key, keys) or f", allowed: {', '.join(keys)}"


def _test(
    path: str, wanted: object, patterns: Patterns, operations: frozenset[str] = ALL_OPERATIONS
) -> FieldTest:
    """A test of a path, its operands read as the values of the field are."""
    if path == "age":
        # It takes bounds alone. The check of all operators would advise some that are refused here.
        wanted = _checked_bounds(wanted)
    else:
        check_operators(wanted)
    if path in _OPERANDS:
        wanted = _OPERANDS[path](wanted)
    known = known_path(path, operations)
    return compile_test(path, known.kind.wanted(wanted), known.read, patterns)


def _card_tests(wanted: object, problems: Problems) -> list[FieldTest]:
    """The tests of ``card``, each of one fact of it."""
    if not isinstance(wanted, dict) or not wanted:
        raise ValueError(f"got {excerpt(wanted or None)}, wanted a map of {', '.join(CARD_FACTS)}")
    tests = []
    for fact, value in wanted.items():
        with problems.at(fact):
            if fact not in CARD_FACTS:
                allowed = f", allowed: {', '.join(CARD_FACTS)} (never a full number)"
                hint = nearest(fact, CARD_FACTS) or allowed
                raise ValueError(f"unknown key '{fact[:60]}'{hint}")
            tests.append(_test(f"card.{fact}", value, problems.patterns))
    return tests


def _wanted_values(wanted: object) -> list[object]:
    """The values that a test wants a field to be, or not to be. Operands of other operators, such
    as bounds, need be no value that the field can have."""
    if not isinstance(wanted, dict):
        return [wanted]
    values: list[object] = []
    for word, operand in wanted.items():
        if word in ("eq", "ne"):
            values.append(operand)
        elif word == "in" and isinstance(operand, list):
            values += operand
    return values


def _checked_bounds(wanted: object) -> object:
    """The test of a time that has passed. Raises ``ValueError`` for operators other than bounds:
    to the microsecond no time is exactly so long, and a test for that would never pass."""
    if not isinstance(wanted, dict) or not wanted:
        raise ValueError(f"got {excerpt(wanted or None)}, wanted a map such as {{above: 30d}}")
    known = (*BOUNDS, "between")
    for word in wanted:
        if word not in known:
            raise ValueError(
                f"unknown test '{word[:60]}'{meaning_of(word, known)}, allowed: {', '.join(known)}"
            )
    return wanted


def _among(wanted: object, allowed: tuple[str, ...]) -> object:
    """A test of a field that holds one of a few words. Raises ``ValueError`` for another, which
    the field never equals."""
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
    """Refuse the name of a provider that is nearly one of the file's. Any other may be that of a
    provider which is created later."""
    check_operators(wanted)
    for value in _wanted_values(wanted):
        if value in declared or value == DEFAULT_PROVIDER_ID:
            continue
        hint = nearest(str(value), declared)
        if hint:
            raise ValueError(f"got {excerpt(value)}, which is not a provider of this file{hint}")


def _operands(wanted: object, read: Callable[[object, str], object], word: str = "eq") -> object:
    """A test with each operand as ``read`` gives it; it is told the operator, as half a card number
    may be the operand of ``starts_with`` and not of ``eq``."""
    if isinstance(wanted, dict):
        return {key: _operands(operand, read, key) for key, operand in wanted.items()}
    if isinstance(wanted, list):
        return [_operands(operand, read, word) for operand in wanted]
    return read(wanted, word)


def _brand(wanted: object) -> object:
    """Brands in any letter case: people write Visa, and texts are compared letter by letter."""

    def upper(value: object, _: str) -> object:
        if isinstance(value, str):
            return value.upper()
        return value

    return _among(_operands(wanted, upper), tuple(Brand))


def _digits(wanted: object, most: int, word: str = "eq") -> object:
    """The digits of a test of leading or last ones: all ``most`` of them, or fewer where the test
    is of a beginning or an end. More are refused: no scenario needs a full card number, and what a
    rule tests is shown."""

    def read(value: object, word: str) -> object:
        """An operand as digits. Raises ``ValueError``."""
        if word in ("exists", "matches"):
            return value
        # YAML reads digits without quotes as a number.
        text = str(value)
        least, allowed = most, f"{most} digits"
        if word in ("starts_with", "ends_with"):
            least, allowed = 1, f"1 to {most} digits"
        is_digits = text.isascii() and text.isdecimal()
        if not is_digits or not least <= len(text) <= most:
            raise ValueError(f"got {excerpt(value)}, wanted {allowed} (never a full number)")
        return text

    return _operands(wanted, read, word)


def _bin(wanted: object) -> object:
    """Fewer leading digits than are kept of a card mean a beginning: an issuer is known by 4 to 6,
    and none would be equal to what is kept."""
    if isinstance(wanted, dict):
        return _digits(wanted, _MOST_BIN_DIGITS)
    text = _digits(wanted, _MOST_BIN_DIGITS, "starts_with")
    if len(str(text)) == _MOST_BIN_DIGITS:
        return text
    return {"starts_with": text}


_OPERANDS: Mapping[str, Callable[[object], object]] = {
    "source": partial(_among, allowed=SOURCES),
    "attempt": _counted,
    "batch.row": _counted,
    "call": _counted,
    "in_flight": _counted,
    "card.brand": _brand,
    "card.bin": _bin,
    "card.last4": partial(_digits, most=4),
    "card.test": partial(_among, allowed=tuple(TEST_CARDS)),
}
"""How the operands of a test are read, where its field has few values. Each raises
``ValueError``."""


def _month_day(value: object) -> object:
    """A day of the month, or the last one, whichever that is."""
    if value == LAST:
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 31:
        return value
    raise ValueError(f"got {excerpt(value)}, wanted a day from 1 to 31 or {LAST}")


def _weekday(value: object) -> object:
    """A day of the week, by its first three letters, also for the hint: Monday means mon."""
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
        is_timed = any(point.is_time_of_day for point in points)
        on_days = self.days is not None or self.month_days is not None
        self._check_keys(points, is_timed=is_timed, on_days=on_days)
        start = None if self.from_ is None else self.from_.at
        end = None if self.to is None else self.to.at
        # Days alone mean the whole of each.
        daily = on_days or is_timed
        self._check_bounds(start, end, daily=daily)
        if start is not None and self.for_ is not None:
            end = start + self.for_
        # A model is frozen: what follows from its keys is worked out once, here.
        for name, value in (("start", start), ("end", end), ("daily", daily)):
            object.__setattr__(self, name, value)

    def _check_keys(self, points: list[TimePoint], *, is_timed: bool, on_days: bool) -> None:
        """Refuse keys that do not go together."""
        if () in (self.days, self.month_days):
            raise ValueError("got no day, wanted at least one")
        has_span = bool(points) or self.for_ is not None
        if not has_span and not on_days:
            raise ValueError("got nothing, wanted at least one of from, to, for, days, month_days")
        if self.to is not None and self.for_ is not None:
            raise ValueError("got to and for, only one of them is allowed")
        if len({point.is_time_of_day for point in points}) > 1:
            raise ValueError("got a time of day and a date-time, wanted both bounds of one kind")
        if is_timed or not has_span:
            return
        # Days and zones say where a time of day lies: beside an instant they have no meaning.
        of_days = {"days": self.days, "month_days": self.month_days, "zone": self.zone}
        for word, value in of_days.items():
            if value is not None:
                raise ValueError(
                    f"got {word} without a time of day, wanted {word} alone or with from or to "
                    "such as 08:00"
                )

    def _check_bounds(self, start: Micros | None, end: Micros | None, *, daily: bool) -> None:
        """Refuse spans that hold no instant, or that would meet themselves on the next day."""
        if daily:
            # An end before the start lies on the next day.
            if end is not None and end == (start or 0):
                raise ValueError("got an end that is the start: no time of day lies between them")
        elif start is not None and end is not None and end <= start:
            raise ValueError("got an end that is not after the start")
        if self.for_ is None:
            return
        most = ""
        is_too_long = False
        if daily:
            most = ", and at most 24h after a time of day, which comes every day"
            is_too_long = self.for_ > DAY
        if self.for_ == 0 or is_too_long:
            raise ValueError(f"got for: {duration_text(self.for_)}, wanted more than 0{most}")

    def holds(self, now: Micros, begins: Micros, zone: Zone) -> bool:
        """Whether an instant lies within; what says no start, as ``for`` alone, begins at
        ``begins``."""
        if self.daily:
            return self._holds_daily(now, self.zone or zone)
        start, end = self.start, self.end
        if start is None and self.for_ is not None:
            start, end = begins, begins + self.for_
        if start is not None and now < start:
            return False
        return end is None or now < end

    def _holds_daily(self, now: Micros, zone: Zone) -> bool:
        """Whether an instant lies in the span of its day, or in that of the day before, which may
        go on over midnight. Days are those of the wall clock, which may have 23 or 25 hours."""
        start = self.start or 0
        end = self.end if self.end is not None else DAY
        if end <= start:
            end += DAY
        wall = zone.wall(now)
        today = wall - wall % DAY
        for midnight in (today, today - DAY):
            begin = zone.instant(midnight + start)
            # A length of time is one of real time, whatever the wall clock does meanwhile.
            until = begin + self.for_ if self.for_ is not None else zone.instant(midnight + end)
            if begin <= now < until and self._is_on(midnight):
                return True
        return False

    def _is_on(self, midnight: Micros) -> bool:
        """Whether the span begins on a day, by its midnight. The day counts on which it begins, so
        that Saturday's night does not end at midnight."""
        if self.days is None and self.month_days is None:
            return True
        date = datetime_of(min(max(midnight, EARLIEST), LATEST))
        if self.days is not None and WEEKDAYS[date.weekday()] not in self.days:
            return False
        if self.month_days is None or date.day in self.month_days:
            return True
        last = monthrange(date.year, date.month)[1]
        return LAST in self.month_days and date.day == last

    def words(self, zone: Zone) -> str:
        """The span in words; ``zone`` is that of the clock."""
        words = []
        for word, point in (("from", self.from_), ("to", self.to)):
            if point is not None:
                words.append(f"{word} {_point_words(point)}")
        if self.for_ is not None:
            words.append(f"for {duration_text(self.for_)}")
        if self.days:
            words.append(f"on {', '.join(self.days)}")
        if self.month_days:
            words.append(f"on day {', '.join(map(str, self.month_days))} of the month")
        zone = self.zone or zone
        if self.daily and zone is not UTC_ZONE:
            words.append(f"in {zone.name}")
        return " ".join(words)


def _point_words(point: TimePoint) -> str:
    """A bound of a span, as explanations say it."""
    if point.is_time_of_day:
        return f"{duration_text(point.at)} after midnight"
    return iso(point.at)
