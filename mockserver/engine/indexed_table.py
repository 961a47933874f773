"""Tables with indexes and the one search. Rows are kept in order of their adding, which is the
order of sandbox time.

An index learns of new rows when it is next asked. What would take longer than a step is done ahead,
some thousand rows at a time, while others are served: an index learns, and the rows of a long
search are found and put in its order. The next search for the same rows looks only at those that
have come or changed since.
"""

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from heapq import merge
from itertools import chain, islice
from operator import contains
from typing import Any, Generic, Protocol, TypeAlias, TypeVar
from weakref import WeakSet

from mockserver.domain.clock import Micros
from mockserver.domain.cooperative import Cooperative, run_to_end
from mockserver.domain.record import mutable, record, replace


class TableRow(Protocol):
    """What a table keeps: a value that knows its place and when it was added."""

    @property
    def seq(self) -> int:
        """Its place in the table, from 0; -1 in none."""

    @property
    def added(self) -> Micros:
        """Sandbox time of its adding."""


R = TypeVar("R", bound=TableRow)

Listener: TypeAlias = Callable[["Table[Any]", Any, Any], None]

DERIVED = 128
"""Rows of a table of which something worked out is kept."""

STEP_ROWS = 5_000
"""Rows that are looked at in one step. A table that has no more is searched at once."""

MOST_CHANGES = 10_000
"""New or changed rows beyond which what a long search has worked out is kept no longer."""

_MOST_SEARCHES = 8
_MOST_TEXTS = 2
_FEW_ROWS = 100
"""New and changed rows that are put in their places in one step: each moves those behind it, 4 MB
at most."""


Check: TypeAlias = Callable[[R], bool]
"""What a row must pass. Checks that ask the same are equal."""


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
    value; without ``present``, whether not. A long table keeps the texts of rows in which others
    are searched (``contains``)."""

    read: Callable[[R], Any]
    test: Callable[[Any, Any], bool]
    value: Any
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

    @property
    def wanted(self) -> tuple[object, ...]:
        """Which rows it asks for, and by what they are sorted: the same of queries that differ in
        the page alone."""
        return self.equal, self.where, self.after, self.before, self.sort

    def page(self, places: Sequence[int], rows: Sequence[R]) -> ListPage[R]:
        """The page out of the places of all rows that it found, in its order from the lowest."""
        count = len(places)
        if self.descending:
            end = max(count - self.skip, 0)
            found = places[max(end - self.limit, 0) : end][::-1]
        else:
            found = places[self.skip : self.skip + self.limit]
        return ListPage([rows[seq] for seq in found], count, self.limit, self.skip)

    def is_in_time(self, row: R) -> bool:
        return (self.after is None or row.added > self.after) and (
            self.before is None or row.added < self.before
        )


@record
class Index(Generic[R]):
    """How rows are found by value: by each of the ``values_of`` a row, which differ. One that
    ``is_asked`` by operations is never further behind than a step may learn."""

    name: str
    values_of: Callable[[R], Sequence[Hashable]]
    is_asked: bool = False

    def check(self, values: Sequence[Hashable]) -> Check[R]:
        """Whether a row has one of some values."""
        allowed = frozenset(values) - {None}
        return lambda row: not allowed.isdisjoint(self.values_of(row))


def index_by(
    name: str, read: Callable[[R], Hashable | None], *, is_asked: bool = False
) -> Index[R]:
    return Index(name, lambda row: () if (value := read(row)) is None else (value,), is_asked)


class PostingLists(Generic[R]):
    """The places of the first ``known`` rows of a table by value, each list in order. A single
    place is not in a list: most references are had by one row."""

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
        here = self.by_value.get(value)
        return here if isinstance(here, list) else [] if here is None else [here]

    def move(self, before: Sequence[Hashable], after: Sequence[Hashable], seq: int) -> None:
        """List a row under its values of now, no longer under those before."""
        if seq < self.known and after != before:
            for value in before:
                self._take(value, seq)
            for value in after:
                self._put(value, seq)

    def take_back(self, row: R) -> None:
        self.move(self.index.values_of(row), (), row.seq)
        self.known = min(self.known, row.seq)

    def _put(self, value: Hashable, seq: int) -> None:
        here = self.by_value.setdefault(value, seq)
        if isinstance(here, list):
            insort(here, seq)
        elif here != seq:
            self.by_value[value] = sorted((here, seq))

    def _take(self, value: Hashable, seq: int) -> None:
        here = self.by_value[value]
        if isinstance(here, list):
            del here[bisect_left(here, seq)]
        if not isinstance(here, list) or not here:
            del self.by_value[value]


class LongSearch(Generic[R]):
    """The places of the rows that fit a query, in its order from the lowest, then by age. The first
    ``known`` rows have been looked at; ``changed`` has those of them that have been replaced or
    taken back since, with the sort key that each had."""

    def __init__(self, rows: Sequence[R], query: Query[R], checks: Iterable[Check[R]]) -> None:
        self.wanted = query.wanted
        self.places = array("I")
        self.known = 0
        self.changed: dict[int, tuple[Any, int]] = {}
        self._rows = rows
        self._sort = query.sort
        self._checks = tuple(checks)

    def note(self, row: R) -> None:
        """A row is about to be replaced, changed or taken back."""
        if row.seq < self.known:
            self.changed.setdefault(row.seq, self._key_of(row))

    def build(self) -> Cooperative[None]:
        """Look at all rows: sort them in runs, then merge the runs."""
        # Rows may change in the pauses: the merge goes by the sort keys that they had.
        values, runs, total = dict[int, Any](), list[list[int]](), len(self._rows)
        while self.known < (until := min(self.known + STEP_ROWS, total, len(self._rows))):
            run = self._fitting(range(self.known, until))
            if self._sort is not None:
                values.update((seq, self._sort(self._rows[seq])) for seq in run)
                run.sort(key=values.__getitem__)
            runs.append(run)
            self.known = until
            yield
        merged = chain(*runs) if self._sort is None else merge(*runs, key=values.__getitem__)
        while some := array("I", islice(merged, STEP_ROWS)):
            self.places += some
            yield

    def learn(self) -> Cooperative[None]:
        """Look at what has come or changed since, but for the last few rows."""
        for _ in range((len(self.changed) + len(self._rows) - self.known) // _FEW_ROWS):
            self.take_in(_FEW_ROWS)
            yield

    def take_in(self, most: int) -> None:
        """Look at what has come or changed since, at most so many of each."""
        places, total = self.places, len(self._rows)
        start = min(self.known, total)
        self.known = min(start + most, total)
        for seq in dict.fromkeys((*islice(self.changed, most), *range(start, self.known))):
            if seq in self.changed:
                at = bisect_left(places, self._key(seq), key=self._key)
                if at < len(places) and places[at] == seq:
                    del places[at]
                del self.changed[seq]
            if seq < self.known and self._fitting([seq]):
                insort(places, seq, key=self._key)

    def _fitting(self, places: Iterable[int]) -> list[int]:
        found, rows = list(places), self._rows
        for check in self._checks:
            found = [seq for seq in found if check(rows[seq])]
        return found

    def _key(self, seq: int) -> tuple[Any, int]:
        """What a place in ``places`` is sorted by: a changed row stands where it stood."""
        return self.changed.get(seq) or self._key_of(self._rows[seq])

    def _key_of(self, row: R) -> tuple[Any, int]:
        return (None if self._sort is None else self._sort(row)), row.seq


class SearchTextIndex(Generic[R]):
    """What ``read`` says of each row, kept from the first look at it until it changes."""

    def __init__(self, read: Callable[[R], str]) -> None:
        self.read = read
        self._texts: dict[int, str] = {}

    def __call__(self, row: R) -> str:
        """What is said of a row."""
        text = self._texts.get(row.seq)
        if text is None:
            text = self._texts[row.seq] = self.read(row)
        return text

    def note(self, row: R) -> None:
        self._texts.pop(row.seq, None)


class LongSearches(Generic[R]):
    """The last searches of one long table, and the texts that they looked into."""

    def __init__(self, rows: Sequence[R]) -> None:
        self._rows = rows
        self._searches: list[LongSearch[R]] = []
        self._texts: list[SearchTextIndex[R]] = []
        # Also those that are no longer kept, as long as a search uses them.
        self._listeners: WeakSet[LongSearch[R] | SearchTextIndex[R]] = WeakSet()

    def note(self, row: R) -> None:
        for one in self._listeners:
            one.note(row)
        self._searches = [one for one in self._searches if len(one.changed) <= MOST_CHANGES]

    def find(self, query: Query[R], checks: Iterable[Check[R]]) -> Cooperative[LongSearch[R]]:
        """The search for the rows of a query, all but the last few of which it has looked at;
        ``checks`` are what a row must pass."""
        search = next((one for one in self._searches if one.wanted == query.wanted), None)
        if search is None or len(self._rows) - search.known > MOST_CHANGES:
            search = LongSearch(self._rows, query, map(self._with_texts, checks))
            self._listeners.add(search)
            yield from search.build()
        yield from search.learn()
        self._searches = [*(one for one in self._searches if one.wanted != search.wanted), search][
            -_MOST_SEARCHES:
        ]
        return search

    def _with_texts(self, check: Check[R]) -> Check[R]:
        """The same check of texts that are kept, for all that read them alike."""
        if not isinstance(check, Holds) or check.test is not contains:
            return check
        texts = next(
            (one for one in self._texts if one.read == check.read), None
        ) or SearchTextIndex(check.read)
        self._listeners.add(texts)
        self._texts = [*(one for one in self._texts if one is not texts), texts][-_MOST_TEXTS:]
        return replace(check, read=texts)


class LateRows(list[Any]):
    """Rows that a store holds as texts, each of which ``make`` turns into its row, by its place, at
    the first look."""

    def __init__(self, texts: Iterable[object], make: Callable[[int, bytes], Any]) -> None:
        super().__init__(texts)
        self._make = make

    def __getitem__(self, place: Any) -> Any:
        held = super().__getitem__(place)
        if type(held) is bytes:
            held = self._make(place % len(self), held)
            self[place] = held
        elif type(held) is list:
            return [self[one] for one in range(*place.indices(len(self)))]
        return held

    def __iter__(self) -> Iterator[Any]:
        place = 0
        while place < len(self):
            yield self[place]
            place += 1

    def copy(self) -> "LateRows":
        """The same rows, those not yet looked at as texts."""
        return LateRows(super().__iter__(), self._make)


class Table(Generic[R]):
    """Rows of one kind by id, by place and by index. ``listeners`` hear of each new value of a row,
    with the table and the value before (None: a new row)."""

    def __init__(self, id_of: Callable[[R], str], indexes: Sequence[Index[R]] = ()) -> None:
        self.id_of = id_of
        self.rows: list[R] = []
        self.listeners: tuple[Listener, ...] = ()
        self._places: dict[str, int] = {}
        self._derived: dict[int, tuple[R, object]] = {}
        self._indexes = indexes
        # Only of indexes that have been used: a table that is not searched needs no memory for
        # them.
        self._postings: dict[str, PostingLists[R]] = {}
        self._long: LongSearches[R] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row_id: str) -> bool:
        return row_id in self._places

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def add(self, row: R) -> R:
        made: Any = row
        made.seq = len(self.rows)
        self.rows.append(row)
        self._places[self.id_of(row)] = made.seq
        if not len(self.rows) % STEP_ROWS:
            run_to_end(self.learning())
        for hear in self.listeners:
            hear(self, row, None)
        return row

    def take_over(self, rows: list[R], ids: Iterable[str]) -> None:
        """Have these rows, with their ids, in the place of those that there are."""
        self.rows, self._places = rows, dict(zip(ids, range(len(rows)), strict=True))
        self._postings.clear()
        run_to_end(self.learning())

    def take_back(self) -> None:
        self._note(self.rows[-1])
        row = self.rows.pop()
        del self._places[self.id_of(row)]
        for postings in self._postings.values():
            postings.take_back(row)

    def copied(self, copy_row: Callable[[R], R] | None = None) -> "Table[R]":
        """A table of its own with the same rows, without listeners yet, which has all to learn.
        Rows that change in place are copied by ``copy_row``; all others are shared."""
        copy: Table[R] = Table(self.id_of, self._indexes)
        copy.rows = self.rows.copy() if copy_row is None else [copy_row(row) for row in self.rows]
        return copy

    def contents(self) -> list[Any]:
        """The lists and dictionaries that it consists of."""
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
        self._note(before)
        self.rows[seq] = after
        for postings in self._postings.values():
            values_of = postings.index.values_of
            postings.move(values_of(before), values_of(after), seq)
        for hear in self.listeners:
            hear(self, after, before)

    @contextmanager
    def changing(self, row: R) -> Iterator[None]:
        """Keep every index right while a row changes in place."""
        self._note(row)
        known = [(postings, postings.index.values_of(row)) for postings in self._postings.values()]
        try:
            yield
        finally:
            for postings, before in known:
                postings.move(before, postings.index.values_of(row), row.seq)

    def _note(self, row: R) -> None:
        if self._long is not None:
            self._long.note(row)

    def derived(self, row: R) -> Any:
        """What :meth:`derive` kept of a row; None when it kept nothing, or the row has changed
        since."""
        kept = self._derived.get(row.seq % DERIVED)
        return kept[1] if kept is not None and kept[0] is row else None

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
        return len(self._up_to_date(index).of(value))

    def search(self, query: Query[R]) -> ListPage[R]:
        """The page of a query: the narrowest index gives the candidates, the rest is checked on
        those alone. Of a query that is long work :meth:`look_ahead` has done the most, or all is
        done now."""
        rows = self.rows
        places, checks = self._candidates(query)
        if _is_long(places, checks, query):
            found = run_to_end(self._long_search(query))
            found.take_in(len(found.changed) + len(self.rows))
            return query.page(found.places, rows)
        if checks:
            places = [seq for seq in places if all(check(rows[seq]) for check in checks)]
        if (sort := query.sort) is not None:
            places = sorted(places, key=lambda seq: sort(rows[seq]))
        return query.page(places, rows)

    def is_long_work(self, query: Query[R]) -> bool:
        """Whether a query is too long for one step, so that :meth:`look_ahead` has something to do
        for it."""
        is_behind = any(
            len(self.rows) - self._index(name).known > STEP_ROWS for name, _ in query.equal
        )
        return is_behind or _is_long(*self._candidates(query), query)

    def look_ahead(self, query: Query[R]) -> Cooperative[None]:
        """Do for :meth:`search` what is too long for one step."""
        for name, _ in query.equal:
            yield from self._learning(name)
        if self.is_long_work(query):
            yield from self._long_search(query)

    def learning(self) -> Cooperative[None]:
        """Bring up to date what operations ask: the rows by their ids, and some indexes."""
        rows, id_of = self.rows, self.id_of
        for start in range(len(self._places), len(rows), STEP_ROWS):
            self._places.update((id_of(row), row.seq) for row in rows[start : start + STEP_ROWS])
            yield
        for index in self._indexes:
            if index.is_asked:
                yield from self._learning(index.name)

    def _learning(self, index: str) -> Cooperative[None]:
        rows, postings = self.rows, self._index(index)
        while len(rows) - postings.known >= STEP_ROWS:
            postings.learn(rows, postings.known + STEP_ROWS)
            yield

    def _long_search(self, query: Query[R]) -> Cooperative[LongSearch[R]]:
        if self._long is None:
            self._long = LongSearches(self.rows)
        in_time = [] if query.after is None and query.before is None else [query.is_in_time]
        return (
            yield from self._long.find(query, [*in_time, *self._checks(query.equal), *query.where])
        )

    def _checks(self, equal: Iterable[tuple[str, Sequence[Hashable]]]) -> list[Check[R]]:
        return [self._index(name).index.check(values) for name, values in equal]

    def _candidates(self, query: Query[R]) -> tuple[Sequence[int], list[Check[R]]]:
        """The places of the narrowest index, or all, within the time of the query, in order, and
        what else rows must pass."""
        equal = ((self._up_to_date(name).of, dict.fromkeys(values)) for name, values in query.equal)
        lists = [list(filter(None, map(of, values))) for of, values in equal]
        sizes = [sum(map(len, found)) for found in lists]
        narrow = sizes.index(min(sizes)) if sizes else None
        if narrow is not None and len(lists[narrow]) > 1 and sizes[narrow] > STEP_ROWS:
            # To put so many into order takes longer than to look at every row.
            narrow = None
        places: Sequence[int] = range(len(self.rows))
        if narrow is not None:
            first, *others = lists[narrow] or [[]]
            places = sorted(set(first).union(*others)) if others else first
        if query.after is not None:
            places = places[bisect_right(places, query.after, key=self._added) :]
        if query.before is not None:
            places = places[: bisect_left(places, query.before, key=self._added)]
        rest = [one for number, one in enumerate(query.equal) if number != narrow]
        return places, [*self._checks(rest), *query.where]

    def _added(self, seq: int) -> Micros:
        return self.rows[seq].added

    def _up_to_date(self, name: str) -> PostingLists[R]:
        postings = self._index(name)
        if postings.known < len(self.rows):
            postings.learn(self.rows, len(self.rows))
        return postings

    def _index(self, name: str) -> PostingLists[R]:
        if name not in self._postings:
            self._postings[name] = PostingLists({one.name: one for one in self._indexes}[name])
        return self._postings[name]


def _is_long(places: Sequence[int], checks: Sequence[Check[R]], query: Query[R]) -> bool:
    return len(places) > STEP_ROWS and bool(checks or query.sort)
