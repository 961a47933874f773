"""Scans of a table that changes: many under way at once, each answers as a plain look at all rows
would have at the instant at which it began."""

import gc
import operator
from collections.abc import Sequence
from random import Random
from typing import Any
from weakref import ref

import pytest

from mockserver.domain.record import record, replace
from mockserver.engine.indexed_table import (
    Holds,
    Index,
    ListPage,
    Query,
    Scan,
    Table,
    index_by,
)
from tests.depth import tries
from tests.few_rows import look_at_few_rows


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
        self.under_way: list[tuple[Scan[Stored], tuple[list[int], int]]] = []
        for _ in range(random.choice([0, 40, 120])):
            self.add()

    def add(self) -> None:
        number = len(self.table)
        self.table.add(Stored(f"id{number}", **values(self.random), added=number // 3))

    def replace(self) -> None:
        if self.table.rows:
            row = self.random.choice(self.table.rows)
            self.table.replace(row, replace(row, **values(self.random)))

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
        query = asked(self.random, 50)
        if self.random.random() < 0.5:
            self.table.prepare(query)
        wanted, looked = plainly(self.table, query), self.table.look(query)
        if isinstance(looked, Scan):
            self.under_way.append((looked, wanted))
        else:
            assert told(looked) == wanted, query

    def end(self) -> None:
        if self.under_way:
            scan, wanted = self.under_way.pop(self.random.randrange(len(self.under_way)))
            assert told(scan.page()) == wanted, scan.query

    def learn(self) -> None:
        self.table.learn_more(self.random.choice(["colour", "price", "tag"]))

    def copy(self) -> None:
        query, copy = asked(self.random, 50), self.table.copied()
        assert told(copy.search(query)) == plainly(copy, query)

    def check(self, query: Query[Stored]) -> None:
        assert told(self.table.search(query)) == plainly(self.table, query), query


def told(page: ListPage[Stored]) -> tuple[list[int], int]:
    return [row.seq for row in page.rows], page.count


@pytest.mark.parametrize("seed", range(tries(32, 300)))
def test_every_scan_answers_as_a_plain_look_at_all_rows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    look_at_few_rows(monkeypatch, random.choice([1, 5, 20]))
    driven = Driven(random)
    acts = [
        driven.add,
        driven.replace,
        driven.take_back,
        driven.look_back,
        driven.learn,
        driven.begin,
        driven.end,
        driven.copy,
    ]
    for act in random.choices(acts, [8, 12, 2, 2, 4, 20, 20, 1], k=400):
        act()
    while driven.under_way:
        driven.end()


def filled(rows: int, *indexes: Index[Stored], changes_in_place: bool = False) -> Table[Stored]:
    table: Table[Stored] = Table(lambda row: row.key, indexes, changes_in_place=changes_in_place)
    random = Random(1)
    for number in range(rows):
        table.add(Stored(f"id{number}", **values(random), added=number))
    return table


BY_PRICE = index_by("price", price)


@pytest.mark.parametrize(
    ("query", "is_long"),
    [
        (Query(10), False),
        (Query(10, equal=[("price", [7])], sort=price), False),
        (Query(10, sort=price), True),
        (Query(10, where=[is_cheap]), True),
        (Query(10, where=[is_cheap], after=250), False),
    ],
)
def test_only_very_many_candidates_are_looked_at_in_a_thread(
    query: Query[Stored], is_long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_at_few_rows(monkeypatch, 100)
    assert isinstance(filled(307, BY_PRICE).look(query), Scan) is is_long


def test_rows_that_change_in_place_are_looked_at_in_the_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    look_at_few_rows(monkeypatch, 100)
    table, query = filled(307, BY_PRICE, changes_in_place=True), Query[Stored](400, sort=price)
    for row in table.rows[::3]:
        with table.changing(row):
            row.price = 8 - row.price
    looked = table.look(query)
    assert isinstance(looked, ListPage)
    assert told(looked) == plainly(table, query)
    assert told(table.search(Query(400, equal=[("price", [8])]))) == plainly(
        table, Query(400, equal=[("price", [8])])
    )
    assert table.copied().changes_in_place


def test_what_has_much_to_learn_learns_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at_few_rows(monkeypatch, 100)
    table, query = filled(307, BY_PRICE), Query[Stored](10, equal=[("price", [7])])
    assert [table.prepare(query) for _ in range(4)] == [True, True, False, False]
    assert told(table.search(query)) == plainly(table, query)


@pytest.mark.parametrize("skip", [0, 5, 150, 290, 306, 400])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("limit", [1, 10, 300])
def test_every_page_is_cut_out_of_the_same_order(
    skip: int, descending: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_at_few_rows(monkeypatch, 20)
    table = filled(307)
    query: Query[Stored] = Query(limit, skip, sort=price, descending=descending)
    assert told(table.search(query)) == plainly(table, query)


def test_a_table_that_was_searched_is_freed_without_the_garbage_collector() -> None:
    table = Driven(Random(0)).table
    for number in range(20):
        table.search(asked(Random(number), 50))
    gone = ref(table)
    gc.disable()
    try:
        del table
        assert gone() is None
    finally:
        gc.enable()
