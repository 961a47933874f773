"""The search language of the journal (``q``, and the filters that stand beside it).

A search is some words, all of which must hold: plain text, or an operator with a value. Each word
becomes a ``Test``, a function of an entry, and an entry is found that passes them all. So the cost
of a search is that of its tests on all entries that are kept, which is why they run in this order:
operators first, which look at a field or two, then plain text, which needs all that is shown of an
entry (``text_of``). That text is kept with the entry while it takes no more memory than the entry
itself.

What always holds: a search finds only what the journal shows. It goes through masked text, so that
no card number, ccv or key can be found by guessing it digit by digit. And it is of one instant: the
entries are listed in one step, and looked at in a thread when they are many (``look_through``).

To add an operator is to add a row to ``OPERATORS``, for a word of ``is:`` one to ``_conditions``.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import partial
from sys import getsizeof
from typing import TypeAlias

from mockserver.domain.clock import Micros, parse_duration, parse_instant
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.masking import (
    mask_query,
    mask_start,
    mask_text,
)
from mockserver.domain.reading import number_of, whole_of
from mockserver.domain.record import record
from mockserver.engine.journal import Journal, JournalEntry, size_of
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.scenario.decisions import (
    fired_in,
)
from mockserver.scenario.operations import OPERATIONS, operations_like
from mockserver.web.control.entry_facts import (
    FIRST_FAILURE,
    facts_of,
    is_failed,
    problem_of,
    reference_of,
    request_fields,
    status_of,
)
from mockserver.web.control.raised import raised
from mockserver.web.runner import Runner
from mockserver.web.watching import SENT_BY
from mockserver.wire.jsonio import dumps
from mockserver.wire.masked_bodies import mask_body
from mockserver.wire.profile import WireProfile, profile_of

MOST_CHARACTERS, MOST_WORDS = 500, 20
"""What a search may have."""


_WORD = re.compile(r'(-?)(?:([A-Za-z]+):(?!//))?(?:"([^"]*)"|(\S+))')
"""A hyphen, an operator and a value, which may be a phrase. What begins an address (``https://``)
is no operator."""


@record
class Word:
    """One word of a search. ``operator`` is None for plain text, which is in small letters;
    ``excludes`` negates it."""

    operator: str | None
    value: str
    excludes: bool


def words_of(text: str, operators: Collection[str]) -> list[Word]:
    """The words of a search, all of which must hold. Raises ``ValueError``: too long, or an unknown
    operator."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"got {len(text)} characters, at most {MOST_CHARACTERS}")
    words = []
    for match in _WORD.finditer(text):
        minus, operator, phrase, plain = match.groups()
        # An empty phrase is one too.
        value = phrase if phrase is not None else plain
        if operator is None:
            words.append(Word(None, value.lower(), bool(minus)))
        elif operator.lower() in operators:
            words.append(Word(operator.lower(), value, bool(minus)))
        else:
            hint, allowed = nearest(operator, operators), ", ".join(operators)
            raise ValueError(f"unknown operator '{operator[:40]}'{hint}; allowed: {allowed}")
    if len(words) > MOST_WORDS:
        raise ValueError(f"got {len(words)} words, at most {MOST_WORDS}")
    # Somebody who types has not come to the value yet.
    return [word for word in words if word.value]


Test: TypeAlias = Callable[[JournalEntry], bool]
"""Whether an entry fits."""

MakeTest: TypeAlias = Callable[[Sandbox, str], Test]
"""Makes the test of an operator with a value. Raises ``ValueError`` for a value that no entry could
ever have."""


LAST_DIGITS = 4
"""Digits of a card number that anybody may see."""


_STATUS = re.compile(r"[1-5](?:[0-9]{2}|[xX]{2})")
"""A status, or a class of them."""


def _by_operation(sandbox: Sandbox, wanted: str) -> Test:
    """Operations by name or glob: those of the service, of the clock, and whatever else the journal
    holds."""
    known = {*OPERATIONS, *(f"clock.{due}" for due in Due)}
    if wanted not in known:
        known |= {entry.op for entry in sandbox.journal.entries}
    allowed = operations_like(wanted, known)

    def is_of_operation(entry: JournalEntry) -> bool:
        return entry.op in allowed

    return is_of_operation


def _by_status(_: Sandbox, wanted: str) -> Test:
    """A status, or those of its class when that is written ``4xx``: that of the answer that the
    client got."""
    if _STATUS.fullmatch(wanted) is None:
        raise ValueError(
            f"got '{wanted[:20]}', wanted a status such as 404, or a class of them such as 4xx"
        )
    digits = wanted.lower().rstrip("x")
    allowed = {status for status in range(100, 600) if str(status).startswith(digits)}

    def has_status(entry: JournalEntry) -> bool:
        return status_of(entry) in allowed

    return has_status


def _by_method(_: Sandbox, wanted: str) -> Test:
    method = wanted.upper()

    def has_method(entry: JournalEntry) -> bool:
        return entry.method == method

    return has_method


def _by_path(_: Sandbox, wanted: str) -> Test:
    def has_path(entry: JournalEntry) -> bool:
        return entry.path == wanted

    return has_path


def _by_subject(_: Sandbox, wanted: str) -> Test:
    """The id of an object that changed."""

    def has_changed(entry: JournalEntry) -> bool:
        return any(event.subject_id == wanted for event in entry.events)

    return has_changed


def _by_rule(_: Sandbox, wanted: str) -> Test:
    """A rule that fired, by its id or by a glob."""

    def has_fired(entry: JournalEntry) -> bool:
        return wanted in fired_in(entry.decisions)

    def has_one_like_it_fired(entry: JournalEntry) -> bool:
        return any(fnmatchcase(rule, wanted) for rule in fired_in(entry.decisions))

    is_glob = "*" in wanted or "?" in wanted
    return has_one_like_it_fired if is_glob else has_fired


def _by_id(_: Sandbox, wanted: str) -> Test:
    """An id, or a part of it, of what changed or is named in the path; or the number of the entry:
    a person pastes whichever is at hand. A read of an object changes nothing, hence the path."""
    number = whole_of(wanted)

    def has_id(entry: JournalEntry) -> bool:
        return (
            entry.number == number
            or any(wanted in event.subject_id for event in entry.events)
            or any(_shows(part, wanted) for part in entry.placeholders.values())
        )

    return has_id


def _shows(part: str, wanted: str) -> bool:
    """Whether a part of a path has a text in it, as it is shown. Masking takes its time, and of
    letters and digits it can only make asterisks: what is not there before is not there after."""
    is_plain = part.isascii() and part.isalnum()
    masking_adds_nothing = is_plain and "*" not in wanted
    if masking_adds_nothing and wanted not in part:
        return False
    return wanted in mask_text(part)


def _by_reference(_: Sandbox, wanted: str) -> Test:
    """A reference that holds a text, or with ``=`` before it the whole of one, as ``order-1`` is a
    part of ``order-10``; the case of letters does not count."""
    is_whole = wanted.startswith("=")
    text = wanted.removeprefix("=").lower()

    def has_reference(entry: JournalEntry) -> bool:
        reference = (reference_of(entry, request_fields(entry)) or "").lower()
        if is_whole:
            return reference == text
        return text in reference

    return has_reference


def _by_card(sandbox: Sandbox, wanted: str) -> Test:
    """The last four digits of a card that a body shows masked: with an asterisk before them they
    are no part of an amount or an id."""
    if not (len(wanted) == LAST_DIGITS and wanted.isdecimal()):
        raise ValueError(
            f"got {len(wanted)} characters, wanted the last {LAST_DIGITS} digits of a card"
        )
    return _by_text(sandbox, f"*{wanted}")


def _by_code(_: Sandbox, wanted: str) -> Test:
    """The code of the error that the client got: one status has many of them."""
    code = whole_of(wanted)
    if code is None:
        raise ValueError(f"got '{wanted[:20]}', wanted the number of an error code, such as 15")

    def has_code(entry: JournalEntry) -> bool:
        problem = problem_of(entry)
        return problem is not None and int(problem["code"]) == code

    return has_code


def amount_in(wanted: str) -> Decimal:
    """The amount of a search, as a number: it finds every way to write it. Raises
    ``ValueError``."""
    amount = number_of(wanted)
    if amount is None:
        raise ValueError(f"got '{wanted[:20]}', wanted an amount such as 12.50")
    return amount


def _by_amount(_: Sandbox, wanted: str) -> Test:
    """The amount that the request gave; ``5`` finds ``5.00``."""
    amount = amount_in(wanted)

    def has_amount(entry: JournalEntry) -> bool:
        return number_of(request_fields(entry).get("amount")) == amount

    return has_amount


def _by_currency(_: Sandbox, wanted: str) -> Test:
    """The currency that the row of the entry shows, which is that of the charge where the request
    names none."""
    currency = wanted.upper()

    def has_currency(entry: JournalEntry) -> bool:
        return facts_of(entry).get("currency", "").upper() == currency

    return has_currency


def _since(sandbox: Sandbox, wanted: str) -> Test:
    """After a mark, after the entry of a number, from a date-time on, or within a duration before
    now. A mark comes first: it is a name that the author of the test has chosen."""
    marks = sandbox.journal.marks
    number = marks.get(wanted, whole_of(wanted))
    begin = _instant_of(wanted, sandbox.now)

    def came_after(entry: JournalEntry) -> bool:
        return number is not None and entry.number > number

    def came_since(entry: JournalEntry) -> bool:
        return begin is not None and entry.at >= begin

    if number is not None:
        return came_after
    if begin is not None:
        return came_since
    words = "wanted a duration such as 10m, a date or date-time, a mark or a number"
    raise ValueError(f"got '{mask_start(wanted, 40)}', {words}{nearest(wanted, marks)}")


def _instant_of(text: str, now: Micros) -> Micros | None:
    """The instant of a date-time, or of a duration before now, that of the sandbox; None for any
    other text, as no text is both."""
    with suppress(ValueError):
        return parse_instant(text)
    with suppress(ValueError):
        return now - parse_duration(text)
    return None


def _until(sandbox: Sandbox, wanted: str) -> Test:
    """What ``since:`` leaves out."""
    return _but(_since(sandbox, wanted))


def _by_any_text(sandbox: Sandbox, wanted: str) -> Test:
    """A text in any part of the entry."""
    return _by_text(sandbox, wanted.lower())


def _is(sandbox: Sandbox, wanted: str) -> Test:
    """A condition of an entry, by its word. Raises ``ValueError`` for another, which would find
    nothing and look as if there were nothing."""
    conditions = _conditions(sandbox)
    if wanted not in conditions:
        hint = nearest(wanted, conditions)
        raise ValueError(f"got '{wanted[:20]}'{hint}, allowed: {', '.join(conditions)}")
    return conditions[wanted]


def _is_declined(entry: JournalEntry) -> bool:
    """Whether a payment was declined in it, whatever status the client got."""
    return any(event.what == "declined" for event in entry.events)


def _is_refused(entry: JournalEntry) -> bool:
    """Whether the answer is an error and nothing has happened; a decline is no refusal."""
    return (status_of(entry) or 0) >= FIRST_FAILURE and not entry.events


def _is_due(entry: JournalEntry) -> bool:
    """Whether it came due. What is done by hand, from the control page, has no request either, and
    was never due."""
    return not entry.method and SENT_BY not in entry.headers


def _is_spoilt(entry: JournalEntry) -> bool:
    """Whether a fault struck the request or its answer on their way."""
    return entry.fault is not None


def _is_repeat(entry: JournalEntry) -> bool:
    """Whether the idempotency key of its request was used before."""
    return entry.is_repeat


def _is_scripted(entry: JournalEntry) -> bool:
    """Whether a rule has fired in it."""
    return bool(fired_in(entry.decisions))


def _conditions(sandbox: Sandbox) -> Mapping[str, Test]:
    """What ``is:`` can ask, by its word. The evidence of all findings is collected once for a
    search, not for each entry."""
    evidence: set[int | None] = set()
    for finding in raised(sandbox):
        evidence.update(fact.entry for fact in finding.evidence)

    def is_evidence(entry: JournalEntry) -> bool:
        return entry.number in evidence

    return {
        "failed": is_failed,
        "declined": _is_declined,
        "refused": _is_refused,
        "fault": _is_spoilt,
        "finding": is_evidence,
        "due": _is_due,
        "repeat": _is_repeat,
        "scripted": _is_scripted,
    }


FILTERS: Mapping[str, MakeTest] = {
    "op": _by_operation,
    "status": _by_status,
    "rule": _by_rule,
    "method": _by_method,
    "path": _by_path,
    "subject": _by_subject,
}
"""Filters of the list, which are parameters of its query; each is an operator of ``q`` too."""

OPERATORS: Mapping[str, MakeTest] = {
    **FILTERS,
    "id": _by_id,
    "code": _by_code,
    "ref": _by_reference,
    "amount": _by_amount,
    "currency": _by_currency,
    "is": _is,
    "since": _since,
    "until": _until,
    "card": _by_card,
    "email": _by_any_text,
    "customer": _by_any_text,
}
"""Operators of ``q``."""


def filter_tests(sandbox: Sandbox, filters: Mapping[str, str | None]) -> list[Test]:
    """What an entry must pass: each of the ``FILTERS`` that has a value. Raises ``Invalid`` (90)
    naming each invalid one."""
    tests: list[Test] = []
    faults = {}
    for name, value in filters.items():
        if value is None:
            continue
        try:
            tests.append(FILTERS[name](sandbox, value))
        except ValueError as fault:
            faults[name.capitalize()] = str(fault)
    if faults:
        raise invalid(faults)
    return tests


def search_tests(sandbox: Sandbox, text: str) -> list[Test]:
    """What an entry must pass to be found by a search. Raises ``Invalid`` (90) for one that means
    nothing."""
    try:
        words = words_of(text, OPERATORS)
        # To look into the text of an entry takes longest.
        words.sort(key=lambda word: word.operator is None)
        return [_test_of(word, sandbox) for word in words]
    except ValueError as fault:
        raise invalid({"Q": str(fault)}) from None


@record
class Found:
    """The ``entries`` that a search has found, oldest first. When it began, ``last`` was the newest
    number, from which a client goes on, and ``dropped`` entries had been pushed out."""

    entries: list[JournalEntry]
    last: int
    dropped: int

    def page(self, limit: int, from_oldest: bool) -> list[JournalEntry]:
        """At most ``limit`` entries: the oldest, or the newest."""
        if from_oldest:
            return self.entries[:limit]
        return self.entries[max(len(self.entries) - limit, 0) :]


_SLICE = 1_000
"""Entries that are looked at in a thread before others may look at something there: to read the
bodies of so many takes a quarter of a second."""


async def look_through(
    runner: Runner, journal: Journal, tests: Sequence[Test], after: int, before: int | None = None
) -> Found:
    """Find the entries between two numbers that pass every test, among those that there are now.
    Many are looked at in a thread, slice by slice, so that others are served meanwhile and may look
    at something there in between."""
    candidates = list(journal.since(max(after, 0)))
    if before:
        candidates = [entry for entry in candidates if entry.number < before]
    last, dropped = journal.last, journal.dropped
    if len(candidates) <= _SLICE or not tests:
        return Found(_passing(candidates, tests), last, dropped)
    passing: list[JournalEntry] = []
    for begin in range(0, len(candidates), _SLICE):
        candidates_of_slice = candidates[begin : begin + _SLICE]
        passing += await runner.look_aside(partial(_passing, candidates_of_slice, tests))
    return Found(passing, last, dropped)


def _passing(entries: Sequence[JournalEntry], tests: Sequence[Test]) -> list[JournalEntry]:
    """The entries that pass all tests; the costly ones come last, for the few that are left."""
    passing = list(entries)
    for test in tests:
        passing = [entry for entry in passing if test(entry)]
    return passing


def _test_of(word: Word, sandbox: Sandbox) -> Test:
    """The test of a word. Raises ``ValueError`` for a value that means nothing to its operator."""
    make_test = OPERATORS[word.operator] if word.operator else _by_text
    test = make_test(sandbox, word.value)
    if word.excludes:
        return _but(test)
    return test


def _but(test: Test) -> Test:
    """All that a test leaves out."""

    def fails(entry: JournalEntry) -> bool:
        return not test(entry)

    return fails


def _by_text(sandbox: Sandbox, wanted: str) -> Test:
    """A text in small letters in any part of the entry."""
    profile = profile_of(sandbox.assumed)

    def shows_text(entry: JournalEntry) -> bool:
        return wanted in text_of(entry, profile)

    return shows_text


PARTED = "A"
"""Stands between the parts of a text that is in small letters, where no word that is in small
letters goes over it."""


def text_of(entry: JournalEntry, profile: WireProfile) -> str:
    """All that is shown of an entry, in small letters: no card number, ccv or key can be found in
    it by guessing. It is kept with the entry, unless it takes more memory than that."""
    if entry.search_text is not None:
        kept_profile, kept_text = entry.search_text
        # In another profile states have other words.
        if kept_profile is profile:
            return kept_text
    parts = [_text_beside_bodies(entry, profile)]
    for body in (entry.raw, entry.answer):
        if body and not body.isspace():
            parts.append(dumps(mask_body(body)).decode().lower())
    text = PARTED.join(parts)
    if getsizeof(text) <= size_of(entry):
        entry.search_text = profile, text
    return text


def _text_beside_bodies(entry: JournalEntry, profile: WireProfile) -> str:
    """What is shown of an entry besides its bodies, in small letters. The query stands by itself:
    a phrase is not found where it begins in one part and ends in the next."""
    words = [entry.method, mask_text(entry.path), entry.op, str(status_of(entry) or "")]
    words += fired_in(entry.decisions)
    for event in entry.events:
        after = profile.word(event.after) if event.after else ""
        words += [event.subject, event.subject_id, event.what, after]
    words += [*entry.webhooks, *entry.warnings]
    query = str(mask_query(entry.query)) if entry.query else ""
    return f"{' '.join(words).lower()}{PARTED}{query.lower()}"
