"""Values as classes with slots: records, which never change, and others, which do; and tables of
data in CSV files, of whose rows values are made. Those of the domain are in ``data/``."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform

__all__ = [
    "entity",
    "made_of",
    "mutable",
    "or_kept",
    "read_grouped",
    "read_table",
    "record",
    "replace",
    "updated",
]

T = TypeVar("T")

_DATA = Path(__file__).parent / "data"


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A dataclass with slots that compares and hashes by its fields.

    It is frozen for the type checker alone: a frozen dataclass sets each field through a call, and
    a charge makes a dozen records.
    """
    made = _made(cls)
    names = [one.name for one in _compared(made) if one.hash is not False]
    _give(made, "__hash__", _hash_by(_reader(names)))
    _give(made, "__eq__", _equal_by(_reader([one.name for one in _compared(made)])))
    return made


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """A dataclass with slots that compares by its fields and has no hash."""
    made = _made(cls)
    _give(made, "__hash__", None)
    _give(made, "__eq__", _equal_by(_reader([one.name for one in _compared(made)])))
    return made


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def entity(cls: type[T]) -> type[T]:
    """A dataclass with slots that is equal to itself alone, and that weak references may be made
    to."""
    return _made(cls, has_weak_references=True)


def _made(cls: type[T], *, has_weak_references: bool = False) -> type[T]:
    """A dataclass for which ``__init__`` alone is compiled. To compile for each of 330 classes how
    it is shown, compared and hashed takes a tenth of the start of a server: one function does for
    all."""
    make: Callable[[type[T]], type[T]] = dataclass(
        slots=True, weakref_slot=has_weak_references, eq=False, repr=False
    )
    made = make(cls)
    _give(made, "__repr__", _repr)
    return made


def _give(cls: type, name: str, method: object) -> None:
    """Give a class a method that it does not define itself."""
    if name not in vars(cls):
        setattr(cls, name, method)


def _compared(cls: Any) -> list[Field[Any]]:
    return [one for one in fields(cls) if one.compare]


def _reader(names: Sequence[str]) -> Callable[[object], object]:
    """What reads the fields of these names, all at once."""
    return attrgetter(*names) if names else lambda _: ()


def _equal_by(read: Callable[[object], object]) -> Callable[[object, object], Any]:
    def is_equal(self: object, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return read(self) == read(other)

    return is_equal


def _hash_by(read: Callable[[object], object]) -> Callable[[object], int]:
    def hash_of(self: object) -> int:
        return hash(read(self))

    return hash_of


def _repr(value: Any) -> str:
    shown = (f"{one.name}={getattr(value, one.name)!r}" for one in fields(value) if one.repr)
    return f"{type(value).__qualname__}({', '.join(shown)})"


def or_kept(given: T | None, kept: T) -> T:
    """What a request gives, else what there is: None leaves a field as it is."""
    return kept if given is None else given


def updated(value: T, given: Any) -> T:
    """A copy with what a request gives: its fields of the same names, those that are None apart."""
    changes = {
        one.name: found for one in fields(given) if (found := getattr(given, one.name)) is not None
    }
    return replace(
        value, **{name: found for name, found in changes.items() if hasattr(value, name)}
    )  # type: ignore[type-var]


def made_of(cls: type[T], given: Any, **own: Any) -> T:
    """A value with fields of its own, and with those of the same names that something else has."""
    names = (one.name for one in fields(cls) if one.init and one.name not in own)  # type: ignore[arg-type]
    return cls(**own, **{name: getattr(given, name) for name in names if hasattr(given, name)})


def read_table(name: str, row: Callable[..., T], folder: Path = _DATA) -> tuple[T, ...]:
    """The rows of ``NAME.csv``, in its order, each made by ``row`` from the named columns, which
    are texts."""
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return tuple(row(**dict(zip(names, cells, strict=True))) for cells in rows)


def read_grouped(
    name: str, row: Callable[..., T], folder: Path = _DATA
) -> Mapping[str, Sequence[T]]:
    """The same by their first column, whose rows stand together."""
    paired = read_table(name, lambda **cells: (next(iter(cells.values())), row(**cells)), folder)
    return {
        key: [made for _, made in group] for key, group in groupby(paired, lambda pair: pair[0])
    }
