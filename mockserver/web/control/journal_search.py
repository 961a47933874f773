"""Finding entries of the journal: by filters of the query, and by the search language of ``q``.

Source: docs/control-api.md (``/__admin/journal``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import compress
from typing import Any, TypeAlias

from mockserver.domain.clock import parse_duration
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.reading import number_of, whole_of
from mockserver.domain.record import record
from mockserver.domain.search_words import Word, words_of
from mockserver.engine.journal import Journal, JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.scenario.operations import OPERATIONS, operations_like
from mockserver.web.control.journal_facts import facts_of, sought_amount, sought_reference, status_of, text_of
from mockserver.web.runner import for_each
from mockserver.wire.profile import profile_of

Test: TypeAlias = Callable[[JournalEntry], bool]
"""Whether an entry fits."""

_STATUS = re.compile(r"[1-5](?:[0-9]{2}|[xX]{2})")
_FAILED = 400


def _by_operation(sandbox: Sandbox, wanted: str) -> Test:
    """Operations by name or glob: those of the service, of the clock, and whatever else the journal holds."""
    known = {*OPERATIONS, *(f"clock.{due}" for due in Due)}
    if wanted not in known:
        known |= {entry.asked.op for entry in sandbox.journal.entries}
    allowed = operations_like(wanted, known)
    return lambda entry: entry.asked.op in allowed


def _by_status(_: Sandbox, wanted: str) -> Test:
    """A status, or those of its class when that is written ``4xx``."""
    if _STATUS.fullmatch(wanted) is None:
        raise ValueError(f"got '{wanted[:20]}', wanted a status such as 404, or a class of them such as 4xx")
    allowed = {status for status in range(100, 600) if str(status).startswith(wanted.lower().rstrip("x"))}
    return lambda entry: status_of(entry) in allowed


def _by_rule(_: Sandbox, wanted: str) -> Test:
    if "*" in wanted or "?" in wanted:
        return lambda entry: any(one.rule and fnmatchcase(one.rule, wanted) for one in entry.result.decisions)
    return lambda entry: wanted in [one.rule for one in entry.result.decisions]


def _by_subject(_: Sandbox, wanted: str) -> Test:
    return lambda entry: wanted in [event.subject_id for event in entry.result.events]


def _by_id(_: Sandbox, wanted: str) -> Test:
    """An id, or a part of it, of what changed or is named in the path; or the number of the entry."""
    number = whole_of(wanted)

    def passes(entry: JournalEntry) -> bool:
        return (
            entry.number == number
            or any(wanted in event.subject_id for event in entry.result.events)
            or any(wanted in mask_text(part) for part in entry.asked.path.values())
        )

    return passes


def _by_code(_: Sandbox, wanted: str) -> Test:
    code = whole_of(wanted)
    if code is None:
        raise ValueError(f"got '{wanted[:20]}', wanted the number of an error code, such as 15")
    return lambda entry: facts_of(entry).get("code") == code


def _by_reference(_: Sandbox, wanted: str) -> Test:
    part = wanted.lower()
    return lambda entry: part in sought_reference(entry)


def _by_amount(_: Sandbox, wanted: str) -> Test:
    amount = number_of(wanted)
    if amount is None:
        raise ValueError(f"got '{wanted[:20]}', wanted an amount such as 12.50")
    return lambda entry: sought_amount(entry) == amount


def _by_currency(_: Sandbox, wanted: str) -> Test:
    currency = wanted.upper()
    return lambda entry: facts_of(entry).get("currency", "").upper() == currency


def _since(sandbox: Sandbox, wanted: str) -> Test:
    """After a mark, after the entry of a number, or within a duration before now."""
    marks = sandbox.journal.marks
    number = marks[wanted] if wanted in marks else whole_of(wanted)
    if number is not None:
        return lambda entry: entry.number > number
    try:
        begin = sandbox.now - parse_duration(wanted)
    except ValueError:
        hint = nearest(wanted, marks)
        raise ValueError(
            f"got '{mask_start(wanted, 40)}', wanted a duration such as 10m, a mark or a number{hint}"
        ) from None
    return lambda entry: entry.at >= begin


def _is(sandbox: Sandbox, wanted: str) -> Test:
    if wanted not in _CONDITIONS:
        raise ValueError(f"got '{wanted[:20]}'{nearest(wanted, _CONDITIONS)}, allowed: {', '.join(_CONDITIONS)}")
    return _CONDITIONS[wanted](sandbox)


def _is_finding(sandbox: Sandbox) -> Test:
    ledger = sandbox.watch.ledger if sandbox.watch is not None else ()
    numbers = frozenset(line.entry for finding in ledger for line in finding.evidence)
    return lambda entry: entry.number in numbers


_CONDITIONS: Mapping[str, Callable[[Sandbox], Test]] = {
    "failed": lambda _: lambda entry: entry.fault is not None or (status_of(entry) or 0) >= _FAILED,
    "declined": lambda _: lambda entry: "declined" in [event.what for event in entry.result.events],
    "refused": lambda _: lambda entry: (status_of(entry) or 0) >= _FAILED and not entry.result.events,
    "fault": lambda _: lambda entry: entry.fault is not None,
    "finding": _is_finding,
    "due": lambda _: lambda entry: not entry.method,
    "repeat": lambda _: lambda entry: entry.result.is_repeat,
    "scripted": lambda _: lambda entry: any(one.rule for one in entry.result.decisions),
}
"""What ``is:`` can ask."""

FILTERS: Mapping[str, Callable[[Sandbox, str], Test]] = {
    "op": _by_operation,
    "status": _by_status,
    "rule": _by_rule,
    "method": lambda _, wanted: lambda entry: entry.method == wanted.upper(),
    "path": lambda _, wanted: lambda entry: entry.path == wanted,
    "subject": _by_subject,
}
"""Filters of the query: the parameter, and what makes a test of an entry of its value. They raise ``ValueError`` for
one that no entry could ever have."""

OPERATORS: Mapping[str, Callable[[Sandbox, str], Test]] = {
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


def filters_of(sandbox: Sandbox, query: Any) -> list[Test]:
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


def searched(sandbox: Sandbox, text: str) -> list[Test]:
    """What an entry must pass to be found by a search. Raises ``Invalid`` (90) for one that means nothing."""
    try:
        words = words_of(text, OPERATORS)
        # To look into the text of an entry takes longest.
        return [_test(sandbox, word) for word in sorted(words, key=lambda word: word.operator is None)]
    except ValueError as fault:
        raise invalid({"Q": str(fault)}) from None


@record
class Found:
    """The ``entries`` that a search has found, oldest first. When it began, ``last`` was the newest number, from which
    a client goes on, and ``dropped`` entries had been pushed out."""

    entries: list[JournalEntry]
    last: int
    dropped: int

    def page(self, limit: int, *, from_oldest: bool) -> list[JournalEntry]:
        """At most ``limit`` entries: the oldest, or the newest."""
        return self.entries[:limit] if from_oldest else self.entries[max(len(self.entries) - limit, 0) :]


async def look_through(journal: Journal, tests: Sequence[Test], after: int, before: int | None = None) -> Found:
    """Find the entries between two numbers that pass every test; others are served meanwhile."""
    among = [entry for entry in journal.since(max(after, 0)) if not before or entry.number < before]
    last, dropped = journal.last, journal.dropped
    fits = await for_each(among, lambda entry: all(test(entry) for test in tests))
    return Found(list(compress(among, fits)), last, dropped)


def _test(sandbox: Sandbox, word: Word) -> Test:
    found = OPERATORS[word.operator](sandbox, word.value) if word.operator else _by_text(sandbox, word.value)
    return (lambda entry: not found(entry)) if word.excludes else found


def _by_text(sandbox: Sandbox, wanted: str) -> Test:
    """A text in small letters anywhere in what is shown of an entry."""
    profile = profile_of(sandbox.assumed)
    return lambda entry: wanted in text_of(entry, profile)
