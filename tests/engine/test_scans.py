"""Long searches in slices: the page of a sliced search is that of one at once, whatever is written meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from functools import cache
from random import Random
from weakref import ref

import pytest

from mockserver.domain.record import record, replace
from mockserver.engine import indexed_table
from mockserver.engine.indexed_table import Index, Table
from mockserver.engine.query import Bound, Contains, ListPage, Query
from tests.depth import tries
from tests.driving import Api
from tests.pauses import drive, look_at_few_rows

STEP = 100
ROWS = 3 * STEP + 7


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


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at_few_rows(monkeypatch, STEP)
    monkeypatch.setattr(indexed_table, "MOST_CHANGES", 600)


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


def plainly(table: Table[Stored], query: Query[Stored]) -> ListPage[Stored]:
    """The page of a look at every row."""
    indexes = {index.name: index for index in table._indexes}
    checks = [indexes[name].check(values) for name, values in query.equal] + query.where
    found = [row for row in table.rows if query.is_in_time(row) and all(check(row) for check in checks)]
    found.sort(key=query.sort or (lambda row: row.seq))
    found = found[::-1] if query.descending else found
    return ListPage(found[query.skip : query.skip + query.limit], len(found), query.limit, query.skip)


QUERIES: dict[str, Query[Stored]] = {
    "sorted": Query(10, sort=price),
    "sorted upwards, far in": Query(10, 2 * STEP, sort=price, descending=False),
    "beyond the end": Query(10, 5 * STEP, sort=price),
    "tested": Query(10, 5, where=[is_cheap]),
    "tested, oldest first": Query(10, 5, where=[is_cheap], descending=False),
    "a part of a text": Query(10, 5, where=[Contains(said, "d\0z")]),
    "parts of texts, tested, sorted": Query(
        10, 3, where=[Contains(said, "e"), is_cheap, Contains(said, "x")], sort=price, descending=False
    ),
    "two indexes": Query(10, equal=[("colour", ["red"]), ("tag", ["x"])]),
    "an index of several values, sorted": Query(10, 3, equal=[("price", range(40))], sort=price),
    "above, and an index": Query(
        10, equal=[("colour", ["red"])], where=[Bound(price, 20, above=True, inclusive=False)]
    ),
    "between, sorted": Query(
        10,
        3,
        where=[Bound(price, 20, above=True, inclusive=True), Bound(price, 40, above=False, inclusive=False)],
        sort=price,
    ),
    "not above, tested, oldest first": Query(
        10, where=[is_cheap, Bound(price, 15, above=False, inclusive=True)], descending=False
    ),
    "most, not above, sorted": Query(10, 3, where=[Bound(price, 40, above=False, inclusive=True)], sort=price),
    "most, below, sorted upwards": Query(
        10, where=[Bound(price, 41, above=False, inclusive=False)], sort=price, descending=False
    ),
    "most, above, sorted upwards": Query(
        10, 3, where=[Bound(price, 10, above=True, inclusive=False)], sort=price, descending=False
    ),
    "most, above and in an index, sorted": Query(
        10, equal=[("colour", ["red", "blue"])], where=[Bound(price, 5, above=True, inclusive=True)], sort=price
    ),
    "above all": Query(10, where=[Bound(price, 1_000, above=True, inclusive=True)]),
    "a window, sorted": Query(10, after=10, before=90, equal=[("colour", ["red", "blue"])], sort=price),
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

    _, pauses = drive(table.look_ahead(query), write)
    assert pauses >= 2
    for _ in range(2):
        assert table.search(query) == plainly(table, query)
        write()


@pytest.mark.parametrize("name", QUERIES)
def test_a_sliced_search_finds_what_there_was_once_newer_changes_are_taken_back(name: str) -> None:
    random = Random(name)
    table, query = filled_table(), QUERIES[name]
    before = list(table.rows)
    wanted = plainly(table, query)
    for number in range(40):
        row = table.rows[random.randrange(ROWS)]
        table.replace(row, replace(row, colour="green", price=1_000 - number))
        table.add(stored(len(table), random))
    drive(table.look_ahead(query))
    while len(table) > ROWS:
        table.take_back()
    for row in before:
        if table.rows[row.seq] is not row:
            table.replace(table.rows[row.seq], row)
    assert table.search(query) == wanted


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
        drive(table.look_ahead(query))
        assert table.search(query) == plainly(table, query)


def test_an_order_may_miss_so_much_while_a_search_learns_it_that_it_is_given_up() -> None:
    random = Random(3)
    table, query = filled_table(), Query(2 * ROWS, sort=price, descending=False)
    drive(table.look_ahead(query))
    for _ in range(1_000):
        table.add(stored(len(table), random))

    def change() -> None:
        back = [table.rows[-number] for number in range(1, 31)]
        for _ in back:
            table.take_back()
        for row in reversed(back):
            table.add(row)
        for row in table.rows[:ROWS]:
            table.replace(row, replace(row, price=random.randrange(50)))

    work = table.look_ahead(query)
    for _ in range(20):
        next(work)
    for _ in range(3):
        change()
    drive(work)
    assert table.search(query) == plainly(table, query)
    drive(table.look_ahead(query), change)
    assert table.search(query) == plainly(table, query)


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
        drive(table.look_ahead(query), change)
        assert table.search(query) == plainly(table, query)
        change()
        assert table.search(query) == plainly(table, query)


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("skip", [0, 5, 150, ROWS - 3, ROWS + 10])
def test_every_page_of_an_order_is_right_while_changes_wait_to_be_taken_in(skip: int, *, descending: bool) -> None:
    random = Random(4)
    table, query = filled_table(), Query(7, skip, sort=price, descending=descending)
    drive(table.look_ahead(query))
    for _ in range(8):
        row = table.rows[random.randrange(len(table))]
        table.replace(row, replace(row, price=random.randrange(50)))
        _, pauses = drive(table.look_ahead(query))
        assert pauses == 0
        assert table.search(query) == plainly(table, query)


def test_the_few_rows_that_were_found_may_be_taken_back_before_they_are_sorted() -> None:
    table = filled_table()
    query: Query[Stored] = Query(20, where=[Contains(key, "id30")], sort=price)
    _, pauses = drive(table.look_ahead(query), table.take_back)
    found = table.search(query)
    assert found == plainly(table, query)
    assert (found.count, pauses) == (3, 5)


def test_what_was_found_is_kept_for_the_next_search_of_the_same_rows() -> None:
    table = filled_table()
    one, other = Contains(said, "d"), Contains(said, "x")
    _, first = drive(table.look_ahead(Query(10, where=[one, is_cheap], sort=price)))
    page: Query[Stored] = Query(5, 20, where=[Contains(said, "d"), is_cheap], sort=price, descending=False)
    _, again = drive(table.look_ahead(page))
    _, new = drive(table.look_ahead(Query(10, where=[other, is_cheap], sort=price)))
    assert (first, again, new) == (5, 0, 5)


@pytest.mark.parametrize("query", [Query(10), Query(10, equal=[("price", [7])], sort=price)])
def test_what_an_index_finds_needs_no_look_ahead(query: Query[Stored]) -> None:
    table = filled_table()
    drive(table.look_ahead(query))
    assert not table.is_long_work(query)


def test_a_look_that_nobody_finishes_is_begun_again_by_the_next() -> None:
    table, query = filled_table(), Query(10, where=[is_cheap], sort=price)
    work = table.look_ahead(query)
    next(work)
    del work
    table.add(stored(ROWS, Random(2)))
    table.replace(table.rows[5], replace(table.rows[5], price=7))
    drive(table.look_ahead(query))
    assert table.search(query) == plainly(table, query)


def test_a_table_that_was_searched_is_freed_without_the_garbage_collector() -> None:
    table = filled_table()
    for query in QUERIES.values():
        drive(table.look_ahead(query))
    gone = ref(table)
    gc.disable()
    try:
        del table
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.slow
def test_a_long_list_answers_as_before_and_is_refused_as_before() -> None:
    api, others, rows = Api(), {"reference": "other"}, STEP + 10
    for number in range(rows):
        api.charge(amount=1 + number % 50, **(others if number % 2 else {}))
    assert api.get("/charge?SortBy=Amount&Limit=3").body["charges"][0]["amount"] == 50
    assert api.get("/charge?SortBy=Amount&Limit=3&Reference=other").body["count"] == rows // 2
    assert api.get("/charge?Cardholder=Ann+Example&AmountGreaterThan=49").body["count"] == rows // 50
    refused = api.get("/charge?SortBy=amont&Limit=0")
    assert (refused.status, set(refused.body["details"])) == (400, {"Limit", "SortBy"})
