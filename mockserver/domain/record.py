"""Values as classes with slots: records, which never change, and others, which do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, dataclass_transform

__all__ = ["entity", "mutable", "or_kept", "record", "replace", "updated"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A dataclass with slots that compares and hashes by its fields.

    It is frozen for the type checker alone: a frozen dataclass sets each field through a call, and a charge makes a
    dozen records.
    """
    made: Callable[[type[T]], type[T]] = dataclass(slots=True, unsafe_hash=True)
    return made(cls)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """A dataclass with slots that compares by its fields and has no hash."""
    made: Callable[[type[T]], type[T]] = dataclass(slots=True)
    return made(cls)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def entity(cls: type[T]) -> type[T]:
    """A dataclass with slots that is equal to itself alone, and that weak references may be made to."""
    made: Callable[[type[T]], type[T]] = dataclass(slots=True, weakref_slot=True, eq=False)
    return made(cls)


def or_kept(given: T | None, kept: T) -> T:
    """What a request gives, else what there is: None leaves a field as it is."""
    return kept if given is None else given


def updated(value: T, given: Any) -> T:
    """A copy with what a request gives: its fields of the same names, those that are None apart."""
    changes = {one.name: found for one in fields(given) if (found := getattr(given, one.name)) is not None}
    return replace(value, **{name: found for name, found in changes.items() if hasattr(value, name)})  # type: ignore[type-var]
