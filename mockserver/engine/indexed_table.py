"""Tables with indexes and the one search. Rows are kept in order of their adding, which is the order of sandbox
time.

An index or an order learns of new rows when it is next asked.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from mockserver.domain.record import record
from mockserver.domain.slices import Slices, at_once
from mockserver.engine.long_search import STEP_ROWS, LongSearches, Scan
from mockserver.engine.query import Query, TableRow, cut, window

R = TypeVar("R", bound=TableRow)

DERIVED = 128
"""Rows of a table of which something worked out is kept."""


@record
class ListPage(Generic[R]):
    """One page of a list; ``count`` is the number of all matches."""

    rows: Sequence[R]
    count: int
    limit: int
    skip: int


@record
class Index(Generic[R]):
    """How rows are found by a value. With ``several`` a row has a tuple of different values, and ``Table.find`` finds
    it by each of them. One that ``is_asked`` by operations is never further behind than a step may learn."""

    name: str
    read: Callable[[R], Any]
    several: bool = False
    is_asked: bool = False

    def values_of(self, row: R) -> Sequence[Hashable]:
        """The values that a row is found by."""
        value = self.read(row)
        return value if self.several else () if value is None else (value,)


class PostingLists(Generic[R]):
    """The places of the first ``known`` rows of a table by value, each list in order. A single place is not in a list:
    most references are had by one row."""

    def __init__(self, index: Index[R]) -> None:
        self.index = index
        self._by_value: dict[Hashable, int | list[int]] = {}
        self.known = 0

    def learn(self, rows: Sequence[R], until: int) -> None:
        """Take in the rows before ``until`` that have been added since."""
        by_value, values_of = self._by_value, self.index.values_of
        for seq in range(self.known, until):
            for value in values_of(rows[seq]):
                here = by_value.get(value)
                if here is None:
                    by_value[value] = seq
                elif isinstance(here, list):
                    here.append(seq)
                else:
                    by_value[value] = [here, seq]
        self.known = until

    def values(self) -> list[Hashable]:
        """The values that rows have, in no order."""
        return list(self._by_value)

    def contents(self) -> dict[Hashable, int | list[int]]:
        """The places by value."""
        return self._by_value

    def of(self, value: Hashable) -> list[int]:
        """The places of a value, in order; nobody changes them but this."""
        here = self._by_value.get(value)
        return here if isinstance(here, list) else [] if here is None else [here]

    def move(self, before: Sequence[Hashable], after: Sequence[Hashable], seq: int) -> None:
        """A row may have other values by now."""
        if seq < self.known and after != before:
            for value in before:
                self._take(value, seq)
            for value in after:
                self._put(value, seq)

    def take_back(self, row: R, seq: int) -> None:
        """The newest row is no more."""
        if seq < self.known:
            self.move(self.index.values_of(row), (), seq)
            self.known = seq

    def _put(self, value: Hashable, seq: int) -> None:
        here = self._by_value.get(value)
        if here is None:
            self._by_value[value] = seq
        elif isinstance(here, list):
            insort(here, seq)
        else:
            self._by_value[value] = sorted((here, seq))

    def _take(self, value: Hashable, seq: int) -> None:
        here = self._by_value[value]
        if isinstance(here, list):
            del here[bisect_left(here, seq)]
        if not isinstance(here, list) or not here:
            del self._by_value[value]


class Table(Generic[R]):
    """Rows of one kind by id, by place and by index. ``on_change`` gets each new value of a row, with the table
    and the value before (None: a new row)."""

    def __init__(self, id_of: Callable[[R], str], indexes: Sequence[Index[R]] = ()) -> None:
        self.rows: list[R] = []
        self.on_change: Callable[[Table[Any], R, R | None], None] | None = None
        self._id_of = id_of
        self._by_id: dict[str, R] = {}
        self._derived: dict[int, tuple[R, object]] = {}
        self._indexes = indexes
        # Of the indexes that have been asked: a table that nobody searches takes no room for them.
        self._postings: dict[str, PostingLists[R]] = {}
        self._long: LongSearches[R] | None = None

    def watch(self, heard: Callable[[Table[Any], R, R | None], None]) -> None:
        """Also report each new value of a row to one more."""
        first = self.on_change
        self.on_change = heard if first is None else _both(first, heard)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row_id: str) -> bool:
        return row_id in self._by_id

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def add(self, row: R) -> R:
        """Keep a new row."""
        made: Any = row
        made.seq = len(self.rows)
        self.rows.append(row)
        self._by_id[self._id_of(row)] = row
        if not len(self.rows) % STEP_ROWS:
            at_once(self.learning())
        if self.on_change is not None:
            self.on_change(self, row, None)
        return row

    def take_back(self) -> None:
        """Forget the newest row."""
        row = self.rows.pop()
        seq = len(self.rows)
        del self._by_id[self._id_of(row)]
        for postings in self._postings.values():
            postings.take_back(row, seq)
        self._note(seq)

    def copied(self, copy_row: Callable[[R], R] | None = None) -> Table[R]:
        """A table of its own with the same rows, without an ``on_change`` yet. Rows that change in place are copied by
        ``copy_row``; all others are shared."""
        copy: Table[R] = Table(self._id_of, self._indexes)
        if copy_row is None:
            copy.rows, copy._by_id = self.rows.copy(), self._by_id.copy()
        else:
            copy.rows = [copy_row(row) for row in self.rows]
            copy._by_id = {self._id_of(row): row for row in copy.rows}
        return copy

    def contents(self) -> list[Any]:
        """The lists and dictionaries that it consists of."""
        return [self._by_id, *(postings.contents() for postings in self._postings.values()), self.rows]

    def id_of(self, row: R) -> str:
        """The id of a row."""
        return self._id_of(row)

    def get(self, row_id: str) -> R | None:
        """The row of an id."""
        return self._by_id.get(row_id)

    def replace(self, before: R, after: R) -> None:
        """Keep the next value of a row, and every index right. Raises ``RuntimeError`` when ``before`` is not the
        present one: what happened since would be lost."""
        seq = before.seq
        if self.rows[seq] is not before:
            raise RuntimeError(f"row {seq} has moved on, {self._id_of(before)} cannot be replaced")
        self.rows[seq] = after
        self._by_id[self._id_of(after)] = after
        for postings in self._postings.values():
            values_of = postings.index.values_of
            postings.move(values_of(before), values_of(after), seq)
        self._note(seq)
        if self.on_change is not None:
            self.on_change(self, after, before)

    @contextmanager
    def changing(self, row: R) -> Iterator[None]:
        """Keep every index right while a row changes in place."""
        known = [(postings, postings.index.values_of(row)) for postings in self._postings.values()]
        try:
            yield
        finally:
            for postings, before in known:
                postings.move(before, postings.index.values_of(row), row.seq)
            self._note(row.seq)

    def _note(self, seq: int) -> None:
        self._derived.pop(seq % DERIVED, None)
        if self._long is not None:
            self._long.note(seq)

    def derived(self, row: R) -> Any:
        """What :meth:`derive` kept of a row; None when it kept nothing, or the row has changed since."""
        kept = self._derived.get(row.seq % DERIVED)
        return kept[1] if kept is not None and kept[0] is row else None

    def derive(self, row: R, worth: object) -> None:
        """Keep what a reader has worked out from a row until the row changes; of few rows only, those of a page among
        them."""
        self._derived[row.seq % DERIVED] = row, worth

    def values(self, index: str) -> list[Hashable]:
        """The values by which an index finds rows, in no order."""
        return self._up_to_date(index).values()

    def find(self, index: str, value: Hashable) -> Iterator[R]:
        """Rows with a value, oldest first."""
        rows = self.rows
        return (rows[seq] for seq in tuple(self._up_to_date(index).of(value)))

    def count(self, index: str, value: Hashable) -> int:
        """How many rows have a value."""
        return len(self._up_to_date(index).of(value))

    def search(self, query: Query[R], scan: Scan[R] | None = None) -> ListPage[R]:
        """The page of a query: the narrowest index gives the candidates, the rest is checked on those alone. A ``scan``
        of the same parameters has looked at most of them already."""
        rows = self.rows
        if scan is not None and scan.query.wanted == query.wanted:
            page, count = scan.page(query)
            return ListPage([rows[seq] for seq in page], count, query.limit, query.skip)
        places, checks = self._candidates(query)
        if checks:
            places = [seq for seq in places if all(check(rows[seq]) for check in checks)]
        count = len(places)
        if query.sort is not None:
            # Rows that sort alike keep the order of the plain list: the newest first when descending.
            order = reversed(places) if query.descending else places
            found = sorted((rows[seq] for seq in order), key=query.sort, reverse=query.descending)
            return ListPage(found[query.skip : query.skip + query.limit], count, query.limit, query.skip)
        return ListPage([rows[seq] for seq in cut(places, query)], count, query.limit, query.skip)

    def is_long_work(self, query: Query[R]) -> bool:
        """Whether a query is too long for one step, so that :meth:`scan` has something to do for it."""
        if any(len(self.rows) - self._index(name).known > STEP_ROWS for name, _ in query.equal):
            return True
        places, checks = self._candidates(query)
        return len(places) > STEP_ROWS and bool(checks or query.sort)

    def scan(self, query: Query[R]) -> Slices[Scan[R] | None]:
        """Look ahead for :meth:`search` at what is too long for one step; None when nothing is, by now."""
        for name, _ in query.equal:
            yield from self._learning(name)
        if not self.is_long_work(query):
            return None
        if self._long is None:
            self._long = LongSearches(self.rows)
        return (yield from self._long.find(query, self._checks(query), self._narrow(query)))

    def learning(self) -> Slices[None]:
        """Bring the indexes up to date that operations ask: in a copy each has all rows to learn."""
        for index in self._indexes:
            if index.is_asked:
                yield from self._learning(index.name)

    def _learning(self, index: str) -> Slices[None]:
        rows, postings = self.rows, self._index(index)
        while len(rows) - postings.known >= STEP_ROWS:
            postings.learn(rows, postings.known + STEP_ROWS)
            yield

    def _candidates(self, query: Query[R]) -> tuple[Sequence[int], list[Callable[[R], bool]]]:
        """The places of the narrowest index, or all, within the time of the query, in order, and what else rows must
        pass."""
        lists = [self._lists(name, values) for name, values in query.equal]
        sizes = [sum(map(len, found)) for found in lists]
        narrow = sizes.index(min(sizes)) if sizes else None
        if narrow is not None and len(lists[narrow]) > 1 and sizes[narrow] > STEP_ROWS:
            # To put so many into order takes longer than to look at every row.
            narrow = None
        places = range(len(self.rows)) if narrow is None else _in_order(lists[narrow])
        if query.after is not None or query.before is not None:
            first, last = window(self.rows, query)
            places = places[bisect_left(places, first) : bisect_left(places, last)]
        return places, self._checks(query, narrow)

    def _checks(self, query: Query[R], narrow: int | None = None) -> list[Callable[[R], bool]]:
        """What rows must pass, but for having the values that the index of number ``narrow`` finds."""
        equal = [self._check(*one) for number, one in enumerate(query.equal) if number != narrow]
        return [*equal, *query.where, *(bound.holds for bound in query.bounds)]

    def _check(self, name: str, values: Sequence[Hashable]) -> Callable[[R], bool]:
        index, allowed = self._index(name).index, frozenset(values) - {None}
        read = index.read
        if index.several:
            return lambda row: not allowed.isdisjoint(read(row))
        return lambda row: read(row) in allowed

    def _narrow(self, query: Query[R]) -> Callable[[int, int], Sequence[int]]:
        """What gives the places between two that may be among those that a query finds, by the narrowest index."""
        rows = self.rows
        single = [(self._index(name), values[0]) for name, values in query.equal if len(values) == 1]
        if not single:
            return range
        postings, value = min(single, key=lambda one: len(one[0].of(one[1])))

        def between(start: int, until: int) -> Sequence[int]:
            if postings.known < until:
                postings.learn(rows, until)
            here = postings.of(value)
            return here[bisect_left(here, start) : bisect_left(here, until)]

        return between

    def _lists(self, name: str, values: Iterable[Hashable]) -> list[list[int]]:
        postings = self._up_to_date(name)
        return [here for value in dict.fromkeys(values) if (here := postings.of(value))]

    def _up_to_date(self, name: str) -> PostingLists[R]:
        postings = self._index(name)
        if postings.known < len(self.rows):
            postings.learn(self.rows, len(self.rows))
        return postings

    def _index(self, name: str) -> PostingLists[R]:
        postings = self._postings.get(name)
        if postings is None:
            index = {index.name: index for index in self._indexes}[name]
            postings = self._postings[name] = PostingLists(index)
        return postings


def _in_order(lists: Sequence[list[int]]) -> Sequence[int]:
    """The places of lists in order, each once."""
    return lists[0] if len(lists) == 1 else sorted(set().union(*lists))


def _both(first: Callable[..., None], second: Callable[..., None]) -> Callable[..., None]:
    def heard(*change: Any) -> None:
        first(*change)
        second(*change)

    return heard
