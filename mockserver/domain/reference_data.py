"""Tables of the package that hold data, not rules: CSV files in ``data/``, each read once, when it is first needed."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

_FOLDER = Path(__file__).parent / "data"
_Row = TypeVar("_Row")


def read_table(name: str, row: Callable[..., _Row], folder: Path = _FOLDER) -> tuple[_Row, ...]:
    """The rows of ``NAME.csv``, in its order, each made by ``row`` from the named columns, which are texts."""
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return tuple(row(**dict(zip(names, cells, strict=True))) for cells in rows)
