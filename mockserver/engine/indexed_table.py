"""Tables with indexes and the one search. Rows are kept in order of their adding, which is the order of sandbox
time.

An index learns of new rows when it is next asked, so rows that nobody looks for cost no more than their keeping.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Generic, TypeAlias, TypeVar
from weakref import ref

from mockserver.domain.record import record
from mockserver.domain.slices import Slices
from mockserver.engine.query import Query, TableRow, cut, is_same, window
from mockserver.engine.scans import SLICE, Scan

R = TypeVar("R", bound=TableRow)

Candidates: TypeAlias = tuple[Sequence[int], list[Callable[[R], bool]]]
"""The places where the rows of a query may be, in order, and what is to be checked of each."""

DERIVED = 128
"""Rows of a table of which something worked out is kept."""


@record
class Index(Generic[R]):
    """How rows are found by a value. With ``several`` a row has a tuple of different values, and ``Table.find`` finds
    it by each of them."""

    name: str
    read: Callable[[R], Any]
    several: bool = False


@record
class ListPage(Generic[R]):
    """One page of a list; ``count`` is the number of all matches."""

    rows: Sequence[R]
    count: int
    limit: int
    skip: int


class _Places(Generic[R]):
    """Where the first ``known`` rows of a table stand by the value that an index reads; a single place is not in a
    list."""

    __slots__ = ("_by_value", "index", "known")

    def __init__(self, index: Index[R]) -> None:
        self.index = index
        self.known = 0
        self._by_value: dict[Hashable, int | list[int]] = {}

    def learn(self, rows: Sequence[R], until: int) -> None:
        """Take in the rows before ``until`` that have been added since."""
        by_value, read = self._by_value, self.index.read
        for seq in range(self.known, until):
            value = read(rows[seq])
            if value is not None:
                here = by_value.get(value)
                if here is None:
                    by_value[value] = seq
                elif type(here) is list:
                    here.append(seq)
                elif type(here) is int:
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

    def put(self, value: Hashable | None, seq: int) -> None:
        """A row has got this value."""
        if value is None:
            return
        here = self._by_value.get(value)
        if here is None:
            self._by_value[value] = seq
        elif isinstance(here, int):
            self._by_value[value] = sorted((here, seq))
        else:
            insort(here, seq)

    def take(self, value: Hashable | None, seq: int) -> None:
        """A row has lost this value."""
        if value is None:
            return
        here = self._by_value[value]
        if isinstance(here, int):
            del self._by_value[value]
        else:
            del here[bisect_left(here, seq)]
            if not here:
                del self._by_value[value]


class _ManyPlaces(_Places[R]):
    """The same for an index by ``several`` values."""

    __slots__ = ()

    def learn(self, rows: Sequence[R], until: int) -> None:
        """Take in the rows before ``until`` that have been added since."""
        for seq in range(self.known, until):
            self.put(self.index.read(rows[seq]), seq)
        self.known = until

    def put(self, value: Any, seq: int) -> None:
        """A row has got these values."""
        for one in value:
            super().put(one, seq)

    def take(self, value: Any, seq: int) -> None:
        """A row has lost these values."""
        for one in value:
            super().take(one, seq)


class Table(Generic[R]):
    """Rows of one kind by id, by place and by index. ``on_change`` gets each new value of a row, with the table
    and the value before (None: a new row)."""

    __slots__ = ("_by_id", "_derived", "_id_of", "_indexes", "_places", "_scans", "on_change", "rows")

    def __init__(self, id_of: Callable[[R], str], indexes: Sequence[Index[R]] = ()) -> None:
        self.rows: list[R] = []
        self.on_change: Callable[[Table[Any], R, R | None], None] | None = None
        self._id_of = id_of
        self._by_id: dict[str, R] = {}
        self._derived: dict[int, object] = {}
        self._indexes = indexes
        # Of the indexes that have been asked: a table that nobody searches takes no room for them.
        self._places: dict[str, _Places[R]] = {}
        self._scans: list[ref[Scan[R]]] = []

    def watch(self, heard: Callable[[Table[Any], R, R | None], None]) -> None:
        """Tell one more of each new value of a row."""
        first = self.on_change
        self.on_change = heard if first is None else _both(first, heard)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row_id: object) -> bool:
        return row_id in self._by_id

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def add(self, row: R) -> R:
        """Keep a new row."""
        made: Any = row
        made.seq = len(self.rows)
        self.rows.append(row)
        self._by_id[self._id_of(row)] = row
        if self._scans:
            self._report(made.seq)
        if self.on_change is not None:
            self.on_change(self, row, None)
        return row

    def take_back(self) -> None:
        """Forget the newest row."""
        row = self.rows.pop()
        seq = len(self.rows)
        del self._by_id[self._id_of(row)]
        self._derived.pop(seq, None)
        for places in self._places.values():
            if seq < places.known:
                places.take(places.index.read(row), seq)
                places.known = seq
        if self._scans:
            self._report(seq)

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
        return [self._by_id, *(places.contents() for places in self._places.values()), self.rows]

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
        self.rows[seq] = self._by_id[self._id_of(after)] = after
        self._derived.pop(seq, None)
        for places in self._places.values():
            if seq < places.known:
                old, new = places.index.read(before), places.index.read(after)
                if new != old:
                    places.take(old, seq)
                    places.put(new, seq)
        if self._scans:
            self._report(seq)
        if self.on_change is not None:
            self.on_change(self, after, before)

    def derived(self, row: R) -> Any:
        """What :meth:`derive` kept of a row; None when it kept nothing, or the row has changed since."""
        return self._derived.get(row.seq)

    def derive(self, row: R, worth: object) -> None:
        """Keep what a reader has worked out from a row until the row changes; of the last few rows only."""
        if len(self._derived) >= DERIVED:
            self._derived.pop(next(iter(self._derived)))
        self._derived[row.seq] = worth

    def values(self, index: str) -> list[Hashable]:
        """The values by which an index finds rows, in no order."""
        return self._up_to_date(index).values()

    def find(self, index: str, value: Hashable) -> Iterator[R]:
        """Rows with a value, oldest first."""
        rows = self.rows
        return (rows[seq] for seq in tuple(self._up_to_date(index).of(value)))

    def search(self, query: Query[R], scan: Scan[R] | None = None) -> ListPage[R]:
        """The page of a query: the narrowest index gives the candidates, the rest is checked on those alone. A ``scan``
        of the same parameters has looked at most of them already."""
        rows = self.rows
        if scan is not None and is_same(scan.query, query):
            page, count = scan.page(self._fitting(query))
            return ListPage([rows[seq] for seq in page], count, query.limit, query.skip)
        return self.page(query, self._candidates(query))

    def page(self, query: Query[R], candidates: Candidates[R]) -> ListPage[R]:
        """The page of a query out of its candidates."""
        rows, (places, checks) = self.rows, candidates
        if checks:
            places = [seq for seq in places if all(check(rows[seq]) for check in checks)]
        count = len(places)
        if query.sort is not None:
            # Rows that sort alike keep the order of the plain list: the newest first when descending.
            order = reversed(places) if query.descending else places
            found = sorted((rows[seq] for seq in order), key=query.sort, reverse=query.descending)
            return ListPage(found[query.skip : query.skip + query.limit], count, query.limit, query.skip)
        return ListPage([rows[seq] for seq in cut(places, query)], count, query.limit, query.skip)

    def few(self, query: Query[R]) -> Candidates[R] | None:
        """The candidates of a query when there is nothing that :meth:`scan` would do for it; else None."""
        for name, _ in query.equal:
            if len(self.rows) - self._index(name).known > SLICE:
                return None
        candidates = self._candidates(query)
        places, checks = candidates
        return candidates if len(places) <= SLICE or not (checks or query.sort) else None

    def scan(self, query: Query[R]) -> Slices[Scan[R] | None]:
        """Look ahead for :meth:`search` at what is too long for one step; None when nothing is, by now."""
        rows = self.rows
        for name, _ in query.equal:
            yield from self.learning(name)
        candidates, checks = self._candidates(query)
        if len(candidates) <= SLICE or not (checks or query.sort):
            return None
        scan = Scan(rows, query)
        self._scans = [*(known for known in self._scans if known() is not None), ref(scan)]
        yield from scan.run(candidates, checks)
        return scan

    def learning(self, index: str) -> Slices[None]:
        """Bring an index up to date: one that was never asked, as in a copy or after an import, has all to learn."""
        rows, places = self.rows, self._index(index)
        while len(rows) - places.known > SLICE:
            places.learn(rows, places.known + SLICE)
            yield

    def _report(self, seq: int) -> None:
        """Let the scans that are under way know that a row has changed."""
        for known in self._scans:
            scan = known()
            if scan is None:
                self._scans = [one for one in self._scans if one() is not None]
            else:
                scan.changed.add(seq)

    def _fitting(self, query: Query[R]) -> Callable[[int], bool]:
        rows, (first, last) = self.rows, window(self.rows, query)
        checks = [*(_check(self._places[name].index, values) for name, values in query.equal), *query.where]
        return lambda seq: first <= seq < last and all(check(rows[seq]) for check in checks)

    def _candidates(self, query: Query[R]) -> Candidates[R]:
        narrow, checks = self._narrow(query.equal)
        checks.extend(query.where)
        first, last = window(self.rows, query)
        if narrow is None:
            return range(first, last), checks
        return narrow[bisect_left(narrow, first) : bisect_left(narrow, last)], checks

    def _narrow(
        self, equal: Sequence[tuple[str, Sequence[Hashable]]]
    ) -> tuple[list[int] | None, list[Callable[[R], bool]]]:
        if not equal:
            return None, []
        found = [(self._lists(name, values), name, values) for name, values in equal]
        if len(found) > 1:
            found.sort(key=lambda entry: sum(map(len, entry[0])))
        lists, _, _ = found[0]
        narrow = lists[0] if len(lists) == 1 else sorted(chain.from_iterable(lists))
        return narrow, [_check(self._places[name].index, values) for _, name, values in found[1:]]

    def _lists(self, name: str, values: Iterable[Hashable]) -> list[list[int]]:
        places = self._up_to_date(name)
        return [here for value in dict.fromkeys(values) if (here := places.of(value))] or [[]]

    def _up_to_date(self, name: str) -> _Places[R]:
        places = self._index(name)
        if places.known < len(self.rows):
            places.learn(self.rows, len(self.rows))
        return places

    def _index(self, name: str) -> _Places[R]:
        places = self._places.get(name)
        if places is None:
            index = {index.name: index for index in self._indexes}[name]
            places = self._places[name] = (_ManyPlaces if index.several else _Places)(index)
        return places


def _both(first: Callable[..., None], second: Callable[..., None]) -> Callable[..., None]:
    def heard(*change: Any) -> None:
        first(*change)
        second(*change)

    return heard


def _check(index: Index[R], values: Sequence[Hashable]) -> Callable[[R], bool]:
    read, allowed = index.read, frozenset(values)
    if index.several:
        return lambda row: not allowed.isdisjoint(read(row))
    return lambda row: read(row) in allowed
