"""Answers made of their types: a field is written from the attribute it is named after, in the form of its type."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from operator import attrgetter
from typing import Any, NotRequired, TypeVar, cast, get_args, get_origin, get_type_hints, is_typeddict

from mockserver.domain.clock import Instant, Micros
from mockserver.domain.reading import snake
from mockserver.wire.dates import moment, named_moment
from mockserver.wire.shapes import ReplyDateTime

R = TypeVar("R")


def reply_of(kind: Callable[..., R], value: object, **others: object) -> R:
    """An answer of a type: the fields that ``others`` gives, and the rest from a value, ``paymentMethodId`` from its
    ``payment_method_id``, ``dateAdded`` and ``createdDate`` from its ``added``. Amounts and words go as they are,
    instants as date-times, objects as answers of their own."""
    names, own, read, writers = _plan(kind, tuple(others))
    made: dict[str, Any] = dict.fromkeys(names)
    made.update(zip(own, read(value), strict=True))
    for name, write in writers:
        if made[name] is not None:
            made[name] = write(made[name])
    made.update(others)
    return cast(R, made)


@cache
def _plan(kind: Any, given: tuple[str, ...]) -> tuple[Any, ...]:
    """Every field in order; those that are read, with their reader; and those that are not written as they are."""
    hints = get_type_hints(kind, include_extras=True)
    names = [name for name, hint in hints.items() if name in given or get_origin(hint) is not NotRequired]
    own = [name for name in names if name not in given]
    read = attrgetter(*map(_attribute, own))
    writers = [(name, write) for name in own if (write := _writer(hints[name])) is not None]
    return names, own, read if len(own) > 1 else lambda value: (read(value),), writers


def _attribute(name: str) -> str:
    named = snake(name)
    return "added" if named == "created_date" else named.removeprefix("date_")


def _writer(hint: Any) -> Callable[[Any], object] | None:
    options = (hint, *get_args(hint))
    if ReplyDateTime in options:
        return _date_time
    nested = next(filter(is_typeddict, options), None)
    return None if nested is None else partial(reply_of, nested)


def _date_time(instant: Micros) -> str:
    return named_moment(instant) if isinstance(instant, Instant) else moment(instant)
