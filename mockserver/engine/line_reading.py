"""How lines are read: the value of a line's plain data, by its annotation. The form of lines, and
why it is so, is told in ``lines``.

Each annotation has a ``Form``, worked out once: ``faults`` says what is wrong with plain data, and
``read`` makes the value, trusting that nothing is. A store reads what it has written itself, and
calls ``read`` alone (``value_of``, ``read_plain``); a state document comes from anybody, and is
checked first (``checked_value_of``). Reading uses the plain data up: the dictionary of a row
becomes the arguments of its class, and is not copied for that.

Cards and other records that many rows hold alike are made one value in memory as they are read.
"""

from __future__ import annotations

import json
import re
import types
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import MISSING, is_dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cached_property
from itertools import islice
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

from mockserver.domain.bounded_cache import by_type
from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import EARLIEST, LATEST, Instant
from mockserver.domain.constraints import Within
from mockserver.domain.errors import nearest
from mockserver.domain.ids import Salt, Seed
from mockserver.domain.masking import mask_start
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.lines import KIND, SHARED, RecordForm, line_of, stored

MOST_FAULTS = 20
"""Faults of a document that are named at once."""

_MOST_ALIKE = 1_000
_MOST_DIGITS = 40
_MOST_PLACES = 1_000
_TENTHS = re.compile(r"-?[0-9]{1,18}\.[1-9]", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,20}", re.ASCII)

T = TypeVar("T")

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
        # Halves of surrogate pairs, which Python's reader takes and orjson does not.
        try:
            return json.loads(line)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


@by_type
def form_of(annotation: Any) -> Form:
    """The form of an annotation. Raises ``TypeError`` for one that has none."""
    if annotation in _LEAVES:
        return _LEAVES[annotation]
    if get_origin(annotation) is not None:
        return _form_of_composed(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _enum(annotation)
    if hasattr(annotation, "_fields"):
        # A named tuple, which an earlier version may have written without its last values.
        hints = get_type_hints(annotation, include_extras=True)
        parts = [form_of(hints[name]) for name in annotation._fields]
        return _fixed(parts, annotation, len(annotation._field_defaults))
    if isinstance(annotation, type) and is_dataclass(annotation):
        record = RecordReader.of(annotation)
        return Form(record.read, record.faults)
    raise TypeError(f"{annotation} has no form in a line")


def _form_of_composed(annotation: Any) -> Form:
    """The form of an annotation that is made of others, such as ``list[str]``. Raises
    ``TypeError``."""
    origin, args = get_origin(annotation), get_args(annotation)
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
    forms = {member.__name__: RecordReader.of(member) for member in members}
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
            # A member is told by its key, which is itself at fault.
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
    # What is taken as it is stays in its place.
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
            # 1E+999999 and 1E-999999 are short, and take a million digits where they are written
            # out.
            if number.is_finite() and -_MOST_PLACES <= number.adjusted() <= _MOST_DIGITS:
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


class RecordReader:
    """How the object of a dataclass's fields is read."""

    def __init__(self, cls: type) -> None:
        parts = stored(cls)
        self._cls = cls
        self._record = RecordForm.of(cls)
        self._required = [
            part.name
            for part in parts
            if part.default is MISSING and part.default_factory is MISSING
        ]

    @staticmethod
    @by_type
    def of(cls: type) -> RecordReader:
        """The reader of a dataclass."""
        return RecordReader(cls)

    @cached_property
    def _forms(self) -> Mapping[str, Form]:
        # Not before it is asked for: a type may hold values of itself.
        return {name: form_of(self._record.hints[name]) for name in self._record.names}

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
        if self._cls in SHARED:
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
        if value is not None:
            return value
        # All at once: to forget the oldest alone would have to note each use.
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
            return _wanted(", ".join(self._record.names))
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
