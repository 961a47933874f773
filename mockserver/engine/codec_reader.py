"""Stored objects from plain JSON data, for any dataclass: the other direction of ``engine.codec``, which says how they
are written.

Nothing is taken that the classes do not allow; every fault of a document is told with the place where it stands.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, is_dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from itertools import chain
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import EARLIEST, LATEST, Instant
from mockserver.domain.errors import nearest
from mockserver.domain.ids import Salt
from mockserver.engine.card_book import CardBook
from mockserver.engine.codec import KIND, SCALARS, stored

Reader = Callable[[Any, CardBook], Any]

_MOST_DIGITS = 40
_TENTHS = re.compile(r"-?[0-9]{1,18}\.[1-9]", re.ASCII)
MOST_FAULTS = 20
"""Faults of a document that are told at once."""


class Misfit(ValueError):
    """Data that no such object can be made of: every fault of it, by the dotted path to where it stands. Paths grow on
    the way out."""

    def __init__(self, *faults: tuple[str, str]) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{place}: {words}" for place, words in faults))

    def within(self, name: str) -> Iterator[tuple[str, str]]:
        """The faults as seen from one step further out."""
        return ((f"{name}.{place}" if place else name, words) for place, words in self.faults)


def _wanted(words: str) -> Misfit:
    return Misfit(("", f"wanted {words}"))


@cache
def reader(annotation: Any) -> Reader:
    """How plain data become a value again; the reader raises ``Misfit``."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return reader(args[0])
    if origin in (Union, types.UnionType):
        return _union_reader(args)
    if annotation in (Any, object):
        return _read_plain
    if annotation is Salt:
        return _read_salt
    if origin is None and isinstance(annotation, type):
        return _class_reader(annotation)
    if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
        return _row_reader([reader(arg) for arg in args], tuple)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        read_key, read_item = _read_number if args[0] is int else reader(args[0]), reader(args[1])

        def read_map(raw: Any, book: CardBook) -> Any:
            if not isinstance(raw, dict):
                raise _wanted("an object")
            try:
                return {read_key(key, book): read_item(item, book) for key, item in raw.items()}
            except Misfit:
                keys = ((key, read_key, key) for key in raw)
                raise _every_fault(chain(keys, ((key, read_item, item) for key, item in raw.items())), book) from None

        return read_map
    if isinstance(origin, type) and issubclass(origin, (Sequence, AbstractSet)):
        return _list_reader(reader(args[0]), origin)
    raise TypeError(f"{annotation} has no form in a state document")


def _list_reader(read: Reader, origin: type) -> Reader:
    shape: Any = tuple if origin is Sequence else frozenset if origin is AbstractSet else origin

    def read_list(raw: Any, book: CardBook) -> Any:
        if not isinstance(raw, list):
            raise _wanted("a list")
        try:
            return shape([read(item, book) for item in raw])
        except Misfit:
            raise _every_fault(((str(place), read, item) for place, item in enumerate(raw)), book) from None

    return read_list


def _class_reader(cls: type) -> Reader:
    if issubclass(cls, Enum):
        return _enum_reader(cls)
    if cls is Decimal:
        return _read_decimal
    if cls is Instant:
        return _read_instant
    if cls in (*SCALARS, types.NoneType):
        return _scalar_reader(cls)
    if cls is bytes:
        return _read_bytes
    if hasattr(cls, "_fields"):
        hints = get_type_hints(cls)
        return _row_reader([reader(hints[name]) for name in cls._fields], lambda items: cls(*items))
    if is_dataclass(cls):
        read = _record_reader(cls)
        # Every object with the same card shares the facts of its number.
        return (lambda raw, book: book.remember(read(raw, book))) if cls is CardNumber else read
    raise TypeError(f"{cls.__name__} has no form in a state document")


def _record_reader(cls: type) -> Reader:
    hints = get_type_hints(cls)
    readers = {field.name: reader(hints[field.name]) for field in stored(cls)}
    required = {field.name for field in stored(cls) if field.default is MISSING and field.default_factory is MISSING}

    def read_record(raw: Any, book: CardBook) -> Any:
        if not isinstance(raw, dict):
            raise _wanted("an object")
        if not raw.keys() <= readers.keys() or not required <= raw.keys():
            unknown = [
                (name[:40], f"unknown field{nearest(name[:40], readers)}") for name in raw if name not in readers
            ]
            missing = [(name, "missing, a state document has it") for name in readers if name in required - raw.keys()]
            raise Misfit(*unknown, *missing)
        try:
            return cls(**{name: readers[name](item, book) for name, item in raw.items()})
        except Misfit:
            raise _every_fault(((name, readers[name], item) for name, item in raw.items()), book) from None

    return read_record


def _every_fault(parts: Iterable[tuple[str, Reader, Any]], book: CardBook) -> Misfit:
    """The faults of all of some named parts, as far as anybody reads them."""
    faults: list[tuple[str, str]] = []
    for name, read, raw in parts:
        try:
            read(raw, book)
        except Misfit as misfit:
            faults += misfit.within(name)
            if len(faults) >= MOST_FAULTS:
                break
    return Misfit(*faults[:MOST_FAULTS])


def _union_reader(args: tuple[Any, ...]) -> Reader:
    members = [arg for arg in args if arg is not types.NoneType]
    optional = len(members) < len(args)
    if len(members) == 1:
        read = reader(members[0])
        # A secret that was not exported is read as None wherever the class knows None.
        return lambda raw, book: None if raw is None and optional else read(raw, book)
    if all(member in SCALARS for member in members):
        allowed = tuple(members)

        def read_scalar(raw: Any, book: CardBook) -> Any:
            if type(raw) in allowed or (raw is None and optional):
                return raw
            raise _wanted(" or ".join(member.__name__ for member in members))

        return read_scalar
    readers = {member.__name__: reader(member) for member in members}

    def read_kind(raw: Any, book: CardBook) -> Any:
        if raw is None and optional:
            return None
        read = readers.get(raw.get(KIND, "")) if isinstance(raw, dict) else None
        if read is None:
            raise _wanted(f"an object whose {KIND} is one of {', '.join(readers)}")
        return read({key: item for key, item in raw.items() if key != KIND}, book)

    return read_kind


def _row_reader(readers: Sequence[Reader], shape: Callable[[list[Any]], Any]) -> Reader:
    def read_row(raw: Any, book: CardBook) -> Any:
        if not isinstance(raw, list) or len(raw) != len(readers):
            raise _wanted(f"a list of {len(readers)}")
        try:
            return shape([read(item, book) for read, item in zip(readers, raw, strict=True)])
        except Misfit:
            raise _every_fault(((str(place), read, raw[place]) for place, read in enumerate(readers)), book) from None

    return read_row


def _enum_reader(cls: type[Enum]) -> Reader:
    by_value = {member.value: member for member in cls}

    def read_member(raw: Any, book: CardBook) -> Any:
        found = by_value.get(raw) if isinstance(raw, (str, int)) else None
        if found is None:
            raise _wanted(f"one of {', '.join(str(value) for value in by_value)}")
        return found

    return read_member


def _scalar_reader(cls: type) -> Reader:
    wanted = {str: "a text", int: "a whole number", bool: "true or false", types.NoneType: "null"}[cls]

    def read_scalar(raw: Any, book: CardBook) -> Any:
        # Nothing that is counted or timed lies beyond the calendar.
        if type(raw) is not cls or (isinstance(raw, int) and not EARLIEST <= raw <= LATEST):
            raise _wanted(wanted)
        return raw

    return read_scalar


def _read_decimal(raw: Any, book: CardBook) -> Decimal:
    try:
        number = Decimal(raw) if isinstance(raw, str) else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite() or number.adjusted() > _MOST_DIGITS:
        raise _wanted("a number written as a text")
    return number


def _read_instant(raw: Any, book: CardBook) -> Instant:
    """Whole microseconds as a number, or with the tenths of one as a text."""
    whole, _, tenths = raw.partition(".") if isinstance(raw, str) and _TENTHS.fullmatch(raw) else (raw, "", "0")
    return Instant(reader(int)(int(whole) if tenths != "0" else whole, book), int(tenths))


def _read_number(raw: Any, book: CardBook) -> int:
    """A whole number that is a key, and so a text."""
    if not isinstance(raw, str) or not raw.isascii() or not raw.isdecimal():
        raise _wanted("a whole number")
    return int(raw)


def _read_salt(raw: Any, book: CardBook) -> Salt:
    if not isinstance(raw, str) or not raw.isascii() or not raw.isdecimal() or not len(raw) < 21 or int(raw) >= 2**64:
        raise _wanted("a whole number below 2^64 as a text")
    return Salt(int(raw))


def _read_bytes(raw: Any, book: CardBook) -> bytes:
    try:
        return bytes.fromhex(raw if isinstance(raw, str) else "?")
    except ValueError:
        raise _wanted("bytes written as hexadecimal digits") from None


def _read_plain(raw: Any, book: CardBook) -> Any:
    if isinstance(raw, list):
        return [_read_plain(item, book) for item in raw]
    if isinstance(raw, dict):
        if raw.get(KIND) == "Decimal":
            return _read_decimal(raw.get("value"), book)
        if raw.get(KIND) == "Mapping" and isinstance(raw.get("value"), dict):
            raw = raw["value"]
        return {key: _read_plain(item, book) for key, item in raw.items()}
    return raw
