"""Tables of the package that hold data, not rules: CSV files in ``data/``, each read once, when it is first needed."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeVar

_FOLDER = Path(__file__).parent / "data"
_Row = TypeVar("_Row")


def read_table(name: str, row: Callable[..., _Row], folder: Path = _FOLDER) -> tuple[_Row, ...]:
    """The rows of ``NAME.csv``, in its order, each made by ``row`` from the named columns, which are texts."""
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return tuple(row(**dict(zip(names, cells, strict=True))) for cells in rows)


def read_grouped(name: str, row: Callable[..., _Row], folder: Path = _FOLDER) -> Mapping[str, Sequence[_Row]]:
    """The same by their first column, whose rows stand together."""
    paired = read_table(name, lambda **cells: (next(iter(cells.values())), row(**cells)), folder)
    return {key: [made for _, made in group] for key, group in groupby(paired, lambda pair: pair[0])}
