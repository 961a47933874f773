"""What an entry of the journal says of itself: the facts of its row (reference, amount, code, message, refused fields),
and what searches look into.

Source: docs/control-api.md (``/__admin/timeline``).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from mockserver.domain.codes import Code
from mockserver.domain.masking import mask_query, mask_start, mask_text
from mockserver.domain.money import number_text
from mockserver.domain.reading import number_of
from mockserver.engine.journal import JournalEntry
from mockserver.scenario.transport import FaultKind
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import MalformedJson, dumps, loads
from mockserver.wire.masked_bodies import mask_body
from mockserver.wire.profile import WireProfile

_LONGEST = 200
_MOST_FIELDS = 10
_LARGEST_ANSWER = 20_000
_REFUSED = 400
_GIVEN = ("reference", "amount", "currency")


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


def sought_reference(entry: JournalEntry) -> str:
    """What ``ref:`` looks into: a reference in small letters, empty where there is none."""
    return (_reference(entry, _given(entry)) or "").lower()


def sought_amount(entry: JournalEntry) -> Decimal | None:
    """What ``amount:`` compares: the amount that the request gave."""
    return number_of(_given(entry).get("amount"))


PARTED = "A"
"""Stands between the parts of a text that is in small letters, where no word that is in small letters goes over it."""


def text_of(entry: JournalEntry, profile: WireProfile) -> str:
    """All that is shown of an entry, in small letters: no card number, ccv or key can be found in it by guessing."""
    bodies = [dumps(mask_body(body)).decode().lower() for body in _bodies(entry)]
    return PARTED.join((_said(entry, profile), *bodies))


def _bodies(entry: JournalEntry) -> list[bytes]:
    return [body for body in (entry.raw, entry.answer) if body and not body.isspace()]


def _said(entry: JournalEntry, profile: WireProfile) -> str:
    """What is shown of an entry besides its bodies, in small letters."""
    step = entry.step
    said = [entry.method, mask_text(entry.path), step.op, str(status_of(entry) or "")]
    said += [decision.rule for decision in step.decisions if decision.rule]
    for event in step.events:
        after = profile.word(event.after) if event.after else ""
        said += [event.subject, event.subject_id, event.what, after]
    said += [*step.webhooks, *step.warnings]
    query = str(mask_query(entry.query)) if entry.query else ""
    return f"{' '.join(said).lower()}{PARTED}{query.lower()}"


def facts_of(entry: JournalEntry) -> dict[str, Any]:
    """Everything that the row says besides time, operation, status and rule. A fact that is not known is left out;
    ``refused`` says by field what was wrong."""
    step, given, is_refused = entry.step, _given(entry), (entry.status or 0) >= _REFUSED
    # Most answers repeat what was asked: the others are read.
    answer = answered(entry) if is_refused or given.get("amount") is None else {}
    asked = {**answer, **{name: value for name, value in given.items() if value is not None}}
    amount, charge = number_of(asked.get("amount")), step.about.get("charge")
    currency = _text(asked.get("currency")) or getattr(charge, "currency", None)
    facts = {
        "reference": _reference(entry, given) or _text(answer.get("reference")),
        "amount": None if amount is None else mask_text(number_text(amount)),
        "currency": None if amount is None or currency is None else currency[:10],
        **(_refusal(answer) if is_refused else {}),
        "ignored": [mask_start(name, _LONGEST) for name in step.ignored[:_MOST_FIELDS]] or None,
        "warnings": len(step.warnings) or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _refusal(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What the answer says of a refusal."""
    code, details = answer.get("code"), answer.get("details")
    facts = {"code": code if type(code) is int else None, "message": _text(answer.get("message"))}
    if code != Code.VALIDATION_ERROR or not isinstance(details, dict):
        return facts
    first = list(details.items())[:_MOST_FIELDS]
    return {**facts, "refused": {mask_start(name, _LONGEST): mask_start(str(text), _LONGEST) for name, text in first}}


def _given(entry: JournalEntry) -> Mapping[str, Any]:
    """What the request gave of the row, from one reading of its text."""
    request = entry.step.request
    return request.some(_GIVEN) if isinstance(request, Fields) else {name: request.get(name) for name in _GIVEN}


def _reference(entry: JournalEntry, given: Mapping[str, Any]) -> str | None:
    """The reference that the request gave, or that the charge has which it was about."""
    found = given.get("reference") or getattr(entry.step.about.get("charge"), "reference", None)
    return mask_start(found, _LONGEST) if isinstance(found, str) else None


def _text(value: object) -> str | None:
    return mask_start(value, _LONGEST) if isinstance(value, str) and value else None
