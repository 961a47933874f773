"""Answers made of ``replies.csv``, of the control API of ``control_answers.csv``: a field is
written from the attribute that it is named after, or that its row says to read, in the form of what
it holds.

Source: docs/spec/published-facts.md, 2.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from mockserver.domain.clock import duration_text, iso
from mockserver.domain.masking import mask_printed
from mockserver.domain.reading import snake
from mockserver.domain.record import read_grouped, record

Members = dict[str, Any]
"""The members of an object in an answer."""

_ALWAYS = "always "


@record
class _Row:
    """A field, what it holds, and what is read for it: an attribute of an attribute, or ``always``
    a JSON value. In the row without a field, what the whole means, and whether it has ``some`` of
    its fields."""

    reply: str
    field: str
    holds: str
    read_from: str
    meaning: str


@cache
def _table(name: str) -> Mapping[str, Sequence[_Row]]:
    return read_grouped(name, _Row, Path(__file__).parent)


def _rows(reply: str) -> Sequence[_Row]:
    """The rows of a reply, of the payments API or the control API. Raises ``KeyError`` for an
    unknown one."""
    rows = _table("replies").get(reply) or _table("control_answers").get(reply)
    if rows is None:
        raise KeyError(f"no reply {reply} in replies.csv or control_answers.csv")
    return rows


@record
class ReplyType:
    """An object of an answer: what it means, and what each of its fields holds, in the words of the
    table: a word such as ``date-time`` or the name of another reply, with ``list of`` or ``map of``
    before it, ``or null`` or ``if any`` behind it. ``some`` means that any of them may be
    missing."""

    meaning: str
    some: bool
    fields: Mapping[str, str]


@cache
def reply_type(name: str) -> ReplyType:
    """The reply of a name. Raises ``KeyError`` for an unknown one."""
    whole, *rows = _rows(name)
    return ReplyType(whole.meaning, whole.holds == "some", {row.field: row.holds for row in rows})


def reply_of(name: str, value: object, /, **others: object) -> Members:
    """An answer of the reply of that name: the fields that ``others`` gives, and the rest from a
    value, ``paymentMethodId`` from its ``payment_method_id``, ``dateAdded`` and ``createdDate``
    from its ``added``. Amounts and words go as they are, instants as date-times, objects as answers
    of their own. Raises ``TypeError`` for others that the reply does not have."""
    blank, own = _plan(name, tuple(others))
    members: Members = {**blank, **others}
    for field, read, write in own:
        found = read(value)
        members[field] = found if found is None or write is None else write(found)
    return members


@cache
def _plan(name: str, given: tuple[str, ...]) -> tuple[Any, ...]:
    """Every field in order, with its value if that is always the same; and the others that are not
    given, each with what reads it, and what writes it unless it goes as it is."""
    _, *rows = _rows(name)
    if unknown := set(given) - {row.field for row in rows}:
        raise TypeError(f"{name} has no {', '.join(unknown)}")
    rows = [row for row in rows if row.field in given or not row.holds.endswith(" if any")]
    always = {
        row.field: json.loads(row.read_from.removeprefix(_ALWAYS))
        for row in rows
        if row.read_from.startswith(_ALWAYS)
    }
    own = [row for row in rows if row.field not in given and row.field not in always]
    read = [
        (row.field, attrgetter(row.read_from or _attribute(row.field)), _writer(row.holds))
        for row in own
    ]
    return {row.field: always.get(row.field) for row in rows}, read


_WRITERS: Mapping[str, Callable[[Any], object]] = {
    "count": len,
    "date-time": iso,
    "duration": duration_text,
    "masked text": mask_printed,
}
"""How words are written that do not go as they are."""


def _attribute(name: str) -> str:
    named = snake(name)
    return "added" if named == "created_date" else named.removeprefix("date_")


def _writer(holds: str) -> Callable[[Any], object] | None:
    inner = holds.removesuffix(" if any").removesuffix(" or null")
    if inner in _WRITERS:
        return _WRITERS[inner]
    if (each := inner.removeprefix("list of ")) != inner:
        write = _writer(each)
        return None if write is None else lambda values: list(map(write, values))
    # Other words than names of replies are written as they are.
    return partial(reply_of, inner) if inner[0].isupper() else None
