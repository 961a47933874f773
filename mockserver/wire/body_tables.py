"""Bodies and queries that say no more than what their fields hold: rows of a table. Here are the queries of the
payments API, ``queries.csv``; those of charges, and those that do something, have a class each.

Source: docs/spec/published-facts.md, 1.3.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from keyword import iskeyword
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from pydantic import Field, create_model

from mockserver.domain.reading import snake
from mockserver.domain.record import record
from mockserver.domain.reference_data import read_grouped
from mockserver.domain.states import SubscriptionState
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.wire.base import Body, Flag, Moment, Number, Whole, one_of
from mockserver.wire.shapes import ListQuery


@record
class _Row:
    """A field, with other names by which it is read after ``or``: its default is null, ``required`` for none, or JSON.
    In the row without a field, the body itself, which holds more: see ``bodies_of``."""

    body: str
    field: str
    holds: str
    default: str
    meaning: str


def bodies_of(table: str, bases: Mapping[str, type[Body]], type_of: Callable[[str], Any]) -> Mapping[str, type[Body]]:
    """The bodies of a table by name: subclasses of what ``bases`` has for what they hold besides their fields, which
    have the type of what they hold."""
    tables = read_grouped(table, _Row, Path(__file__).parent)
    return {name: _body(bases[whole.holds], type_of, whole, rows) for name, (whole, *rows) in tables.items()}


def _body(base: type[Body], type_of: Callable[[str], Any], whole: _Row, rows: Sequence[_Row]) -> type[Body]:
    fields: dict[str, Any] = {}
    also: dict[str, str] = {}
    for row in rows:
        name, *others = row.field.split(" or ")
        held, default = type_of(row.holds), ... if row.default == "required" else json.loads(row.default or "null")
        said = Field(default, alias=name, description=row.meaning or None)
        fields[snake(name) + "_" * iskeyword(name)] = held if row.default or held is Any else held | None, said
        also |= dict.fromkeys(others, name)
    made = create_model(whole.body, __base__=base, __doc__=whole.meaning, **fields)
    made.also = also
    return made


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
