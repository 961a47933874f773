"""Finding entries of the journal: by filters of the query, and by the search language of ``q``; and the facts that the
row of an entry shows: reference, amount, code, message, refused fields.

Source: control document, Control API (``/__admin/journal``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from mockserver.domain.clock import parse_duration
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, nearest
from mockserver.domain.masking import mask_query, mask_start, mask_text
from mockserver.domain.money import number_text
from mockserver.domain.reading import number_of, whole_of
from mockserver.domain.search_words import Word, words_of
from mockserver.domain.slices import Slices
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.scenario.operations import OPERATIONS, operations_like
from mockserver.scenario.transport import FaultKind
from mockserver.wire.jsonio import MalformedJson, dumps, loads
from mockserver.wire.masked_bodies import mask_body
from mockserver.wire.profile import profile_of

T = TypeVar("T")

Filter = Callable[[JournalEntry], bool]
"""Whether an entry fits."""

_STATUS = re.compile(r"[1-5](?:[0-9]{2}|[xX]{2})")
_SLICE = 100
_FAILED = 400


def _by_operation(sandbox: Sandbox, wanted: str) -> Filter:
    """Operations by name or glob: those of the service, of the clock, and whatever else the journal holds."""
    known = {*OPERATIONS, *(f"clock.{due}" for due in Due), *(entry.step.op for entry in sandbox.journal.entries)}
    allowed = operations_like(wanted, known)
    return lambda entry: entry.step.op in allowed


def _by_status(_: Sandbox, wanted: str) -> Filter:
    """A status, or those of its class when that is written ``4xx``."""
    if _STATUS.fullmatch(wanted) is None:
        raise ValueError(f"got '{wanted[:20]}', wanted a status such as 404, or a class of them such as 4xx")
    beginning = wanted.lower().rstrip("x")
    return lambda entry: str(status_of(entry) or "").startswith(beginning)


def _by_rule(_: Sandbox, wanted: str) -> Filter:
    if "*" in wanted or "?" in wanted:
        return lambda entry: any(one.rule and fnmatchcase(one.rule, wanted) for one in entry.step.decisions)
    return lambda entry: any(one.rule == wanted for one in entry.step.decisions)


def _by_subject(_: Sandbox, wanted: str) -> Filter:
    return lambda entry: any(one.subject_id == wanted for one in entry.step.events)


def _by_id(_: Sandbox, wanted: str) -> Filter:
    """An id, or a part of it, of what changed or is named in the path; or the number of the entry."""
    number = whole_of(wanted)
    return lambda entry: (
        entry.number == number
        or any(wanted in event.subject_id for event in entry.step.events)
        or any(_may_show(wanted, part) and wanted in mask_text(part) for part in entry.step.path.values())
    )


def _may_show(wanted: str, text: str) -> bool:
    """Whether a text that is masked may have this in it: masking takes ten times as long as to see that it has not,
    and puts nothing there but stars and what the digits of other scripts mean."""
    return wanted in text or "*" in wanted or not text.isascii()


def _by_code(_: Sandbox, wanted: str) -> Filter:
    code = whole_of(wanted)
    if code is None:
        raise ValueError(f"got '{wanted[:20]}', wanted the number of an error code, such as 15")
    return lambda entry: code_of(entry) == code


def _by_reference(_: Sandbox, wanted: str) -> Filter:
    part = wanted.lower()

    def fits(entry: JournalEntry) -> bool:
        reference = reference_of(entry)
        return reference is not None and part in reference.lower()

    return fits


def _by_amount(_: Sandbox, wanted: str) -> Filter:
    amount = number_of(wanted)
    if amount is None:
        raise ValueError(f"got '{wanted[:20]}', wanted an amount such as 12.50")
    return lambda entry: number_of(entry.step.request.get("amount")) == amount


def _by_currency(_: Sandbox, wanted: str) -> Filter:
    currency = wanted.upper()
    return lambda entry: facts_of(entry).get("currency", "").upper() == currency


def _since(sandbox: Sandbox, wanted: str) -> Filter:
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


def _is(sandbox: Sandbox, wanted: str) -> Filter:
    if wanted not in _CONDITIONS:
        raise ValueError(f"got '{wanted[:20]}'{nearest(wanted, _CONDITIONS)}, allowed: {', '.join(_CONDITIONS)}")
    return _CONDITIONS[wanted](sandbox)


def _is_finding(sandbox: Sandbox) -> Filter:
    ledger = sandbox.watch.ledger if sandbox.watch is not None else ()
    numbers = frozenset(line.entry for finding in ledger for line in finding.evidence)
    return lambda entry: entry.number in numbers


_CONDITIONS: Mapping[str, Callable[[Sandbox], Filter]] = {
    "failed": lambda _: lambda entry: entry.fault is not None or (status_of(entry) or 0) >= _FAILED,
    "declined": lambda _: lambda entry: any(event.what == "declined" for event in entry.step.events),
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
    "method": lambda _, wanted: lambda entry: entry.method == wanted.upper(),
    "path": lambda _, wanted: lambda entry: entry.path == wanted,
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
        raise Invalid(Code.VALIDATION_ERROR, faults)
    return found


def searched(sandbox: Sandbox, text: str) -> list[Filter]:
    """What an entry must pass to be found by a search. Raises ``Invalid`` (90) for one that means nothing."""
    try:
        return [_filter(sandbox, word) for word in words_of(text, OPERATORS)]
    except ValueError as fault:
        raise Invalid(Code.VALIDATION_ERROR, {"Q": str(fault)}) from None


def fitting(items: Iterable[T], filters: Sequence[Callable[[T], bool]]) -> Slices[list[T]]:
    """The entries, or objects, that pass every filter; others have their turn while many are searched."""
    if not filters:
        return list(items)
    found = []
    for number, item in enumerate(tuple(items)):
        if number % _SLICE == _SLICE - 1:
            yield
        if all(passes(item) for passes in filters):
            found.append(item)
    return found


def _filter(sandbox: Sandbox, word: Word) -> Filter:
    if word.operator is not None:
        passes = OPERATORS[word.operator](sandbox, word.value)
    else:
        passes = _by_text(sandbox, word.value)
    return (lambda entry: not passes(entry)) if word.excludes else passes


def _by_text(sandbox: Sandbox, wanted: str) -> Filter:
    """A text anywhere in what is shown of an entry, so that no card number, ccv or key can be found by guessing."""
    raw = wanted.encode()
    word = profile_of(sandbox.assumed).word
    # What masking puts there, or escapes hide, is not in the bytes as they came.
    is_plain = wanted.isascii() and "*" not in wanted

    def in_body(body: bytes) -> bool:
        if is_plain and b"\\" not in body and raw not in body.lower():
            return False
        return wanted in dumps(mask_body(body)).decode().lower()

    def fits(entry: JournalEntry) -> bool:
        step = entry.step
        said = [step.op, str(status_of(entry) or "")]
        said += [decision.rule for decision in step.decisions if decision.rule]
        for event in step.events:
            said += [event.subject, event.subject_id, event.what, word(event.after) if event.after else ""]
        said += [*step.webhooks, *step.warnings]
        plain = " ".join([entry.method, entry.path, *said]).lower()
        if _may_show(wanted, plain) and wanted in " ".join([entry.method, mask_text(entry.path), *said]).lower():
            return True
        if entry.query and wanted in str(mask_query(entry.query)).lower():
            return True
        return in_body(entry.raw) or in_body(entry.answer)

    return fits


_LONGEST = 200
_MOST_FIELDS = 10
_LARGEST_ANSWER = 20_000
_REFUSED = 400


def status_of(entry: JournalEntry) -> int | None:
    """The status that the client was given, None when it was given none by us."""
    if entry.fault is not None and entry.fault.kind is FaultKind.STATUS:
        return entry.fault.status
    return entry.status


def answered(entry: JournalEntry) -> Mapping[str, object]:
    """The top of the answer's JSON object, its names in camelCase; empty for any other answer and for long lists."""
    if not entry.answer.startswith(b"{") or len(entry.answer) > _LARGEST_ANSWER:
        return {}
    try:
        found = loads(entry.answer)
    except MalformedJson:
        return {}
    return {name[:1].lower() + name[1:]: value for name, value in found.items()} if isinstance(found, dict) else {}


def reference_of(entry: JournalEntry) -> str | None:
    """The reference that the request gave, or that the charge has which it was about."""
    given = entry.step.request.get("reference") or getattr(entry.step.about.get("charge"), "reference", None)
    return mask_start(given, _LONGEST) if isinstance(given, str) else None


def code_of(entry: JournalEntry) -> int | None:
    """The error code of the answer."""
    return _code(entry, answered(entry)) if (entry.status or 0) >= _REFUSED else None


def facts_of(entry: JournalEntry) -> dict[str, Any]:
    """Everything that the row says besides time, operation, status and rule. A fact that is not known is left out;
    ``refused`` says by field what was wrong."""
    step, facts = entry.step, dict[str, Any]()
    # Most answers repeat what was asked: reading them is for the others.
    tells = (entry.status or 0) >= _REFUSED or step.request.get("amount") is None
    answer = answered(entry) if tells else {}
    asked = {**answer, **{name: value for name, value in step.request.items() if value is not None}}
    if (reference := reference_of(entry) or _text(answer.get("reference"))) is not None:
        facts["reference"] = reference
    if (amount := number_of(asked.get("amount"))) is not None:
        facts["amount"] = mask_text(number_text(amount))
        currency = _text(asked.get("currency")) or getattr(step.about.get("charge"), "currency", None)
        if currency is not None:
            facts["currency"] = currency[:10]
    if (entry.status or 0) >= _REFUSED:
        if (code := _code(entry, answer)) is not None:
            facts["code"] = code
        if (message := _text(answer.get("message"))) is not None:
            facts["message"] = message
        details = answer.get("details")
        if code == Code.VALIDATION_ERROR and isinstance(details, dict):
            facts["refused"] = {
                mask_start(name, _LONGEST): mask_start(str(text), _LONGEST)
                for name, text in list(details.items())[:_MOST_FIELDS]
            }
    if step.ignored:
        facts["ignored"] = [mask_start(name, _LONGEST) for name in step.ignored[:_MOST_FIELDS]]
    if step.warnings:
        facts["warnings"] = len(step.warnings)
    return facts


def _code(entry: JournalEntry, answer: Mapping[str, object]) -> int | None:
    code = answer.get("code")
    return code if type(code) is int else None


def _text(value: object) -> str | None:
    return mask_start(value, _LONGEST) if isinstance(value, str) and value else None
