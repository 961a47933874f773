"""The form in which values are kept in a store: plain JSON data and back, as ``codec`` makes it of any type, in fewer
bytes.

A record is the list of its fields, in the order in which the file has always had them: the file names the fields of
each type once (``Forms.fields``), and a field that is new stands behind those. What has its default is null, or left
out at the end, so that a field with a default can be added without another format. Secrets are kept.

A state document is read from anybody, and names every fault; what is kept is read from a file whose rows are checked by
their sums, so that its values are taken as they are.
"""

from __future__ import annotations

import types
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence, Set
from dataclasses import MISSING, Field
from operator import attrgetter
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from mockserver.domain.cards import CardNumber
from mockserver.domain.ids import Salt, Seed
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.sources import Instrument
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.codec import (
    AS_IT_IS,
    LEAVES,
    DocumentForms,
    Form,
    Read,
    is_required,
    read_plain,
    stored,
    write_plain,
)
from mockserver.findings.catalogue import CATALOGUE, FindingKind

Names: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""The fields of each type, by its name."""

_MOST_ALIKE = 1_000


class Forms(DocumentForms):
    """The forms of one file. ``fields`` are the fields of each type by its name, in the order of the file; those of
    ``kept`` stand in it already. ``new`` names the types whose fields the file does not have yet."""

    listed = (Sequence, Set)

    def __init__(self, kept: Names = ()) -> None:
        super().__init__()
        self.fields: dict[str, tuple[str, ...]] = dict(kept)
        self.new: list[str] = []
        self._classes: dict[str, type] = {}
        self._under_way: set[type] = set()

    def constrained(self, base: Form, rules: Sequence[object]) -> Form:
        """What is kept was checked before."""
        return base

    def union(self, members: Sequence[Any], count: int) -> Form:
        """A value of one of several types is kept beside the name of its type, where JSON does not tell it."""
        if all(member in (str, int, bool) for member in members):
            return AS_IT_IS
        kinds = {member.__name__: self.of(member) for member in members}

        def write_kind(value: Any, secrets: bool) -> Any:
            name = type(value).__name__
            return None if value is None else [name, kinds[name].write(value, secrets)]

        def read_kind(raw: Any, cards: CardRegistry) -> Any:
            if raw is None:
                return None
            name, plain = raw
            return kinds[name].read(plain, cards)

        return Form(write_kind, read_kind)

    def mapping(self, key: Any, item: Form) -> Form:
        """Keys that are texts stay so; others are kept beside their values."""
        if key is str:
            return super().mapping(key, item)
        keys = self.of(key)
        return Form(
            lambda value, secrets: [
                [keys.write(name, secrets), item.write(one, secrets)] for name, one in value.items()
            ],
            lambda raw, cards: {keys.read(name, cards): item.read(one, cards) for name, one in raw},
        )

    def record(self, cls: type) -> Form:
        """The form of a dataclass, which may hold values of itself. Raises ``TypeError`` for one of two types of the
        same name: in the file they would be one."""
        if cls in self._under_way:
            return Form(
                lambda value, secrets: self.of(cls).write(value, secrets),
                lambda raw, cards: self.of(cls).read(raw, cards),
            )
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
        return _record_form(cls, places, fields)


class _KeptField:
    """One field of a dataclass. Its ``default`` is kept as null, and so is what is empty where that is the default; a
    field that ``is_plain`` needs no look at its values."""

    def __init__(self, field: Field[Any], annotation: Any, forms: Forms) -> None:
        """Raises ``TypeError`` when None is a value of the field and not its default: both would be null."""
        present, self.may_be_none = _present(annotation)
        form = forms.of(present)
        self.write, self.read = form.write, form.read
        self.is_required = is_required(field)
        if self.may_be_none and not self.is_required and field.default is not None:
            raise TypeError(f"{field.name}: {annotation} may be None, and that is not its default")
        self.default = None if self.may_be_none else field.default
        self.is_empty_by_default = field.default_factory is not MISSING and not field.default_factory()
        self.is_plain = form is AS_IT_IS and (self.is_required or self.may_be_none)


def _record_form(cls: type, places: Sequence[str], fields: Mapping[str, _KeptField]) -> Form:
    nothing = {name: None for name, field in fields.items() if field.is_required and field.may_be_none}
    names = [name for name in places if name in fields]
    gone = [place for place, name in enumerate(places) if name not in fields]
    looked_at = [(places.index(name), fields[name]) for name in names if not fields[name].is_plain]
    get: Any = attrgetter(*names) if len(names) > 1 else lambda value: [getattr(value, name) for name in names]

    def write(value: Any, secrets: bool) -> list[Any]:
        plain = [*get(value)]
        for place in gone:
            plain.insert(place, None)
        for place, field in looked_at:
            held = plain[place]
            is_left_out = held is field.default or (field.is_empty_by_default and not held)
            plain[place] = None if is_left_out else field.write(held, secrets)
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

    return Form(write, _shared(cls, read) if cls in _SHARED else read)


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


def _write_bytes(value: bytes, secrets: bool) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return [b64encode(value).decode()]


def _read_bytes(raw: Any, cards: CardRegistry) -> bytes:
    return raw.encode() if isinstance(raw, str) else b64decode(raw[0])


_SHARED = frozenset({CardNumber, Instrument, ProviderSummary})
"""Records that many rows hold alike."""

Forms.leaves = {
    **LEAVES,
    **dict.fromkeys((str, int, bool, None, Salt, Seed), AS_IT_IS),
    Any: Form(write_plain, read_plain),
    bytes: Form(_write_bytes, _read_bytes),
    FindingKind: Form(lambda kind, secrets: kind.name, lambda raw, cards: CATALOGUE[raw]),
}
