"""Answers made of ``replies.csv``: a field is written from the attribute that it is named after, or that its row says
to read, in the form of what it holds. A charge and its parts are written by plain code.

Source: docs/spec/published-facts.md, 2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

from mockserver.domain.clock import Instant, Micros
from mockserver.domain.field_metadata import Shown
from mockserver.domain.reading import snake
from mockserver.domain.record import record
from mockserver.domain.reference_data import read_table
from mockserver.wire.dates import moment, named_moment

ReplyAmount = Annotated[Decimal, Shown({"type": "number"})]
"""An exact amount in an answer: a JSON number, integral values without a fraction."""

ReplyDateTime = Annotated[str, Shown({"type": "string", "format": "date-time"})]
"""``YYYY-MM-DDTHH:MM:SS.fffffffZ``."""

Members = dict[str, Any]
"""The members of an object in an answer."""

_PLAIN: Mapping[str, Any] = {
    "text": str,
    "whole": int,
    "flag": bool,
    "map": dict[str, str],
    "object": dict[str, Any],
    "nothing": type(None),
    "amount": ReplyAmount,
    "date-time": ReplyDateTime,
}
_ALWAYS = "always "


@record
class _Row:
    """A field, what it holds, and what is read for it: an attribute of an attribute, or ``always`` a JSON value. In the
    row without a field, what the whole means, and whether it has ``some`` of its fields."""

    reply: str
    field: str
    holds: str
    read_from: str
    meaning: str


@cache
def _rows() -> Mapping[str, Sequence[_Row]]:
    rows = read_table("replies", _Row, Path(__file__).parent)
    return {name: tuple(listed) for name, listed in groupby(rows, lambda row: row.reply)}


@cache
def reply_type(holds: str) -> Any:
    """The type of what the table says that a field holds: a reply by its name, a word such as
    ``date-time``, or ``list of``, ``or null``, ``if any`` around one of them.
    Raises ``KeyError`` for an unknown word."""
    if holds in _PLAIN:
        return _PLAIN[holds]
    if (inner := holds.removesuffix(" if any")) != holds:
        return NotRequired.__getitem__(reply_type(inner))
    if (inner := holds.removesuffix(" or null")) != holds:
        return reply_type(inner) | None
    if (inner := holds.removeprefix("list of ")) != holds:
        return list.__class_getitem__(reply_type(inner))
    whole, *rows = _rows()[holds]
    fields = {row.field: reply_type(row.holds) for row in rows}
    kind: Any = TypedDict(holds, fields, total=whole.holds != "some")  # type: ignore[misc]
    kind.__doc__ = whole.meaning
    return kind


def reply_of(kind: Any, value: object, **others: object) -> Members:
    """An answer of a type, or of the name of one: the fields that ``others`` gives, and the rest from a value,
    ``paymentMethodId`` from its ``payment_method_id``, ``dateAdded`` and ``createdDate`` from its ``added``. Amounts
    and words go as they are, instants as date-times, objects as answers of their own. Raises ``TypeError`` for others
    that the type does not have."""
    blank, own, writers = _plan(kind, tuple(others))
    members: Members = {**blank, **{name: read(value) for name, read in own}, **others}
    for name, write in writers:
        if members[name] is not None:
            members[name] = write(members[name])
    return members


@cache
def _plan(kind: Any, given: tuple[str, ...]) -> tuple[Any, ...]:
    """Every field in order, with its value if that is always the same; what reads each of the others that are not
    given; and what writes those that do not go as they are."""
    kind = reply_type(kind) if isinstance(kind, str) else kind
    hints = get_type_hints(kind, include_extras=True)
    if not hints.keys() >= set(given):
        raise TypeError(f"{kind.__name__} has no {', '.join(set(given) - hints.keys())}")
    told = {row.field: row.read_from for row in _rows().get(kind.__name__, ())}
    always = {name: json.loads(words[len(_ALWAYS) :]) for name, words in told.items() if words.startswith(_ALWAYS)}
    names = [name for name, hint in hints.items() if name in given or get_origin(hint) is not NotRequired]
    own = [name for name in names if name not in given and name not in always]
    readers = [(name, attrgetter(told.get(name) or _attribute(name))) for name in own]
    writers = [(name, write) for name in own if (write := _writer(hints[name])) is not None]
    return {name: always.get(name) for name in names}, readers, writers


def _attribute(name: str) -> str:
    named = snake(name)
    return "added" if named == "created_date" else named.removeprefix("date_")


def _writer(hint: Any) -> Callable[[Any], object] | None:
    options = (hint, *get_args(hint))
    if ReplyDateTime in options:
        return _date_time
    if get_origin(hint) is list:
        each = _writer(options[1])
        return None if each is None else lambda values: list(map(each, values))
    nested = next(filter(is_typeddict, options), None)
    return None if nested is None else partial(reply_of, nested)


def _date_time(instant: Micros) -> str:
    return named_moment(instant) if isinstance(instant, Instant) else moment(instant)
