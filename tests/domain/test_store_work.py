"""What an index costs: a search looks at the rows that were added since the last one, never at all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from mockserver.engine.store import Index, Table


@dataclass(slots=True)
class Stored:
    name: str
    colours: tuple[str, ...]
    seq: int = -1
    added: int = 0


class Counted(list[Any]):
    """A list that counts the rows that are looked at."""

    looks = 0

    def __iter__(self) -> Iterator[Any]:
        for row in super().__iter__():
            self.looks += 1
            yield row

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)


@pytest.mark.parametrize("index", ["name", "colour"])
def test_an_index_reads_new_rows_only(index: str) -> None:
    by_name: Index[Stored] = Index("name", lambda row: row.name)
    by_colour: Index[Stored] = Index("colour", lambda row: row.colours, several=True)
    table: Table[Stored] = Table(lambda row: str(row.seq), [by_name, by_colour])
    rows = table.rows = Counted()
    for number in range(1_000):
        table.add(Stored(f"n{number}", (f"n{number}",)))
    assert [row.seq for row in table.find(index, "n5")] == [5]
    table.add(Stored("new", ("new", "blue")))
    rows.looks = 0
    assert [row.seq for row in table.find(index, "new")] == [1_000]
    assert rows.looks < 5
