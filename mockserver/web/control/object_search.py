"""Finding objects of one kind by the search language of ``q``.

Source: docs/control-api.md (``/__admin/objects``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from mockserver.domain.errors import invalid, nearest
from mockserver.domain.money import number_text
from mockserver.domain.reading import number_of
from mockserver.domain.record import record
from mockserver.domain.search_words import Word, words_of
from mockserver.engine.query import Among, Contains, Section
from mockserver.engine.sandbox import Sandbox

Shown = Mapping[str, object]
"""An object as the list shows it."""

Test: TypeAlias = Callable[[Any], bool]

_IS = "is"
_SIGNS = "\1\2\3"
_PARTING = re.compile(f"[{_SIGNS}]+")
# Such signs of an object become halves of surrogate pairs: no text has those, as JSON with them is refused.
_GIVEN = {ord(sign): chr(0xDC00 + ord(sign)) for sign in _SIGNS}


@record
class ObjectReader:
    """How an object is read: as the list shows it, and as one text in small letters with a sign of its own after its
    id, its state and its amount. Such a text is kept for each row of a long table, so that a word is found in it in
    a fortieth of the time."""

    id_of: Callable[[Any], str]
    shown: Callable[[Any], Shown]

    def line(self, row: Any) -> str:
        """The one text."""
        shown = self.shown(row)
        parts = [str(shown[name] or "") for name in ("id", "state", "amount", "label")]
        if not all(map(str.isprintable, parts)):
            parts = [part.translate(_GIVEN) for part in parts]
        return f"{parts[0]}\1{parts[1]}\2{parts[2]}\3{parts[3]}".lower()


def object_tests(sandbox: Sandbox, text: str, reader: ObjectReader) -> list[Test]:
    """What an object must pass. Raises ``Invalid`` (90) for a search that means nothing."""
    try:
        return [_test(sandbox, word, reader) for word in words_of(text, (*_OPERATORS, _IS))]
    except ValueError as fault:
        raise invalid({"Q": str(fault)}) from None


def _test(sandbox: Sandbox, word: Word, reader: ObjectReader) -> Test:
    if word.operator == _IS:
        return Among(reader.id_of, _with_findings(word.value, sandbox), not word.excludes)
    text, section = _OPERATORS[word.operator](word.value) if word.operator else _text(word.value)
    return Contains(reader.line, text, not word.excludes, section)


def _with_findings(wanted: str, sandbox: Sandbox) -> frozenset[str]:
    if wanted != "finding":
        raise ValueError(f"got '{wanted[:20]}'{nearest(wanted, ['finding'])}, allowed: finding")
    ledger = sandbox.watch.ledger if sandbox.watch is not None else ()
    return frozenset(value for finding in ledger for value in finding.about.values())


_Wanted: TypeAlias = tuple[str, Section | None]
"""What the line of an object that fits has in it, or a section of that line."""


def _text(wanted: str) -> _Wanted:
    # A phrase may go from one part of the line to the next.
    return _as_kept(wanted), _spoken if " " in wanted else None


def _amount(wanted: str) -> _Wanted:
    number = number_of(wanted)
    if number is None:
        raise ValueError(f"got '{wanted[:20]}', wanted an amount such as 12.50")
    return f" {number_text(number)}\3", _money


def _state(wanted: str) -> _Wanted:
    return f"\1{_as_kept(wanted)}\2", None


def _as_kept(wanted: str) -> str:
    return wanted.translate(_GIVEN).lower()


def _spoken(line: str) -> str:
    return _PARTING.sub(" ", line.rstrip(_SIGNS))


def _id(line: str) -> str:
    return line.partition("\1")[0]


def _money(line: str) -> str:
    # An amount may be without a currency before it.
    return " " + line.partition("\2")[2].partition("\3")[0] + "\3"


def _label(line: str) -> str:
    return line.partition("\3")[2]


_OPERATORS: Mapping[str, Callable[[str], _Wanted]] = {
    "state": _state,
    "status": _state,
    "id": lambda wanted: (_as_kept(wanted), _id),
    "ref": lambda wanted: (_as_kept(wanted), _label),
    "amount": _amount,
    "currency": lambda wanted: (f"\2{_as_kept(wanted)} ", None),
}
