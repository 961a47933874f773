"""Long searches of a table, a few thousand rows in each step: others are answered meanwhile, and the page is still that
of the instant of its answer.

What a search works out is kept: which rows it found, the order of a field, the texts of rows. The table says which rows
change, and those alone are looked at again by the next search.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import filterfalse, islice
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from mockserver.domain.slices import Slices
from mockserver.engine.query import Contains, Query, TableRow, window

R = TypeVar("R", bound=TableRow)
_P = TypeVar("_P", list[int], "array[int]")

STEP_ROWS = 5_000
"""Rows that are looked at in one step. A table that has no more is searched at once."""

MOST_CHANGES = 10_000
"""Changed rows beyond which what was worked out is kept no longer."""

_FEW_CHANGES = 500
"""Changed rows that stay out of an order, as each page puts them in between; more are taken in, so many in a step."""

_MOST_SCANS = 4
_MOST_TEXTS = 2


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
