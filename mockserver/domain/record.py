"""Values as classes with slots: records, which never change, and others, which do; and tables of
data in CSV files, of whose rows values are made. Those of the domain are in ``data/``."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
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
    made: Callable[[type[T]], type[T]] = dataclass(slots=True, unsafe_hash=True, repr=False)
    return made(_with_repr(cls))


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """A dataclass with slots that compares by its fields and has no hash."""
    made: Callable[[type[T]], type[T]] = dataclass(slots=True, repr=False)
    return made(_with_repr(cls))


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def entity(cls: type[T]) -> type[T]:
    """A dataclass with slots that is equal to itself alone, and that weak references may be made
    to."""
    made: Callable[[type[T]], type[T]] = dataclass(
        slots=True, weakref_slot=True, eq=False, repr=False
    )
    return made(_with_repr(cls))


def _with_repr(cls: type[T]) -> type[T]:
    """Shown as any dataclass is, unless the class itself says how, by one function for all: to
    compile one for each of 300 classes takes 4 % of the start of a server."""
    if "__repr__" not in vars(cls):
        cls.__repr__ = _repr  # type: ignore[method-assign]
    return cls


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
