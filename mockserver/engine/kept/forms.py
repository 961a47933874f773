"""The form in which values are kept in a store: plain JSON data and back, for any type, as code that is written once
for each type from its annotations.

A state document (``codec``) is read from anybody, and names every fault; what is kept is read from a file whose rows
are checked by their sums, so that reading can be quick: a charge takes some 10 microseconds. What has its default is
left out, so that a field with a default can be added without another format. Secrets are kept.
"""

from __future__ import annotations

import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from operator import attrgetter, itemgetter
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import Instant
from mockserver.domain.ids import Salt, Seed
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.sources import Instrument
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.codec import KIND, read_instant, read_plain, stored, write_instant, write_plain
from mockserver.findings.catalogue import CATALOGUE, FindingKind

Write = Callable[[Any], Any]
Read = Callable[[Any, CardRegistry], Any]

_NO_CARDS = CardRegistry("")
_UNDER_WAY: set[type] = set()


@dataclass(frozen=True, slots=True)
class KeptForm:
    """``write`` gives what JSON can hold, ``read`` the value again; both are None for what JSON holds as it is."""

    write: Write | None
    read: Read | None

    def to_plain(self, value: Any) -> Any:
        """A value as plain data."""
        return value if self.write is None else self.write(value)

    def to_value(self, raw: Any, cards: CardRegistry = _NO_CARDS) -> Any:
        """The value of plain data. Raises ``ValueError``, ``LookupError``, ``TypeError`` or ``ArithmeticError`` for
        what this has not written."""
        return raw if self.read is None else self.read(raw, cards)


_AS_IT_IS = KeptForm(None, None)
_MOST_ALIKE = 1_000


@cache
def kept_form(annotation: Any) -> KeptForm:
    """The form of an annotation. Raises ``TypeError`` for one that has none."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in _LEAVES:
        return _LEAVES[annotation]
    if origin is Annotated:
        return kept_form(args[0])
    if origin in (Union, types.UnionType):
        return _union(args)
    if origin is tuple and args[-1] is not Ellipsis:
        return _fixed([kept_form(arg) for arg in args], tuple)
    if isinstance(origin, type):
        if issubclass(origin, Mapping):
            return _mapping(args[0], kept_form(args[1]))
        if issubclass(origin, Sequence | Set):
            return _listed(kept_form(args[0]), origin)
    if isinstance(annotation, type):
        if issubclass(annotation, Enum):
            members = {member.value: member for member in annotation}
            return KeptForm(_value_of, lambda raw, cards: members[raw])
        if hasattr(annotation, "_fields"):
            hints = get_type_hints(annotation, include_extras=True)
            forms = [kept_form(hints[name]) for name in annotation._fields]
            return _fixed(forms, lambda items: annotation(*items))
        if is_dataclass(annotation):
            return _record(annotation) if annotation not in _UNDER_WAY else _later(annotation)
    raise TypeError(f"{annotation} has no form in a store")


def _value_of(member: Enum) -> Any:
    return member.value


def _later(cls: type) -> KeptForm:
    """The form of a dataclass that holds values of itself."""
    return KeptForm(
        lambda value: kept_form(cls).to_plain(value), lambda raw, cards: kept_form(cls).to_value(raw, cards)
    )


def _record(cls: type) -> KeptForm:
    """The form of a dataclass: two functions, written for it."""
    _UNDER_WAY.add(cls)
    hints = get_type_hints(cls, include_extras=True)
    names: dict[str, Any] = {"cls": cls}
    always, maybe, given = [], [], []
    is_plain_call = True
    for place, field in enumerate(stored(cls)):
        name = field.name
        kept = kept_form(hints[name])
        names[f"w{place}"], names[f"r{place}"] = kept.write, kept.read
        has_default = field.default is not MISSING or field.default_factory is not MISSING
        names[f"d{place}"] = field.default if field.default is not MISSING else None
        written = f"v.{name}" if kept.write is None else f"w{place}(v.{name})"
        if has_default:
            is_default = f"v.{name} is not None" if field.default is None else f"v.{name} != d{place}"
            if field.default is MISSING:
                names[f"d{place}"] = field.default_factory()  # type: ignore[operator]
            maybe.append(f"    if {is_default}: out[{name!r}] = {written}")
        else:
            always.append(f"{name!r}: {written}")
        made = "{}" if kept.read is None else f"r{place}({{}}, c)"
        if not has_default:
            read = made.format(f"r[{name!r}]")
        elif field.default is not MISSING:
            read = f"({made.format(f'r[{name!r}]')} if {name!r} in r else d{place})"
        else:
            names[f"f{place}"] = field.default_factory
            read = f"({made.format(f'r[{name!r}]')} if {name!r} in r else f{place}())"
        is_plain_call = is_plain_call and not field.kw_only
        given.append(read if is_plain_call and _place_of(cls, name) == place else f"{name}={read}")
    lines = ["def write(v):", f"    out = {{{', '.join(always)}}}", *maybe, "    return out", ""]
    lines += ["def read(r, c):", f"    return cls({', '.join(given)})"]
    exec(compile("\n".join(lines), f"<kept form of {cls.__name__}>", "exec"), names)  # noqa: S102
    _UNDER_WAY.remove(cls)
    if cls is CardNumber:
        return KeptForm(names["write"], _shared(names["read"]))
    if cls in _ALIKE:
        return KeptForm(names["write"], _alike(names["read"], _ALIKE[cls]))
    return KeptForm(names["write"], names["read"])


def _alike(read: Read, key_of: Callable[[Any], Hashable | None]) -> Read:
    """Values that many rows hold alike are read once: they cost neither time nor memory again."""

    def read_alike(raw: Any, cards: CardRegistry) -> Any:
        key = key_of(raw)
        known = cards.alike.get(key)
        if known is not None and known[0] == raw:
            return known[1]
        made = read(raw, cards)
        if key is not None:
            if len(cards.alike) >= _MOST_ALIKE:
                cards.alike.clear()
            cards.alike[key] = raw, made
        return made

    return read_alike


def _instrument_key(raw: Any) -> Hashable | None:
    card = raw.get("card")
    return (card["number"]["fingerprint"], card["expiry"]) if card is not None else None


def _shared(read: Read) -> Read:
    """Every object with the same card shares the facts of its number."""

    def read_shared(raw: Any, cards: CardRegistry) -> Any:
        return cards.facts.get(raw["fingerprint"]) or cards.remember(read(raw, cards))

    return read_shared


def _place_of(cls: type, name: str) -> int:
    """At which place the constructor takes a field."""
    return [field.name for field in cls.__dataclass_fields__.values() if field.init].index(name)  # type: ignore[attr-defined]


def _union(args: tuple[Any, ...]) -> KeptForm:
    members = [arg for arg in args if arg is not types.NoneType]
    if len(members) == 1:
        only = kept_form(members[0])
        write, read = only.write, only.read
        return KeptForm(
            None if write is None else lambda value: None if value is None else write(value),
            None if read is None else lambda raw, cards: None if raw is None else read(raw, cards),
        )
    if all(member in (str, int, bool) for member in members):
        return _AS_IT_IS
    kinds = {member.__name__: kept_form(member) for member in members}

    def write_kind(value: Any) -> Any:
        name = type(value).__name__
        return None if value is None else {KIND: name, **kinds[name].to_plain(value)}

    def read_kind(raw: Any, cards: CardRegistry) -> Any:
        return None if raw is None else kinds[raw[KIND]].to_value(raw, cards)

    return KeptForm(write_kind, read_kind)


def _listed(item: KeptForm, origin: type) -> KeptForm:
    shape: Any = tuple if origin is Sequence else frozenset if origin is Set else origin
    write, read = item.write, item.read
    return KeptForm(
        (list if shape not in (list, tuple) else None) if write is None else lambda value: [*map(write, value)],
        (lambda raw, cards: shape(raw))
        if read is None
        else lambda raw, cards: shape([read(one, cards) for one in raw]),
    )


def _fixed(forms: Sequence[KeptForm], shape: Callable[[list[Any]], Any]) -> KeptForm:
    writes, reads = [one.to_plain for one in forms], [one.to_value for one in forms]
    return KeptForm(
        lambda value: [write(one) for write, one in zip(writes, value, strict=True)],
        lambda raw, cards: shape([read(one, cards) for read, one in zip(reads, raw, strict=True)]),
    )


def _mapping(key: Any, item: KeptForm) -> KeptForm:
    """Keys that are texts stay so; others are kept beside their values."""
    keys, write, read = kept_form(key), item.to_plain, item.to_value
    if key is str:
        return KeptForm(
            dict if item.write is None else lambda value: {name: write(one) for name, one in value.items()},
            None if item.read is None else lambda raw, cards: {name: read(one, cards) for name, one in raw.items()},
        )
    return KeptForm(
        lambda value: [[keys.to_plain(name), write(one)] for name, one in value.items()],
        lambda raw, cards: {keys.to_value(name, cards): read(one, cards) for name, one in raw},
    )


def _write_bytes(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return [b64encode(value).decode()]


def _read_bytes(raw: Any, cards: CardRegistry) -> bytes:
    return raw.encode() if isinstance(raw, str) else b64decode(raw[0])


_ALIKE: Mapping[type, Callable[[Any], Hashable | None]] = {
    Instrument: _instrument_key,
    ProviderSummary: itemgetter("provider_id"),
}
"""Records that many rows hold alike, with what tells most of them apart."""

_ANYTHING = KeptForm(write_plain, read_plain)

_LEAVES: Mapping[Any, KeptForm] = {
    str: _AS_IT_IS,
    int: _AS_IT_IS,
    bool: _AS_IT_IS,
    None: _AS_IT_IS,
    object: _ANYTHING,
    Any: _ANYTHING,
    bytes: KeptForm(_write_bytes, _read_bytes),
    Decimal: KeptForm(str, lambda raw, cards: Decimal(raw)),
    Instant: KeptForm(write_instant, read_instant),
    Salt: _AS_IT_IS,
    Seed: _AS_IT_IS,
    FindingKind: KeptForm(attrgetter("name"), lambda raw, cards: CATALOGUE[raw]),
}
