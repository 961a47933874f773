"""Tables: rows by place, id and index, the one way in which a row is replaced, and what a search
costs."""

from collections.abc import Iterator
from typing import Any

import pytest

from mockserver.domain.record import record, replace
from mockserver.engine.indexed_table import DERIVED, Index, Table, index_by


@record
class Stored:
    name: str
    colours: tuple[str, ...]
    added: int = 0
    seq: int = -1


def table_of(*rows: Stored) -> Table[Stored]:
    by_name: Index[Stored] = index_by("name", lambda row: row.name)
    by_colour: Index[Stored] = Index("colour", lambda row: row.colours)
    table: Table[Stored] = Table(lambda row: f"id{row.added}", [by_name, by_colour])
    for row in rows:
        table.add(row)
    return table


def names(rows: Iterator[Stored]) -> list[str]:
    return [row.name for row in rows]


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
    table = table_of()
    rows = table.rows = Counted()
    for number in range(1_000):
        table.add(Stored(f"n{number}", (f"n{number}",), number))
    assert [row.seq for row in table.find(index, "n5")] == [5]
    table.add(Stored("new", ("new", "blue"), 1_000))
    rows.looks = 0
    assert [row.seq for row in table.find(index, "new")] == [1_000]
    assert rows.looks < 5


def test_a_replaced_row_is_found_by_its_new_values_alone() -> None:
    table = table_of(Stored("a", ("red", "blue"), 1), Stored("b", ("red",), 2))
    assert names(table.find("colour", "red")) == ["a", "b"]
    first = table.rows[0]
    after = replace(first, name="c", colours=("green", "blue"))
    table.replace(first, after)
    assert (table.rows[0], table.get("id1"), after.seq) == (after, after, 0)
    assert first.name == "a"
    assert {colour: names(table.find("colour", colour)) for colour in ("red", "blue", "green")} == {
        "red": ["b"],
        "blue": ["c"],
        "green": ["c"],
    }
    assert (names(table.find("name", "a")), names(table.find("name", "c"))) == ([], ["c"])


def test_a_row_that_has_moved_on_is_not_replaced() -> None:
    table = table_of(Stored("a", ("red",), 1))
    first = table.rows[0]
    table.replace(first, replace(first, name="b"))
    with pytest.raises(RuntimeError, match="moved on"):
        table.replace(first, replace(first, name="c"))
    assert names(table.find("name", "b")) == ["b"]


def test_what_was_derived_from_a_row_goes_with_it() -> None:
    table = table_of(Stored("a", ("red",), 1))
    first = table.rows[0]
    table.derive(first, "text")
    assert table.derived(first) == "text"
    after = replace(first, name="b")
    table.replace(first, after)
    assert table.derived(after) is None


def test_what_is_derived_from_rows_has_a_bound_and_is_never_another_row_s() -> None:
    table = table_of(*(Stored(str(number), ("red",), number) for number in range(3 * DERIVED)))
    for row in table.rows:
        assert table.derived(row) is None
        table.derive(row, row.name)
        assert table.derived(row) == row.name
    assert [row.name for row in table.rows if table.derived(row) is not None] == [
        row.name for row in table.rows[-DERIVED:]
    ]
