"""The classes of the domain, and the tables of data that some of their values come from.

Nearly everything in a sandbox is a ``record``: a value whose fields are never assigned again. A
charge that moves is another ``Charge``, which a step puts in the place of the one before. So a step
that fails leaves nothing half done, a fork shares the rows of its original, and the journal and the
store may keep a row without a copy. ``mutable`` and ``entity`` are for the few that change in place
(a clock, a batch with its 100,000 rows, a delivery under way).

All three are dataclasses with slots, whose ``__init__`` alone is compiled: comparing, hashing and
showing are one function each for all 330 classes, which takes a tenth of a server's start away.
Constructors of our own, made when they were first asked for, saved 3 to 4 % more and cost 200
lines; they are gone.

A stored object has many fields in common with the command that asks for it (``Customer`` and
``CustomerDetails``). ``updated`` and ``made_of`` carry them over by their names, so that a new
field of both needs no line in between.

Tables of data are CSV files; those of the domain are in ``data/``.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform

__all__ = [
    "entity",
    "made_of",
    "mutable",
    "new_or_old",
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
    decorated = _with_init(cls)
    hashed = [column.name for column in _compared(decorated) if column.hash is not False]
    _give(decorated, "__hash__", _hash_by(_reader(hashed)))
    return _comparing(decorated)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """A dataclass with slots that compares by its fields and has no hash."""
    decorated = _with_init(cls)
    _give(decorated, "__hash__", None)
    return _comparing(decorated)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def entity(cls: type[T]) -> type[T]:
    """A dataclass with slots that is equal to itself alone, and that weak references may be made
    to."""
    return _with_init(cls, has_weak_references=True)


def _with_init(cls: type[T], *, has_weak_references: bool = False) -> type[T]:
    """A dataclass that compares by identity, shown by its fields."""
    decorate: Callable[[type[T]], type[T]] = dataclass(
        slots=True, weakref_slot=has_weak_references, eq=False, repr=False
    )
    decorated = decorate(cls)
    _give(decorated, "__repr__", _repr)
    return decorated


def _comparing(cls: type[T]) -> type[T]:
    """The class with values that are equal when their fields are."""
    names = [column.name for column in _compared(cls)]
    _give(cls, "__eq__", _equal_by(_reader(names)))
    return cls


def _give(cls: type, name: str, method: object) -> None:
    """Give a class a method that it does not define itself."""
    if name not in vars(cls):
        setattr(cls, name, method)


def _compared(cls: Any) -> list[Field[Any]]:
    """The fields by which values are told apart."""
    return [column for column in fields(cls) if column.compare]


def _reader(names: Sequence[str]) -> Callable[[object], object]:
    """What reads the fields of these names, all at once."""
    return attrgetter(*names) if names else lambda _: ()


def _equal_by(read: Callable[[object], object]) -> Callable[[object, object], Any]:
    """An ``__eq__`` by what ``read`` reads, of values of one class only: ``NotImplemented`` lets
    Python ask the other value."""

    def is_equal(self: object, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return read(self) == read(other)

    return is_equal


def _hash_by(read: Callable[[object], object]) -> Callable[[object], int]:
    """A ``__hash__`` that fits such an ``__eq__``."""

    def hash_of(self: object) -> int:
        return hash(read(self))

    return hash_of


def _repr(value: Any) -> str:
    """The ``__repr__`` of all classes. Secrets are fields with ``repr=False``: they get into no log
    and no trace."""
    texts = [f"{item.name}={getattr(value, item.name)!r}" for item in fields(value) if item.repr]
    return f"{type(value).__qualname__}({', '.join(texts)})"


def new_or_old(new: T | None, old: T) -> T:
    """What a request says of a field, else what the field holds: None leaves it as it is."""
    return old if new is None else new


def updated(value: T, request: Any) -> T:
    """A copy of ``value`` with what ``request`` says: of the fields that both have, those that are
    not None. None in a request leaves a field as it is."""
    changes = {}
    for item in fields(request):
        new = getattr(request, item.name)
        if new is not None and hasattr(value, item.name):
            changes[item.name] = new
    return replace(value, **changes)  # type: ignore[type-var]


def made_of(cls: type[T], source: Any, **own: Any) -> T:
    """A new ``cls`` from the fields of the same names that ``source`` has; ``own`` are those that
    it has not, and those that differ."""
    names = [item.name for item in fields(cls) if item.init]  # type: ignore[arg-type]
    shared = {name: getattr(source, name) for name in names if hasattr(source, name)}
    return cls(**shared | own)


def read_table(name: str, row: Callable[..., T], folder: Path = _DATA) -> tuple[T, ...]:
    """The rows of ``NAME.csv``, in its order, each made by ``row`` from the named columns, which
    are texts."""
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return tuple(row(**dict(zip(names, cells, strict=True))) for cells in rows)


def read_grouped(
    name: str, row: Callable[..., T], folder: Path = _DATA
) -> Mapping[str, Sequence[T]]:
    """The rows of ``NAME.csv`` by the text in their first column, each group in the order of the
    file."""
    groups: dict[str, list[T]] = {}
    for cells in read_table(name, dict[str, str], folder):
        first_cell = next(iter(cells.values()))
        groups.setdefault(first_cell, []).append(row(**cells))
    return groups
