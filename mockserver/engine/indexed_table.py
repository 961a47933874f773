"""Tables with indexes and the one search. Rows are kept in order of their adding, which is the order of sandbox
time.

An index or an order learns of new rows when it is next asked. A long search looks at a few thousand rows in each step:
others are answered meanwhile, and the page is still that of the instant of its answer. What it works out is kept: which
rows it found, the order of a field, the texts of rows. The table says which rows change, and those alone are looked at
again by the next search.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import merge
from itertools import filterfalse, islice
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from mockserver.domain.record import record
from mockserver.domain.slices import Slices, at_once
from mockserver.engine.query import Contains, Query, TableRow, cut, window

R = TypeVar("R", bound=TableRow)
_P = TypeVar("_P", list[int], "array[int]")

DERIVED = 128
"""Rows of a table of which something worked out is kept."""

STEP_ROWS = 5_000
"""Rows that are looked at in one step. A table that has no more is searched at once."""

MOST_CHANGES = 10_000
"""Changed rows beyond which what was worked out is kept no longer."""

_FEW_CHANGES = 500
"""Changed rows that stay out of an order, as each page puts them in between; more are taken in, so many in a step."""

_MOST_SCANS = 4
_MOST_TEXTS = 2


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


class Follower:
    """Something worked out of the first ``known`` rows; those at the places ``changed`` have been replaced or taken
    back since."""

    def __init__(self) -> None:
        self.known = 0
        self.changed: set[int] = set()

    def behind(self, total: int) -> list[int]:
        """The places of those of ``total`` rows that it does not know as they are now."""
        return [*(seq for seq in self.changed if seq < total), *range(self.known, total)]


class SearchTexts(Follower, Generic[R]):
    """What ``read`` says of each row, kept from the first look at it."""

    def __init__(self, rows: Sequence[R], read: Callable[[R], str]) -> None:
        super().__init__()
        self._rows = rows
        self._read = read
        self._texts: list[str | None] = []

    def fitting(self, test: Contains[R], places: Sequence[int]) -> list[int]:
        """Those of the places whose rows pass the test."""
        said, text, section, wanted = self._of(places), test.text, test.section, test.present
        if section is None:
            return [seq for seq, words in zip(places, said, strict=True) if (text in words) is wanted]
        return [seq for seq, words in zip(places, said, strict=True) if (text in section(words)) is wanted]

    def _of(self, places: Sequence[int]) -> list[str]:
        self._catch_up()
        return [self._texts[seq] or self._made(seq) for seq in places]

    def _catch_up(self) -> None:
        texts = self._texts
        for seq in self.changed:
            texts[seq] = None
        self.changed.clear()
        texts.extend([None] * (len(self._rows) - len(texts)))
        self.known = len(texts)

    def _made(self, seq: int) -> str:
        said = self._texts[seq] = self._read(self._rows[seq])
        return said


class SortOrder(Follower, Generic[R]):
    """The places of the rows by the value that ``read`` gives, those of one value in the order of their adding."""

    def __init__(self, rows: Sequence[R], read: Callable[[R], Any]) -> None:
        super().__init__()
        self._rows = rows
        self._read = read
        self._places = array("I")

    def build(self) -> Slices[None]:
        """Sort the rows that there are: parts of them first, then those into one."""
        # Rows may change in the pauses: what is merged are their values of before.
        values, runs, total = list[Any](), list["array[int]"](), len(self._rows)
        while (start := self.known) < min(total, len(self._rows)):
            values += map(self._read, self._rows[start : min(start + STEP_ROWS, total)])
            self.known = len(values)
            runs.append(array("I", sorted(range(start, self.known), key=values.__getitem__)))
            yield
        merged = merge(*runs, key=values.__getitem__)
        while some := array("I", islice(merged, STEP_ROWS)):
            self._places += some
            yield

    def learn(self) -> Slices[None]:
        """Take in what has changed so far, but for the last few changes."""
        rows = self._rows
        for _ in range((len(self.changed) + len(rows) - self.known) // _FEW_CHANGES):
            again = list(islice(self.changed, _FEW_CHANGES))
            until = min(self.known + _FEW_CHANGES, len(rows))
            fresh = [seq for seq in (*again, *range(self.known, until)) if seq < until]
            if self.changed:
                self._places = array("I", filterfalse(self.changed.__contains__, self._places))
            self._places = self._merged(self._places, fresh)
            self.changed = {seq for seq in self.changed.difference(again) if seq < until}
            self.known = until
            yield

    def page(self, found: bytearray, query: Query[R]) -> list[int]:
        """The places on the page of a query, of rows that are marked in ``found``."""
        unchanged = found + bytes(max(self.known - len(found), 0))
        for seq in self.changed:
            unchanged[seq] = 0
        fresh = [seq for seq in self.behind(len(self._rows)) if found[seq]]
        # At most so many of the page before are put in between the others.
        first, end = max(query.skip - len(fresh), 0), query.skip + query.limit
        places = reversed(self._places) if query.descending else self._places
        page = list(islice(filter(unchanged.__getitem__, places), first, end))
        page = self._merged(page[::-1], fresh)[::-1] if query.descending else self._merged(page, fresh)
        return page[query.skip - first : end - first]

    def _merged(self, places: _P, fresh: Iterable[int]) -> _P:
        """Places in order, with a few put in between: no need to read the values of all."""
        merged, start = places[:0], 0
        for seq in sorted(fresh, key=self._key):
            at = bisect_left(places, self._key(seq), start, key=self._key)
            merged += places[start:at]
            merged.append(seq)
            start = at
        return merged + places[start:]

    def _key(self, seq: int) -> tuple[Any, int]:
        return self._read(self._rows[seq]), seq


class Scan(Follower, Generic[R]):
    """Which rows fit a query. ``fitting`` gives those of some places whose rows do, ``candidates`` the places between
    two that may."""

    def __init__(
        self,
        rows: Sequence[R],
        query: Query[R],
        fitting: Callable[[Sequence[int]], Sequence[int]],
        candidates: Callable[[int, int], Sequence[int]],
    ) -> None:
        super().__init__()
        self.query = query
        self.count = 0
        self.order: SortOrder[R] | None = None
        self._rows = rows
        self._fitting = fitting
        self._candidates = candidates
        # A byte for each row, 1 where it fits.
        self._found = bytearray()

    def learn(self) -> Slices[None]:
        """Look at all rows that it does not know, but for the last few."""
        while (until := self.known + STEP_ROWS) < len(self._rows):
            self._mark(self._candidates(self.known, until), until)
            yield

    def page(self, query: Query[R]) -> tuple[list[int], int]:
        """The places on the page of a query that asks for the same rows, and how many there are on all pages."""
        self._catch_up()
        if self.order is not None:
            return self.order.page(self._found, query), self.count
        places, sort, rows = self._by_place(descending=query.descending), query.sort, self._rows
        if sort is not None:
            # Rows that sort alike keep the order of the plain list.
            places = iter(sorted(places, key=lambda seq: sort(rows[seq]), reverse=query.descending))
        return list(islice(places, query.skip, query.skip + query.limit)), self.count

    def _catch_up(self) -> None:
        total = len(self._rows)
        again = self.behind(total)
        for seq in self.changed:
            self.count -= self._found[seq]
            self._found[seq] = 0
        self.changed.clear()
        self._mark(again, total)

    def _mark(self, places: Sequence[int], until: int) -> None:
        found = self._found
        found.extend(bytes(max(until - len(found), 0)))
        fitting = self._fitting(places)
        for seq in fitting:
            found[seq] = 1
        self.count += len(fitting)
        self.known = until

    def _by_place(self, *, descending: bool) -> Iterator[int]:
        find = self._found.rfind if descending else self._found.find
        at = find(1)
        while at >= 0:
            yield at
            at = find(1, 0, at) if descending else find(1, at + 1)


class LongSearches(Generic[R]):
    """What the last long searches of one table have worked out."""

    def __init__(self, rows: Sequence[R]) -> None:
        self._rows = rows
        self._scans: list[Scan[R]] = []
        self._orders: dict[Callable[[R], Any], SortOrder[R]] = {}
        self._texts: dict[Callable[[R], str], SearchTexts[R]] = {}
        # All of them, and those that somebody still works with.
        self._followers: WeakSet[Follower] = WeakSet()

    def note(self, seq: int) -> None:
        """A row has been replaced or taken back."""
        for follower in self._followers:
            if seq < follower.known:
                follower.changed.add(seq)
                if len(follower.changed) > MOST_CHANGES:
                    self._drop(follower)

    def find(
        self,
        query: Query[R],
        checks: Sequence[Callable[[R], bool]],
        candidates: Callable[[int, int], Sequence[int]],
    ) -> Slices[Scan[R]]:
        """Look at the rows for the page of a query."""
        scan = next((known for known in self._scans if known.query.wanted == query.wanted), None)
        if scan is None:
            scan = Scan(self._rows, query, self._tests(query, checks), candidates)
            self._followers.add(scan)
        self._scans = [*(known for known in self._scans if known is not scan), scan][-_MOST_SCANS:]
        yield from scan.learn()
        scan.order = None
        if query.sort is not None and scan.count > STEP_ROWS:
            scan.order = yield from self._order(query.sort)
        return scan

    def _order(self, read: Callable[[R], Any]) -> Slices[SortOrder[R]]:
        order = self._orders.get(read)
        if order is None:
            order = SortOrder(self._rows, read)
            self._followers.add(order)
            yield from order.build()
            order = self._orders.setdefault(read, order)
        yield from order.learn()
        return order

    def _tests(
        self, query: Query[R], checks: Sequence[Callable[[R], bool]]
    ) -> Callable[[Sequence[int]], Sequence[int]]:
        rows = self._rows
        said = [(self._said(check.read), check) for check in checks if isinstance(check, Contains)]
        others = [check for check in checks if not isinstance(check, Contains)]

        def fitting(places: Sequence[int]) -> Sequence[int]:
            if query.after is not None or query.before is not None:
                first, last = window(rows, query)
                places = [seq for seq in places if first <= seq < last]
            for check in others:
                places = [seq for seq in places if check(rows[seq])]
            for texts, test in said:
                places = texts.fitting(test, places)
            return places

        return fitting

    def _said(self, read: Callable[[R], str]) -> SearchTexts[R]:
        texts = self._texts.pop(read, None)
        if texts is None:
            self._followers.add(texts := SearchTexts(self._rows, read))
        self._texts = {**dict(list(self._texts.items())[1 - _MOST_TEXTS :]), read: texts}
        return texts

    def _drop(self, follower: Follower) -> None:
        self._scans = [scan for scan in self._scans if scan is not follower]
        self._orders = {read: order for read, order in self._orders.items() if order is not follower}
        self._texts = {read: texts for read, texts in self._texts.items() if texts is not follower}


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
        """A table of its own with the same rows, without an ``on_change`` yet, which has all to learn. Rows that change
        in place are copied by ``copy_row``; all others are shared."""
        copy: Table[R] = Table(self._id_of, self._indexes)
        copy.rows = self.rows.copy() if copy_row is None else [copy_row(row) for row in self.rows]
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
        """Bring up to date what operations ask: the rows by their ids, and some indexes."""
        rows, id_of = self.rows, self._id_of
        for start in range(len(self._by_id), len(rows), STEP_ROWS):
            some = rows[start : start + STEP_ROWS]
            self._by_id.update(zip(map(id_of, some), some, strict=True))
            yield
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
        return [*equal, *query.where]

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
