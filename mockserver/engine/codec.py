"""Stored objects as plain JSON data, for any dataclass: worked out once for each class from its annotations.

A field that is left out of the ``repr`` is a secret: it goes out only when secrets are asked for, and without them
every text goes out with card numbers masked. Amounts are texts, instants whole microseconds, those with
tenths of one texts; a field that is None and
may be missing is left out.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import Field, dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from operator import attrgetter
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from mockserver.domain.clock import Instant
from mockserver.domain.ids import Salt
from mockserver.domain.masking import mask_field, mask_text

T = TypeVar("T")
Writer = Callable[[Any], Any]

KIND = "$kind"
SCALARS: tuple[type, ...] = (str, int, bool)


@cache
def writer(annotation: Any, *, secrets: bool) -> Writer:
    """How values of an annotation become plain data. Raises ``TypeError`` for one that has no such form."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return writer(args[0], secrets=secrets)
    if origin in (Union, types.UnionType):
        return _union_writer(args, secrets=secrets)
    if annotation in (Any, object):
        return _plain_writer(secrets=secrets)
    if annotation is Salt:
        return str
    if origin is None and isinstance(annotation, type):
        return _class_writer(annotation, secrets=secrets)
    if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
        parts = [writer(arg, secrets=secrets) for arg in args]
        return lambda value: [write(item) for write, item in zip(parts, value, strict=True)]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_writer(writer(args[0], secrets=secrets), writer(args[1], secrets=secrets), secrets=secrets)
    if isinstance(origin, type) and issubclass(origin, AbstractSet):
        write = writer(args[0], secrets=secrets)
        return lambda value: sorted(write(item) for item in value)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        write = writer(args[0], secrets=secrets)
        return lambda value: [write(item) for item in value]
    raise TypeError(f"{annotation} has no form in a state document")


def _class_writer(cls: type, *, secrets: bool) -> Writer:
    if issubclass(cls, Enum):
        return lambda value: value.value
    if cls is str:
        # A field that is written as text may hold a member of an enumeration.
        return str if secrets else lambda value: mask_text(str(value))
    if cls is Decimal:
        return str
    if cls is int:
        return int
    if cls is Instant:
        return _instant
    if cls in SCALARS or cls is types.NoneType:
        return _same
    if cls is bytes:
        return bytes.hex
    if hasattr(cls, "_fields"):
        hints = get_type_hints(cls)
        parts = [writer(hints[name], secrets=secrets) for name in cls._fields]
        return lambda value: [write(item) for write, item in zip(parts, value, strict=True)]
    if is_dataclass(cls):
        return _record_writer(cls, secrets=secrets)
    raise TypeError(f"{cls.__name__} has no form in a state document")


def _record_writer(cls: type, *, secrets: bool) -> Writer:
    hints = get_type_hints(cls)
    writers = {field.name: writer(hints[field.name], secrets=secrets) for field in stored(cls)}
    read, write = _values(list(writers)), _values_writer(cls, writers, secrets=secrets)
    return lambda value: write(read(value))


def _values_writer(cls: type, writers: Mapping[str, Writer], *, secrets: bool) -> Writer:
    rows = [
        (field.name, writers[field.name] if field.repr or secrets else _nothing, field.default is None)
        for field in stored(cls)
    ]

    def write_values(values: Sequence[Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for (name, write, may_miss), item in zip(rows, values, strict=True):
            value = None if item is None else write(item)
            if value is not None or not may_miss:
                out[name] = value
        return out

    return write_values


@dataclass(frozen=True, slots=True)
class Steps:
    """How a record is written in two steps: ``take`` it as it stands now, which is quick, and ``write`` what was taken
    later, whatever has happened to the record meanwhile. ``write`` leaves the items of its ``lists`` as they were
    taken, so that they can be written a few at a time."""

    take: Callable[[Any], Sequence[Any]]
    write: Writer
    lists: Mapping[str, Writer]


@cache
def in_two_steps(cls: type, *, secrets: bool) -> Steps:
    """The two steps of a class. What a record holds is never changed in place, but for its own lists and
    dictionaries: these are copied."""
    hints = get_type_hints(cls)
    copies: list[tuple[int, Callable[[Any], Any]]] = []
    writers: dict[str, Writer] = {}
    lists: dict[str, Writer] = {}
    for place, field in enumerate(stored(cls)):
        annotation = hints[field.name]
        origin, args = get_origin(annotation), get_args(annotation)
        writers[field.name] = writer(annotation, secrets=secrets)
        if origin is list and is_dataclass(args[0]):
            steps = in_two_steps(args[0], secrets=secrets)  # type: ignore[arg-type]
            copies.append((place, partial(each, steps.take)))
            writers[field.name], lists[field.name] = _same, steps.write
        elif origin in (list, dict):
            copies.append((place, copy))
    read = _values(list(writers))

    def take(value: Any) -> Sequence[Any]:
        values = read(value)
        if not copies:
            return values
        taken = list(values)
        for place, copied in copies:
            taken[place] = copied(taken[place])
        return taken

    return Steps(take, _values_writer(cls, writers, secrets=secrets), lists)


def each(do: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """A new list of what becomes of each item."""
    return [do(item) for item in items]


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def stored(cls: type) -> list[Field[Any]]:
    """Fields that go into a document: a row's place follows from its table."""
    return [field for field in fields(cls) if field.init and field.name != "seq"]


def _union_writer(args: tuple[Any, ...], *, secrets: bool) -> Writer:
    members = [arg for arg in args if arg is not types.NoneType]
    if len(members) == 1:
        write = writer(members[0], secrets=secrets)
        return lambda value: None if value is None else write(value)
    if all(member in SCALARS for member in members):
        text = writer(str, secrets=secrets)
        return lambda value: text(value) if isinstance(value, str) else value
    writers = {member: writer(member, secrets=secrets) for member in members}
    return lambda value: None if value is None else {KIND: type(value).__name__, **writers[type(value)](value)}


def _mapping_writer(write_key: Writer, write_item: Writer, *, secrets: bool) -> Writer:
    """Texts are masked by the name of their key too."""

    def write(value: Mapping[Any, Any]) -> dict[str, Any]:
        if secrets:
            return {str(write_key(key)): write_item(item) for key, item in value.items()}
        return {
            str(write_key(key)): mask_field(str(key), str(item)) if isinstance(item, str) else write_item(item)
            for key, item in value.items()
        }

    return write


def _plain_writer(*, secrets: bool) -> Writer:
    text = writer(str, secrets=secrets)

    def write(value: Any) -> Any:
        match value:
            case Enum():
                return value.value
            case str():
                return text(value)
            case None | bool() | int():
                return value
            case Decimal():
                return {KIND: "Decimal", "value": str(value)}
            case Mapping():
                written = {text(str(key)): write(item) for key, item in value.items()}
                return {KIND: "Mapping", "value": written} if KIND in written else written
            case list() | tuple():
                return [write(item) for item in value]
            case _:
                raise TypeError(f"{type(value).__name__} has no form in a state document")

    return write


def _instant(value: Instant) -> int | str:
    return f"{value:d}.{value.tenths}" if value.tenths else int(value)


def _same(value: Any) -> Any:
    return value


def _nothing(value: Any) -> None:
    return None
