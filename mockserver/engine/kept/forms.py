"""The form in which values are kept in a store: plain JSON data and back, for any type, as code that is written once
for each type from its annotations.

A record is the list of its fields, in the order in which the file has always had them: the file names the fields of
each type once (``Forms.fields``), and a field that is new stands behind those. What has its default is null, or left
out at the end, so that a field with a default can be added without another format. Secrets are kept.

A state document (``codec``) is read from anybody, and names every fault; what is kept is read from a file whose rows
are checked by their sums, so that reading can be quick: a charge takes some 4 microseconds.
"""

from __future__ import annotations

import marshal
import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import MISSING, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import lru_cache
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


class Forms:
    """The forms of one file. ``fields`` are the fields of each type by its name, in the order of the file; those of
    ``kept`` stand in it already. ``made`` counts the types whose form was asked for."""

    def __init__(self, kept: Names = ()) -> None:
        self.fields: dict[str, tuple[str, ...]] = dict(kept)
        self.made = 0
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
            if issubclass(annotation, Enum):
                members = {member.value: member for member in annotation}
                return KeptForm(attrgetter("_value_"), lambda raw, cards: members[raw])
            if hasattr(annotation, "_fields"):
                hints = get_type_hints(annotation, include_extras=True)
                return _fixed([self.of(hints[name]) for name in annotation._fields], lambda items: annotation(*items))
            if is_dataclass(annotation):
                return self._record(annotation) if annotation not in self._under_way else self._later(annotation)
        raise TypeError(f"{annotation} has no form in a store")

    def _later(self, cls: type) -> KeptForm:
        """The form of a dataclass that holds values of itself."""
        return KeptForm(
            lambda value: self.of(cls).to_plain(value), lambda raw, cards: self.of(cls).to_value(raw, cards)
        )

    def _union(self, args: tuple[Any, ...]) -> KeptForm:
        members = [arg for arg in args if arg is not types.NoneType]
        if len(members) == 1:
            only = self.of(members[0])
            write, read = only.write, only.read
            return KeptForm(
                None if write is None else lambda value: None if value is None else write(value),
                None if read is None else lambda raw, cards: None if raw is None else read(raw, cards),
            )
        if all(member in (str, int, bool) for member in members):
            return _AS_IT_IS
        kinds = {member.__name__: self.of(member) for member in members}

        def write_kind(value: Any) -> Any:
            name = type(value).__name__
            return None if value is None else [name, kinds[name].to_plain(value)]

        def read_kind(raw: Any, cards: CardRegistry) -> Any:
            if raw is None:
                return None
            name, plain = raw
            return kinds[name].to_value(plain, cards)

        return KeptForm(write_kind, read_kind)

    def _record(self, cls: type) -> KeptForm:
        """The form of a dataclass: two functions, written for it. Raises ``TypeError`` for one of two types of the same
        name: in the file they would be one."""
        if self._classes.setdefault(cls.__name__, cls) is not cls:
            raise TypeError(f"{cls} and {self._classes[cls.__name__]} have the same name")
        self._under_way.add(cls)
        fields = {field.name: field for field in stored(cls)}
        before = self.fields.get(cls.__name__, ())
        places = (*before, *(name for name in fields if name not in before))
        hints = get_type_hints(cls, include_extras=True)
        names: dict[str, Any] = {"cls": cls, "padding": [None] * len(places)}
        written, given, least = ["None"] * len(places), [], 0
        taken = [field.name for field in cls.__dataclass_fields__.values() if field.init]  # type: ignore[attr-defined]
        for order, (name, field) in enumerate(fields.items()):
            place = places.index(name)
            annotation, is_none = _present(hints[name])
            kept = self.of(annotation)
            value, raw = f"v.{name}", f"r[{place}]"
            names[f"w{place}"], names[f"r{place}"] = kept.write, kept.read
            write = value if kept.write is None else f"w{place}({value})"
            read = raw if kept.read is None else f"r{place}({raw}, c)"
            # Two calls less for each of them.
            if annotation is Decimal:
                names["Decimal"], read = Decimal, f"Decimal({raw})"
            elif isinstance(annotation, type) and issubclass(annotation, Enum):
                names[f"r{place}"] = {member.value: member for member in annotation}
                write, read = f"{value}._value_", f"r{place}[{raw}]"
            if field.default is MISSING and field.default_factory is MISSING:
                if not is_none:
                    least = max(least, place + 1)
                nothing = "None" if is_none else None
            elif field.default is None:
                nothing = "None"
            elif is_none:
                raise TypeError(f"{cls}.{name} may be None, and that is not its default")
            elif field.default is MISSING:
                names[f"d{place}"] = field.default_factory
                nothing = f"d{place}()"
            else:
                names[f"d{place}"] = field.default
                nothing = f"d{place}"
            if nothing is None or (field.default is MISSING and nothing != "None" and names[f"d{place}"]()):
                written[place] = write
            elif field.default_factory is not MISSING:
                written[place] = f"({write} if {value} else None)"
            else:
                written[place] = (
                    value if write == value and nothing == "None" else (f"(None if {value} is {nothing} else {write})")
                )
            if nothing is not None and (read != raw or nothing != "None"):
                read = f"({nothing} if {raw} is None else {read})"
            given.append(read if not field.kw_only and taken[order] == name else f"{name}={read}")
        lines = ["def write(v):", f"    out = [{', '.join(written)}]"]
        if least < len(places):
            lines += [f"    n = {len(places)}", f"    while n > {least} and out[n - 1] is None:", "        n -= 1"]
            lines += ["    del out[n:]"]
        lines += ["    return out", "", "def read(r, c):", "    n = len(r)"]
        lines += [f"    if n < {least}:", f"        raise ValueError(f'{{n}} fields, wanted {least}')"] if least else []
        lines += [f"    if n < {len(places)}:", "        r = r + padding[n:]"] if least < len(places) else []
        lines += [f"    return cls({', '.join(given)})"]
        exec(compile("\n".join(lines), f"<kept form of {cls.__name__}>", "exec"), names)  # noqa: S102
        self.fields[cls.__name__] = places
        self.made += 1
        self._under_way.remove(cls)
        return KeptForm(names["write"], self._sharing(cls, names["read"]))

    def _sharing(self, cls: type, read: Read) -> Read:
        """Values that many rows hold alike are read once: they cost neither time nor memory again."""
        if cls is CardNumber:
            return _shared(read, self.fields[cls.__name__].index("fingerprint"))
        return _alike(read) if cls in _ALIKE else read


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


@lru_cache(maxsize=8)
def forms_of(kept: Names) -> Forms:
    """The forms of files that have these fields in this order."""
    return Forms(kept)


def _alike(read: Read) -> Read:
    def read_alike(raw: Any, cards: CardRegistry) -> Any:
        latest: Any = cards.alike.get(read)
        if latest is not None and latest[0] == raw:
            return latest[1]
        key = marshal.dumps(raw, 0)
        known = cards.alike.get(key)
        if known is None:
            if len(cards.alike) >= _MOST_ALIKE:
                cards.alike.clear()
            known = cards.alike[key] = read(raw, cards)
        cards.alike[read] = raw, known
        return known

    return read_alike


def _shared(read: Read, fingerprint: int) -> Read:
    """Every object with the same card shares the facts of its number."""

    def read_shared(raw: Any, cards: CardRegistry) -> Any:
        return cards.facts.get(raw[fingerprint]) or cards.remember(read(raw, cards))

    return read_shared


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


def _mapping(key: Any, keys: KeptForm, item: KeptForm) -> KeptForm:
    """Keys that are texts stay so; others are kept beside their values."""
    write, read = item.to_plain, item.to_value
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


_ALIKE = frozenset({Instrument, ProviderSummary})
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
    FindingKind: KeptForm(attrgetter("name"), lambda raw, cards: CATALOGUE[raw]),
}
