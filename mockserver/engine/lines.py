"""The one form in which objects leave memory: a value is one line of JSON, an object of named
fields. State documents are made of such lines (``state_document``), and so are the rows of a store
(``mockserver/store``): both can be searched by ``grep``, compared by ``diff`` and cut by ``jq``.

How a value is written follows from its type as it runs (here), how it is read from its annotation
(``line_reading``); both are worked out once for a class. A record is an object of its fields. What
is left out has its default: a record may gain fields with defaults, and lines that are older are
read on. Members of a union name their class (``$kind``). Amounts are texts, instants whole
microseconds, those with tenths of one texts.

Two kinds of readers want two views of it:

- A store masks nothing, and trusts what it reads, which it has written itself: ``value_of``. It
  writes often, so every field is left out that has its default (no default of a stored record may
  change: ``tests/store/stored_fields.txt``), and a card number is its fingerprint: its facts
  have a line of their own (``STORE``).
- A state document is read by anybody and comes from anybody. A field that is left out of the
  ``repr`` is a secret: it goes out only with secrets (``WITH_SECRETS``); without them every text
  goes out with card numbers masked (``MASKED``). What comes back is checked first, with every
  fault named by its place: ``checked_value_of``. What fields allow beyond their types is written
  beside the type (``domain.constraints``).

Why not a library's: 100,000 charges that the engine had made took so many seconds of one core of a
busy machine to encode and to decode, as named fields but for the second row:

    these lines, of a store                 0.8   1.1   (663 bytes a charge; 1.5 to encode when
                                                        thousands of cards pay)
    values in the order of their fields     0.5   1.2   (531 bytes)
    msgspec                                 0.6   1.3   (0.8 with each field, 1,466 bytes)
    pydantic, TypeAdapter                   0.9   1.8
    cattrs with orjson                      2.5   2.2

``orjson.loads`` alone takes 0.5. None decodes them within 0.8 s for sure, so a store makes its rows
when they are looked at (``indexed_table.LateRows``); and none names every fault by its place, masks
on its way, or lets equal cards be one value in memory.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cached_property
from operator import attrgetter
from typing import (
    Any,
    TypeAlias,
    get_args,
    get_type_hints,
)

import orjson

from mockserver.domain.bounded_cache import Recent, by_type
from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import Instant
from mockserver.domain.ids import Salt
from mockserver.domain.masking import is_for_phones, mask_field
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.sources import Instrument
from mockserver.scenario.provider_outcome import ProviderOutcome

KIND = "$kind"
_MOST_TEXTS = 100
_BY_TYPE = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS
_UNITED = frozenset(get_args(ProviderOutcome))
SHARED = (Instrument, ProviderSummary)
"""Records that many rows hold alike: read again, they are one value in memory."""

Write: TypeAlias = Callable[[Any], object]
"""What stands for a value of one type in a line."""


class View(Enum):
    """For whom a line is written."""

    STORE = "store"
    WITH_SECRETS = "document with secrets"
    MASKED = "document without secrets"


def line_of(value: object, view: View = View.STORE) -> bytes:
    """The line of a value, without its end. Raises ``TypeError`` for one that has none."""
    if view is View.MASKED:
        value = _masked(value)
    written: Write = _written
    if view is View.STORE:
        written = _written_in_store
    try:
        return orjson.dumps(value, written, _BY_TYPE)
    except TypeError:
        # Halves of surrogate pairs, which header names and queries may hold, numbers beyond 64
        # bits, and keys that are numbers.
        return json.dumps(_unfolded(value, written), separators=(",", ":")).encode()


def _unfolded(value: object, written: Write) -> object:
    """The same value of nothing but what Python's encoder knows. That one is slower, and knows
    texts and numbers that orjson refuses."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    # By the very type: a named tuple or an enumeration may be written in another way.
    if type(value) is dict:
        return {key: _unfolded(member, written) for key, member in value.items()}
    if type(value) is list or type(value) is tuple:
        return [_unfolded(item, written) for item in value]
    if isinstance(value, Enum):
        return value.value
    if type(value) is orjson.Fragment:
        return json.loads(orjson.dumps(value))
    return _unfolded(written(value), written)


def _written(value: object) -> object:
    """What stands for a value that JSON does not know: one level of it, the encoder asks on."""
    return _write_of(type(value))(value)


def _written_in_store(value: object) -> object:
    """The same in a line of a store."""
    return _write_in_store_of(type(value))(value)


@by_type
def _write_in_store_of(cls: type) -> Write:
    """How values of a class are written to a store."""
    if cls is CardNumber:
        return attrgetter("fingerprint")
    if cls in SHARED:
        return _text_of_shared
    if is_dataclass(cls):
        return RecordForm.of(cls).sparse
    return _write_of(cls)


_shared_texts: Recent[int, tuple[object, orjson.Fragment]] = Recent(_MOST_TEXTS)
"""The last shared records that were written to a store, by their identity, with their texts."""


def _text_of_shared(value: object) -> orjson.Fragment:
    """What many rows hold alike is one value in memory, and is put into words once."""
    known, text = _shared_texts.get(id(value), (None, None))
    # The identity alone may be that of an earlier value, which is gone.
    if text is None or known is not value:
        text = orjson.Fragment(line_of(RecordForm.of(type(value)).sparse(value)))
        _shared_texts.put(id(value), (value, text))
    return text


@by_type
def _write_of(cls: type) -> Write:
    """How values of a class are written where JSON does not know it. Raises ``TypeError``."""
    if is_dataclass(cls):
        return RecordForm.of(cls).named
    # A class of its own may be one of them too, such as a named tuple.
    for kind, write in _WRITES.items():
        if issubclass(cls, kind):
            return write
    raise TypeError(f"{cls.__name__} has no form in a line")


def write_instant(value: Instant) -> int | str:
    """Whole microseconds, as a text with the tenths of one: as a number with a fraction many
    readers of JSON would round it."""
    if value.tenths:
        return f"{value:d}.{value.tenths}"
    return int(value)


def _write_tuple(value: tuple[object, ...]) -> list[object]:
    """A named tuple, whose last values may have come later: those that are None are left out, so
    that what an earlier version has written is equal to what this one writes of it."""
    with_defaults = getattr(value, "_field_defaults", ())
    shortest = len(value) - len(with_defaults)
    end = len(value)
    while end > shortest and value[end - 1] is None:
        end -= 1
    return list(value[:end])


def _write_bytes(value: bytes) -> object:
    """As a text where they are one, else as base64, in a list that says so."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return [b64encode(value).decode()]


_WRITES: Mapping[type, Write] = {
    Decimal: str,
    bytes: _write_bytes,
    Instant: write_instant,
    tuple: _write_tuple,
    Set: sorted,
    Mapping: dict,
}


def _masked(value: object) -> object:
    """A value with its secrets left out and its texts masked: any text may hold a card number that
    somebody has put into the wrong field."""
    if value is None or type(value) in (int, bool):
        return value
    # States are texts too, but of ours: no client has put anything into them.
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return mask_field("", value)
    if is_dataclass(value):
        return RecordForm.of(type(value)).masked(value)
    if isinstance(value, Mapping):
        return {_masked(key): _masked_member(key, member) for key, member in value.items()}
    if type(value) is list or type(value) is tuple:
        return [_masked(item) for item in value]
    # An amount or an instant is plain now; a named tuple or a set is a list, whose items may be
    # texts.
    plain = _written(value)
    if isinstance(plain, list | tuple):
        return [_masked(item) for item in plain]
    return plain


def _masked_member(key: object, member: object) -> object:
    """A text is masked also by what the name of its key says of it."""
    if type(member) is str:
        return mask_field(str(key), member)
    return _masked(member)


def write_any(value: object, *, secrets: bool = True) -> object:
    """A value of no declared type, made of texts, numbers, lists and mappings, as plain data that
    says itself what it is. Raises ``TypeError`` for another."""
    match value:
        case Enum():
            return value.value
        case str() if not secrets:
            return mask_field("", value)
        case str():
            return value
        case None | bool() | int():
            return value
        case Decimal():
            return {KIND: "Decimal", "value": str(value)}
        case Mapping():
            members = {
                write_any(key, secrets=secrets): write_any(member, secrets=secrets)
                for key, member in value.items()
            }
            if KIND in members:
                # A key of the caller's own is not to be taken for ours.
                return {KIND: "Mapping", "value": members}
            return members
        case list() | tuple():
            return [write_any(item, secrets=secrets) for item in value]
        case _:
            raise TypeError(f"{type(value).__name__} has no form in a line")


def _write_any_masked(value: object) -> object:
    """The same with every text masked."""
    return write_any(value, secrets=False)


def stored(cls: type) -> list[Field[Any]]:
    """The fields of a record that are written: a row's place follows from that of its line."""
    return [part for part in fields(cls) if part.init and part.name != "seq"]


def _reader_of(names: Sequence[str]) -> Callable[[object], Iterable[object]]:
    """What reads the values of some fields, in one go where there are several."""
    if len(names) > 1:
        return attrgetter(*names)

    # An ``attrgetter`` of one name gives the value itself, not a tuple of it.
    def read(value: object) -> Iterable[object]:
        return [getattr(value, name) for name in names]

    return read


class RecordForm:
    """The form of a dataclass: an object of its fields."""

    def __init__(self, cls: type) -> None:
        parts = stored(cls)
        self.names = [part.name for part in parts]
        self._cls = cls
        # Of a member of a union a reader must know which it is.
        self._kind = {KIND: cls.__name__} if cls in _UNITED else {}
        self._secrets = [part.name for part in parts if not part.repr]
        # The value with which a field is left out, in a store and in a document; no value is
        # MISSING, so that a field which has that here is always written. A document leaves out None
        # only: who reads it should not have to know the other defaults.
        self._left_out_of_store = [part.default for part in parts]
        self._left_out_of_document = [None if part.default is None else MISSING for part in parts]
        # Texts are masked as if nobody knew their field, but for phone numbers, which have as many
        # digits as a card.
        self._mask_names = {name: name if is_for_phones(name) else "" for name in self.names}
        self._values = _reader_of(self.names)

    @staticmethod
    @by_type
    def of(cls: type) -> RecordForm:
        """The form of a dataclass."""
        return RecordForm(cls)

    @cached_property
    def hints(self) -> Mapping[str, object]:
        return get_type_hints(self._cls, include_extras=True)

    @cached_property
    def _undeclared(self) -> Mapping[str, Write]:
        """Fields whose values do not say themselves how they are written: of no declared type, or
        numbers that many readers of JSON would round."""
        writes: dict[str, Write] = {}
        for name in self.names:
            if _is_any(self.hints[name]):
                writes[name] = write_any
            elif Salt in _parts_of(self.hints[name]):
                writes[name] = str
        return writes

    @cached_property
    def _undeclared_masked(self) -> Mapping[str, Write]:
        """The same in a document without secrets."""
        return {
            name: _write_any_masked if write is write_any else write
            for name, write in self._undeclared.items()
        }

    def named(self, value: object) -> dict[str, object]:
        """The fields by their names, each as it is."""
        return self._without(self._left_out_of_document, value)

    def sparse(self, value: object) -> dict[str, object]:
        """Those of them that do not have their defaults."""
        return self._without(self._left_out_of_store, value)

    def _without(self, left_out: Iterable[object], value: object) -> dict[str, object]:
        """The fields by their names, but for those that have the value for which they are left
        out."""
        parts = zip(self.names, self._values(value), left_out, strict=True)
        out = {name: held for name, held, absent in parts if held is not absent}
        for name, write in self._undeclared.items():
            if out.get(name) is not None:
                out[name] = write(out[name])
        if self._kind:
            return {**self._kind, **out}
        return out

    def masked(self, value: object) -> dict[str, object]:
        """The same as plain data, without secrets and with masked texts."""
        out: dict[str, object] = {**self._kind}
        parts = zip(self.names, self._values(value), self._left_out_of_document, strict=True)
        for name, whole, absent in parts:
            held = None if name in self._secrets else whole
            if held is not absent:
                out[name] = self._masked_field(name, held)
        return out

    def _masked_field(self, name: str, held: object) -> object:
        """What stands for the value of one field."""
        write = self._undeclared_masked.get(name)
        if write is not None and held is not None:
            return write(held)
        if type(held) is str:
            return mask_field(self._mask_names[name], held)
        return _masked(held)


def _parts_of(annotation: object) -> Iterator[object]:
    """An annotation and all that it is made of."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts_of(part)


def _is_any(annotation: object) -> bool:
    """Whether it has values of any type, which say themselves what they are."""
    return any(part is object or part is Any for part in _parts_of(annotation))
