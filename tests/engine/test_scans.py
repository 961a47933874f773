"""Long searches in slices: the page of a sliced search is that of one at once, whatever is written meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from functools import cache
from random import Random

import pytest

from mockserver.domain.record import record, replace
from mockserver.engine import scans
from mockserver.engine.indexed_table import Table
from mockserver.engine.places import Index
from mockserver.engine.query import Bound, Contains, Query
from mockserver.engine.sorted_places import SLICE
from tests.depth import tries
from tests.driving import Api
from tests.pauses import drive

ROWS = 3 * SLICE + 7


@record
class Stored:
    key: str
    colour: str
    price: int
    tags: tuple[str, ...]
    added: int
    seq: int = -1


def stored(number: int, random: Random) -> Stored:
    tags = tuple(sorted({random.choice("xyz") for _ in range(2)}))
    return Stored(f"id{number}", random.choice(["red", "blue"]), random.randrange(50), tags, number // 3)


@cache
def beginning() -> Sequence[Stored]:
    random = Random(1)
    return [stored(number, random) for number in range(ROWS)]


def filled_table() -> Table[Stored]:
    indexes: list[Index[Stored]] = [
        Index("colour", lambda row: row.colour),
        Index("price", lambda row: row.price),
        Index("tag", lambda row: row.tags, several=True),
    ]
    table: Table[Stored] = Table(lambda row: row.key, indexes)
    for row in beginning():
        table.add(row)
    return table


def copied_table() -> Table[Stored]:
    """Of rows of its own."""
    return filled_table().copied(replace)


def price(row: Stored) -> int:
    return row.price


def is_cheap(row: Stored) -> bool:
    return row.price < 20


def key(row: Stored) -> str:
    return row.key


def said(row: Stored) -> str:
    return "\0".join((row.colour, *row.tags))


QUERIES: dict[str, Query[Stored]] = {
    "sorted": Query(10, sort=price),
    "sorted upwards, far in": Query(10, 2 * SLICE, sort=price, descending=False),
    "beyond the end": Query(10, 5 * SLICE, sort=price),
    "tested": Query(10, 5, where=[is_cheap]),
    "tested, oldest first": Query(10, 5, where=[is_cheap], descending=False),
    "a part of a text": Query(10, 5, where=[Contains(said, "d\0z")]),
    "parts of texts, tested, sorted": Query(
        10, 3, where=[Contains(said, "e"), is_cheap, Contains(said, "x")], sort=price, descending=False
    ),
    "two indexes": Query(10, equal=[("colour", ["red"]), ("tag", ["x"])]),
    "an index of several values, sorted": Query(10, 3, equal=[("price", range(40))], sort=price),
    "above, and an index": Query(
        10, equal=[("colour", ["red"])], bounds=[Bound(price, 20, above=True, inclusive=False)]
    ),
    "between, sorted": Query(
        10,
        3,
        bounds=[Bound(price, 20, above=True, inclusive=True), Bound(price, 40, above=False, inclusive=False)],
        sort=price,
    ),
    "not above, tested, oldest first": Query(
        10, where=[is_cheap], bounds=[Bound(price, 15, above=False, inclusive=True)], descending=False
    ),
    "most, not above, sorted": Query(10, 3, bounds=[Bound(price, 40, above=False, inclusive=True)], sort=price),
    "most, below, sorted upwards": Query(
        10, bounds=[Bound(price, 41, above=False, inclusive=False)], sort=price, descending=False
    ),
    "most, above, sorted upwards": Query(
        10, 3, bounds=[Bound(price, 10, above=True, inclusive=False)], sort=price, descending=False
    ),
    "most, above and in an index, sorted": Query(
        10, equal=[("colour", ["red", "blue"])], bounds=[Bound(price, 5, above=True, inclusive=True)], sort=price
    ),
    "above all": Query(10, bounds=[Bound(price, 1_000, above=True, inclusive=True)]),
    "a window, sorted": Query(10, after=100, before=1_900, equal=[("colour", ["red", "blue"])], sort=price),
}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("writes", tries((0, 40), (0, 1, 40)))
def test_a_sliced_search_finds_what_one_at_once_finds(name: str, writes: int) -> None:
    random = Random(name)
    table, query = filled_table(), QUERIES[name]

    def write() -> None:
        for _ in range(writes):
            table.add(stored(len(table), random))
            row = table.rows[random.randrange(len(table))]
            made = stored(row.seq, random)
            table.replace(row, replace(row, colour=made.colour, price=made.price, tags=made.tags))

    scan, pauses = drive(table.scan(query), write)
    assert pauses >= 2
    assert scan is not None
    for _ in range(2):
        assert table.search(query, scan) == table.search(query)
        write()


@pytest.mark.parametrize("name", QUERIES)
def test_a_sliced_search_finds_what_there_was_once_newer_changes_are_taken_back(name: str) -> None:
    random = Random(name)
    table, query = filled_table(), QUERIES[name]
    before = list(table.rows)
    wanted = table.search(query)
    for number in range(40):
        row = table.rows[random.randrange(ROWS)]
        table.replace(row, replace(row, colour="green", price=1_000 - number))
        table.add(stored(len(table), random))
    scan, _ = drive(table.scan(query), lambda: None)
    while len(table) > ROWS:
        table.take_back()
    for row in before:
        if table.rows[row.seq] is not row:
            table.replace(table.rows[row.seq], row)
    assert table.search(query, scan) == wanted


@pytest.mark.parametrize("name", QUERIES)
def test_what_a_search_has_worked_out_follows_the_rows(name: str) -> None:
    random = Random(name)
    table, query = filled_table(), QUERIES[name]
    for _ in range(6):
        for _ in range(random.choice([3, 500])):
            row = table.rows[random.randrange(len(table))]
            made = stored(row.seq, random)
            table.replace(row, replace(row, colour=made.colour, price=made.price, tags=made.tags))
        for _ in range(random.choice([1, 300])):
            table.add(stored(len(table), random))
        for _ in range(random.choice([0, 20])):
            table.take_back()
        scan, _ = drive(table.scan(query), lambda: None)
        assert table.search(query, scan) == table.search(query)


def test_an_order_that_is_given_up_while_a_search_learns_it_is_made_anew() -> None:
    random = Random(3)
    table, query = filled_table(), Query(2 * ROWS, sort=price, descending=False)
    drive(table.scan(query), lambda: None)
    for _ in range(1_000):
        table.add(stored(len(table), random))
    work = table.scan(query)
    next(work)
    while not table._orders[price].known > ROWS:
        next(work)
    back = [table.rows[-number] for number in range(1, 301)]
    for _ in back:
        table.take_back()
    for row in reversed(back):
        table.add(row)
    for row in table.rows[:ROWS]:
        table.replace(row, replace(row, price=random.randrange(50)))
    scan, _ = drive(work, lambda: None)
    assert table.search(query, scan) == table.search(query)


@pytest.mark.parametrize("name", QUERIES)
def test_what_changes_in_place_is_found_where_it_stands_now(name: str) -> None:
    random = Random(name)
    table, query = copied_table(), QUERIES[name]

    def change() -> None:
        for _ in range(40):
            row = table.rows[random.randrange(len(table))]
            made = stored(row.seq, random)
            with table.changing(row):
                row.colour, row.price, row.tags = made.colour, made.price, made.tags

    for _ in range(3):
        scan, _ = drive(table.scan(query), change)
        assert table.search(query, scan) == table.search(query)
        change()
        assert table.search(query, scan) == table.search(query)


def test_a_row_at_the_edge_of_a_block_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(4)
    table, query = filled_table(), Query(10, sort=price)
    drive(table.scan(query), lambda: None)
    for _ in range(300):
        table.add(stored(len(table), random))
        row = table.rows[random.randrange(len(table))]
        table.replace(row, replace(row, price=random.randrange(50)))
    drive(table.scan(query), lambda: None)
    blocks = list(table._orders[price].blocks(descending=False))
    assert sorted(seq for block in blocks for seq in block.places) == list(range(len(table)))
    monkeypatch.setattr(scans, "SLICE", 0)
    for block in blocks:
        for seq in (min(block.places), max(block.places)):
            alone: Query[Stored] = Query(10, where=[Contains(key, f"id{seq}")], sort=price, descending=bool(seq % 2))
            scan, _ = drive(table.scan(alone), lambda: None)
            assert table.search(alone, scan) == table.search(alone)


def test_the_few_rows_that_were_found_may_be_taken_back_before_they_are_sorted() -> None:
    table = filled_table()
    query: Query[Stored] = Query(20, where=[Contains(key, "id60")], sort=price)
    drive(table.scan(query), lambda: None)
    scan, pauses = drive(table.scan(query), table.take_back)
    found = table.search(query, scan)
    assert found == table.search(query)
    assert found.count == 18 - pauses


def test_a_scan_answers_no_other_query() -> None:
    table = filled_table()
    scan, _ = drive(table.scan(Query(10, sort=price)), lambda: None)
    other: Query[Stored] = Query(10, sort=price, descending=False)
    assert table.search(other, scan) == table.search(other) != table.search(Query(10, sort=price))


@pytest.mark.parametrize("query", [Query(10), Query(10, equal=[("price", [7])], sort=price)])
def test_what_an_index_finds_needs_no_scan(query: Query[Stored]) -> None:
    table = filled_table()
    assert drive(table.scan(query), lambda: None)[0] is None


def test_a_scan_that_nobody_finishes_is_forgotten() -> None:
    gc.freeze()
    table = filled_table()
    work = table.scan(Query(10, sort=price))
    next(work)
    del work
    gc.collect()
    table.add(stored(ROWS, Random(2)))
    assert drive(table.scan(Query(10, sort=price)), lambda: None)[0].changed == set()


@pytest.mark.slow
def test_a_long_list_answers_as_before_and_is_refused_as_before() -> None:
    api, others = Api(), {"reference": "other"}
    for number in range(SLICE + 10):
        api.charge(amount=1 + number % 50, **(others if number % 2 else {}))
    assert api.get("/charge?SortBy=Amount&Limit=3").body["charges"][0]["amount"] == 50
    assert api.get("/charge?SortBy=Amount&Limit=3&Reference=other").body["count"] == SLICE // 2 + 5
    assert api.get("/charge?Cardholder=Ann+Example&AmountGreaterThan=49").body["count"] == SLICE // 50
    refused = api.get("/charge?SortBy=amont&Limit=0")
    assert (refused.status, set(refused.body["details"])) == (400, {"Limit", "SortBy"})
