"""Stored objects as plain JSON data and back, for any dataclass: the form of a type is worked out
once from its annotations.

A state document (``form``) is read by anybody and from anybody. A field that is left out of the
``repr`` is a secret: it goes out only when secrets are asked for, and without them every text goes
out with card numbers masked. Back comes only what the types and their constraints
(``domain.constraints``) allow; every fault names its place.

Amounts are texts, instants whole microseconds, those with tenths of one texts.
"""

import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from itertools import islice
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import EARLIEST, LATEST, Instant
from mockserver.domain.constraints import Within
from mockserver.domain.cooperative import Cooperative, run_to_end
from mockserver.domain.errors import nearest
from mockserver.domain.ids import Salt, Seed
from mockserver.domain.masking import is_for_phones, mask_field, mask_start
from mockserver.engine.card_registry import CardRegistry

KIND = "$kind"
MOST_FAULTS = 20
"""Faults of a document that are named at once."""

_MOST_DIGITS = 40
_TENTHS = re.compile(r"-?[0-9]{1,18}\.[1-9]", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,20}", re.ASCII)

Write = Callable[[Any, bool], Any]
Read = Callable[[Any, CardRegistry], Any]
WriteSteps = Callable[[Any, bool], Cooperative[Any]]
ReadSteps = Callable[[Any, CardRegistry], Cooperative[Any]]


class ImportFault(ValueError):
    """Data that no such object can be made of: every fault of it, by the dotted path to where it
    stands. Paths grow on the way out."""

    def __init__(self, *faults: tuple[str, str]) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{place}: {words}" for place, words in faults))

    def within(self, name: object) -> Iterable[tuple[str, str]]:
        """The faults as seen from one step further out."""
        return ((f"{name}.{place}" if place else str(name), words) for place, words in self.faults)


def _wanted(words: str) -> ImportFault:
    return ImportFault(("", f"wanted {words}"))


def _refuse(words: str) -> Any:
    raise _wanted(words)


class Form(NamedTuple):
    """The plain data of a type. ``write`` takes a value and whether secrets go out; ``read`` raises
    ``ImportFault``.

    What may be long has ``write_steps`` and ``read_steps``, which pause after each part; what is
    read by them is used up. That is a ``list``, a ``dict`` or a record with one of them. Any other
    mapping, such as metadata, and what holds one, has ``write_steps`` alone: it is read quickly,
    but each of its texts is masked as it is written.
    """

    write: Write
    read: Read
    write_steps: WriteSteps | None = None
    read_steps: ReadSteps | None = None

    def write_in_steps(self, value: Any, secrets: bool) -> Cooperative[Any]:
        """The plain data of a value, with a pause after each part of one that may be long."""
        if self.write_steps is None:
            return self.write(value, secrets)
        return (yield from self.write_steps(value, secrets))

    def read_in_steps(self, raw: Any, cards: CardRegistry) -> Cooperative[Any]:
        """The value of plain data, which is used up by that, with pauses alike. Raises
        ``ImportFault``."""
        if self.read_steps is None:
            return self.read(raw, cards)
        return (yield from self.read_steps(raw, cards))


@cache
def form(annotation: Any) -> Form:
    """The form of an annotation in a state document. Raises ``TypeError`` for one that has none."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in _LEAVES:
        return _LEAVES[annotation]
    if origin is Annotated:
        rules = [fault for rule in args[1:] if (fault := getattr(rule, "fault", None))]
        return _constrained(form(args[0]), rules)
    if origin in (Union, types.UnionType):
        members = [arg for arg in args if arg is not types.NoneType]
        return _optional(form(members[0]) if len(members) == 1 else _union(members))
    if origin is tuple and args[-1] is not Ellipsis:
        return _fixed([form(arg) for arg in args], tuple)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(args[0], form(args[1]), is_long=origin is dict)
    if isinstance(origin, type) and issubclass(origin, Sequence | Set):
        return _listed(form(args[0]), origin, is_long=origin is list)
    if isinstance(annotation, type):
        if issubclass(annotation, Enum):
            return _enum(annotation)
        if hasattr(annotation, "_fields"):
            hints = get_type_hints(annotation, include_extras=True)
            parts = [form(hints[name]) for name in annotation._fields]
            return _fixed(
                parts,
                lambda items: annotation(*items),
                len(getattr(annotation, "_field_defaults", ())),
            )
        if is_dataclass(annotation):
            return _Fields(annotation).form()
    raise TypeError(f"{annotation} has no form in a state document")


def _union(members: Sequence[Any]) -> Form:
    kinds = {member.__name__: form(member) for member in members}

    def read(raw: Any, cards: CardRegistry) -> Any:
        kind = kinds.get(str(raw.get(KIND))) if isinstance(raw, dict) else None
        if kind is None:
            raise _wanted(f"an object whose {KIND} is one of {', '.join(kinds)}")
        return kind.read({key: item for key, item in raw.items() if key != KIND}, cards)

    def write(value: Any, secrets: bool) -> Any:
        name = type(value).__name__
        return {KIND: name, **kinds[name].write(value, secrets)}

    def write_steps(value: Any, secrets: bool) -> Cooperative[Any]:
        name = type(value).__name__
        written = yield from kinds[name].write_in_steps(value, secrets)
        return {KIND: name, **written}

    is_long = any(kind.write_steps for kind in kinds.values())
    return Form(write, read, write_steps if is_long else None)


def _mapping(key: Any, item: Form, *, is_long: bool) -> Form:
    """Keys are texts, those that are whole numbers too. Texts are masked by the name of their key
    as well."""
    of_key = Form(form(int).write, _read_number) if key is int else form(key)

    def write(value: Mapping[Any, Any], secrets: bool) -> Cooperative[Any]:
        out = {}
        for key, held in value.items():
            is_masked = isinstance(held, str) and not secrets
            written = (
                mask_field(str(key), held)
                if is_masked
                else (yield from item.write_in_steps(held, secrets))
            )
            out[str(of_key.write(key, secrets))] = written
            yield
        return out

    def read(raw: Any, cards: CardRegistry) -> Cooperative[Any]:
        if not isinstance(raw, dict):
            raise _wanted("an object")
        keys = (
            raw
            if key is str
            else (yield from _every(((name, of_key, name) for name in raw), cards))
        )
        values = yield from _every(((name, item, held) for name, held in raw.items()), cards)
        return dict(zip(keys, values, strict=True))

    return Form(_at_once(write), _at_once(read), write, read if is_long else None)


def stored(cls: type) -> list[Field[Any]]:
    """Fields that go into a document: a row's place follows from its table."""
    return [field for field in fields(cls) if field.init and field.name != "seq"]


class _Fields:
    """The fields of a record: their forms, how each is written, and which take long."""

    def __init__(self, cls: type) -> None:
        parts, hints = stored(cls), get_type_hints(cls, include_extras=True)
        self._cls = cls
        self._required = [
            one.name for one in parts if one.default is MISSING and one.default_factory is MISSING
        ]
        self._forms = {one.name: form(hints[one.name]) for one in parts}
        self._write_steps = {
            name: part.write_steps for name, part in self._forms.items() if part.write_steps
        }
        self._is_read_in_steps = any(part.read_steps for part in self._forms.values())
        # A field whose default is None is left out where it has it.
        self._writes = [
            (one.name, one.default is None, not one.repr, self._writer(one.name)) for one in parts
        ]

    def _writer(self, name: str) -> Write | None:
        """What writes a field that is not long: the text of a phone number is masked as such."""
        if is_for_phones(name):
            return lambda value, secrets: value if secrets else mask_field(name, value)
        return self._forms[name].write if name not in self._write_steps else None

    def form(self) -> Form:
        """The form of the record."""
        made = Form(self._write, self._read)
        if self._write_steps:
            steps = self._write_in_steps
            made = made._replace(write=_at_once(steps), write_steps=steps)
        if self._is_read_in_steps:
            reading = self._read_in_steps
            made = made._replace(read=_at_once(reading), read_steps=reading)
        return made

    def _write(self, value: Any, secrets: bool) -> dict[str, Any]:
        """The fields by their names; those that may be long as they are."""
        out: dict[str, Any] = {}
        for name, is_optional, is_secret, write in self._writes:
            held = getattr(value, name)
            if is_secret and not secrets:
                held = None
            if held is None and is_optional:
                continue
            out[name] = held if held is None or write is None else write(held, secrets)
        return out

    def _write_in_steps(self, value: Any, secrets: bool) -> Cooperative[dict[str, Any]]:
        """The same with those that may be long, and a pause after each part of them."""
        out = self._write(value, secrets)
        for name, write_steps in self._write_steps.items():
            if out.get(name) is not None:
                out[name] = yield from write_steps(out[name], secrets)
        return out

    def _read(self, raw: Any, cards: CardRegistry) -> Any:
        """The value of such fields. Raises ``ImportFault``."""
        forms = self._forms
        try:
            made = self._cls(**{name: forms[name].read(item, cards) for name, item in raw.items()})
        except (AttributeError, KeyError, TypeError, ImportFault):
            # Read part by part, it says all that is wrong with it.
            made = run_to_end(self._read_in_steps(raw, cards))
        # Every object with the same card shares the facts of its number.
        return cards.remember(made) if self._cls is CardNumber else made

    def _read_in_steps(self, raw: Any, cards: CardRegistry) -> Cooperative[Any]:
        """The same of a document, with a pause after each part."""
        if not isinstance(raw, dict):
            raise _wanted("an object")
        faults = self._faults_of_names(raw)
        known = (
            (name, self._forms[name], item) for name, item in raw.items() if name in self._forms
        )
        try:
            values = yield from _every(known, cards)
        except ImportFault as fault:
            faults += fault.faults
        if faults:
            raise ImportFault(*faults[:MOST_FAULTS])
        return self._cls(**dict(zip(raw, values, strict=True)))

    def _faults_of_names(self, raw: dict[str, Any]) -> list[tuple[str, str]]:
        if self._required and not raw:
            raise _wanted(", ".join(self._forms))
        named = islice((name for name in raw if name not in self._forms), MOST_FAULTS)
        unknown = [
            (mask_start(name, 40), f"unknown field{nearest(name, self._forms)}") for name in named
        ]
        missing = [
            (name, "missing, a state document has it") for name in self._required if name not in raw
        ]
        return unknown + missing


def _at_once(steps: Callable[[Any, Any], Cooperative[Any]]) -> Callable[[Any, Any], Any]:
    """The same work without a pause."""
    return lambda value, how: run_to_end(steps(value, how))


def _every(
    parts: Iterable[tuple[object, Form, Any]], cards: CardRegistry
) -> Cooperative[list[Any]]:
    """Every part of a value, each with its name and form, and a pause after each. Raises
    ``ImportFault`` with the faults of all of them, as far as they can be read."""
    made: list[Any] = []
    faults: list[tuple[str, str]] = []
    for name, form, item in parts:
        try:
            steps = form.read_steps
            made.append(
                form.read(item, cards) if steps is None else (yield from steps(item, cards))
            )
        except ImportFault as fault:
            faults += fault.within(name)
            if len(faults) >= MOST_FAULTS:
                break
        yield
    if faults:
        raise ImportFault(*faults)
    return made


def _listed(item: Form, origin: type, *, is_long: bool) -> Form:
    shape: Any = tuple if origin is Sequence else frozenset if issubclass(origin, Set) else origin

    def write(value: Iterable[Any], secrets: bool) -> Cooperative[list[Any]]:
        out = []
        for one in value:
            out.append((yield from item.write_in_steps(one, secrets)))
            yield
        return out

    def read(raw: Any, cards: CardRegistry) -> Cooperative[Any]:
        if not isinstance(raw, list):
            raise _wanted("a list")
        numbered = _used_up(raw) if is_long else enumerate(raw)
        items = yield from _every(((place, item, one) for place, one in numbered), cards)
        return items if is_long else shape(items)

    write_steps = write if is_long or item.write_steps else None
    return Form(_at_once(write), _at_once(read), write_steps, read if is_long else None)


def _used_up(items: list[Any]) -> Iterator[tuple[int, Any]]:
    """The items with their places, each of which is let go: together with what is made of them they
    would take twice the memory."""
    for place, one in enumerate(items):
        items[place] = None
        yield place, one


def _fixed(parts: Sequence[Form], shape: Callable[[list[Any]], Any], later: int = 0) -> Form:
    """A tuple of so many parts, or a named one, of which the ``later`` last ones may be missing."""

    def read(raw: Any, cards: CardRegistry) -> Any:
        if not isinstance(raw, list) or not len(parts) - later <= len(raw) <= len(parts):
            raise _wanted(f"a list of {len(parts)}")
        numbered = zip(range(len(raw)), parts, raw, strict=False)
        return shape(run_to_end(_every(numbered, cards)))

    def write(value: Any, secrets: bool) -> list[Any]:
        least = len(parts) - later
        while len(value) > least and value[-1] is None:
            value = value[:-1]
        return [part.write(item, secrets) for part, item in zip(parts, value, strict=False)]

    return Form(write, read)


def _optional(only: Form) -> Form:
    def write(value: Any, secrets: bool) -> Any:
        return None if value is None else only.write(value, secrets)

    def read(raw: Any, cards: CardRegistry) -> Any:
        # A secret that was not exported is read as None wherever the class knows None.
        return None if raw is None else only.read(raw, cards)

    def write_steps(value: Any, secrets: bool) -> Cooperative[Any]:
        return None if value is None else (yield from only.write_in_steps(value, secrets))

    return Form(write, read, write_steps if only.write_steps else None)


def _enum(cls: type[Enum]) -> Form:
    by_value = {member.value: member for member in cls}
    names = f"one of {', '.join(map(str, by_value))}"

    def read(raw: Any, cards: CardRegistry) -> Any:
        return (by_value.get(raw) if isinstance(raw, (str, int)) else None) or _refuse(names)

    return Form(lambda value, secrets: value._value_, read)


def _constrained(base: Form, faults: Sequence[Callable[[Any], str | None]]) -> Form:
    def read(raw: Any, cards: CardRegistry) -> Any:
        value = base.read(raw, cards)
        for fault in faults:
            words = fault(value)
            if words is not None:
                raise ImportFault(("", words))
        return value

    return Form(base.write, read, base.write_steps) if faults else base


def _exactly(kind: type, words: str) -> Read:
    def read(raw: Any, cards: CardRegistry) -> Any:
        return raw if type(raw) is kind else _refuse(words)

    return read


def _read_int(raw: Any, cards: CardRegistry) -> int:
    # Nothing that is counted or timed lies beyond the calendar.
    return raw if type(raw) is int and EARLIEST <= raw <= LATEST else _refuse("a whole number")


def write_instant(value: Instant, secrets: bool = True) -> int | str:
    """Whole microseconds, as a text with the tenths of one."""
    return f"{value:d}.{value.tenths}" if value.tenths else int(value)


def read_instant(raw: Any, cards: CardRegistry) -> Instant:
    """The instant of both. Raises ``ImportFault``."""
    whole, _, tenths = (
        raw.partition(".") if isinstance(raw, str) and _TENTHS.fullmatch(raw) else (raw, "", "0")
    )
    return Instant(_read_int(int(whole) if tenths != "0" else whole, cards), int(tenths))


def _read_decimal(raw: Any, cards: CardRegistry | None = None) -> Decimal:
    try:
        number = Decimal(raw) if isinstance(raw, str) else Decimal("NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number.adjusted() > _MOST_DIGITS:
        raise _wanted("a number written as a text")
    return number


def _read_number(raw: Any, cards: CardRegistry) -> int:
    """A whole number that is written as a text: a key, or one that many readers of JSON would
    round."""
    return (
        int(raw)
        if isinstance(raw, str) and _DIGITS.fullmatch(raw)
        else _refuse("a whole number as a text")
    )


def _read_seed(raw: Any, cards: CardRegistry) -> Seed:
    """A seed may have more digits than a JSON reader gives as an ``int``."""
    if (
        isinstance(raw, bool)
        or not isinstance(raw, int | Decimal)
        or not 0 <= raw < 2**63
        or raw % 1
    ):
        raise _wanted("a whole number, 0 to 2^63 - 1")
    return Seed(int(raw))


def _write_text(value: object, secrets: bool) -> str:
    # A field that is written as text may hold a member of an enumeration.
    return str(value) if secrets else mask_field("", str(value))


def write_plain(value: Any, secrets: bool = True) -> Any:
    """Any value made of texts, numbers, lists and mappings as plain data. Raises ``TypeError`` for
    another."""
    match value:
        case Enum():
            return value.value
        case str():
            return _write_text(value, secrets)
        case None | bool() | int():
            return value
        case Decimal():
            return {KIND: "Decimal", "value": str(value)}
        case Mapping():
            written = {
                _write_text(key, secrets): write_plain(item, secrets) for key, item in value.items()
            }
            return {KIND: "Mapping", "value": written} if KIND in written else written
        case list() | tuple():
            return [write_plain(item, secrets) for item in value]
        case _:
            raise TypeError(f"{type(value).__name__} has no form in a state document")


def read_plain(raw: Any, cards: CardRegistry | None = None) -> Any:
    """The value of such plain data."""
    match raw:
        case {"$kind": "Decimal"}:
            return _read_decimal(raw.get("value"), cards)
        case {"$kind": "Mapping", "value": dict(written)} | dict(written):
            return {key: read_plain(item, cards) for key, item in written.items()}
        case list():
            return [read_plain(item, cards) for item in raw]
        case Decimal():
            # One that could be read here and not as it is written would be lost with the next
            # export.
            return _read_decimal(str(raw), cards)
        case _:
            return raw


_LEAVES: Mapping[Any, Form] = {
    str: Form(_write_text, _exactly(str, "a text")),
    int: Form(lambda value, secrets: int(value), _read_int),
    bool: Form(lambda value, secrets: value, _exactly(bool, "true or false")),
    object: Form(write_plain, read_plain),
    Decimal: Form(lambda value, secrets: str(value), _read_decimal),
    Instant: Form(write_instant, read_instant),
    Salt: _constrained(
        Form(lambda value, secrets: str(value), _read_number), [Within(0, 2**64 - 1).fault]
    ),
    Seed: Form(lambda value, secrets: value, _read_seed),
}
"""The forms of the simplest types."""
