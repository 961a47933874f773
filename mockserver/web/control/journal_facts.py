"""The facts in the row of a journal entry: reference, amount, code, message, refused fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.domain.codes import Code
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.money import number_text
from mockserver.domain.reading import number_of
from mockserver.engine.journal import JournalEntry
from mockserver.scenario.transport import FaultKind
from mockserver.wire.jsonio import MalformedJson, loads

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
