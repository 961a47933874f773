"""Finding entries of the journal: by filters of the query, and by the search language of ``q``; and what an entry says
of itself: the facts of its row, and what searches look into.

Source: docs/control-api.md (``/__admin/journal``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fnmatch import fnmatchcase
from itertools import compress
from sys import getsizeof
from typing import Any, TypeAlias

from mockserver.domain.clock import parse_duration, parse_instant
from mockserver.domain.codes import Code
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.masking import mask_query, mask_start, mask_text
from mockserver.domain.money import number_text
from mockserver.domain.problem import Problem
from mockserver.domain.reading import number_of, whole_of
from mockserver.domain.record import record
from mockserver.domain.search_words import Word, words_of
from mockserver.engine.journal import Journal, JournalEntry, size_of
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.scenario.operations import OPERATIONS, operations_like
from mockserver.scenario.transport import FaultKind
from mockserver.web.runner import for_each
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import dumps
from mockserver.wire.masked_bodies import mask_body
from mockserver.wire.profile import WireProfile, profile_of

Test: TypeAlias = Callable[[JournalEntry], bool]
"""Whether an entry fits."""

LAST_DIGITS = 4
"""Digits of a card number that anybody may see."""

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


def _code_in(wanted: str) -> int:
    code = whole_of(wanted)
    if code is None:
        raise ValueError(f"got '{wanted[:20]}', wanted the number of an error code, such as 15")
    return code


def _by_reference(_: Sandbox, wanted: str) -> Test:
    """A reference that holds a text, or with ``=`` before it the whole of one; the case of letters does not count."""
    part = wanted.lower()

    def passes(entry: JournalEntry) -> bool:
        reference = (_reference(entry, _given(entry)) or "").lower()
        return reference == part[1:] if part.startswith("=") else part in reference

    return passes


def _by_card(sandbox: Sandbox, wanted: str) -> Test:
    """The last four digits of a card that a body shows masked."""
    if not (len(wanted) == LAST_DIGITS and wanted.isdecimal()):
        raise ValueError(f"got {len(wanted)} characters, wanted the last {LAST_DIGITS} digits of a card")
    return _by_text(sandbox, f"*{wanted}")


def amount_in(wanted: str) -> Decimal:
    """The amount of a search. Raises ``ValueError``."""
    amount = number_of(wanted)
    if amount is None:
        raise ValueError(f"got '{wanted[:20]}', wanted an amount such as 12.50")
    return amount


def _is_same(read: Callable[[JournalEntry], object], wanted: object) -> Test:
    return lambda entry: read(entry) == wanted


def _since(sandbox: Sandbox, wanted: str) -> Test:
    """After a mark, after the entry of a number, from a date-time on, or within a duration before now."""
    marks = sandbox.journal.marks
    number = marks.get(wanted, whole_of(wanted))
    if number is not None:
        return lambda entry: entry.number > number
    for read in (parse_instant, lambda text: sandbox.now - parse_duration(text)):
        with suppress(ValueError):
            begin = read(wanted)
            return lambda entry: entry.at >= begin
    words = "wanted a duration such as 10m, a date or date-time, a mark or a number"
    raise ValueError(f"got '{mask_start(wanted, 40)}', {words}{nearest(wanted, marks)}")


def _until(sandbox: Sandbox, wanted: str) -> Test:
    """What ``since:`` with the same place leaves out."""
    later = _since(sandbox, wanted)
    return lambda entry: not later(entry)


def _is(sandbox: Sandbox, wanted: str) -> Test:
    if wanted not in _CONDITIONS:
        raise ValueError(f"got '{wanted[:20]}'{nearest(wanted, _CONDITIONS)}, allowed: {', '.join(_CONDITIONS)}")
    return _CONDITIONS[wanted](sandbox)


def _is_finding(sandbox: Sandbox) -> Test:
    ledger = sandbox.watch.ledger if sandbox.watch is not None else ()
    numbers = frozenset(line.entry for finding in ledger for line in finding.evidence)
    return lambda entry: entry.number in numbers


def is_failed(entry: JournalEntry) -> bool:
    """Whether the client was given an error, or no proper answer."""
    return entry.fault is not None or (status_of(entry) or 0) >= _FAILED


_CONDITIONS: Mapping[str, Callable[[Sandbox], Test]] = {
    "failed": lambda _: is_failed,
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
    "method": lambda _, wanted: _is_same(lambda entry: entry.method, wanted.upper()),
    "path": lambda _, wanted: _is_same(lambda entry: entry.path, wanted),
    "subject": lambda _, wanted: lambda entry: wanted in [event.subject_id for event in entry.result.events],
}
"""Filters of the query: the parameter, and what makes a test of an entry of its value. They raise ``ValueError`` for
one that no entry could ever have."""

OPERATORS: Mapping[str, Callable[[Sandbox, str], Test]] = {
    **FILTERS,
    "id": _by_id,
    "code": lambda _, wanted: _is_same(lambda entry: facts_of(entry).get("code"), _code_in(wanted)),
    "ref": _by_reference,
    "amount": lambda _, wanted: _is_same(lambda entry: number_of(_given(entry).get("amount")), amount_in(wanted)),
    "currency": lambda _, wanted: _is_same(lambda entry: facts_of(entry).get("currency", "").upper(), wanted.upper()),
    "is": _is,
    "since": _since,
    "until": _until,
    "card": _by_card,
    "email": lambda sandbox, wanted: _by_text(sandbox, wanted.lower()),
    "customer": lambda sandbox, wanted: _by_text(sandbox, wanted.lower()),
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
    profile = profile_of(sandbox.assumed)
    return lambda entry: wanted in text_of(entry, profile)


_LONGEST = 200
_MOST_FIELDS = 10
_GIVEN = ("reference", "amount", "currency")
_LISTS = ("search", "payment_methods")
"""What operations do that answer with a list."""


def status_of(entry: JournalEntry) -> int | None:
    """The status that the client was given, None when it was given none by us."""
    if entry.fault is not None and entry.fault.kind is FaultKind.STATUS:
        return entry.fault.status
    return entry.status


PARTED = "A"
"""Stands between the parts of a text that is in small letters, where no word that is in small letters goes over it."""


def text_of(entry: JournalEntry, profile: WireProfile) -> str:
    """All that is shown of an entry, in small letters: no card number, ccv or key can be found in it by guessing. It is
    kept with the entry, unless it takes more memory than that."""
    result = entry.result
    if result.search_text is not None and result.search_text[0] is profile:
        return result.search_text[1]
    bodies = [dumps(mask_body(one)).decode().lower() for one in (entry.raw, entry.answer) if one and not one.isspace()]
    text = PARTED.join((_said(entry, profile), *bodies))
    # To the present step something may be added yet.
    if result.answered and getsizeof(text) <= size_of(entry):
        result.search_text = profile, text
    return text


def _said(entry: JournalEntry, profile: WireProfile) -> str:
    """What is shown of an entry besides its bodies, in small letters."""
    result = entry.result
    said = [entry.method, mask_text(entry.path), entry.asked.op, str(status_of(entry) or "")]
    said += [decision.rule for decision in result.decisions if decision.rule]
    for event in result.events:
        after = profile.word(event.after) if event.after else ""
        said += [event.subject, event.subject_id, event.what, after]
    said += [*result.webhooks, *result.warnings]
    query = str(mask_query(entry.query)) if entry.query else ""
    return f"{' '.join(said).lower()}{PARTED}{query.lower()}"


def facts_of(entry: JournalEntry) -> dict[str, Any]:
    """Everything that the row says besides time, operation, status and rule. A fact that is not known is left out;
    ``refused`` says by field what was wrong."""
    result, given = entry.result, _given(entry)
    # Of what the request leaves open the answer tells what it has shown.
    shown = _shown(entry) if result.problem is None and given.get("amount") is None else None
    amount = number_of(given.get("amount")) if shown is None else getattr(shown, "amount", None)
    currency = _text(given.get("currency")) or getattr(shown or result.about.get("charge"), "currency", None)
    facts = {
        "reference": _reference(entry, given) or _text(getattr(shown, "reference", None)),
        "amount": None if amount is None else mask_text(number_text(amount)),
        "currency": None if amount is None or currency is None else currency[:10],
        **(_refusal(result.problem) if result.problem is not None else {}),
        "ignored": [mask_start(name, _LONGEST) for name in result.ignored[:_MOST_FIELDS]] or None,
        "warnings": len(result.warnings) or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _shown(entry: JournalEntry) -> object:
    about, (kind, _, verb) = entry.result.about, entry.asked.op.partition(".")
    return None if verb in _LISTS else about.get("charge") or about.get(kind)


def _refusal(refused: Problem) -> dict[str, Any]:
    facts: dict[str, Any] = {"code": int(refused["code"]), "message": _text(refused["message"])}
    if refused["code"] != Code.VALIDATION_ERROR or refused["details"] is None:
        return facts
    first = list(refused["details"].items())[:_MOST_FIELDS]
    return {**facts, "refused": {mask_start(name, _LONGEST): mask_start(text, _LONGEST) for name, text in first}}


def _given(entry: JournalEntry) -> Mapping[str, Any]:
    """What the request gave of the row, from one reading of its text."""
    request = entry.asked.request
    return request.pick(_GIVEN) if isinstance(request, Fields) else {name: request.get(name) for name in _GIVEN}


def _reference(entry: JournalEntry, given: Mapping[str, Any]) -> str | None:
    """The reference that the request gave, or that the charge has which it was about."""
    found = given.get("reference") or getattr(entry.result.about.get("charge"), "reference", None)
    return mask_start(found, _LONGEST) if isinstance(found, str) else None


def _text(value: object) -> str | None:
    return mask_start(value, _LONGEST) if isinstance(value, str) and value else None
