"""Names of the tables of routes: their modules are imported when a request first needs them, so that the first answer
does not wait for all of them."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any


class Deferred:
    """Something in a module that has not been imported yet, by its full name."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def load(self) -> Any:
        """Import the module and give what the name stands for. Raises ``AttributeError`` for a name it does not
        have."""
        return resolve_name(self._name)


def deferred(package: str, name: str) -> Any:
    """What a cell of a table names: ``charges.create`` of a package, not imported yet. None of an empty cell."""
    return Deferred(f"{package}.{name}") if name else None


def loaded(value: Any) -> Any:
    """What a value stands for: itself, unless its module is still to be imported."""
    return value.load() if isinstance(value, Deferred) else value
