"""Finding objects of one kind by the search language of ``q``.

Source: control document, Control API (``/__admin/objects``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, nearest
from mockserver.domain.money import number_text
from mockserver.domain.reading import number_of
from mockserver.domain.record import record
from mockserver.domain.search_words import Word, words_of
from mockserver.engine.query import Contains
from mockserver.engine.sandbox import Sandbox

Shown = Mapping[str, object]
"""An object as the list shows it."""

Test: TypeAlias = Callable[[Any], bool]

_ENDS = "\1\2\3"
_BARE = str.maketrans(dict.fromkeys(_ENDS, " "))


@record
class ObjectReader:
    """How an object is read: as the list shows it, and as one text in small letters with a sign of its own after its
    id, its state and its amount. Such a text is kept for each row of a long table, so that a word is found in it in
    a fortieth of the time."""

    id_name: str
    shown: Callable[[Any], Shown]

    def line(self, row: Any) -> str:
        """The one text."""
        parts = [str(self.shown(row)[name] or "") for name in ("id", "state", "amount", "label")]
        if not all(map(str.isprintable, parts)):
            parts = [part.translate(_BARE) for part in parts]
        return f"{parts[0]}\1{parts[1]}\2{parts[2]}\3{parts[3]}".lower()

    def id_of(self, row: Any) -> str:
        """The id alone."""
        found: str = getattr(row, self.id_name)
        return found


def object_tests(sandbox: Sandbox, text: str, reader: ObjectReader) -> list[Test]:
    """What an object must pass. Raises ``Invalid`` (90) for a search that means nothing."""
    try:
        return [test for word in words_of(text, _OPERATORS) for test in _tests(sandbox, word, reader)]
    except ValueError as fault:
        raise Invalid(Code.VALIDATION_ERROR, {"Q": str(fault)}) from None


_Found: TypeAlias = tuple[str, Test | None]
"""A part of its line that each object has which fits; and what else must hold, None when that says it all."""


def _tests(sandbox: Sandbox, word: Word, reader: ObjectReader) -> list[Test]:
    part, test = _OPERATORS[word.operator](word.value, reader, sandbox) if word.operator else _text(word.value, reader)
    if word.excludes:
        return [Contains(reader.line, part, present=False) if test is None else lambda row: not test(row)]
    return [*([Contains(reader.line, part)] if part else ()), *([test] if test is not None else ())]


def _text(wanted: str, reader: ObjectReader) -> _Found:
    if wanted.isprintable() and " " not in wanted:
        return wanted, None
    # A phrase may go from one part of the line to the next.
    return "", lambda row: wanted in " ".join(str(one) for one in reader.shown(row).values() if one).lower()


def _amount(wanted: str, _: ObjectReader, __: Sandbox) -> _Found:
    number = number_of(wanted)
    if number is None:
        raise ValueError(f"got '{wanted[:20]}', wanted an amount such as 12.50")
    return f"{number_text(number)}\3", lambda row: getattr(row, "amount", None) == number


def _with_findings(wanted: str, reader: ObjectReader, sandbox: Sandbox) -> _Found:
    if wanted != "finding":
        raise ValueError(f"got '{wanted[:20]}'{nearest(wanted, ['finding'])}, allowed: finding")
    ledger = sandbox.watch.ledger if sandbox.watch is not None else ()
    found = frozenset(value for finding in ledger for value in finding.about.values())
    return "", lambda row: reader.id_of(row) in found


def _state(wanted: str, _: ObjectReader, __: Sandbox) -> _Found:
    return f"\1{wanted.lower()}\2", None


def _id(wanted: str, reader: ObjectReader, _: Sandbox) -> _Found:
    part = wanted.lower()
    return _bare(part), lambda row: part in reader.id_of(row).lower()


def _reference(wanted: str, reader: ObjectReader, _: Sandbox) -> _Found:
    part = wanted.lower()
    return _bare(part), lambda row: part in str(reader.shown(row)["label"] or "").lower()


def _bare(part: str) -> str:
    return part.translate(_BARE)


_OPERATORS: Mapping[str, Callable[[str, ObjectReader, Sandbox], _Found]] = {
    "state": _state,
    "status": _state,
    "id": _id,
    "ref": _reference,
    "amount": _amount,
    "currency": lambda wanted, _, __: (f"\2{wanted.lower()} ", None),
    "is": _with_findings,
}
