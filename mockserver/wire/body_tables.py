"""Bodies and queries that say no more than what their fields hold: rows of a table. Here are the queries of the
payments API, ``queries.csv``; those of charges, and those that do something, have a class each.

Source: docs/spec/published-facts.md, 1.3.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from itertools import groupby
from keyword import iskeyword
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from mockserver.domain.reading import snake
from mockserver.domain.record import record
from mockserver.domain.reference_data import read_table
from mockserver.domain.states import SubscriptionState
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.wire.base import REQUIRED, Body, Flag, Moment, Number, Whole, field, one_of
from mockserver.wire.shapes import ListQuery


@record
class _Row:
    """A field: its default is null, ``required`` for none, or JSON. In the row without a field, the body itself, which
    holds more: see ``bodies_of``."""

    body: str
    field: str
    holds: str
    default: str
    meaning: str
    also: str = ""


def bodies_of(table: str, bases: Mapping[str, type[Body]], type_of: Callable[[str], Any]) -> Mapping[str, type[Body]]:
    """The bodies of a table by name: subclasses of what ``bases`` has for what they hold besides their fields, which
    have the type of what they hold."""
    rows = groupby(read_table(table, _Row, Path(__file__).parent), lambda row: row.body)
    return {name: _body(bases[whole.holds], type_of, whole, *fields) for name, (whole, *fields) in rows}


def _body(base: type[Body], type_of: Callable[[str], Any], whole: _Row, *rows: _Row) -> type[Body]:
    annotations: dict[str, Any] = {}
    said: dict[str, Any] = {"__doc__": whole.meaning, "__annotations__": annotations}
    for row in rows:
        name, held = snake(row.field) + "_" * iskeyword(row.field), type_of(row.holds)
        annotations[name] = held if row.default or held is Any else held | None
        default = REQUIRED if row.default == "required" else json.loads(row.default or "null")
        said[name] = field(default, alias=row.field, description=row.meaning, also=row.also)
    return type(whole.body, (base,), said)


_HELD: Mapping[str, Any] = {
    "text": str,
    "number": Number,
    "whole": Whole,
    "flag": Flag,
    "moment": Moment,
    "subscription status": one_of(SubscriptionState),
    "webhook type": one_of(WebhookType),
}
"""What fields of queries hold, by the words of the table."""


def query_type(name: str) -> type[Body]:
    """The query of a name in the table, or in a module of this package as ``charge_bodies.ChargeQuery``. Raises
    ``KeyError`` or ``AttributeError`` for an unknown one."""
    found: type[Body] = resolve_name(f"mockserver.wire.{name.replace('.', ':')}") if "." in name else _queries()[name]
    return found


@cache
def _queries() -> Mapping[str, type[Body]]:
    return bodies_of("queries", {"": Body, "list": ListQuery}, _HELD.__getitem__)
