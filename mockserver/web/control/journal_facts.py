"""What an entry of the journal says of itself: the facts of its row (reference, amount, code, message, refused fields),
and what searches look into.

Source: docs/control-api.md (``/__admin/timeline``).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from sys import getsizeof
from typing import Any

from mockserver.domain.codes import Code
from mockserver.domain.masking import mask_query, mask_start, mask_text
from mockserver.domain.money import number_text
from mockserver.domain.problem import Problem
from mockserver.domain.reading import number_of
from mockserver.engine.journal import JournalEntry, size_of
from mockserver.scenario.transport import FaultKind
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import dumps
from mockserver.wire.masked_bodies import mask_body
from mockserver.wire.profile import WireProfile

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


def sought_reference(entry: JournalEntry) -> str:
    """What ``ref:`` looks into: a reference in small letters, empty where there is none."""
    return (_reference(entry, _given(entry)) or "").lower()


def sought_amount(entry: JournalEntry) -> Decimal | None:
    """What ``amount:`` compares: the amount that the request gave."""
    return number_of(_given(entry).get("amount"))


PARTED = "A"
"""Stands between the parts of a text that is in small letters, where no word that is in small letters goes over it."""


def text_of(entry: JournalEntry, profile: WireProfile) -> str:
    """All that is shown of an entry, in small letters: no card number, ccv or key can be found in it by guessing. It is
    kept with the entry, unless it takes more memory than that."""
    result = entry.result
    if result.search_text is not None and result.search_text[0] is profile:
        return result.search_text[1]
    bodies = [dumps(mask_body(body)).decode().lower() for body in _bodies(entry)]
    text = PARTED.join((_said(entry, profile), *bodies))
    # To the present step something may be added yet.
    if result.answered and getsizeof(text) <= size_of(entry):
        result.search_text = profile, text
    return text


def _bodies(entry: JournalEntry) -> list[bytes]:
    return [body for body in (entry.raw, entry.answer) if body and not body.isspace()]


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
    """The object that the answer shows; None for a list."""
    about, (kind, _, verb) = entry.result.about, entry.asked.op.partition(".")
    return None if verb in _LISTS else about.get("charge") or about.get(kind)


def _refusal(refused: Problem) -> dict[str, Any]:
    """What is said of a refusal."""
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
