"""Scans of a table that changes: many under way at once, each answers as a plain look at all rows
would."""

import gc
import operator
from collections.abc import Sequence
from random import Random
from typing import Any
from weakref import ref

import pytest

from mockserver.domain.cooperative import Cooperative, run_to_end
from mockserver.domain.record import record, replace
from mockserver.engine import indexed_table
from mockserver.engine.indexed_table import Holds, Index, Query, Table, index_by
from tests.depth import tries
from tests.pauses import drive, look_at_few_rows


@record
class Stored:
    key: str
    colour: str | None
    price: int
    tags: tuple[str, ...]
    added: int
    seq: int = -1


def price(row: Stored) -> int:
    return row.price


def colour(row: Stored) -> str:
    return row.colour or ""


def is_cheap(row: Stored) -> bool:
    return row.price < 4


def said(row: Stored) -> str:
    return "\0".join((colour(row), *row.tags))


def values(random: Random) -> dict[str, Any]:
    tags = tuple(sorted({random.choice("xyz") for _ in range(random.randrange(3))}))
    return {
        "colour": random.choice(["red", "blue", None]),
        "price": random.randrange(9),
        "tags": tags,
    }


def asked(random: Random, rows: int) -> Query[Stored]:
    equal: list[tuple[str, Sequence[Any]]] = []
    if random.random() < 0.5:
        equal.append(
            ("colour", random.choices(["red", "blue", "none"], k=random.choice([1, 1, 3])))
        )
    if random.random() < 0.3:
        equal.append(("price", random.choices(range(10), k=random.choice([1, 5]))))
    if random.random() < 0.3:
        equal.append(("tag", [random.choice("xyz")]))
    bounds = [
        Holds(
            price,
            random.choice((operator.gt, operator.ge, operator.lt, operator.le)),
            random.randrange(-1, 10),
        )
        for _ in range(random.choice([0, 0, 1, 2]))
    ]
    return Query(
        random.choice([1, 10, 100]),
        random.choice([0, 0, 5, 60]),
        equal,
        [
            *random.choice(
                [
                    [],
                    [],
                    [],
                    [is_cheap],
                    [Holds(said, operator.contains, "ed")],
                    [Holds(said, operator.contains, "x"), is_cheap],
                ]
            ),
            *bounds,
        ],
        random.randrange(rows) // 3 if random.random() < 0.2 else None,
        random.randrange(rows) // 3 if random.random() < 0.2 else None,
        random.choice([None, price, colour]),
        random.random() < 0.5,
    )


def plainly(table: Table[Stored], query: Query[Stored]) -> tuple[list[int], int]:
    read = {
        "colour": lambda row: {row.colour},
        "price": lambda row: {row.price},
        "tag": lambda row: {*row.tags},
    }
    found = [
        row
        for row in table.rows
        if all(read[name](row) & set(wanted) for name, wanted in query.equal)
        and all(test(row) for test in query.where)
        and (query.after is None or row.added > query.after)
        and (query.before is None or row.added < query.before)
    ]
    if query.descending:
        found.reverse()
    if query.sort is not None:
        found.sort(key=query.sort, reverse=query.descending)
    return [row.seq for row in found[query.skip : query.skip + query.limit]], len(found)


class Driven:
    """A table, and the scans of it that are under way."""

    def __init__(self, random: Random) -> None:
        indexes: list[Index[Stored]] = [
            index_by("colour", lambda row: row.colour),
            index_by("price", price),
            Index("tag", lambda row: row.tags),
        ]
        self.random = random
        self.table: Table[Stored] = Table(lambda row: row.key, indexes)
        self.under_way: list[tuple[Query[Stored], Cooperative[None]]] = []
        for _ in range(random.choice([0, 40, 120])):
            self.add()

    def add(self) -> None:
        number = len(self.table)
        self.table.add(Stored(f"id{number}", **values(self.random), added=number // 3))

    def replace(self) -> None:
        if self.table.rows:
            row = self.random.choice(self.table.rows)
            self.table.replace(row, replace(row, **values(self.random)))

    def change(self) -> None:
        """In place: nobody else has the row."""
        if self.table.rows:
            row = replace(before := self.random.choice(self.table.rows))
            self.table.replace(before, row)
            with self.table.changing(row):
                given = values(self.random)
                row.colour, row.price, row.tags = given["colour"], given["price"], given["tags"]

    def take_back(self) -> None:
        for _ in range(min(self.random.choice([1, 5]), len(self.table))):
            self.table.take_back()

    def look_back(self) -> None:
        """As a read that lags does."""
        row, taken = self.table.rows[0] if self.table.rows else None, self.table.rows[1:][-3:]
        for _ in taken:
            self.table.take_back()
        if row is not None:
            before = replace(row, price=9)
            self.table.replace(row, before)
            self.check(asked(self.random, 50))
            self.table.replace(before, row)
        for one in taken:
            self.table.add(one)

    def begin(self) -> None:
        repeated = self.under_way and self.random.random() < 0.3
        query = self.random.choice(self.under_way)[0] if repeated else asked(self.random, 50)
        self.under_way.append((query, self.table.look_ahead(query)))

    def go_on(self) -> None:
        if self.under_way:
            query, work = one = self.random.choice(self.under_way)
            try:
                next(work)
            except StopIteration:
                self.under_way.remove(one)
                self.check(query)
                self.replace()
                self.check(query)

    def drop(self) -> None:
        if self.under_way:
            self.under_way.pop()

    def copy(self) -> None:
        query, copy = asked(self.random, 50), self.table.copied()
        run_to_end(copy.look_ahead(query))
        page = copy.search(query)
        assert ([row.seq for row in page.rows], page.count) == plainly(copy, query)

    def check(self, query: Query[Stored]) -> None:
        page = self.table.search(query)
        assert ([row.seq for row in page.rows], page.count) == plainly(self.table, query), query


@pytest.mark.parametrize("seed", range(tries(32, 300)))
def test_every_scan_answers_as_a_plain_look_at_all_rows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    step = random.choice([1, 5, 20])
    look_at_few_rows(monkeypatch, step)
    for name, some in (
        ("MOST_CHANGES", [3, 30]),
        ("_MOST_SEARCHES", [1, 4]),
        ("_MOST_TEXTS", [1, 2]),
    ):
        monkeypatch.setattr(indexed_table, name, random.choice(some))
    driven = Driven(random)
    acts = [driven.add, driven.replace, driven.change, driven.take_back, driven.look_back, driven.begin, driven.go_on,
            driven.drop, driven.copy]  # fmt: skip
    for act in random.choices(acts, [8, 10, 6, 2, 2, 4, 30, 1, 1], k=400):
        act()


def test_more_is_learnt_of_one_value_while_others_are_marked() -> None:
    table: Table[Stored] = Table(lambda row: row.key, [index_by("price", price)])
    for number in range(indexed_table.STEP_ROWS + 10):
        table.add(Stored(f"id{number}", None, 1, (), 0))
    query: Query[Stored] = Query(10, equal=[("price", [1, 2])], sort=colour)
    work = table.look_ahead(query)
    for _ in work:
        table.add(Stored(f"id{len(table)}", None, 2, (), 0))
        table.values("price")
    assert table.search(query).count == len(table)


def test_an_order_is_made_while_rows_change_without_end() -> None:
    table: Table[Stored] = Table(lambda row: row.key)
    for number in range(indexed_table.STEP_ROWS + 10):
        table.add(Stored(f"id{number}", None, number % 50, (), 0))
    for pause, _ in enumerate(table.look_ahead(Query(10, sort=price))):
        for row in table.rows[:300]:
            table.replace(row, replace(row, price=row.price + 1))
        assert pause < 30


@pytest.fixture
def long_table(monkeypatch: pytest.MonkeyPatch) -> Table[Stored]:
    """A table that is looked at in a few steps."""
    look_at_few_rows(monkeypatch, 100)
    table: Table[Stored] = Table(lambda row: row.key, [index_by("price", price)])
    random = Random(1)
    for number in range(307):
        table.add(Stored(f"id{number}", **values(random), added=number))
    return table


def test_what_was_found_is_kept_for_the_next_search_of_the_same_rows(
    long_table: Table[Stored],
) -> None:
    one, other = Holds(said, operator.contains, "e"), Holds(said, operator.contains, "x")
    _, first = drive(long_table.look_ahead(Query(10, where=[one, is_cheap], sort=price)))
    page: Query[Stored] = Query(
        5, 20, where=[Holds(said, operator.contains, "e"), is_cheap], sort=price, descending=False
    )
    _, again = drive(long_table.look_ahead(page))
    _, new = drive(long_table.look_ahead(Query(10, where=[other, is_cheap], sort=price)))
    assert (first > 1, again, new) == (True, 0, first)


@pytest.mark.parametrize("query", [Query(10), Query(10, equal=[("price", [7])], sort=price)])
def test_what_an_index_finds_needs_no_look_ahead(
    long_table: Table[Stored], query: Query[Stored]
) -> None:
    drive(long_table.look_ahead(query))
    assert not long_table.is_long_work(query)


def test_a_table_that_was_searched_is_freed_without_the_garbage_collector() -> None:
    table = Driven(Random(0)).table
    for number in range(20):
        drive(table.look_ahead(asked(Random(number), 50)))
    gone = ref(table)
    gc.disable()
    try:
        del table
        assert gone() is None
    finally:
        gc.enable()
