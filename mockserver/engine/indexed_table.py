"""Tables with indexes and the one search. Rows are kept in order of their adding, which is the order of sandbox
time.

An index or an order learns of new rows when it is next asked, so rows that nobody looks for cost no more than their
keeping.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Generic, TypeAlias, TypeVar
from weakref import ref

from mockserver.domain.record import record
from mockserver.domain.slices import Slices
from mockserver.engine.places import LOT, Index, ManyPlaces, Places
from mockserver.engine.query import Among, Contains, Query, TableRow, cut, window
from mockserver.engine.scans import Scan
from mockserver.engine.sorted_places import SLICE, ChangedPlaces, SortedPlaces
from mockserver.engine.spread import Spread
from mockserver.engine.texts import Texts

R = TypeVar("R", bound=TableRow)

Candidates: TypeAlias = tuple[Sequence[int], list[Callable[[R], bool]]]
"""The places where the rows of a query may be, in order, and what is to be checked of each."""

DERIVED = 128
"""Rows of a table of which something worked out is kept."""


_MOST_TEXTS = 2
"""Ways to read rows as a text of which that of each row is kept."""

_OTHERS = bytes([1, *bytes(255)])


@record
class ListPage(Generic[R]):
    """One page of a list; ``count`` is the number of all matches."""

    rows: Sequence[R]
    count: int
    limit: int
    skip: int


class Table(Generic[R]):
    """Rows of one kind by id, by place and by index. ``on_change`` gets each new value of a row, with the table
    and the value before (None: a new row)."""

    __slots__ = (
        "_by_id", "_changes", "_derived", "_id_of", "_indexes", "_orders", "_places", "_texts",
        "on_change", "rows"
    )  # fmt: skip

    def __init__(self, id_of: Callable[[R], str], indexes: Sequence[Index[R]] = ()) -> None:
        self.rows: list[R] = []
        self.on_change: Callable[[Table[Any], R, R | None], None] | None = None
        self._id_of = id_of
        self._by_id: Spread[str, R] = Spread()
        self._derived: dict[int, tuple[R, object]] = {}
        self._indexes = indexes
        # Of the indexes that have been asked: a table that nobody searches takes no room for them.
        self._places: dict[str, Places[R]] = {}
        self._orders: dict[Callable[[R], Any], SortedPlaces[R]] = {}
        self._texts: dict[Callable[[R], str], Texts[R]] = {}
        self._changes: list[ref[ChangedPlaces]] = []

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
        self._by_id.put(self._id_of(row), row)
        if self._changes:
            self._report(made.seq)
        if self.on_change is not None:
            self.on_change(self, row, None)
        return row

    def take_back(self) -> None:
        """Forget the newest row."""
        seq = len(self.rows) - 1
        if self._orders:
            self._orders = {read: order for read, order in self._orders.items() if order.take_back(seq)}
        row = self.rows.pop()
        del self._by_id[self._id_of(row)]
        self._derived.pop(seq % DERIVED, None)
        for places in self._places.values():
            if seq < places.known:
                places.take_back(row, seq)
        for texts in self._texts.values():
            texts.take_back(seq)
        if self._changes:
            self._report(seq)

    def copied(self, copy_row: Callable[[R], R] | None = None) -> Table[R]:
        """A table of its own with the same rows, without an ``on_change`` yet. Rows that change in place are copied by
        ``copy_row``; all others are shared."""
        copy: Table[R] = Table(self._id_of, self._indexes)
        if copy_row is None:
            copy.rows, copy._by_id = self.rows.copy(), self._by_id.copy()
        else:
            copy.rows = [copy_row(row) for row in self.rows]
            for row in copy.rows:
                copy._by_id.put(self._id_of(row), row)
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
        self.rows[seq] = after
        self._by_id.put(self._id_of(after), after)
        for places in self._places.values():
            places.move(places.index.read(before), places.index.read(after), seq)
        self._look_again(seq)
        if self.on_change is not None:
            self.on_change(self, after, before)

    @contextmanager
    def changing(self, row: R) -> Iterator[None]:
        """Keep every index right while a row changes in place."""
        known = [(places, places.index.read(row)) for places in self._places.values()]
        try:
            yield
        finally:
            for places, before in known:
                places.move(before, places.index.read(row), row.seq)
            self._look_again(row.seq)

    def _look_again(self, seq: int) -> None:
        self._derived.pop(seq % DERIVED, None)
        for order in self._orders.values():
            order.look_again(seq)
        for texts in self._texts.values():
            texts.look_again(seq)
        if self._changes:
            self._report(seq)

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
        if scan is not None and scan.query == query:
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
            if self.is_behind(name):
                return None
        candidates = self._candidates(query)
        places, checks = candidates
        return candidates if len(places) <= SLICE or not (checks or query.sort) else None

    def scan(self, query: Query[R]) -> Slices[Scan[R] | None]:
        """Look ahead for :meth:`search` at what is too long for one step; None when nothing is, by now."""
        for name, _ in query.equal:
            yield from self.learning(name)
        if self.few(query) is not None:
            return None
        scan = Scan(self.rows, query)
        self._hear(scan.changed)
        marks = []
        for name, values in query.equal:
            marks.append((yield from self._marked(name, values)))
        for bound in query.bounds:
            order = yield from self._order(bound.read)
            marks.append((yield from order.marks(bound)))
        checks = list[Callable[[R], bool]]()
        for test in query.where:
            if isinstance(test, Contains):
                found = yield from self._said(test.read).marks(test.text, test.section)
            elif isinstance(test, Among):
                found = bytearray(len(self.rows))
                for row_id in test.ids:
                    if (row := self.get(row_id)) is not None:
                        found[row.seq] = 1
            else:
                checks.append(test)
                continue
            marks.append(found if test.present else found.translate(_OTHERS))
        yield from scan.look(marks, checks)
        if query.sort is not None and scan.is_short:
            scan.sort()
        elif query.sort is not None:
            order = yield from self._order(query.sort)
            yield from scan.follow(order)
        return scan

    def is_behind(self, index: str) -> bool:
        """Whether an index has too many rows to learn for one step."""
        return len(self.rows) > SLICE and len(self.rows) - self._index(index).known > SLICE

    def learning(self, index: str) -> Slices[None]:
        """Bring an index up to date: one that was never asked, as in a copy or after an import, has all to learn."""
        rows, places = self.rows, self._index(index)
        while len(rows) - places.known > SLICE:
            places.learn(rows, places.known + SLICE)
            yield

    def _marked(self, name: str, values: Sequence[Hashable]) -> Slices[bytearray]:
        places, until = self._up_to_date(name), len(self.rows)
        if len(values) == 1:
            return (yield from places.marks(values[0], until))
        marks, looked = bytearray(until), 0
        for value in values:
            here = places.of(value)
            # More may have been learnt since the last pause.
            here = here[: bisect_left(here, until)]
            for start in range(0, len(here), LOT):
                lot = here[start : start + LOT]
                for seq in lot:
                    marks[seq] = 1
                looked += len(lot)
                if looked >= LOT:
                    looked = 0
                    yield
        return marks

    def _said(self, read: Callable[[R], str]) -> Texts[R]:
        texts = self._texts.get(read)
        if texts is None:
            if len(self._texts) >= _MOST_TEXTS:
                del self._texts[next(iter(self._texts))]
            texts = self._texts[read] = Texts(self.rows, read)
        return texts

    def _order(self, read: Callable[[R], Any]) -> Slices[SortedPlaces[R]]:
        while True:
            order = self._orders.get(read)
            if order is None:
                order = SortedPlaces(self.rows, read)
                self._hear(changed := ChangedPlaces())
                yield from order.build(changed)
                order = self._orders.setdefault(read, order)
            yield from order.learn()
            # One that was given up meanwhile has not heard of what changed since.
            if self._orders.get(read) is order:
                return order

    def _hear(self, changed: ChangedPlaces) -> None:
        self._changes = [*(known for known in self._changes if known() is not None), ref(changed)]

    def _report(self, seq: int) -> None:
        """Let those who look at the rows know that one has changed."""
        for known in self._changes:
            changed = known()
            if changed is None:
                self._changes = [one for one in self._changes if one() is not None]
            else:
                changed.add(seq)

    def _fitting(self, query: Query[R]) -> Callable[[int], bool]:
        rows, (first, last) = self.rows, window(self.rows, query)
        checks = [*(_check(self._places[name].index, values) for name, values in query.equal), *_tests(query)]
        return lambda seq: first <= seq < last and all(check(rows[seq]) for check in checks)

    def _candidates(self, query: Query[R]) -> Candidates[R]:
        narrow, checks = self._narrow(query.equal)
        if query.where or query.bounds:
            checks.extend(_tests(query))
        if query.after is None and query.before is None:
            return range(len(self.rows)) if narrow is None else narrow, checks
        first, last = window(self.rows, query)
        if narrow is None:
            return range(first, last), checks
        return narrow[bisect_left(narrow, first) : bisect_left(narrow, last)], checks

    def _narrow(
        self, equal: Sequence[tuple[str, Sequence[Hashable]]]
    ) -> tuple[list[int] | None, list[Callable[[R], bool]]]:
        if not equal:
            return None, []
        if len(equal) == 1 and len(equal[0][1]) == 1:
            # As nearly all that are asked for.
            name, (value,) = equal[0]
            return self._up_to_date(name).of(value), []
        found = [(self._lists(name, values), name, values) for name, values in equal]
        if len(found) > 1:
            found.sort(key=lambda entry: sum(map(len, entry[0])))
        lists, name, _ = found[0]
        narrow = lists[0]
        if len(lists) > 1:
            every = chain.from_iterable(lists)
            narrow = sorted(set(every) if self._places[name].index.several else every)
        return narrow, [_check(self._places[name].index, values) for _, name, values in found[1:]]

    def _lists(self, name: str, values: Iterable[Hashable]) -> list[list[int]]:
        places = self._up_to_date(name)
        return [here for value in dict.fromkeys(values) if (here := places.of(value))] or [[]]

    def _up_to_date(self, name: str) -> Places[R]:
        places = self._index(name)
        if places.known < len(self.rows):
            places.learn(self.rows, len(self.rows))
        return places

    def _index(self, name: str) -> Places[R]:
        places = self._places.get(name)
        if places is None:
            index = {index.name: index for index in self._indexes}[name]
            places = self._places[name] = (ManyPlaces if index.several else Places)(index)
        return places


def _both(first: Callable[..., None], second: Callable[..., None]) -> Callable[..., None]:
    def heard(*change: Any) -> None:
        first(*change)
        second(*change)

    return heard


def _tests(query: Query[R]) -> Iterator[Callable[[R], bool]]:
    return chain(query.where, (bound.holds for bound in query.bounds))


def _check(index: Index[R], values: Sequence[Hashable]) -> Callable[[R], bool]:
    read, allowed = index.read, frozenset(values)
    if index.several:
        return lambda row: not allowed.isdisjoint(read(row))
    return lambda row: read(row) in allowed
