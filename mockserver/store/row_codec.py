"""The content of a row of a store: JSON without the names of fields. A record is the list of its
fields, in their order; one of a union begins with its name.

What is written follows from the type of each value, what is read from annotations. Rows are checked
by their sums, so their values are taken as they are. A record may gain fields with defaults at its
end without another format of the file (``file.FORMAT``); any other change of its fields needs one,
and ``tests/store/test_record_order.py`` asks for it.

A number of a card stands for its facts, which a sandbox has once. Amounts are texts, instants whole
microseconds, those with tenths of one texts.
"""

from __future__ import annotations

import json
import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

import orjson

from mockserver.domain.bounded_cache import by_type
from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import Instant
from mockserver.domain.ids import Salt, Seed
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.sources import Instrument
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.lines import read_any, read_instant, write_any, write_instant
from mockserver.scenario.provider_outcome import ProviderOutcome

_MOST_ALIKE = 1_000
_BY_TYPE = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS
_UNITED = frozenset(get_args(ProviderOutcome))
_SHARED = (Instrument, ProviderSummary)
"""Records that many rows hold alike: read again, they are one value in memory."""

Write: TypeAlias = Callable[[Any], object]
Read: TypeAlias = Callable[[Any, CardRegistry], Any]


def json_text(value: object) -> bytes:
    """The JSON text of a value. Raises ``TypeError`` for one that has none."""
    try:
        return orjson.dumps(value, _written, _BY_TYPE)
    except TypeError:
        # Halves of surrogate pairs, which header names and queries may hold, numbers beyond 64
        # bits, and keys that are numbers.
        return json.dumps(_unfolded(value), separators=(",", ":")).encode()


def json_value(text: bytes) -> Any:
    """The plain data of a JSON text. Raises ``ValueError``."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return json.loads(text)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def _unfolded(value: Any) -> Any:
    if value is None or type(value) in (str, int, float, bool):
        return value
    if type(value) is dict:
        return {key: _unfolded(held) for key, held in value.items()}
    if type(value) in (list, tuple):
        return [*map(_unfolded, value)]
    return value.value if isinstance(value, Enum) else _unfolded(_written(value))


def _written(value: Any) -> object:
    return _write_of(type(value))(value)


@by_type
def _write_of(cls: type) -> Write:
    found = next((write for kind, write in _WRITES.items() if issubclass(cls, kind)), None)
    if found is not None:
        return found
    if is_dataclass(cls):
        return Record.of(cls).write
    raise TypeError(f"{cls.__name__} has no form in a row")


def _write_bytes(value: bytes) -> object:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return [b64encode(value).decode()]


def _read_bytes(raw: Any, cards: CardRegistry) -> bytes:
    return raw.encode() if isinstance(raw, str) else b64decode(raw[0])


_WRITES: Mapping[type, Write] = {
    CardNumber: attrgetter("fingerprint"),
    Decimal: str,
    bytes: _write_bytes,
    Instant: write_instant,
    tuple: list,
    Set: sorted,
    Mapping: dict,
}

_READS: Mapping[Any, Read | None] = {
    **dict.fromkeys((str, bool, None, types.NoneType, Salt, Seed)),
    **dict.fromkeys(
        (object, Any, Mapping[str, object], dict[str, object]), lambda raw, cards: read_any(raw)
    ),
    CardNumber: lambda raw, cards: cards.facts[raw],
    Decimal: lambda raw, cards: Decimal(raw),
    # Instants with tenths stand in places for whole microseconds too.
    int: lambda raw, cards: read_instant(raw, cards) if type(raw) is str else raw,
    bytes: _read_bytes,
    Instant: read_instant,
}


class RowForm(NamedTuple):
    """How the values of an annotation are written and read."""

    write: Write
    read: Read


@by_type
def form_of(annotation: Any) -> RowForm:
    """The form of an annotation. Raises ``TypeError`` for one that has none."""
    return RowForm(
        write_any if _is_any(annotation) else _as_it_is,
        _read_of(annotation) or (lambda raw, cards: raw),
    )


def _is_any(annotation: Any) -> bool:
    """Whether it has values of any type, which say themselves what they are."""
    return annotation in (object, Any) or any(map(_is_any, get_args(annotation)))


@by_type
def _read_of(annotation: Any) -> Read | None:
    """How what is written is read, None where it is taken as it is. None stands for itself
    everywhere."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in _READS:
        return _READS[annotation]
    if origin in (Union, types.UnionType):
        members = [arg for arg in args if arg is not types.NoneType]
        return _read_of(members[0]) if len(members) == 1 else _read_one_of(members)
    if origin is tuple and args[-1] is not Ellipsis:
        return _read_each([*map(_read_of, args)], lambda *values: values)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _read_mapping(int if args[0] is int else _as_it_is, _read_of(args[1]))
    if isinstance(origin, type) and issubclass(origin, Sequence | Set):
        return _read_all(
            _read_of(args[0]),
            tuple if origin is Sequence else frozenset if origin is Set else origin,
        )
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        by_value = {member.value: member for member in annotation}
        return lambda raw, cards: by_value[raw]
    if hasattr(annotation, "_fields"):
        hints = get_type_hints(annotation)
        return _read_each([_read_of(hints[name]) for name in annotation._fields], annotation)
    if isinstance(annotation, type) and is_dataclass(annotation):
        return Record.of(annotation).read
    raise TypeError(f"{annotation} has no form in a row")


def _as_it_is(raw: Any) -> Any:
    return raw


def _read_each(reads: Sequence[Read | None], shape: Callable[..., Any]) -> Read:
    """Values of types of their own, of which the last may be missing."""

    def read(raw: Any, cards: CardRegistry) -> Any:
        given = zip(raw, reads, strict=False)
        return shape(
            *[one if read is None or one is None else read(one, cards) for one, read in given]
        )

    return read


def _read_all(item: Read | None, shape: Callable[[Any], Any]) -> Read:
    if item is None:
        return lambda raw, cards: shape(raw)
    return lambda raw, cards: shape([None if one is None else item(one, cards) for one in raw])


def _read_mapping(key_of: Callable[[str], Any], item: Read | None) -> Read | None:
    if item is None:
        return (
            None
            if key_of is _as_it_is
            else lambda raw, cards: {key_of(key): held for key, held in raw.items()}
        )
    return lambda raw, cards: {key_of(key): item(held, cards) for key, held in raw.items()}


def _read_one_of(members: Sequence[type]) -> Read | None:
    if all(member in (str, int, bool) for member in members):
        return None
    by_name = {member.__name__: Record.of(member) for member in members}
    return lambda raw, cards: by_name[raw[0]].read(raw, cards)


class Record:
    """The form of a dataclass without some of its fields, which must have defaults: the list of
    those with the ``names``, in this order. The place of a row in its table is not written either:
    it follows from the number of the row.

    Nothing in a row says which field a value is of. A field that is put between others would take
    the value of the next one in every file that there is; ``tests/store/record_fields.txt`` keeps
    the order.
    """

    def __init__(self, cls: type, left_out: Collection[str] = ()) -> None:
        names = [one.name for one in fields(cls) if one.init and one.name != "seq"]
        self.cls = cls
        self.names = [name for name in names if name not in left_out]
        self._begin = int(cls in _UNITED)
        self._is_whole = self.names == names
        get = attrgetter(*self.names)
        self._values = get if len(self.names) > 1 else lambda value: (get(value),)
        hints = get_type_hints(cls)
        self._any = [place for place, name in enumerate(self.names) if _is_any(hints[name])]
        self.write: Write = self._write if self._any or self._begin else self._values

    @staticmethod
    def of(cls: type) -> Record:
        """The form of all fields of a dataclass."""
        known = RECORDS.get(cls)
        if known is None:
            known = RECORDS[cls] = Record(cls)
        return known

    def _write(self, value: Any) -> object:
        values = [*self._values(value)]
        for place in self._any:
            values[place] = write_any(values[place])
        return [type(value).__name__, *values] if self._begin else values

    @cached_property
    def _reads(self) -> Sequence[tuple[int, Read]]:
        # Not before it is asked for: a type may hold values of itself.
        hints = get_type_hints(self.cls)
        reads = ((place, _read_of(hints[name])) for place, name in enumerate(self.names))
        return [(place, read) for place, read in reads if read is not None]

    def read(self, raw: Any, cards: CardRegistry) -> Any:
        """The value of such a list. Raises ``ValueError``, ``LookupError``, ``TypeError`` or
        ``ArithmeticError`` for anything else."""
        if type(raw) is not list:
            raise ValueError(f"wanted the fields of a {self.cls.__name__}")
        if self.cls in _SHARED:
            return self._alike(raw, cards)
        return self._made(raw, cards)

    def _alike(self, raw: Any, cards: CardRegistry) -> Any:
        key = self.cls, json_text(raw)
        known = cards.alike.get(key)
        if known is None:
            if len(cards.alike) >= _MOST_ALIKE:
                cards.alike.clear()
            known = cards.alike[key] = self._made(raw, cards)
        return known

    def _made(self, raw: Any, cards: CardRegistry) -> Any:
        values = raw[self._begin : self._begin + len(self.names)]
        for place, read in self._reads:
            if place < len(values) and (held := values[place]) is not None:
                values[place] = read(held, cards)
        return (
            self.cls(*values)
            if self._is_whole
            else self.cls(**dict(zip(self.names, values, strict=False)))
        )


RECORDS: dict[type, Record] = {}
"""The forms of all fields that were asked for, by class: as many as there are classes."""
