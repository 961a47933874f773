"""Names of the tables of routes: their modules are imported when a request first needs them, so that the first answer
does not wait for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, ClassVar


class Deferred:
    """Something in a module that has not been imported yet, by its module and its name there:
    ``package.module:name``."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def load(self) -> Any:
        """Import the module and give what the name stands for. Raises ``AttributeError`` for a name it does not
        have."""
        return resolve_name(self._name)


def deferred(package: str, name: str) -> Any:
    """What a cell of a table names: ``charges.create`` of a package, not imported yet. None of an empty cell."""
    # The colon says where the module ends, so that no module of the name of the function is looked for.
    return Deferred(f"{package}.{name.replace('.', ':', 1)}") if name else None


class RouteRow:
    """A row of a table of routes: its cells by name. A cell that is deferred is loaded when it is first looked at."""

    defaults: ClassVar[Mapping[str, object]] = {}
    """Cells that may be left out."""

    def __init__(self, **cells: Any) -> None:
        cells = {**self.defaults, **cells}
        self._deferred = {name: cell for name, cell in cells.items() if isinstance(cell, Deferred)}
        vars(self).update((name, cell) for name, cell in cells.items() if name not in self._deferred)

    def unloaded(self) -> list[str]:
        """The cells that nobody has looked at yet."""
        return [name for name in self._deferred if name not in vars(self)]

    def __getattr__(self, name: str) -> Any:
        if name == "_deferred" or name not in self._deferred:
            raise AttributeError(name)
        found = self._deferred[name].load()
        setattr(self, name, found)
        return found
