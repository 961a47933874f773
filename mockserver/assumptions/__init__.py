"""What the service document leaves open, as one table of questions, and the answers in force for
one sandbox.

``table.csv`` says in words what is asked, what each profile answers, which answers are allowed, and
on what that rests. Profile ``documented`` keeps to the words of the service document; ``sdk``
speaks as the published client libraries expect. A value can be overridden per server, per sandbox
and per scenario. Code asks ``assumed[KEY]``; a use case asks ``step.assume(KEY)``, which also notes
the key in the journal, which shows of each answer on which rows it rests.

A question with one answer, which nothing overrides, is no row. docs/assumptions.md lists it under
"Settled for good", and docstrings cite it as a settled fact.

The words in the column ``allowed`` are the type of a row (``_KINDS``): the same words that a
refusal, the docs and the control page show say how a value is read. So a row cannot allow one thing
and accept another. A value is read once, when it is put in force, and is typed from then on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from mockserver.domain.clock import Micros, duration_text, parse_duration, parse_instant
from mockserver.domain.errors import Invalid, invalid, nearest
from mockserver.domain.money import currency
from mockserver.domain.reading import number_of, whole_of
from mockserver.domain.record import read_table, record

Profile = StrEnum("Profile", "DOCUMENTED SDK")
"""Which voice the sandbox speaks in."""


@record
class ValueKind:
    """How a value of a row is read from a file or a call, shown again, and described."""

    allowed: str
    read: Callable[[object], object]
    """Raises ``ValueError`` with what was got and what is allowed."""
    show: Callable[[Any], object] = str


@record
class Assumption:
    """One question and its answers. ``evidence`` names the fact that the value rests on."""

    key: str
    question: str
    kind: ValueKind
    documented: object
    sdk: object
    evidence: str

    def value(self, profile: Profile) -> object:
        """The value in a profile."""
        return self.sdk if profile is Profile.SDK else self.documented


def _read_word(words: list[str], value: object) -> str:
    """One of some words, in any letter case."""
    if isinstance(value, str):
        for word in words:
            if word.lower() == value.lower():
                return word
    raise ValueError(f"got '{value}', allowed: {', '.join(words)}{nearest(str(value), words)}")


def _read_whole(low: int, high: int, value: object) -> int:
    """A whole number within bounds, as a number or a text."""
    number = whole_of(value, low, high)
    if number is None:
        raise ValueError(f"got '{value}', wanted a whole number from {low} to {high}")
    return number


def _read_duration(value: object) -> Micros:
    """A duration such as ``5m``. Nothing needs no unit, as text or as number."""
    text = str(value)
    if text.strip() == "0":
        return 0
    return parse_duration(text)


def _read_span(value: object) -> tuple[Micros, Micros]:
    """The shortest and the longest time; a duration alone is both."""
    low, _, high = str(value).partition("..")
    shortest = longest = _read_duration(low)
    if high:
        longest = _read_duration(high)
    if longest < shortest:
        raise ValueError(f"got '{value}', wanted the shorter time first, such as 30ms..80ms")
    return shortest, longest


def _show_span(span: tuple[Micros, Micros]) -> str:
    """The same in the words in which it may be given."""
    shortest, longest = map(duration_text, span)
    if shortest == longest:
        return shortest
    return f"{shortest}..{longest}"


def _read_number(value: object) -> Decimal:
    """An amount of 0 or more, exact: assumptions on amounts are compared with money."""
    number = number_of(str(value))
    if number is None or number < 0:
        raise ValueError(f"got '{value}', wanted a number of 0 or more")
    return number


def _read_flow(value: object) -> tuple[Micros, ...]:
    """When a batch is created and started after it was submitted, and how long a row takes."""
    durations = _read_durations(value)
    if len(durations) == 3:
        created, started, _ = durations
        # A batch cannot be started before it is created.
        if created <= started:
            return durations
    raise ValueError(f"got '{value}', wanted three durations, the second no shorter than the first")


def _read_pauses(value: object) -> tuple[Micros, ...]:
    """The pauses between the tries of a webhook: one more try than there are pauses. The word
    ``never`` is read before (``_or_word``)."""
    pauses = _read_durations(value)
    if not 1 <= len(pauses) <= 20:
        raise ValueError(f"got '{value}', wanted never, or 1 to 20 durations such as 10s 1m 10m")
    return pauses


def _read_durations(value: object) -> tuple[Micros, ...]:
    """Several durations with blanks between them."""
    words = str(value).split()
    return tuple(map(_read_duration, words))


def _show_durations(durations: tuple[Micros, ...]) -> str:
    """The same as a text; none at all is ``never``, as only pauses can be none."""
    if not durations:
        return "never"
    return " ".join(map(duration_text, durations))


def _read_text(value: object) -> str:
    """A text that is sent as it is, such as in a header, where no line end may stand."""
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f"got '{value}', wanted a text of printable characters")
    return value


def _read_currency(value: object) -> str:
    """The code of a currency in capitals. Its refusal is worded for a field of a request: here only
    the words count."""
    try:
        return currency(str(value)).code
    except Invalid as refused:
        details = refused.details or {}
        raise ValueError(details["Currency"]) from None


def _read_date(value: object) -> str:
    """A date-time, kept as its text: lists of the assumptions show what was given."""
    parse_instant(str(value))
    return str(value)


def _or_word(
    word: str, meaning: object, read_value: Callable[[object], object]
) -> Callable[[object], object]:
    """A reader that also takes a word, in any letter case, which has a meaning of its own."""

    def read_either(value: object) -> object:
        return meaning if str(value).lower() == word else read_value(value)

    return read_either


def _show_least_amount(number: Decimal | None) -> str:
    """None stands for the smallest unit of whatever currency."""
    return "smallest_unit" if number is None else f"{number:f}"


_KINDS = (
    ValueKind("a duration, such as 5m", _read_duration, duration_text),
    ValueKind("an ISO 8601 date-time", _read_date),
    ValueKind(
        "a duration or a range, such as 30ms..80ms",
        _read_span,
        _show_span,
    ),
    ValueKind("a number of 0 or more", _read_number, "{:f}".format),
    ValueKind(
        "smallest_unit, or a number of 0 or more",
        _or_word("smallest_unit", None, _read_number),
        _show_least_amount,
    ),
    ValueKind("an ISO 4217 code", _read_currency),
    ValueKind("provider, or an ISO 4217 code", _or_word("provider", "provider", _read_currency)),
    ValueKind(
        "three durations: until CREATED, until IN_PROGRESS, and for each row, such as 50ms 100ms "
        "2ms",
        _read_flow,
        _show_durations,
    ),
    ValueKind(
        "never, or durations such as 10s 1m 10m",
        _or_word("never", (), _read_pauses),
        _show_durations,
    ),
    ValueKind("a text", _read_text),
)
_BY_ALLOWED = {kind.allowed: kind for kind in _KINDS}


def _kind(allowed: str) -> ValueKind:
    """The kind of a value by the words for what is allowed."""
    bounds = re.fullmatch(r"(\d+) to (\d+)", allowed)
    if bounds is not None:
        least, most = int(bounds[1]), int(bounds[2])
        return ValueKind(allowed, partial(_read_whole, least, most), show=int)
    if allowed in _BY_ALLOWED:
        return _BY_ALLOWED[allowed]
    # None of these: the words themselves, as oldest_first | newest_first.
    return ValueKind(allowed, partial(_read_word, allowed.split(" | ")))


def _row(
    *, key: str, documented: str, sdk: str, allowed: str, question: str, evidence: str
) -> Assumption:
    """A row of the table. Where the column ``sdk`` is empty, both profiles answer the same. A value
    that its own row does not allow stops the import."""
    kind = _kind(allowed)
    return Assumption(
        key,
        question,
        kind,
        documented=kind.read(documented),
        sdk=kind.read(sdk or documented),
        evidence=evidence,
    )


ROWS: Mapping[str, Assumption] = {
    row.key: row for row in read_table("table", _row, Path(__file__).parent)
}
"""Every row by its key, in the order of the document."""


class Assumed:
    """The values in force for one sandbox: a profile and the overrides on top of it; ``values`` by
    key, each of the type that its row reads.

    They never change, and sandboxes share them.
    """

    def __init__(self, profile: Profile, overrides: Mapping[str, object] | None = None) -> None:
        self.profile = profile
        self.overrides: dict[str, object] = dict(overrides or {})
        self.values: dict[str, Any] = {key: row.value(profile) for key, row in ROWS.items()}
        for key, override in self.overrides.items():
            self.values[key] = read(key, override)

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def reused_or_new(self, profile: Profile, overrides: Mapping[str, object]) -> Assumed:
        """The values under a profile and overrides: this very object where they are its own, so
        that thousands of sandboxes with the same values hold them once, else a new one. Raises
        ``Invalid`` (90)."""
        # By the texts, as 1 is equal to True.
        if profile is self.profile and repr(dict(overrides)) == repr(self.overrides):
            return self
        return Assumed(profile, overrides)


def read(key: str, value: object) -> Any:
    """The typed value of an override. Raises ``Invalid`` (90) with what is allowed and the nearest
    known key."""
    row = ROWS.get(key)
    if row is None:
        raise invalid({key: f"no such assumption{nearest(key, ROWS)}"})
    try:
        return row.kind.read(value)
    except ValueError as problem:
        raise invalid({key: str(problem)}) from None
