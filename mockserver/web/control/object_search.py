"""Finding objects of one kind by the search language of ``q``.

Source: control document, Control API (``/__admin/objects``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, nearest
from mockserver.domain.reading import number_of
from mockserver.domain.search_words import Word, words_of
from mockserver.engine.sandbox import Sandbox

Shown = Mapping[str, object]
"""An object as the list shows it."""

Test = Callable[[Any], bool]


def object_tests(sandbox: Sandbox, kind: str, text: str, shown: Callable[[Any], Shown]) -> list[Test]:
    """What an object must pass; ``shown`` words it. Raises ``Invalid`` (90) for a search that means nothing."""
    try:
        return [_test(sandbox, kind, word, shown) for word in words_of(text, _OPERATORS)]
    except ValueError as fault:
        raise Invalid(Code.VALIDATION_ERROR, {"Q": str(fault)}) from None


def _state(wanted: str, shown: Shown) -> bool:
    return str(shown["state"] or "").lower() == wanted.lower()


def _amount(wanted: str, shown: Shown) -> bool:
    return number_of(str(shown["amount"] or "").rpartition(" ")[2]) == number_of(wanted)


_OPERATORS: Mapping[str, Callable[[str, Shown], bool]] = {
    "state": _state,
    "status": _state,
    "id": lambda wanted, shown: wanted.lower() in str(shown["id"]).lower(),
    "ref": lambda wanted, shown: wanted.lower() in str(shown["label"] or "").lower(),
    "amount": _amount,
    "currency": lambda wanted, shown: str(shown["amount"] or "").lower().startswith(f"{wanted.lower()} "),
    "is": lambda wanted, shown: False,
}


def _test(sandbox: Sandbox, kind: str, word: Word, shown: Callable[[Any], Shown]) -> Test:
    if word.operator == "is":
        found = _with_findings(sandbox, kind, word.value)
        passes: Test = lambda row: shown(row)["id"] in found  # noqa: E731
    elif word.operator is not None:
        holds = _OPERATORS[word.operator]
        if word.operator == "amount" and number_of(word.value) is None:
            raise ValueError(f"got '{word.value[:20]}', wanted an amount such as 12.50")
        passes = lambda row: holds(word.value, shown(row))  # noqa: E731
    else:
        passes = lambda row: word.value in " ".join(str(one) for one in shown(row).values() if one).lower()  # noqa: E731
    return (lambda row: not passes(row)) if word.excludes else passes


def _with_findings(sandbox: Sandbox, kind: str, wanted: str) -> frozenset[str]:
    if wanted != "finding":
        raise ValueError(f"got '{wanted[:20]}'{nearest(wanted, ['finding'])}, allowed: finding")
    ledger = sandbox.watch.ledger if sandbox.watch is not None else ()
    return frozenset(value for finding in ledger for value in finding.about.values())
