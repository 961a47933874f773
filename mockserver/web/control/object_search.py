"""Finding objects of one kind by the search language of ``q``.

Source: docs/control-api.md (``/__admin/objects``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import contains, eq
from typing import Any, TypeAlias

from mockserver.domain.errors import invalid, nearest
from mockserver.domain.money import number_text
from mockserver.domain.reading import number_of
from mockserver.domain.record import record
from mockserver.domain.search_words import Word, words_of
from mockserver.engine.query import Among, Check, Contains
from mockserver.engine.sandbox import Sandbox

Shown = Mapping[str, object]
"""An object as the list shows it: its ``id``, ``state``, ``amount`` with the currency, and ``label``."""

_IS = "is"


@record
class ObjectReader:
    """How objects of one kind are read."""

    id_of: Callable[[Any], str]
    shown: Callable[[Any], Shown]

    def text(self, row: Any) -> str:
        """All that is shown of an object, in small letters."""
        return " ".join(str(part) for part in self.shown(row).values() if part).lower()


Fits: TypeAlias = Callable[[str, str], bool]
"""Whether a part of what is shown, in small letters, is what is wanted, or has it in it."""


@record
class _Part:
    """Whether one part of what is shown of an object fits, or unless ``present`` does not."""

    reader: ObjectReader
    name: str
    fits: Fits
    wanted: str
    present: bool

    def __call__(self, row: Any) -> bool:
        return self.fits(str(self.reader.shown(row)[self.name] or "").lower(), self.wanted) is self.present


def object_tests(sandbox: Sandbox, text: str, reader: ObjectReader) -> list[Check[Any]]:
    """What an object must pass. Raises ``Invalid`` (90) for a search that means nothing."""
    try:
        return [_test(sandbox, word, reader) for word in words_of(text, (*_OPERATORS, _IS))]
    except ValueError as fault:
        raise invalid({"Q": str(fault)}) from None


def _test(sandbox: Sandbox, word: Word, reader: ObjectReader) -> Check[Any]:
    present = not word.excludes
    if word.operator is None:
        return Contains(reader.text, word.value, present)
    if word.operator == _IS:
        return Among(reader.id_of, _with_findings(word.value, sandbox), present)
    name, fits = _OPERATORS[word.operator]
    wanted = _amount(word.value) if word.operator == "amount" else word.value.lower()
    return _Part(reader, name, fits, wanted, present)


def _with_findings(wanted: str, sandbox: Sandbox) -> frozenset[str]:
    if wanted != "finding":
        raise ValueError(f"got '{wanted[:20]}'{nearest(wanted, ['finding'])}, allowed: finding")
    ledger = sandbox.watch.ledger if sandbox.watch is not None else ()
    return frozenset(value for finding in ledger for value in finding.about.values())


def _amount(wanted: str) -> str:
    number = number_of(wanted)
    if number is None:
        raise ValueError(f"got '{wanted[:20]}', wanted an amount such as 12.50")
    return number_text(number)


_OPERATORS: Mapping[str, tuple[str, Fits]] = {
    "state": ("state", eq),
    "status": ("state", eq),
    "id": ("id", contains),
    "ref": ("label", contains),
    # An amount may be without a currency before it.
    "amount": ("amount", lambda shown, wanted: shown.rpartition(" ")[2] == wanted),
    "currency": ("amount", lambda shown, wanted: shown.rpartition(" ")[0] == wanted),
}
"""Operators of ``q``: the part of what is shown that they look at, and when it fits."""
