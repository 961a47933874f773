"""Tables with indexes, and the one search over them.

**The problem.** A sandbox holds 100,000 objects of a kind, and may hold a million. Creating and
getting one must cost the same whatever is there already, a search at most 0.1 s for each 100,000
rows, and while one client searches, the others must not wait.

**Rows** stand in the order of their adding, which is the order of sandbox time, so that a window
of time is a slice. A row's place in the list (``seq``) never changes. Rows are values that are
replaced: a caller that holds one may read it at any time, in any thread. Batches alone change in
place, and say so (``changes_in_place``).

**Indexes** (``PostingLists``) hold the places of the rows that have a value. One that was never
asked costs nothing: it learns the rows when it is first asked, and from then on what has come
since. That takes half a second for a million rows, so a caller that can wait lets it learn slice by
slice before (``prepare``, ``learn_more``). Those that operations ask within their step
(``is_asked``) learn as rows come, so that none is ever more than a slice behind.

**A search** takes its candidates from the index that finds fewest, or else takes every row. Few
candidates are looked at in the step. More than ``MOST_IN_STEP`` are copied as a list, which takes a
millisecond for 100,000, and looked at in a thread: the answer is that of the instant of the copy,
whatever changes meanwhile. Python runs one thread at a time and changes between them at its own
instructions only, so a ``Scan`` makes no single call that works on very many rows: it filters in
loops, and sorts in runs.

**Tried and left**: to keep what long searches had found, with the rows in order, and to bring it up
to date when asked again. That saved 50 ms of a second search of 100,000 rows and made every change
of a row do work for searches that nobody might ask again. To look at rows in slices on the event
loop: the rows change between two slices, so that the answer was of no one instant.

**What always holds**: every index that has learnt a row finds it by its values of now, and by no
others.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import field
from heapq import nlargest, nsmallest
from itertools import chain
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from mockserver.domain.clock import Micros
from mockserver.domain.record import mutable, record


class TableRow(Protocol):
    """What a table keeps: a value that knows its place and when it was added."""

    @property
    def seq(self) -> int:
        """Its place in the table, from 0; -1 in none."""

    @property
    def added(self) -> Micros:
        """Sandbox time of its adding."""


R = TypeVar("R", bound=TableRow)
T = TypeVar("T")

Listener: TypeAlias = Callable[["Table[Any]", Any, Any], None]

DERIVED = 128
"""Rows of a table of which something worked out is kept."""

STEP_ROWS = 5_000
"""Rows that an index learns at a time."""

MOST_IN_STEP = 20_000
"""Candidates that a search looks at in a step of the event loop; more are looked at in a thread."""

RUN_ROWS = 20_000
"""Rows that are sorted in one call, during which no other thread runs."""

Check: TypeAlias = Callable[[R], bool]
"""What a row must pass."""


@record
class ListPage(Generic[R]):
    """One page of a list; ``count`` is the number of all matches."""

    rows: Sequence[R]
    count: int
    limit: int
    skip: int


@record
class Holds(Generic[R]):
    """Whether a test, such as one of ``operator``, holds of what ``read`` says of a row and a
    value; without ``present``, whether not."""

    read: Callable[[R], object]
    test: Callable[[Any, Any], bool]
    value: object
    present: bool = True

    def __call__(self, row: R) -> bool:
        return self.test(self.read(row), self.value) is self.present


@mutable
class Query(Generic[R]):
    """What is searched: ``equal`` names indexes and the values each may have; ``where`` are tests
    of a row.

    ``after`` and ``before`` bound the time of adding, exclusively. Without ``sort`` the newest come
    first."""

    limit: int
    skip: int = 0
    equal: list[tuple[str, Sequence[Hashable]]] = field(default_factory=list)
    where: list[Check[R]] = field(default_factory=list)
    after: Micros | None = None
    before: Micros | None = None
    sort: Callable[[R], Any] | None = None
    descending: bool = True

    def cut(self, in_order: Sequence[T]) -> Sequence[T]:
        """The page out of all that was found, which is in order from the lowest."""
        if not self.descending:
            return in_order[self.skip : self.skip + self.limit]
        end = max(len(in_order) - self.skip, 0)
        return in_order[max(end - self.limit, 0) : end][::-1]

    def page(self, rows: Sequence[R], count: int) -> ListPage[R]:
        """The page with these rows, of ``count`` that fit."""
        return ListPage(rows, count, self.limit, self.skip)


@record
class Scan(Generic[R]):
    """A search whose candidates have been copied, in the order of their adding: it reads nothing
    that changes, and may run in a thread."""

    candidates: Sequence[R]
    checks: Sequence[Check[R]]
    query: Query[R]

    def page(self) -> ListPage[R]:
        """The page of the query, as of the instant of the copy."""
        passing = self.candidates
        for check in self.checks:
            passing = [row for row in passing if check(row)]
        return self.query.page(self._of_page(passing), len(passing))

    def _of_page(self, rows: Sequence[R]) -> Sequence[R]:
        """The rows of the page; those that the order does not tell apart stand by their age."""
        query, sort = self.query, self.query.sort
        if sort is None:
            return query.cut(rows)
        wanted = query.skip + query.limit
        are_few_of_many = wanted <= len(rows) // 10
        if not are_few_of_many:
            return query.cut(_in_order(rows, sort))
        # To look for the first ones takes a quarter of putting all into order. Of equal rows both
        # ways keep the order: where the highest come first, the newest of them do.
        if query.descending:
            return nlargest(wanted, reversed(rows), key=sort)[query.skip :]
        return nsmallest(wanted, rows, key=sort)[query.skip :]


def _in_order(rows: Sequence[R], sort: Callable[[R], Any]) -> list[R]:
    """All rows from the lowest, equal ones in the order in which they came.

    They are sorted in runs, and two runs at a time merged, as sorting what consists of two sorted
    halves does: one call for all rows would let nobody else run for half a second.
    """
    keys = [sort(row) for row in rows]
    by_key = keys.__getitem__
    runs = [
        sorted(range(begin, min(begin + RUN_ROWS, len(rows))), key=by_key)
        for begin in range(0, len(rows), RUN_ROWS)
    ]
    while len(runs) > 1:
        runs = [
            sorted(chain.from_iterable(runs[begin : begin + 2]), key=by_key)
            for begin in range(0, len(runs), 2)
        ]
    return [rows[place] for run in runs for place in run]


@record
class Index(Generic[R]):
    """How rows are found by value: by each of the ``values_of`` a row, which differ. One that
    ``is_asked`` by operations is never further behind than a step may learn."""

    name: str
    values_of: Callable[[R], Sequence[Hashable]]
    is_asked: bool = False

    def check(self, values: Sequence[Hashable]) -> Check[R]:
        """Whether a row has one of some values."""
        # A row without a value has no place under None either.
        allowed = frozenset(values) - {None}

        def has_one(row: R) -> bool:
            return not allowed.isdisjoint(self.values_of(row))

        return has_one


def index_by(
    name: str, read: Callable[[R], Hashable | None], *, is_asked: bool = False
) -> Index[R]:
    """An index by the one value of a row, or by none where that is None."""

    def values_of(row: R) -> Sequence[Hashable]:
        value = read(row)
        return () if value is None else (value,)

    return Index(name, values_of, is_asked)


class PostingLists(Generic[R]):
    """The places of the first ``known`` rows of a table by value, each list in order. A single
    place is not in a list: most references are had by one row, and a list takes 60 bytes more."""

    def __init__(self, index: Index[R]) -> None:
        self.index = index
        self.by_value: dict[Hashable, int | list[int]] = {}
        self.known = 0

    def learn(self, rows: Sequence[R], until: int) -> None:
        """Take in the rows before ``until`` that have been added since."""
        for seq in range(self.known, until):
            for value in self.index.values_of(rows[seq]):
                self._put(value, seq)
        self.known = until

    def of(self, value: Hashable) -> list[int]:
        """The places of a value, in order. The caller must not change the list."""
        places = self.by_value.get(value)
        if places is None:
            return []
        return places if isinstance(places, list) else [places]

    def move(self, before: Sequence[Hashable], after: Sequence[Hashable], seq: int) -> None:
        """List a row under its values of now, no longer under those before."""
        if seq < self.known and after != before:
            for value in before:
                self._take(value, seq)
            for value in after:
                self._put(value, seq)

    def take_back(self, row: R) -> None:
        """Forget the last row of the table: when it is added again, it is learnt again."""
        self.move(self.index.values_of(row), (), row.seq)
        self.known = min(self.known, row.seq)

    def _put(self, value: Hashable, seq: int) -> None:
        """List a place under a value, in order: a row that has changed may be older than others."""
        places = self.by_value.setdefault(value, seq)
        if isinstance(places, list):
            insort(places, seq)
        elif places != seq:
            self.by_value[value] = sorted((places, seq))

    def _take(self, value: Hashable, seq: int) -> None:
        """List a place under a value no longer. A value that no row has any more is forgotten, as
        ``values`` gives those that some have."""
        places = self.by_value[value]
        if isinstance(places, list):
            del places[bisect_left(places, seq)]
            if places:
                return
        del self.by_value[value]


class LateRows(list[Any]):
    """Rows that a store holds as texts, each of which ``make`` turns into its row, by its place, at
    the first look. So a server that starts with a million rows answers at once: most of them nobody
    will ever ask for."""

    def __init__(self, texts: Iterable[object], make: Callable[[int, bytes], Any]) -> None:
        super().__init__(texts)
        self._make = make
        self._seen = 0

    def __getitem__(self, place: Any) -> Any:
        """The row of a place, made at the first look, or the rows of a slice."""
        if isinstance(place, slice):
            # What stands in it may be texts.
            return [self[each] for each in range(*place.indices(len(self)))]
        held = super().__getitem__(place)
        if type(held) is not bytes:
            return held
        # The place may count from the end.
        row = self._make(place % len(self), held)
        self[place] = row
        return row

    def __iter__(self) -> Iterator[Any]:
        # That of a list would give the texts.
        place = 0
        while place < len(self):
            yield self[place]
            place += 1

    def make_more(self, most: int) -> bool:
        """Make so many of the rows, from the first on; whether any are left that nobody has looked
        at."""
        begin, end = self._seen, min(self._seen + most, len(self))
        for place in range(begin, end):
            # To look at a row makes it.
            self[place]
        self._seen = end
        return end < len(self)

    def copy(self) -> "LateRows":
        """The same rows, those not yet looked at as texts."""
        return LateRows(super().__iter__(), self._make)


class Table(Generic[R]):
    """Rows of one kind by id, by place and by index. ``listeners`` hear of each new value of a row,
    with the table and the value before (None: a new row). ``changes_in_place``: its rows are no
    values, so that no thread may look at them."""

    def __init__(
        self,
        id_of: Callable[[R], str],
        indexes: Sequence[Index[R]] = (),
        *,
        changes_in_place: bool = False,
    ) -> None:
        self.id_of = id_of
        self.changes_in_place = changes_in_place
        self.rows: list[R] = []
        self.listeners: tuple[Listener, ...] = ()
        self._places: dict[str, int] = {}
        self._derived: dict[int, tuple[R, object]] = {}
        self._indexes = {index.name: index for index in indexes}
        # Only of indexes that have been used: a table that is not searched needs no memory for
        # them.
        self._postings: dict[str, PostingLists[R]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row_id: str) -> bool:
        return row_id in self._places

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def add(self, row: R) -> R:
        """Keep a new row, which is told its place: the one thing that is ever changed in it."""
        stored: Any = row
        stored.seq = len(self.rows)
        self.rows.append(row)
        self._places[self.id_of(row)] = stored.seq
        if not len(self.rows) % STEP_ROWS:
            # Now and then many at once: a row at a time would make each create dearer.
            self.learn_asked()
        for hear in self.listeners:
            hear(self, row, None)
        return row

    def take_over(self, rows: list[R], ids: Iterable[str]) -> None:
        """Have these rows, with their ids, in the place of those that there are."""
        self.rows = rows
        self._places = dict(zip(ids, range(len(rows)), strict=True))
        self._postings.clear()
        self.learn_asked()

    def take_back(self) -> None:
        """Remove the newest row, for a read that sees the table as it was before (``past``)."""
        row = self.rows.pop()
        del self._places[self.id_of(row)]
        for postings in self._postings.values():
            postings.take_back(row)

    def copied(self, copy_row: Callable[[R], R] | None = None) -> "Table[R]":
        """A table of its own with the same rows, without listeners yet, whose indexes have all to
        learn: to copy them would take longer, and a fork asks few. Rows that change in place are
        copied by ``copy_row``; all others are shared."""
        copy: Table[R] = Table(
            self.id_of, tuple(self._indexes.values()), changes_in_place=self.changes_in_place
        )
        if copy_row is None:
            copy.rows = self.rows.copy()
        else:
            copy.rows = [copy_row(row) for row in self.rows]
        copy._places = self._places.copy()
        return copy

    def contents(self) -> list[Sized]:
        """The lists and dictionaries that it consists of: who drops a large sandbox frees them one
        by one, in a thread, as others would wait for all of them."""
        return [
            self._places,
            *(postings.by_value for postings in self._postings.values()),
            self.rows,
        ]

    def get(self, row_id: str) -> R | None:
        place = self._places.get(row_id)
        return None if place is None else self.rows[place]

    def replace(self, before: R, after: R) -> None:
        """Keep the next value of a row, and every index right. Raises ``RuntimeError`` when
        ``before`` is not the present one: what happened since would be lost."""
        seq = before.seq
        if self.rows[seq] is not before:
            raise RuntimeError(f"row {seq} has moved on, {self.id_of(before)} cannot be replaced")
        self.rows[seq] = after
        for postings in self._postings.values():
            values_of = postings.index.values_of
            postings.move(values_of(before), values_of(after), seq)
        for hear in self.listeners:
            hear(self, after, before)

    @contextmanager
    def changing(self, row: R) -> Iterator[None]:
        """Keep every index right while a row changes in place: afterwards nobody could say under
        which values it stands there."""
        known = [(postings, postings.index.values_of(row)) for postings in self._postings.values()]
        try:
            yield
        finally:
            for postings, before in known:
                postings.move(before, postings.index.values_of(row), row.seq)

    def derived(self, row: R) -> Any:
        """What :meth:`derive` kept of a row; None when it kept nothing, or the row has changed
        since."""
        of_row, worth = self._derived.get(row.seq % DERIVED, (None, None))
        return worth if of_row is row else None

    def derive(self, row: R, worth: object) -> None:
        """Keep what a reader has worked out from a row until the row changes; of few rows only,
        those of a page among them."""
        self._derived[row.seq % DERIVED] = row, worth

    def values(self, index: str) -> list[Hashable]:
        """The values by which an index finds rows, in no order."""
        return list(self._up_to_date(index).by_value)

    def find(self, index: str, value: Hashable) -> Iterator[R]:
        """Rows with a value, oldest first."""
        rows = self.rows
        return (rows[seq] for seq in tuple(self._up_to_date(index).of(value)))

    def count(self, index: str, value: Hashable) -> int:
        """How many rows have a value, without a look at them."""
        return len(self._up_to_date(index).of(value))

    def search(self, query: Query[R]) -> ListPage[R]:
        """The page of a query, found at once however many rows must be looked at."""
        looked = self.look(query)
        return looked.page() if isinstance(looked, Scan) else looked

    def look(self, query: Query[R]) -> ListPage[R] | Scan[R]:
        """The page of a query, or the scan that finds it where that is too much for a step."""
        places, checks = self._candidates(query)
        if not checks and query.sort is None:
            # The index says it all: only the rows of the page are looked at.
            return query.page([self.rows[seq] for seq in query.cut(places)], len(places))
        scan = Scan(self._copied(places), checks, query)
        # Rows that change in place could be half changed when a thread looks.
        if len(places) <= MOST_IN_STEP or self.changes_in_place:
            return scan.page()
        return scan

    def prepare(self, query: Query[R]) -> bool:
        """Do a slice of what a search would otherwise do at once: an index that it asks has much to
        learn, or rows of a store have not been looked at yet. Whether more is left."""
        for name, _ in query.equal:
            if self.learn_more(name):
                return True
        has_index = bool(query.equal)
        reads_rows = bool(query.where) or query.sort is not None
        # Without an index every row is read, and made for that where the store has it as a text.
        if reads_rows and not has_index and isinstance(self.rows, LateRows):
            return self.rows.make_more(STEP_ROWS)
        return False

    def learn_more(self, name: str) -> bool:
        """Let an index learn a slice of rows, where it lacks so many; whether it lacks more."""
        postings = self._index(name)
        if len(self.rows) - postings.known >= STEP_ROWS:
            postings.learn(self.rows, postings.known + STEP_ROWS)
        return len(self.rows) - postings.known >= STEP_ROWS

    def learn_asked(self) -> None:
        """Let the indexes that operations ask learn the rows that they lack, but for a few."""
        for name, index in self._indexes.items():
            has_more = index.is_asked
            while has_more:
                has_more = self.learn_more(name)

    def _copied(self, places: Sequence[int]) -> list[R]:
        """The rows of some places, as a list that stays as it is."""
        if len(places) < len(self.rows):
            return [self.rows[seq] for seq in places]
        if isinstance(self.rows, LateRows):
            self.rows.make_more(len(self.rows))
        # Not ``self.rows.copy()``: that of late rows makes them anew at each look.
        return list.copy(self.rows)

    def _checks(self, equal: Iterable[tuple[str, Sequence[Hashable]]]) -> list[Check[R]]:
        """Tests of a row in the place of indexes: for those that were not taken for the search."""
        return [self._indexes[name].check(values) for name, values in equal]

    def _candidates(self, query: Query[R]) -> tuple[Sequence[int], list[Check[R]]]:
        """The places that the index with the fewest has, or all, within the time of the query, in
        order; and what else rows must pass."""
        narrowest, places = self._fewest_places(query)
        # Rows stand in the order of their adding.
        if query.after is not None:
            places = places[bisect_right(places, query.after, key=self._added) :]
        if query.before is not None:
            places = places[: bisect_left(places, query.before, key=self._added)]
        others = [equal for number, equal in enumerate(query.equal) if number != narrowest]
        return places, [*self._checks(others), *query.where]

    def _fewest_places(self, query: Query[R]) -> tuple[int | None, Sequence[int]]:
        """Which of the indexes that a query names has the fewest places, and these in order; None
        and all places where no index is worth it."""
        narrowest = None
        fewest: Sequence[int] = range(len(self.rows))
        for number, (name, values) in enumerate(query.equal):
            postings = self._up_to_date(name)
            distinct_values = dict.fromkeys(values)
            lists = [places for places in map(postings.of, distinct_values) if places]
            count = sum(map(len, lists))
            # To put the places of several values into order takes longer than to look at each row.
            is_slow = count > STEP_ROWS and len(lists) > 1
            if is_slow:
                continue
            if narrowest is not None and count >= len(fewest):
                continue
            narrowest = number
            # A row that has several of the values stands in several lists.
            fewest = lists[0] if len(lists) == 1 else sorted(set(chain.from_iterable(lists)))
        return narrowest, fewest

    def _added(self, seq: int) -> Micros:
        return self.rows[seq].added

    def _up_to_date(self, name: str) -> PostingLists[R]:
        """An index that knows all rows: what it lacks it learns now."""
        postings = self._index(name)
        if postings.known < len(self.rows):
            postings.learn(self.rows, len(self.rows))
        return postings

    def _index(self, name: str) -> PostingLists[R]:
        """An index as far as it has learnt, a new one when it is asked for the first time."""
        if name not in self._postings:
            self._postings[name] = PostingLists(self._indexes[name])
        return self._postings[name]
