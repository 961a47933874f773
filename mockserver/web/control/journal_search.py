"""Finding entries of the journal: by filters of the query, and by the search language of ``q``.

What is found out of an entry is kept while the entry is (``mockserver.engine.journal_fact_cache``).
Source: control document, Control API (``/__admin/journal``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from mockserver.domain.clock import parse_duration
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.reading import number_of, whole_of
from mockserver.domain.record import record, replace
from mockserver.domain.search_words import Word, words_of
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.scenario.operations import OPERATIONS, operations_like
from mockserver.web.control.journal_facts import sought_of, status_of, text_of
from mockserver.wire.profile import WireProfile, profile_of

Reader: TypeAlias = Callable[[JournalEntry, WireProfile], Any]
"""Finds out what a filter looks at."""


@record
class Filter:
    """Whether an entry fits: it, or what ``reader`` makes of it, ``passes``; the others fit where it ``excludes``."""

    passes: Callable[[Any], bool]
    reader: Reader | None = None
    excludes: bool = False


_STATUS = re.compile(r"[1-5](?:[0-9]{2}|[xX]{2})")
_FAILED = 400


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
        return (
            entry.number == number
            or any(wanted in event.subject_id for event in entry.step.events)
            or any(wanted in mask_text(part) for part in entry.step.path.values())
        )

    return Filter(passes)


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
        return Filter(lambda entry: entry.number > number)
    try:
        begin = sandbox.now - parse_duration(wanted)
    except ValueError:
        hint = nearest(wanted, marks)
        raise ValueError(
            f"got '{mask_start(wanted, 40)}', wanted a duration such as 10m, a mark or a number{hint}"
        ) from None
    return Filter(lambda entry: entry.at >= begin)


def _is(sandbox: Sandbox, wanted: str) -> Filter:
    if wanted not in _CONDITIONS:
        raise ValueError(f"got '{wanted[:20]}'{nearest(wanted, _CONDITIONS)}, allowed: {', '.join(_CONDITIONS)}")
    return Filter(_CONDITIONS[wanted](sandbox))


def _is_finding(sandbox: Sandbox) -> Callable[[JournalEntry], bool]:
    ledger = sandbox.watch.ledger if sandbox.watch is not None else ()
    numbers = frozenset(line.entry for finding in ledger for line in finding.evidence)
    return lambda entry: entry.number in numbers


_CONDITIONS: Mapping[str, Callable[[Sandbox], Callable[[JournalEntry], bool]]] = {
    "failed": lambda _: lambda entry: entry.fault is not None or (status_of(entry) or 0) >= _FAILED,
    "declined": lambda _: lambda entry: "declined" in [event.what for event in entry.step.events],
    "refused": lambda _: lambda entry: (status_of(entry) or 0) >= _FAILED and not entry.step.events,
    "fault": lambda _: lambda entry: entry.fault is not None,
    "finding": _is_finding,
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
                found.append(filter_of(sandbox, value))
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


def fitting(sandbox: Sandbox, filters: Sequence[Filter]) -> Callable[[JournalEntry], bool]:
    """What tells whether an entry of the sandbox's journal passes every filter."""
    journal, profile = sandbox.journal, profile_of(sandbox.assumed)
    known = journal.read_by(profile)

    def value_of(reader: Reader, entry: JournalEntry) -> object:
        value = known.of(reader).get(entry.number)
        if value is None:
            value = reader(entry, profile)
            # To the present step something may be added yet.
            if entry.number > journal.dropped and entry.step is not sandbox.step:
                known.keep(reader, entry.number, value, journal.size)
        return value

    def passes(one: Filter, entry: JournalEntry) -> bool:
        looked_at = entry if one.reader is None else value_of(one.reader, entry)
        return one.passes(looked_at) != one.excludes

    in_order = sorted(filters, key=lambda one: one.reader is not None)
    return lambda entry: all(passes(one, entry) for one in in_order)


def _filter(sandbox: Sandbox, word: Word) -> Filter:
    if word.operator is not None:
        found = OPERATORS[word.operator](sandbox, word.value)
    else:
        found = Filter(lambda text: word.value in text, text_of)
    return replace(found, excludes=word.excludes)
