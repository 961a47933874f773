"""The one form in which objects leave memory: a value is one line of JSON, an object of named
fields. State documents are made of such lines (``state_document``), and so are the rows of a store
(``mockserver/store``): both can be searched by ``grep``, compared by ``diff`` and cut by ``jq``.

How a value is written follows from its type as it runs, how it is read from its annotation; both
are worked out once for a class. A record is an object of its fields. What is left out has its
default: a record may gain fields with defaults, and lines that are older are read on. Members of a
union name their class (``$kind``). Amounts are texts, instants whole microseconds, those with
tenths of one texts.

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
import re
import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cached_property
from itertools import islice
from operator import attrgetter
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import orjson

from mockserver.domain.bounded_cache import Recent, by_type
from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import EARLIEST, LATEST, Instant
from mockserver.domain.constraints import Within
from mockserver.domain.errors import nearest
from mockserver.domain.ids import Salt, Seed
from mockserver.domain.masking import is_for_phones, mask_field, mask_start
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.sources import Instrument
from mockserver.engine.card_registry import CardRegistry
from mockserver.scenario.provider_outcome import ProviderOutcome

KIND = "$kind"
MOST_FAULTS = 20
"""Faults of a document that are named at once."""

_MOST_ALIKE = 1_000
_MOST_TEXTS = 100
_MOST_DIGITS = 40
_TENTHS = re.compile(r"-?[0-9]{1,18}\.[1-9]", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,20}", re.ASCII)
_BY_TYPE = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS
_UNITED = frozenset(get_args(ProviderOutcome))
_SHARED = (Instrument, ProviderSummary)
"""Records that many rows hold alike: read again, they are one value in memory."""

T = TypeVar("T")

Write: TypeAlias = Callable[[Any], object]
"""What stands for a value of one type in a line."""

Read: TypeAlias = Callable[[Any, CardRegistry], Any]
"""The value of plain data whose shape is trusted: each reader names the one that it takes."""

Fault: TypeAlias = tuple[str, str]
"""The dotted path to what is wrong, and the words for it."""

FaultsOf: TypeAlias = Callable[[object], Sequence[Fault]]


class ImportFault(ValueError):
    """Data that no such value can be made of: every fault of it, by its place."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{place}: {words}" for place, words in faults))


# How values are written.


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
    if cls in _SHARED:
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


def read_any(raw: object, cards: CardRegistry | None = None) -> Any:
    """The value of such plain data. No card is in it: ``cards`` is what every ``Read`` is given."""
    match raw:
        case {"$kind": "Decimal", "value": digits}:
            return Decimal(digits)
        case {"$kind": "Mapping", "value": dict(members)} | dict(members):
            return {key: read_any(member, cards) for key, member in members.items()}
        case list():
            return [read_any(item, cards) for item in raw]
        case _:
            return raw


def _faults_of_any(raw: object) -> Sequence[Fault]:
    """What is wrong with plain data that says itself what it is."""
    match raw:
        case dict() if raw.get(KIND) == "Decimal":
            return _faults_of_decimal(raw.get("value"))
        case {"$kind": "Mapping", "value": dict(members)} | dict(members):
            return _gathered((key, _faults_of_any(member)) for key, member in members.items())
        case list():
            return _gathered((place, _faults_of_any(item)) for place, item in enumerate(raw))
        case Decimal():
            # One that could be read here and not as it is written would be lost with the next
            # export.
            return _faults_of_decimal(str(raw))
        case _:
            return ()


# How lines are read.


class Form(NamedTuple):
    """How the plain data of an annotation is read: ``faults`` says what is wrong with it, ``read``
    trusts it, and uses it up. A ``read`` of None takes it as it is."""

    read: Read | None
    faults: FaultsOf


def value_of(annotation: type[T], line: bytes, cards: CardRegistry) -> T:
    """The value of a line that was written here. Raises ``ValueError``, ``LookupError``,
    ``TypeError`` or ``ArithmeticError`` for one that makes no sense."""
    return read_plain(annotation, plain_of(line), cards)


def read_plain(annotation: type[T], raw: Any, cards: CardRegistry) -> T:
    """The value of the plain data of such a line, which is used up."""
    read = form_of(annotation).read
    value: T = raw
    if read is not None and raw is not None:
        value = read(raw, cards)
    return value


def checked_value_of(annotation: type[T], raw: object, cards: CardRegistry) -> T:
    """The value of plain data of any origin, which is used up. Raises ``ImportFault``."""
    faults = form_of(annotation).faults(raw)
    if faults:
        raise ImportFault(*faults[:MOST_FAULTS])
    return read_plain(annotation, raw, cards)


def plain_of(line: bytes) -> Any:
    """The plain data of a line. Raises ``ValueError``."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        # Halves of surrogate pairs.
        try:
            return json.loads(line)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


@by_type
def form_of(annotation: Any) -> Form:
    """The form of an annotation. Raises ``TypeError`` for one that has none."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in _LEAVES:
        return _LEAVES[annotation]
    if origin is Annotated:
        return _constrained(form_of(args[0]), args[1:])
    if origin in (Union, types.UnionType):
        return _form_of_union(args)
    if origin is tuple and args[-1] is not Ellipsis:
        return _fixed([form_of(arg) for arg in args], _tuple_of, 0)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key_type, item_type = args
        # JSON has texts alone for keys.
        key = _NUMBER_KEY if key_type is int else form_of(key_type)
        return _mapping(key, form_of(item_type))
    if isinstance(origin, type) and issubclass(origin, Sequence | Set):
        return _listed(form_of(args[0]), origin)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _enum(annotation)
    if hasattr(annotation, "_fields"):
        hints = get_type_hints(annotation, include_extras=True)
        parts = [form_of(hints[name]) for name in annotation._fields]
        return _fixed(parts, annotation, len(annotation._field_defaults))
    if isinstance(annotation, type) and is_dataclass(annotation):
        record = RecordForm.of(annotation)
        return Form(record.read, record.faults)
    raise TypeError(f"{annotation} has no form in a line")


def _form_of_union(args: Sequence[Any]) -> Form:
    """The form of one of several types, of which None may be one."""
    members = [arg for arg in args if arg is not types.NoneType]
    if len(members) == 1:
        form = form_of(members[0])
    elif all(member in _PLAIN for member in members):
        form = _union_of_plain(members)
    else:
        form = _union_of_records(members)
    if len(members) < len(args):
        return _optional(form)
    return form


_PLAIN = (str, int, bool)
"""Types whose values can be told apart as they stand in a line."""


def _tuple_of(*values: object) -> tuple[object, ...]:
    """A plain tuple, made as a named one is: of its values one by one."""
    return values


def _wanted(words: str) -> Sequence[Fault]:
    """The fault of a value itself, by what it may be."""
    return (("", f"wanted {words}"),)


def _gathered(parts: Iterable[tuple[object, Sequence[Fault]]]) -> Sequence[Fault]:
    """The faults of the parts of a value, as seen from one step further out. What comes after too
    many is not looked at."""
    faults: list[Fault] = []
    for name, of_part in parts:
        for place, words in of_part:
            # A fault of the part itself has no place within it.
            outer_place = f"{name}.{place}" if place else str(name)
            faults.append((outer_place, words))
        if len(faults) >= MOST_FAULTS:
            break
    return faults


def _optional(only: Form) -> Form:
    """None stands for itself. A secret that was not exported is None wherever its class knows
    that."""

    def faults(raw: object) -> Sequence[Fault]:
        if raw is None:
            return ()
        return only.faults(raw)

    return Form(only.read, faults)


def _constrained(base: Form, constraints: Iterable[object]) -> Form:
    """The form of a type with constraints beside it: the first that a value does not meet is its
    fault."""
    faults_of = [rule.fault for rule in constraints if hasattr(rule, "fault")]
    if not faults_of:
        return base
    # Constraints look at numbers and texts: what is read for them remembers no card.
    no_cards = CardRegistry("")

    def faults(raw: object) -> Sequence[Fault]:
        of_base = base.faults(raw)
        if of_base:
            # What is of another type cannot be read, nor compared.
            return of_base
        value = raw if base.read is None else base.read(raw, no_cards)
        for fault_of in faults_of:
            words = fault_of(value)
            if words is not None:
                return (("", words),)
        return ()

    return Form(base.read, faults)


def _union_of_plain(members: Sequence[type]) -> Form:
    """The form of one of several plain types."""

    def faults(raw: object) -> Sequence[Fault]:
        if type(raw) in members:
            return ()
        return _wanted("a text or a number")

    return Form(None, faults)


def _union_of_records(members: Sequence[type]) -> Form:
    """The form of one of several records, which ``$kind`` tells apart."""
    forms = {member.__name__: RecordForm.of(member) for member in members}
    words = f"an object whose {KIND} is one of {', '.join(forms)}"

    def read(raw: dict[str, object], cards: CardRegistry) -> object:
        kind = str(raw.pop(KIND))
        return forms[kind].read(raw, cards)

    def faults(raw: object) -> Sequence[Fault]:
        if not isinstance(raw, dict) or str(raw.get(KIND)) not in forms:
            return _wanted(words)
        record = {key: member for key, member in raw.items() if key != KIND}
        return forms[str(raw[KIND])].faults(record)

    return Form(read, faults)


def _mapping(key: Form, item: Form) -> Form:
    """Keys are texts, those that are whole numbers too."""
    read_key, read_item = key.read, item.read

    def read(raw: dict[str, object], cards: CardRegistry) -> dict[object, object]:
        members: dict[object, object] = {}
        for name, raw_member in raw.items():
            member_key, member = name, raw_member
            if read_key is not None:
                member_key = read_key(name, cards)
            if read_item is not None and raw_member is not None:
                member = read_item(raw_member, cards)
            members[member_key] = member
        return members

    def faults(raw: object) -> Sequence[Fault]:
        if not isinstance(raw, dict):
            return _wanted("an object")
        of_keys = _gathered((name, key.faults(name)) for name in raw)
        if of_keys:
            return of_keys
        return _gathered((name, item.faults(member)) for name, member in raw.items())

    if read_key is None and read_item is None:
        return Form(None, faults)
    return Form(read, faults)


def _listed(item: Form, origin: type) -> Form:
    """A list, a tuple of any length, or a set."""
    shape: Callable[[Iterable[object]], object] = origin
    # Records that say only how their items are used are values: nothing of them may change.
    if origin is Sequence:
        shape = tuple
    elif issubclass(origin, Set):
        shape = frozenset
    read_item = item.read

    def read(raw: list[object], cards: CardRegistry) -> object:
        if read_item is None:
            return shape(raw)
        return shape([None if part is None else read_item(part, cards) for part in raw])

    def faults(raw: object) -> Sequence[Fault]:
        if not isinstance(raw, list):
            return _wanted("a list")
        return _gathered((place, item.faults(part)) for place, part in enumerate(raw))

    return Form(read, faults)


def _fixed(parts: Sequence[Form], shape: Callable[..., object], later: int) -> Form:
    """A tuple of so many parts, or a named one, of which the ``later`` last ones may be missing."""
    reads = [(place, part.read) for place, part in enumerate(parts) if part.read is not None]

    def read(raw: list[object], cards: CardRegistry) -> object:
        values = list(raw)
        for place, read_part in reads:
            if place < len(values) and values[place] is not None:
                values[place] = read_part(values[place], cards)
        return shape(*values)

    def faults(raw: object) -> Sequence[Fault]:
        if not isinstance(raw, list) or not len(parts) - later <= len(raw) <= len(parts):
            return _wanted(f"a list of {len(parts)}")
        pairs = enumerate(zip(parts, raw, strict=False))
        return _gathered((place, part.faults(item)) for place, (part, item) in pairs)

    return Form(read, faults)


def _enum(cls: type[Enum]) -> Form:
    """A member of an enumeration, by its value."""
    by_value = {member.value: member for member in cls}
    words = f"one of {', '.join(map(str, by_value))}"

    def faults(raw: object) -> Sequence[Fault]:
        # A list, which has no hash, cannot be looked up.
        if isinstance(raw, str | int) and raw in by_value:
            return ()
        return _wanted(words)

    def read(raw: str | int, cards: CardRegistry) -> Enum:
        return by_value[raw]

    return Form(read, faults)


def _faults_of_int(raw: object) -> Sequence[Fault]:
    """What is wrong with a whole number, or an instant."""
    # Nothing that is counted or timed lies beyond the calendar. True is an int too, and none here.
    if type(raw) is int and EARLIEST <= raw <= LATEST:
        return ()
    # An instant with tenths may stand for whole microseconds.
    if type(raw) is str and _TENTHS.fullmatch(raw):
        return _faults_of_int(int(raw[:-2]))
    return _wanted("a whole number")


def read_instant(raw: int | str, cards: CardRegistry) -> Instant:
    """The instant of whole microseconds, or of a text with tenths of one."""
    if isinstance(raw, int):
        return Instant(raw)
    whole, _, tenths = raw.partition(".")
    return Instant(int(whole), int(tenths))


def _read_int(raw: int | str, cards: CardRegistry) -> int:
    """A whole number; a text is an instant with tenths, which is one too."""
    return read_instant(raw, cards) if isinstance(raw, str) else int(raw)


def _faults_of_decimal(raw: object) -> Sequence[Fault]:
    """What is wrong with an exact number, which is a text: many readers of JSON round its
    numbers."""
    if isinstance(raw, str):
        with suppress(InvalidOperation):
            number = Decimal(raw)
            # 1E+999999 is a short text, and takes a million digits where it is written out.
            if number.is_finite() and number.adjusted() <= _MOST_DIGITS:
                return ()
    return _wanted("a number written as a text")


def _faults_of_number(raw: object) -> Sequence[Fault]:
    """A whole number that is written as a text: a key, or one that many readers of JSON would
    round."""
    if isinstance(raw, str) and _DIGITS.fullmatch(raw):
        return ()
    return _wanted("a whole number as a text")


def _faults_of_seed(raw: object) -> Sequence[Fault]:
    """A seed may have more digits than a JSON reader gives as an ``int``."""
    if isinstance(raw, int | Decimal) and not isinstance(raw, bool):
        is_in_range = 0 <= raw < 2**63
        if is_in_range and raw % 1 == 0:
            return ()
    return _wanted("a whole number, 0 to 2^63 - 1")


def _exactly(kind: type, words: str) -> Form:
    """The form of a type whose values JSON has itself."""

    def faults(raw: object) -> Sequence[Fault]:
        if type(raw) is kind:
            return ()
        return _wanted(words)

    return Form(None, faults)


def _read_number(raw: str, cards: CardRegistry) -> int:
    return int(raw)


def _read_decimal(raw: str, cards: CardRegistry) -> Decimal:
    return Decimal(raw)


def _read_seed(raw: int | Decimal, cards: CardRegistry) -> Seed:
    return Seed(int(raw))


def _read_bytes(raw: str | list[str], cards: CardRegistry) -> bytes:
    """The bytes that ``_write_bytes`` has written."""
    if isinstance(raw, str):
        return raw.encode()
    [encoded] = raw
    return b64decode(encoded)


def _refuse_bytes(raw: object) -> Sequence[Fault]:
    """Bodies of requests are in a store; a document, which anybody may write, has none."""
    return _wanted("nothing: bytes are in a store only")


_NUMBER_KEY = Form(_read_number, _faults_of_number)
_LEAVES: Mapping[object, Form] = {
    str: _exactly(str, "a text"),
    bool: _exactly(bool, "true or false"),
    int: Form(_read_int, _faults_of_int),
    Decimal: Form(_read_decimal, _faults_of_decimal),
    Instant: Form(read_instant, _faults_of_int),
    Salt: _constrained(_NUMBER_KEY, [Within(0, 2**64 - 1)]),
    Seed: Form(_read_seed, _faults_of_seed),
    types.NoneType: _exactly(types.NoneType, "null"),
    None: _exactly(types.NoneType, "null"),
    bytes: Form(_read_bytes, _refuse_bytes),
    object: Form(read_any, _faults_of_any),
    Any: Form(read_any, _faults_of_any),
}
"""The forms of the simplest types."""


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
        self._required = [
            part.name
            for part in parts
            if part.default is MISSING and part.default_factory is MISSING
        ]
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
    def _hints(self) -> Mapping[str, object]:
        return get_type_hints(self._cls, include_extras=True)

    @cached_property
    def _undeclared(self) -> Mapping[str, Write]:
        """Fields whose values do not say themselves how they are written: of no declared type, or
        numbers that many readers of JSON would round."""
        writes: dict[str, Write] = {}
        for name in self.names:
            if _is_any(self._hints[name]):
                writes[name] = write_any
            elif Salt in _parts_of(self._hints[name]):
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

    @cached_property
    def _forms(self) -> Mapping[str, Form]:
        # Not before it is asked for: a type may hold values of itself.
        return {name: form_of(self._hints[name]) for name in self.names}

    @cached_property
    def _reads(self) -> Mapping[str, Read]:
        """How fields are read that are not taken as they are."""
        return {name: form.read for name, form in self._forms.items() if form.read is not None}

    def read(self, raw: Any, cards: CardRegistry) -> Any:
        """The value of such an object, which is used up."""
        if self._cls is CardNumber:
            # Every object with the same card shares the facts of its number.
            if type(raw) is str:
                # A store has them in a line of their own, and the fingerprint here.
                return cards.facts[raw]
            return cards.remember(self._read(raw, cards))
        if self._cls in _SHARED:
            return self._alike(raw, cards)
        return self._read(raw, cards)

    def _read(self, raw: dict[str, Any], cards: CardRegistry) -> Any:
        """The same for one that is not shared: its fields are read in place."""
        reads = self._reads
        for name, held in raw.items():
            if name in reads and held is not None:
                raw[name] = reads[name](held, cards)
        return self._cls(**raw)

    def _alike(self, raw: dict[str, Any], cards: CardRegistry) -> Any:
        """The value that an equal object gave before, else a new one: without this, 100,000 charges
        that were read again would take 220 bytes more each."""
        key = self._cls, line_of(raw)
        value = cards.alike.get(key)
        if value is None:
            if len(cards.alike) >= _MOST_ALIKE:
                cards.alike.clear()
            value = cards.alike[key] = self._read(raw, cards)
        return value

    def faults(self, raw: object) -> Sequence[Fault]:
        """What is wrong with such an object: the names of its fields first."""
        if not isinstance(raw, dict):
            return _wanted("an object")
        if self._required and not raw:
            # One fault that names all fields, not one for each that is missing.
            return _wanted(", ".join(self.names))
        forms = self._forms
        are_known = raw.keys() <= forms.keys()
        are_complete = raw.keys() >= set(self._required)
        of_names: Sequence[Fault] = ()
        if not are_known or not are_complete:
            of_names = [*self._faults_of_names(raw)]
        of_fields = _gathered(
            (name, forms[name].faults(held)) for name, held in raw.items() if name in forms
        )
        return [*of_names, *of_fields]

    def _faults_of_names(self, raw: Mapping[str, object]) -> Iterator[Fault]:
        """Fields that the class does not have, and those that are missing."""
        unknown = (name for name in raw if name not in self._forms)
        for name in islice(unknown, MOST_FAULTS):
            yield mask_start(name, 40), f"unknown field{nearest(name, self._forms)}"
        for name in self._required:
            if name not in raw:
                yield name, "missing, a state document has it"


def _parts_of(annotation: object) -> Iterator[object]:
    """An annotation and all that it is made of."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts_of(part)


def _is_any(annotation: object) -> bool:
    """Whether it has values of any type, which say themselves what they are."""
    return any(part is object or part is Any for part in _parts_of(annotation))
