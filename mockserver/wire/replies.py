"""Answers made of ``replies.csv``, of the control API of ``control_answers.csv``: a field is
written from the attribute that it is named after, or that its row says to read, in the form of what
it holds.

One table says what an answer has. ``reply_of`` writes answers by it, ``schemas`` describes them by
it: a field that is added there is served and documented. What is to be read of an object and how it
is written is worked out once for each reply (``_plan``), as lists have thousands of rows.

Source: docs/spec/published-facts.md, 2.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

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
    plan = _plan(name, tuple(others))
    # All fields in the order of the table, whoever gives their values.
    members: Members = {**plan.constants, **others}
    for field, read, write in plan.read:
        found = read(value)
        members[field] = found if found is None or write is None else write(found)
    return members


class _ReadField(NamedTuple):
    """A field that is read of an object: ``write`` gives it its form, None where it goes as it
    is."""

    name: str
    read: Callable[[object], Any]
    write: Callable[[Any], object] | None


class _Plan(NamedTuple):
    """How a reply is written: every field in order with its value, None unless that is always the
    same; and the fields that are read."""

    constants: Members
    read: list[_ReadField]


@cache
def _plan(name: str, given: tuple[str, ...]) -> _Plan:
    """How a reply is written whose fields ``given`` come from elsewhere. Without them the fields
    that are there ``if any`` are left out."""
    _, *rows = _rows(name)
    unknown = set(given) - {row.field for row in rows}
    if unknown:
        raise TypeError(f"{name} has no {', '.join(unknown)}")
    plan = _Plan({}, [])
    for row in rows:
        if row.field not in given and row.holds.endswith(" if any"):
            continue
        plan.constants[row.field] = None
        if row.read_from.startswith(_ALWAYS):
            plan.constants[row.field] = json.loads(row.read_from.removeprefix(_ALWAYS))
        elif row.field not in given:
            read = attrgetter(row.read_from or _attribute(row.field))
            plan.read.append(_ReadField(row.field, read, _writer(row.holds)))
    return plan


_WRITERS: Mapping[str, Callable[[Any], object]] = {
    "count": len,
    "date-time": iso,
    "duration": duration_text,
    "masked text": mask_printed,
}
"""How words are written that do not go as they are."""


def _attribute(name: str) -> str:
    """The attribute that a field is named after: ``added`` for ``dateAdded``."""
    named = snake(name)
    return "added" if named == "created_date" else named.removeprefix("date_")


def _writer(holds: str) -> Callable[[Any], object] | None:
    """What writes a value of such words, None where it goes as it is. A value that is null is not
    given to it."""
    inner = holds.removesuffix(" if any").removesuffix(" or null")
    if inner in _WRITERS:
        return _WRITERS[inner]
    each = inner.removeprefix("list of ")
    if each != inner:
        write = _writer(each)
        return None if write is None else partial(_written_list, write)
    # The name of a reply begins with a capital; other words are written as they are.
    return partial(reply_of, inner) if inner[0].isupper() else None


def _written_list(write: Callable[[Any], object], values: Iterable[object]) -> list[object]:
    return list(map(write, values))
