"""What an entry of the journal says of itself: the facts of its row (reference, amount, code, message, refused fields),
and what searches look into.

Source: docs/control-api.md (``/__admin/timeline``).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from mockserver.domain.codes import Code
from mockserver.domain.masking import LONGEST_TEXT, mask_query, mask_start, mask_text
from mockserver.domain.money import number_text
from mockserver.domain.reading import number_of
from mockserver.domain.record import record
from mockserver.engine.journal import JournalEntry
from mockserver.scenario.transport import FaultKind
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import MalformedJson, loads
from mockserver.wire.masked_bodies import masked_text
from mockserver.wire.profile import WireProfile

_LONGEST = 200
_MOST_FIELDS = 10
_LARGEST_ANSWER = 20_000
_REFUSED = 400
_GIVEN = ("reference", "amount", "currency")
_OF_JSON = frozenset('"\\*:,{}[]')
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")


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


@record
class Sought:
    """The facts of an entry that searches compare. ``reference`` is in small letters, ``currency`` in capitals."""

    reference: str | None
    amount: Decimal | None
    currency: str
    code: int | None


def sought_of(entry: JournalEntry, _: WireProfile) -> Sought:
    """The facts that searches compare."""
    given = _given(entry)
    answer, reference = _answer_of(entry, given), _reference(entry, given)
    asked = _asked(given, answer)
    currency = _currency(entry, asked) if number_of(asked.get("amount")) is not None else None
    return Sought(
        None if reference is None else reference.lower(),
        number_of(given.get("amount")),
        "" if currency is None else currency.upper(),
        _code(entry, answer),
    )


PARTED = "A"
"""Stands between the parts of a text that is in small letters, where no word that is in small letters goes over it."""


def text_of(entry: JournalEntry, profile: WireProfile) -> str:
    """All that is shown of an entry, in small letters: no card number, ccv or key can be found in it by guessing."""
    bodies = [masked_text(body).lower() for body in _bodies(entry)]
    return PARTED.join((_said(entry, profile), *bodies))


def is_searchable(word: str) -> bool:
    """Whether a word that is in the text of an entry is in ``unmasked_of`` it too: one with a letter, which no number
    has, and without what stands between values, begins escapes or masks."""
    return word.isascii() and word.isprintable() and not _OF_JSON.intersection(word) and not _LETTERS.isdisjoint(word)


def unmasked_of(entry: JournalEntry, profile: WireProfile) -> str:
    """A text for searches in which all searchable words of the text of an entry are, and more: to make it takes a tenth
    of the time. It is never shown, nor says by itself that an entry fits."""
    bodies = _bodies(entry)
    if all(map(_shows_what_it_says, bodies)):
        return PARTED.join((_said(entry, profile), *(body.decode().lower() for body in bodies)))
    return text_of(entry, profile)


def _shows_what_it_says(body: bytes) -> bool:
    """Whether the texts of a body are shown with the letters that stand there, where they are not masked."""
    is_plain = b"\\" not in body and b"%" not in body and body.isascii()
    return is_plain and len(body) <= LONGEST_TEXT and body.decode().isprintable()


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
    return _facts(entry, _given(entry))


def _given(entry: JournalEntry) -> Mapping[str, Any]:
    """What the request gave of the row, from one reading of its text."""
    request = entry.step.request
    return request.some(_GIVEN) if isinstance(request, Fields) else {name: request.get(name) for name in _GIVEN}


def _reference(entry: JournalEntry, given: Mapping[str, Any]) -> str | None:
    """The reference that the request gave, or that the charge has which it was about."""
    found = given.get("reference") or getattr(entry.step.about.get("charge"), "reference", None)
    return mask_start(found, _LONGEST) if isinstance(found, str) else None


def _answer_of(entry: JournalEntry, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer, where it is read. Most answers repeat what was asked: reading them is for the others."""
    return answered(entry) if (entry.status or 0) >= _REFUSED or given.get("amount") is None else {}


def _asked(given: Mapping[str, Any], answer: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**answer, **{name: value for name, value in given.items() if value is not None}}


def _currency(entry: JournalEntry, asked: Mapping[str, Any]) -> str | None:
    """The currency of the amount that was asked for."""
    currency = _text(asked.get("currency")) or getattr(entry.step.about.get("charge"), "currency", None)
    return currency[:10] if currency is not None else None


def _code(entry: JournalEntry, answer: Mapping[str, Any]) -> int | None:
    """The code of a refusal."""
    code = answer.get("code")
    return code if (entry.status or 0) >= _REFUSED and type(code) is int else None


def _facts(entry: JournalEntry, given: Mapping[str, Any]) -> dict[str, Any]:
    step, facts = entry.step, dict[str, Any]()
    answer = _answer_of(entry, given)
    asked = _asked(given, answer)
    if (reference := _reference(entry, given) or _text(answer.get("reference"))) is not None:
        facts["reference"] = reference
    if (amount := number_of(asked.get("amount"))) is not None:
        facts["amount"] = mask_text(number_text(amount))
        if (currency := _currency(entry, asked)) is not None:
            facts["currency"] = currency
    if (entry.status or 0) >= _REFUSED:
        if (code := _code(entry, answer)) is not None:
            facts["code"] = code
        if (message := _text(answer.get("message"))) is not None:
            facts["message"] = message
        details = answer.get("details")
        if facts.get("code") == Code.VALIDATION_ERROR and isinstance(details, dict):
            facts["refused"] = {
                mask_start(name, _LONGEST): mask_start(str(text), _LONGEST)
                for name, text in list(details.items())[:_MOST_FIELDS]
            }
    if step.ignored:
        facts["ignored"] = [mask_start(name, _LONGEST) for name in step.ignored[:_MOST_FIELDS]]
    if step.warnings:
        facts["warnings"] = len(step.warnings)
    return facts


def _text(value: object) -> str | None:
    return mask_start(value, _LONGEST) if isinstance(value, str) and value else None
