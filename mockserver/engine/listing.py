"""What every list has in common: what it can be searched by, its pages and their bounds, and the field to sort by.

Sources: assumptions ``paging.*``, ``sort``, ``search.bounds``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import field
from operator import attrgetter
from typing import Any, Generic, TypeAlias, TypeVar

from mockserver.domain.clock import Micros
from mockserver.domain.errors import Faults, nearest
from mockserver.domain.record import record
from mockserver.domain.states import Presence
from mockserver.engine.indexed_table import Table
from mockserver.engine.query import Bound, Contains, ListPage, Query, TableRow
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step

R = TypeVar("R", bound=TableRow)


Sort: TypeAlias = Callable[[Any], Any] | None
"""What rows are sorted by; None leaves them in the order of their adding."""

Sorts: TypeAlias = Mapping[str, Sort | Mapping[str, Callable[[Any], Any]]]
"""What they may be sorted by, by the field; of the status of charges for each word that shows authorised ones."""

Parameter: TypeAlias = Callable[[Step, Any, Query[Any], Faults], None]
"""Adds what a given value asks for, or a fault of it."""


@record
class Search(Generic[R]):
    """How one kind of object is listed. ``sorts`` are the fields that ``SortBy`` may name, in any letter case; None is
    the order of adding. With
    ``hides_removed`` those in use are found, all only with the parameter ``include_removed``."""

    table: Callable[[Sandbox], Table[R]]
    sorts: Sorts
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    hides_removed: bool = False


def by(index: str, read: Callable[[Any], Hashable] = lambda value: value) -> Parameter:

    def add(step: Step, value: Any, query: Query[Any], faults: Faults) -> None:
        query.equal.append((index, (read(value),)))

    return add


def saying(words: Callable[[Any], Iterable[str | None]]) -> Parameter:
    """Rows of whose words one has the value in it, in any letter case."""

    def read(row: Any) -> str:
        return _APART.join(word for word in words(row) if word).lower()

    def add(step: Step, value: str, query: Query[Any], faults: Faults) -> None:
        query.where.append(Contains(read, value.lower()))

    return add


_APART = "\udc00"
"""Half of a surrogate pair: no text that is taken has one, so that no value goes over it from one word to the next."""

amount_of = attrgetter("amount")
"""The amount of a charge or a subscription: lists are sorted and bounded by the same."""


def amount_beyond(*, above: bool) -> Parameter:
    """Rows with an amount above or below the value (assumption ``search.bounds``)."""

    def add(step: Step, bound: Any, query: Query[Any], faults: Faults) -> None:
        query.where.append(Bound(amount_of, bound, above, step.assume("search.bounds") == "inclusive"))

    return add


def in_state(words: Mapping[str, Any], allowed: str, index: str) -> Parameter:
    """Rows in the state that a word names, in any letter case. Adds a fault (90) for any other word."""
    by_fold = {word.lower(): state for word, state in words.items()}

    def add(step: Step, word: Any, query: Query[Any], faults: Faults) -> None:
        state = by_fold.get(word.lower())
        query.equal.append((index, (state,)))
        if state is None:
            faults.wrong("Status", f"got '{word[:40]}', wanted one of {allowed}{nearest(word, words)}")

    return add


def search(step: Step, wanted: Search[R], given: Mapping[str, Any]) -> ListPage[R]:
    """The rows that fit the given parameters, newest first. Raises ``Invalid`` (90) for a bad value, page or sort."""
    return wanted.table(step.sandbox).search(query_of(step, wanted, given))


def query_of(step: Step, wanted: Search[R], given: Mapping[str, Any]) -> Query[R]:
    """What the given parameters ask for. Raises ``Invalid`` (90) for a bad value, page or sort."""
    faults = Faults()
    query: Query[R] = Query(0)
    for name, add in wanted.parameters.items():
        if (value := given.get(name)) is not None:
            add(step, value, query, faults)
    if wanted.hides_removed and not given.get("include_removed"):
        query.equal.append(("state", (Presence.ACTIVE,)))
    after, before = _window(step, given.get("added_after"), given.get("added_before"))
    most = step.assume("paging.maximum")
    limit, skip = given.get("limit"), given.get("skip") or 0
    limit = min(step.assume("paging.default"), most) if limit is None else limit
    if not 1 <= limit <= most:
        faults.wrong("Limit", f"got {limit}, wanted 1 to {most}")
    if skip < 0:
        faults.wrong("Skip", f"got {skip}, wanted 0 or more")
    descending = step.assume("paging.order") == "newest_first"
    sort, by, order = None, given.get("sort_by"), given.get("sort_order")
    if by or order:
        sort, descending = _sort(step, by, order, wanted.sorts, descending, faults)
    faults.refuse()
    query.limit, query.skip, query.after, query.before = limit, skip, after, before
    query.sort, query.descending = sort, descending
    return query


def _window(step: Step, after: Micros | None, before: Micros | None) -> tuple[Micros | None, Micros | None]:
    """Bounds of the time of adding as ``Query`` takes them: exclusive (assumption ``search.bounds``)."""
    if (after is None and before is None) or step.assume("search.bounds") == "exclusive":
        return after, before
    return None if after is None else after - 1, None if before is None else before + 1


_ORDERS: Mapping[str, bool] = {"desc": True, "descending": True, "asc": False, "ascending": False}


def _sort(
    step: Step,
    by: str | None,
    order: str | None,
    sorts: Sorts,
    descending: bool,
    faults: Faults,
) -> tuple[Sort, bool]:
    lenient = step.assume("sort") == "ignore"
    if order:
        wanted = _ORDERS.get(order.lower())
        if wanted is not None:
            descending = wanted
        elif not lenient:
            faults.wrong("SortOrder", f"got '{order[:20]}', wanted asc or desc")
    if not by or by.lower() == "none":
        return None, descending
    if by.lower() not in sorts and not lenient:
        faults.wrong("SortBy", f"got '{by[:40]}', wanted one of {', '.join(sorts)}{nearest(by, sorts)}")
    sort = sorts.get(by.lower())
    return (sort[step.assume("charge.status.authorised")] if isinstance(sort, Mapping) else sort), descending
