"""What rules may see of the stored state: ``state.charge.status``, ``state.customer.reference`` and the like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from operator import attrgetter
from typing import Any
from weakref import proxy

from mockserver.domain.reading import SpelledWord, camel, snake
from mockserver.domain.states import ChargeState
from mockserver.engine.indexed_table import Table
from mockserver.engine.result import Asked
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.tables import TABLE_NAMES
from mockserver.scenario.matching import UnderWay
from mockserver.scenario.paths import ALIASES, SECRET, STORED

KINDS: Mapping[str, tuple[str, Callable[[Sandbox], Table[Any]]]] = {
    # The paths of tokens name them ``{token}``.
    kind: ("token" if kind == "token" else f"{kind}_id", attrgetter(TABLE_NAMES[rows]))
    for kind, rows in STORED.items()
}
"""Kinds of objects that a path may begin with: the name of their id, and where they are kept."""


def state_of(sandbox: Sandbox, asked: Asked, about: Mapping[str, object], path: str) -> object:
    """The stored value at a dotted path, in a step that asked for something and is about some objects; None where there
    is none."""
    kind, _, rest = path.partition(".")
    return value_at(sandbox, _object(sandbox, asked, about, snake(kind)), rest)


def reader_of(sandbox: Sandbox, asked: Asked, about: Mapping[str, object]) -> Callable[[str], object]:
    """What an attempt resolves paths with. The journal of the sandbox keeps it: a reference back to the sandbox would
    leave every one that was reset to the garbage collector."""
    return partial(state_of, proxy(sandbox), asked, about)


def under_way(sandbox: Sandbox, asked: Asked) -> list[UnderWay]:
    """The other calls of a sandbox that are not answered yet, as rules see them."""
    others = (step for step in sandbox.holding.in_flight.values() if step.asked is not asked)
    return [(step.asked.op, partial(state_of, sandbox, step.asked, step.result.about)) for step in others]


def value_at(sandbox: Sandbox, found: object, path: str) -> object:
    """The value at a dotted path of an object, or None where there is none. States are words of the API as the sandbox
    speaks it."""
    for part in path.split(".") if path else ():
        found = _member(found, part)
    if found is ChargeState.AUTHORISED:
        return SpelledWord(sandbox.assumed["charge.status.authorised"], ChargeState.AUTHORISED.value)
    return found.value if isinstance(found, Enum) else found


def _object(sandbox: Sandbox, asked: Asked, about: Mapping[str, object], kind: str) -> object:
    known = about.get(kind)
    if known is not None or kind not in KINDS:
        return known
    id_name, table = KINDS[kind]
    given = asked.path.get(id_name) or asked.request.get(camel(id_name))
    return table(sandbox).get(given) if isinstance(given, str) else None


def _member(found: object, part: str) -> object:
    if isinstance(found, Mapping):
        return found.get(part)
    name = snake(part)
    if name in SECRET:
        return None
    value = getattr(found, name, None)
    if value is None and name in ALIASES:
        value = found
        for step in ALIASES[name].split("."):
            value = getattr(value, step, None)
    return value
