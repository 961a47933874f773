"""Finding entries of the journal: by filters of the query, and by the search language of ``q``.

What takes long to find out of an entry is kept while the entry is (``mockserver.engine.readings``): to compare it takes
a hundredth of the time of finding it out. So is which entries passed the filters that were asked for last.
Source: docs/control-api.md (``/__admin/journal``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import compress
from typing import Any, TypeAlias

from mockserver.domain.clock import parse_duration
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.masking import EFFORT, MUCH, mask_start, mask_text
from mockserver.domain.reading import number_of, whole_of
from mockserver.domain.record import record, replace
from mockserver.domain.search_words import LONGEST, Word, words_of
from mockserver.domain.slices import Slices
from mockserver.engine.journal import JournalEntry
from mockserver.engine.readings import UNKNOWN
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.scenario.operations import OPERATIONS, operations_like
from mockserver.web.control.journal_facts import is_searchable, sought_of, status_of, text_of, unmasked_of
from mockserver.wire.profile import WireProfile, profile_of

Reader: TypeAlias = Callable[[JournalEntry, WireProfile], Any]
"""Finds out what a filter looks at, and takes long to."""


@record
class Filter:
    """Whether an entry fits: it, or what ``reader`` makes of it, ``passes``; the others fit where it ``excludes``.
    Where there is an ``outline``, which is quicker, only entries are read of which that ``passes`` too. Unless it
    ``lasts``, an entry that passes now may not later. ``asked`` is what distinguishes it from others."""

    passes: Callable[[Any], bool]
    reader: Reader | None = None
    outline: Reader | None = None
    lasts: bool = True
    excludes: bool = False
    asked: tuple[str | None, str] = (None, "")


_STATUS = re.compile(r"[1-5](?:[0-9]{2}|[xX]{2})")
_FAILED = 400
_OF_FINDINGS = "finding"

_PASSED = bytes.maketrans(bytes([UNKNOWN]), bytes(1))
_MISSED = bytes.maketrans(bytes([0, 1, UNKNOWN]), bytes([1, 0, 0]))
_OPEN = bytes.maketrans(bytes([0, 1, UNKNOWN]), bytes([0, 0, 1]))
"""Which marks are to be seen as 1."""

_SLICE = 2_000
"""Entries that are looked at without a pause: a millisecond."""

_READ = 100
"""Entries of which something is found out without one, if they are short."""


def _by_operation(sandbox: Sandbox, wanted: str) -> Filter:
    """Operations by name or glob: those of the service, of the clock, and whatever else the journal holds."""
    known = {*OPERATIONS, *(f"clock.{due}" for due in Due)}
    if wanted not in known:
        known |= {entry.step.op for entry in sandbox.journal.entries}
    allowed = operations_like(wanted, known)
    return Filter(lambda entry: entry.step.op in allowed)


def _by_status(_: Sandbox, wanted: str) -> Filter:
    """A status, or those of its class when that is written ``4xx``."""
    if _STATUS.fullmatch(wanted) is None:
        raise ValueError(f"got '{wanted[:20]}', wanted a status such as 404, or a class of them such as 4xx")
    allowed = {status for status in range(100, 600) if str(status).startswith(wanted.lower().rstrip("x"))}
    return Filter(lambda entry: status_of(entry) in allowed)


def _by_rule(_: Sandbox, wanted: str) -> Filter:
    if "*" in wanted or "?" in wanted:
        return Filter(lambda entry: any(one.rule and fnmatchcase(one.rule, wanted) for one in entry.step.decisions))
    return Filter(lambda entry: wanted in [one.rule for one in entry.step.decisions])


def _by_subject(_: Sandbox, wanted: str) -> Filter:
    return Filter(lambda entry: wanted in [event.subject_id for event in entry.step.events])


def _by_id(_: Sandbox, wanted: str) -> Filter:
    """An id, or a part of it, of what changed or is named in the path; or the number of the entry."""
    number = whole_of(wanted)

    def passes(entry: JournalEntry) -> bool:
        # Half of the time that a generator takes.
        found = entry.number == number
        for event in entry.step.events:
            found = found or wanted in event.subject_id
        for part in entry.step.path.values():
            found = found or (_may_show(wanted, part) and wanted in mask_text(part))
        return found

    return Filter(passes)


def _may_show(wanted: str, text: str) -> bool:
    """Whether a text that is masked may have this in it: masking takes ten times as long as to see that it has not,
    and puts nothing there but stars, what the digits of other scripts mean and what is percent-encoded."""
    return wanted in text or "*" in wanted or "%" in text or not text.isascii()


def _by_code(_: Sandbox, wanted: str) -> Filter:
    code = whole_of(wanted)
    if code is None:
        raise ValueError(f"got '{wanted[:20]}', wanted the number of an error code, such as 15")
    return Filter(lambda sought: sought.code == code, sought_of)


def _by_reference(_: Sandbox, wanted: str) -> Filter:
    part = wanted.lower()
    return Filter(lambda sought: sought.reference is not None and part in sought.reference, sought_of)


def _by_amount(_: Sandbox, wanted: str) -> Filter:
    amount = number_of(wanted)
    if amount is None:
        raise ValueError(f"got '{wanted[:20]}', wanted an amount such as 12.50")
    return Filter(lambda sought: sought.amount == amount, sought_of)


def _by_currency(_: Sandbox, wanted: str) -> Filter:
    currency = wanted.upper()
    return Filter(lambda sought: sought.currency == currency, sought_of)


def _since(sandbox: Sandbox, wanted: str) -> Filter:
    """After a mark, after the entry of a number, or within a duration before now."""
    marks = sandbox.journal.marks
    number = marks[wanted] if wanted in marks else whole_of(wanted)
    if number is not None:
        return Filter(lambda entry: entry.number > number, lasts=wanted not in marks)
    try:
        begin = sandbox.now - parse_duration(wanted)
    except ValueError:
        hint = nearest(wanted, marks)
        raise ValueError(
            f"got '{mask_start(wanted, 40)}', wanted a duration such as 10m, a mark or a number{hint}"
        ) from None
    return Filter(lambda entry: entry.at >= begin, lasts=False)


def _is(sandbox: Sandbox, wanted: str) -> Filter:
    if wanted not in _CONDITIONS:
        raise ValueError(f"got '{wanted[:20]}'{nearest(wanted, _CONDITIONS)}, allowed: {', '.join(_CONDITIONS)}")
    return Filter(_CONDITIONS[wanted](sandbox), lasts=wanted != _OF_FINDINGS)


def _is_finding(sandbox: Sandbox) -> Callable[[JournalEntry], bool]:
    ledger = sandbox.watch.ledger if sandbox.watch is not None else ()
    numbers = frozenset(line.entry for finding in ledger for line in finding.evidence)
    return lambda entry: entry.number in numbers


_CONDITIONS: Mapping[str, Callable[[Sandbox], Callable[[JournalEntry], bool]]] = {
    "failed": lambda _: lambda entry: entry.fault is not None or (status_of(entry) or 0) >= _FAILED,
    "declined": lambda _: lambda entry: "declined" in [event.what for event in entry.step.events],
    "refused": lambda _: lambda entry: (status_of(entry) or 0) >= _FAILED and not entry.step.events,
    "fault": lambda _: lambda entry: entry.fault is not None,
    _OF_FINDINGS: _is_finding,
    "due": lambda _: lambda entry: not entry.method,
    "repeat": lambda _: lambda entry: entry.step.is_repeat,
    "scripted": lambda _: lambda entry: any(one.rule for one in entry.step.decisions),
}
"""What ``is:`` can ask."""

FILTERS: Mapping[str, Callable[[Sandbox, str], Filter]] = {
    "op": _by_operation,
    "status": _by_status,
    "rule": _by_rule,
    "method": lambda _, wanted: Filter(lambda entry: entry.method == wanted.upper()),
    "path": lambda _, wanted: Filter(lambda entry: entry.path == wanted),
    "subject": _by_subject,
}
"""Filters of the query: the parameter, and what makes a test of an entry of its value. They raise ``ValueError`` for
one that no entry could ever have."""

OPERATORS: Mapping[str, Callable[[Sandbox, str], Filter]] = {
    **FILTERS,
    "id": _by_id,
    "code": _by_code,
    "ref": _by_reference,
    "amount": _by_amount,
    "currency": _by_currency,
    "is": _is,
    "since": _since,
}
"""Operators of ``q``."""


def filters_of(sandbox: Sandbox, query: Any) -> list[Filter]:
    """What an entry must pass: the filters and the search of a query. Raises ``Invalid`` (90) naming each invalid
    one."""
    found, faults = searched(sandbox, query.q), {}
    for name, filter_of in FILTERS.items():
        if (value := getattr(query, name)) is not None:
            try:
                found.append(replace(filter_of(sandbox, value), asked=(name, value)))
            except ValueError as fault:
                faults[name.capitalize()] = str(fault)
    if faults:
        raise invalid(faults)
    return found


def searched(sandbox: Sandbox, text: str) -> list[Filter]:
    """What an entry must pass to be found by a search. Raises ``Invalid`` (90) for one that means nothing."""
    try:
        return [_filter(sandbox, word) for word in words_of(text, OPERATORS)]
    except ValueError as fault:
        raise invalid({"Q": str(fault)}) from None


def fitting(sandbox: Sandbox, entries: Iterable[JournalEntry], filters: Sequence[Filter]) -> Slices[list[JournalEntry]]:
    """The entries that pass every filter; others have their turn while many are searched."""
    among, reading = list(entries), _Reading(sandbox)
    left = bytearray(b"\1" * len(among))
    # Of few entries little is to be read.
    for one in sorted(filters, key=lambda one: one.reader is not None):
        marks = yield from reading.marks(among, left, one)
        left = _both(left, marks.translate(_MISSED if one.excludes else _PASSED))
    return list(compress(among, left))


def _both(one: bytearray, other: bytearray) -> bytearray:
    # Arithmetic on one number of a byte for each entry takes a nanosecond for each.
    common = int.from_bytes(one, "little") & int.from_bytes(other, "little")
    return bytearray(common.to_bytes(len(one), "little"))


class _Reading:
    """What one search reads of entries, or was read of them before."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._profile = profile_of(sandbox.assumed)
        self._readings = sandbox.journal.read_by(self._profile)

    def marks(self, among: Sequence[JournalEntry], left: bytearray, one: Filter) -> Slices[bytearray]:
        """The marks that a filter gives to those entries that are ``left``."""
        if not among:
            return bytearray()
        journal, first, count = self._sandbox.journal, among[0].number, len(among)
        marks = self._readings.marks(one.asked, first, count) if one.lasts else bytearray([UNKNOWN]) * count
        # To the present step, which the newest entry may be of, something may be added yet.
        may_change = among[-1].step is self._sandbox.step
        places = list(compress(range(count), _both(left, marks.translate(_OPEN))))
        for start in range(0, len(places), _SLICE):
            some = places[start : start + _SLICE]
            for reader in (one.outline, one.reader) if one.outline is not None else (one.reader,):
                values: Iterable[Any] = map(among.__getitem__, some)
                if reader is not None:
                    values = yield from self._values(values, reader)
                for place, passes in zip(some, map(one.passes, values), strict=True):
                    marks[place] = passes
                some = list(compress(some, map(marks.__getitem__, some)))
            yield
        if one.lasts and places and len(one.asked[1]) <= LONGEST:
            kept = marks[:-1] + bytes([UNKNOWN]) if may_change else marks
            self._readings.keep_marks(one.asked, first, kept, journal.dropped)
        return marks

    def _values(self, entries: Iterable[JournalEntry], reader: Reader) -> Slices[list[Any]]:
        """What a reader makes of each entry."""
        journal, kept = self._sandbox.journal, self._readings.of(reader)
        values, read, effort = list[Any](), 0, EFFORT.signs
        for entry in entries:
            value = kept.get(entry.number)
            if value is None:
                value = reader(entry, self._profile)
                if entry.number > journal.dropped and entry.step is not self._sandbox.step:
                    self._readings.keep(reader, entry.number, value, journal.size)
                read += 1
                if not read % _READ or EFFORT.signs - effort > MUCH:
                    effort = EFFORT.signs
                    yield
            values.append(value)
        return values


def _filter(sandbox: Sandbox, word: Word) -> Filter:
    if word.operator is not None:
        found = OPERATORS[word.operator](sandbox, word.value)
    else:
        found = Filter(lambda text: word.value in text, text_of, unmasked_of if is_searchable(word.value) else None)
    return replace(found, excludes=word.excludes, asked=(word.operator, word.value))
