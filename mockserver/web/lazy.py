"""Tables of routes: what a cell says is made of its text when it is first looked at, and a module that one names is
imported then, so that the first answer does not wait for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any, ClassVar

Texts = Mapping[str, str]
"""The cells of a row as they stand in the file, by the names of their columns."""


class InModule:
    """What a cell names in a module of a package, as ``charges.create``; ``otherwise`` of an empty cell."""

    def __init__(self, package: str, column: str, otherwise: object = None) -> None:
        self._package = package
        self._column = column
        self._otherwise = otherwise

    def __call__(self, row: Texts) -> Any:
        """Import the module and give what the name stands for. Raises ``AttributeError`` for an unknown name."""
        name = row[self._column]
        # The colon says where the module ends, so that no module of the name of the function is looked for.
        return resolve_name(f"{self._package}.{name.replace('.', ':', 1)}") if name else self._otherwise


class RouteRow:
    """A row of a table of routes: its cells by name. ``readers`` make those that are not just their text."""

    readers: ClassVar[Mapping[str, Callable[[Texts], Any]]] = {}

    def __init__(self, **texts: str) -> None:
        vars(self).update({name: text for name, text in texts.items() if name not in self.readers}, _texts=texts)

    def __getattr__(self, name: str) -> Any:
        read = self.readers.get(name)
        if read is None:
            raise AttributeError(name)
        found = read(vars(self)["_texts"])
        setattr(self, name, found)
        return found
