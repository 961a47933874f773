"""What is said of an entry of the journal in short: the facts of its line in a timeline, which are
also what a search looks at.

An entry keeps request and answer as they came, and what the engine noted of the object that it was
about (``described``). A fact is taken from the request first, since that is what a reader looks
for; what the request leaves open comes from the object. Whatever is said here is masked or cut.
"""

import json
from collections.abc import Mapping
from typing import TypedDict

from mockserver.domain.codes import Code
from mockserver.domain.errors import Problem
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.money import number_text
from mockserver.domain.reading import number_of
from mockserver.engine.journal import Described, JournalEntry
from mockserver.scenario.transport import FaultKind
from mockserver.web.journaled import fields_of
from mockserver.wire.fields import Fields

LONGEST_FACT = 200
"""Characters of a text that are shown."""

_MOST_FIELDS = 10
"""Fields that are named of an error, or of what was ignored: a line has no room for more."""

_REQUEST_FIELDS = ("reference", "amount", "currency")

FIRST_FAILURE = 400
"""The least status of an answer that is an error."""


def status_of(entry: JournalEntry) -> int | None:
    """The status that the client got, None when it got none by us. A scenario may have put another
    in the place of that of the step, which the entry has."""
    if entry.fault is not None and entry.fault.kind is FaultKind.STATUS:
        return entry.fault.status
    return entry.status


def is_failed(entry: JournalEntry) -> bool:
    """Whether the client got an error, or no proper answer."""
    return entry.fault is not None or (status_of(entry) or 0) >= FIRST_FAILURE


class EntryFacts(TypedDict, total=False):
    """Everything that the row of an entry says besides time, operation, status and rule. A fact
    that is not known is left out; ``refused`` says by field what was wrong, ``warnings`` counts."""

    reference: str
    amount: str
    currency: str
    code: int
    message: str
    refused: dict[str, str]
    ignored: list[str]
    warnings: int


def facts_of(entry: JournalEntry) -> EntryFacts:
    """The facts of an entry, from the request first, then from the object that it was about."""
    request, problem = request_fields(entry), problem_of(entry)
    amount = number_of(request.get("amount"))
    currency = _text(request.get("currency"))
    reference = reference_of(entry, request)
    described = entry.described
    charge = _charge_of(entry)
    if described is not None and _leaves_amount_to_answer(entry, request, problem):
        amount = described.amount
        currency = currency or described.currency
        reference = reference or _text(described.reference)
    elif charge is not None:
        currency = currency or charge.currency
    facts = EntryFacts()
    if reference is not None:
        facts["reference"] = reference
    if amount is not None:
        facts["amount"] = mask_text(number_text(amount))
        # Without an amount a currency says nothing.
        if currency is not None:
            facts["currency"] = currency[:10]
    if problem is not None:
        facts |= _refusal(problem)
    if entry.ignored:
        ignored = entry.ignored[:_MOST_FIELDS]
        facts["ignored"] = [mask_start(name, LONGEST_FACT) for name in ignored]
    if entry.warnings:
        facts["warnings"] = len(entry.warnings)
    return facts


def _leaves_amount_to_answer(
    entry: JournalEntry, request: Mapping[str, object], problem: Problem | None
) -> bool:
    """Whether the answer has told what the request leaves open, such as the amount of a whole
    refund. An error tells nothing of an object, and a list is about no single one."""
    _, _, verb = entry.op.partition(".")
    is_list = verb in ("search", "payment_methods")
    return problem is None and not is_list and request.get("amount") is None


def _charge_of(entry: JournalEntry) -> Described | None:
    """The charge that a step was about, None for one about any other object: only a charge has the
    reference of an order."""
    described = entry.described
    if described is None or described.kind != "charge":
        return None
    return described


def problem_of(entry: JournalEntry) -> Problem | None:
    """The error object that a step was answered with, None where it was no error. A page for payers
    says an error as HTML, which has none."""
    if (entry.status or 0) < FIRST_FAILURE or not entry.answer.startswith(b"{"):
        return None
    problem: Problem = json.loads(entry.answer)
    return problem


def _refusal(problem: Problem) -> EntryFacts:
    """What an error says in short; of a body that was refused also what is wrong with its
    fields. The details of other errors repeat the charge that failed."""
    facts = EntryFacts(code=int(problem["code"]))
    message = _text(problem["message"])
    if message is not None:
        facts["message"] = message
    if problem["code"] == Code.VALIDATION_ERROR and problem["details"] is not None:
        facts["refused"] = faults_of(problem)
    return facts


def faults_of(problem: Problem) -> dict[str, str]:
    """What an error says of each field, as it may be shown: the first fields, the beginning of each
    text. A journal entry masks the whole text of some fields, such as a ccv's; what an error says
    of them holds no value."""
    first = list((problem["details"] or {}).items())[:_MOST_FIELDS]
    return {mask_start(name, LONGEST_FACT): mask_start(text, LONGEST_FACT) for name, text in first}


def request_fields(entry: JournalEntry) -> Mapping[str, object]:
    """Reference, amount and currency of the request, from one reading of its text: a body of a
    megabyte is not made into objects for three of its fields."""
    fields = fields_of(entry)
    if isinstance(fields, Fields):
        return fields.pick(_REQUEST_FIELDS)
    return {name: fields.get(name) for name in _REQUEST_FIELDS}


def reference_of(entry: JournalEntry, request: Mapping[str, object]) -> str | None:
    """The reference in the ``request_fields`` of an entry, or else that of the charge which it was
    about."""
    reference = request.get("reference")
    if not reference:
        charge = _charge_of(entry)
        reference = charge.reference if charge is not None else None
    # A client may send anything in the place of a text.
    if not isinstance(reference, str):
        return None
    return mask_start(reference, LONGEST_FACT)


def _text(value: object) -> str | None:
    """A text as it may be shown; None for none, and for what a client has sent in its place."""
    if not isinstance(value, str) or not value:
        return None
    return mask_start(value, LONGEST_FACT)
