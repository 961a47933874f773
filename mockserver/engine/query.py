"""What a table is asked for: the query of a search, its window of time and its page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import field
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
class Bound(Generic[R]):
    """Whether a row has a value, as ``read``, beyond another: ``is_beyond`` is a comparison of ``operator``."""

    read: Callable[[R], Any]
    value: Any
    is_beyond: Callable[[Any, Any], bool]

    def __call__(self, row: R) -> bool:
        return self.is_beyond(self.read(row), self.value)


@record
class Contains(Generic[R]):
    """Whether what ``read`` says of a row has a text in it, or unless ``present`` has not: a long table keeps what it
    says of each row."""

    read: Callable[[R], str]
    text: str
    present: bool = True

    def __call__(self, row: R) -> bool:
        return (self.text in self.read(row)) is self.present


@record
class Among(Generic[R]):
    id_of: Callable[[R], str]
    ids: Collection[str]
    present: bool = True

    def __call__(self, row: R) -> bool:
        return (self.id_of(row) in self.ids) is self.present


@mutable
class Query(Generic[R]):
    """What is searched: ``equal`` names indexes and the values each may have; ``where`` are tests of a row.

    ``after`` and ``before`` bound the time of adding, exclusively. Without ``sort`` the newest come first."""

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
        """Which rows it asks for, and by what they are sorted: the same of queries that differ in the page alone."""
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
        return (self.after is None or row.added > self.after) and (self.before is None or row.added < self.before)
