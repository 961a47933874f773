"""Stored objects as plain JSON data and back, for any dataclass: worked out once for each class from its annotations.

A field that is left out of the ``repr`` is a secret: it goes out only when secrets are asked for, and without them
every text goes out with card numbers masked. Amounts are texts, instants whole microseconds; a field that is None and
may be missing is left out.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import EARLIEST, LATEST
from mockserver.domain.errors import nearest
from mockserver.domain.ids import Salt
from mockserver.domain.masking import mask_text
from mockserver.engine.card_book import CardBook

T = TypeVar("T")
Writer = Callable[[Any], Any]
Reader = Callable[[Any, CardBook], Any]

_KIND = "$kind"
_MOST_DIGITS = 40
MOST_FAULTS = 20
"""Faults of a document that are told at once."""

_SCALARS: tuple[type, ...] = (str, int, bool)


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
        write_key, write_item = writer(args[0], secrets=secrets), writer(args[1], secrets=secrets)
        return lambda value: {str(write_key(key)): write_item(item) for key, item in value.items()}
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
    if cls in _SCALARS or cls is types.NoneType:
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
    rows: list[tuple[str, Writer, bool]] = []
    for field in _stored(cls):
        write = writer(hints[field.name], secrets=secrets)
        rows.append((field.name, write if field.repr or secrets else _nothing, field.default is None))
    names = [name for name, _, _ in rows]
    read = _values(names)

    def write_record(value: Any) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for (name, write, may_miss), item in zip(rows, read(value), strict=True):
            if item is not None:
                out[name] = write(item)
            elif not may_miss:
                out[name] = None
        return out

    return write_record


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def _stored(cls: type) -> list[Field[Any]]:
    """Fields that go into a document: a row's place follows from its table."""
    return [field for field in fields(cls) if field.init and field.name != "seq"]


def _union_writer(args: tuple[Any, ...], *, secrets: bool) -> Writer:
    members = [arg for arg in args if arg is not types.NoneType]
    if len(members) == 1:
        write = writer(members[0], secrets=secrets)
        return lambda value: None if value is None else write(value)
    if all(member in _SCALARS for member in members):
        text = writer(str, secrets=secrets)
        return lambda value: text(value) if isinstance(value, str) else value
    writers = {member: writer(member, secrets=secrets) for member in members}
    return lambda value: None if value is None else {_KIND: type(value).__name__, **writers[type(value)](value)}


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
                return {_KIND: "Decimal", "value": str(value)}
            case Mapping():
                return {text(str(key)): write(item) for key, item in value.items()}
            case list() | tuple():
                return [write(item) for item in value]
            case _:
                raise TypeError(f"{type(value).__name__} has no form in a state document")

    return write


def _same(value: Any) -> Any:
    return value


def _nothing(value: Any) -> None:
    return None


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
    if cls in (*_SCALARS, types.NoneType):
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
    readers = {field.name: reader(hints[field.name]) for field in _stored(cls)}
    required = {field.name for field in _stored(cls) if field.default is MISSING and field.default_factory is MISSING}

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
    if all(member in _SCALARS for member in members):
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
        read = readers.get(raw.get(_KIND, "")) if isinstance(raw, dict) else None
        if read is None:
            raise _wanted(f"an object whose {_KIND} is one of {', '.join(readers)}")
        return read({key: item for key, item in raw.items() if key != _KIND}, book)

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
        if raw.get(_KIND) == "Decimal":
            return _read_decimal(raw.get("value"), book)
        return {key: _read_plain(item, book) for key, item in raw.items()}
    return raw
