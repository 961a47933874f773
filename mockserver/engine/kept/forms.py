"""The form in which values are kept in a store: plain JSON data and back, for any type, worked out once for each type
from its annotations.

A record is the list of its fields, in the order in which the file has always had them: the file names the fields of
each type once (``Forms.fields``), and a field that is new stands behind those. What has its default is null, or left
out at the end, so that a field with a default can be added without another format. Secrets are kept.

A state document (``codec``) is read from anybody, and names every fault; what is kept is read from a file whose rows
are checked by their sums, so that its values are taken as they are.
"""

from __future__ import annotations

import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import MISSING, Field, is_dataclass
from decimal import Decimal
from enum import Enum
from operator import attrgetter
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import Instant
from mockserver.domain.ids import Salt, Seed
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.record import record
from mockserver.domain.sources import Instrument
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.codec import read_instant, read_plain, stored, write_instant, write_plain
from mockserver.findings.catalogue import CATALOGUE, FindingKind

Write = Callable[[Any], Any]
Read = Callable[[Any, CardRegistry], Any]
Names: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""The fields of each type, by its name."""

_NO_CARDS = CardRegistry("")
_MOST_ALIKE = 1_000


@record
class KeptForm:
    """``to_plain`` gives what JSON can hold, ``read`` the value again."""

    to_plain: Write
    read: Read

    def to_value(self, raw: Any, cards: CardRegistry = _NO_CARDS) -> Any:
        """The value of plain data. Raises ``ValueError``, ``LookupError``, ``TypeError`` or ``ArithmeticError`` for
        what this has not written."""
        return self.read(raw, cards)


_AS_IT_IS = KeptForm(lambda value: value, lambda raw, cards: raw)


class Forms:
    """The forms of one file. ``fields`` are the fields of each type by its name, in the order of the file; those of
    ``kept`` stand in it already. ``new`` names the types whose fields the file does not have yet."""

    def __init__(self, kept: Names = ()) -> None:
        self.fields: dict[str, tuple[str, ...]] = dict(kept)
        self.new: list[str] = []
        self._classes: dict[str, type] = {}
        self._known: dict[Any, KeptForm] = {}
        self._under_way: set[type] = set()

    def of(self, annotation: Any) -> KeptForm:
        """The form of an annotation. Raises ``TypeError`` for one that has none."""
        known = self._known.get(annotation)
        if known is None:
            known = self._made(annotation)
            if annotation not in self._under_way:
                self._known[annotation] = known
        return known

    def _made(self, annotation: Any) -> KeptForm:
        origin, args = get_origin(annotation), get_args(annotation)
        if annotation in _LEAVES:
            return _LEAVES[annotation]
        if origin is Annotated:
            return self.of(args[0])
        if origin in (Union, types.UnionType):
            return self._union(args)
        if origin is tuple and args[-1] is not Ellipsis:
            return _fixed([self.of(arg) for arg in args], tuple)
        if isinstance(origin, type):
            if issubclass(origin, Mapping):
                return _mapping(args[0], self.of(args[0]), self.of(args[1]))
            if issubclass(origin, Sequence | Set):
                return _listed(self.of(args[0]), origin)
        if isinstance(annotation, type):
            return self._of_class(annotation)
        raise _without_form(annotation)

    def _of_class(self, cls: type) -> KeptForm:
        if issubclass(cls, Enum):
            members = {member.value: member for member in cls}
            return KeptForm(lambda value: value._value_, lambda raw, cards: members[raw])
        if hasattr(cls, "_fields"):
            hints = get_type_hints(cls, include_extras=True)
            return _fixed([self.of(hints[name]) for name in cls._fields], lambda items: cls(*items))
        if not is_dataclass(cls):
            raise _without_form(cls)
        return self._later(cls) if cls in self._under_way else self._record(cls)

    def _later(self, cls: type) -> KeptForm:
        """The form of a dataclass that holds values of itself."""
        return KeptForm(
            lambda value: self.of(cls).to_plain(value), lambda raw, cards: self.of(cls).to_value(raw, cards)
        )

    def _union(self, args: tuple[Any, ...]) -> KeptForm:
        members = [arg for arg in args if arg is not types.NoneType]
        if all(member in (str, int, bool) for member in members):
            return _AS_IT_IS
        if len(members) == 1:
            only = self.of(members[0])
            return KeptForm(
                lambda value: None if value is None else only.to_plain(value),
                lambda raw, cards: None if raw is None else only.read(raw, cards),
            )
        kinds = {member.__name__: self.of(member) for member in members}

        def write_kind(value: Any) -> Any:
            name = type(value).__name__
            return None if value is None else [name, kinds[name].to_plain(value)]

        def read_kind(raw: Any, cards: CardRegistry) -> Any:
            if raw is None:
                return None
            name, plain = raw
            return kinds[name].read(plain, cards)

        return KeptForm(write_kind, read_kind)

    def _record(self, cls: type) -> KeptForm:
        """The form of a dataclass. Raises ``TypeError`` for one of two types of the same name: in the file they would
        be one."""
        if self._classes.setdefault(cls.__name__, cls) is not cls:
            raise TypeError(f"{cls} and {self._classes[cls.__name__]} have the same name")
        self._under_way.add(cls)
        hints = get_type_hints(cls, include_extras=True)
        fields = {field.name: _KeptField(field, hints[field.name], self) for field in stored(cls)}
        before = self.fields.get(cls.__name__, ())
        places = (*before, *(name for name in fields if name not in before))
        if places != before:
            self.fields[cls.__name__] = places
            self.new.append(cls.__name__)
        self._under_way.remove(cls)
        made = _record_form(cls, places, fields)
        return KeptForm(made.to_plain, _shared(cls, made.read)) if cls in _SHARED else made


class _KeptField:
    """One field of a dataclass. Its ``default`` is kept as null, and so is what is empty where that is the default; a
    field that ``is_plain`` needs no look at its values."""

    def __init__(self, field: Field[Any], annotation: Any, forms: Forms) -> None:
        """Raises ``TypeError`` when None is a value of the field and not its default: both would be null."""
        present, self.may_be_none = _present(annotation)
        form = forms.of(present)
        self.to_plain, self.read = form.to_plain, form.read
        self.is_required = field.default is MISSING and field.default_factory is MISSING
        if self.may_be_none and not self.is_required and field.default is not None:
            raise TypeError(f"{field.name}: {annotation} may be None, and that is not its default")
        self.default = None if self.may_be_none else field.default
        self.is_empty_by_default = field.default_factory is not MISSING and not field.default_factory()
        self.is_plain = form is _AS_IT_IS and (self.is_required or self.may_be_none)


def _record_form(cls: type, places: Sequence[str], fields: Mapping[str, _KeptField]) -> KeptForm:
    nothing = {name: None for name, field in fields.items() if field.is_required and field.may_be_none}
    names = [name for name in places if name in fields]
    gone = [place for place, name in enumerate(places) if name not in fields]
    looked_at = [(places.index(name), fields[name]) for name in names if not fields[name].is_plain]
    get: Any = attrgetter(*names) if len(names) > 1 else lambda value: [getattr(value, name) for name in names]

    def write(value: Any) -> list[Any]:
        plain = [*get(value)]
        for place in gone:
            plain.insert(place, None)
        for place, field in looked_at:
            held = plain[place]
            is_left_out = held is field.default or (field.is_empty_by_default and not held)
            plain[place] = None if is_left_out else field.to_plain(held)
        return without_end(plain)

    def read(raw: Any, cards: CardRegistry) -> Any:
        if not isinstance(raw, list):
            raise TypeError(f"{type(raw).__name__}, wanted the fields of a {cls.__name__}")
        values = [*raw]
        for place, field in looked_at:
            if place < len(raw) and raw[place] is not None:
                values[place] = field.read(raw[place], cards)
        for place in reversed(gone):
            del values[place : place + 1]
        given = {name: value for name, value in zip(names, values, strict=False) if value is not None}
        return cls(**{**nothing, **given})

    return KeptForm(write, read)


def without_end(places: list[Any]) -> list[Any]:
    """A list without what is missing at its end."""
    end = len(places)
    while end and places[end - 1] is None:
        end -= 1
    return places[:end]


def _present(annotation: Any) -> tuple[Any, bool]:
    """The annotation of a value that is there, and whether it may be None."""
    bare = annotation
    while get_origin(bare) is Annotated:
        bare = get_args(bare)[0]
    if bare in (Any, object):
        return bare, True
    args = get_args(bare) if get_origin(bare) in (Union, types.UnionType) else ()
    if types.NoneType not in args:
        return annotation, False
    others = [arg for arg in args if arg is not types.NoneType]
    return others[0] if len(others) == 1 else bare, True


def _shared(cls: type, read: Read) -> Read:
    """Values that many rows hold alike are one value in memory."""

    def read_shared(raw: Any, cards: CardRegistry) -> Any:
        key = cls, repr(raw)
        known = cards.alike.get(key)
        if known is None:
            if len(cards.alike) >= _MOST_ALIKE:
                cards.alike.clear()
            made = read(raw, cards)
            known = cards.alike[key] = cards.remember(made) if cls is CardNumber else made
        return known

    return read_shared


def _listed(item: KeptForm, origin: type) -> KeptForm:
    if item is _AS_IT_IS and origin is list:
        return _AS_IT_IS
    shape: Any = tuple if origin is Sequence else frozenset if origin is Set else origin
    return KeptForm(
        lambda value: [item.to_plain(one) for one in value],
        lambda raw, cards: shape([item.read(one, cards) for one in raw]),
    )


def _fixed(forms: Sequence[KeptForm], shape: Callable[[list[Any]], Any]) -> KeptForm:
    return KeptForm(
        lambda value: [form.to_plain(one) for form, one in zip(forms, value, strict=True)],
        lambda raw, cards: shape([form.read(one, cards) for form, one in zip(forms, raw, strict=True)]),
    )


def _mapping(key: Any, keys: KeptForm, item: KeptForm) -> KeptForm:
    """Keys that are texts stay so; others are kept beside their values."""
    if key is str and item is _AS_IT_IS:
        return _AS_IT_IS
    if key is str:
        return KeptForm(
            lambda value: {name: item.to_plain(one) for name, one in value.items()},
            lambda raw, cards: {name: item.read(one, cards) for name, one in raw.items()},
        )
    return KeptForm(
        lambda value: [[keys.to_plain(name), item.to_plain(one)] for name, one in value.items()],
        lambda raw, cards: {keys.read(name, cards): item.read(one, cards) for name, one in raw},
    )


def _without_form(annotation: Any) -> TypeError:
    return TypeError(f"{annotation} has no form in a store")


def _write_bytes(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return [b64encode(value).decode()]


def _read_bytes(raw: Any, cards: CardRegistry) -> bytes:
    return raw.encode() if isinstance(raw, str) else b64decode(raw[0])


_SHARED = frozenset({CardNumber, Instrument, ProviderSummary})
"""Records that many rows hold alike."""

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
    FindingKind: KeptForm(lambda kind: kind.name, lambda raw, cards: CATALOGUE[raw]),
}
