"""What every list has in common: pages, their bounds, and the field to sort by (assumptions ``paging``, ``sort``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mockserver.assumptions.table import PAGE_DEFAULT, PAGE_MAXIMUM, PAGE_ORDER, SEARCH_BOUNDS, SORT_UNKNOWN
from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import nearest
from mockserver.domain.faults import Faults
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.store import Query, Row

R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True)
class Paging:
    """The page that a caller asks for."""

    limit: int | None = None
    skip: int | None = None
    sort_by: str | None = None
    sort_order: str | None = None


@dataclass(frozen=True, slots=True)
class ListWindow(Generic[R]):
    """The page that a caller gets; without ``sort`` the newest come first."""

    limit: int
    skip: int
    sort: Callable[[R], Any] | None
    descending: bool

    def query(
        self,
        after: Micros | None,
        before: Micros | None,
        *,
        equal: Sequence[tuple[str, Sequence[Hashable]]] = (),
        where: Sequence[Callable[[R], bool]] = (),
    ) -> Query[R]:
        """The search that fills this page."""
        return Query(self.limit, self.skip, equal, where, after, before, self.sort, self.descending)


_ORDERS: Mapping[str, bool] = {"desc": True, "descending": True, "asc": False, "ascending": False}


def bounds(
    sandbox: Sandbox, paging: Paging, sorts: Mapping[str, Callable[[R], Any]], faults: Faults | None = None
) -> ListWindow[R]:
    """Check a page. Raises ``Invalid`` (90) for a limit or skip out of bounds, an unknown field or order, and for
    the ``faults`` that were found before.
    """
    faults = Faults() if faults is None else faults
    most = sandbox.assume(PAGE_MAXIMUM)
    limit = min(sandbox.assume(PAGE_DEFAULT), most) if paging.limit is None else paging.limit
    skip = paging.skip or 0
    if not 1 <= limit <= most:
        faults.add(Code.VALIDATION_ERROR, "Limit", f"got {limit}, wanted 1 to {most}")
    if skip < 0:
        faults.add(Code.VALIDATION_ERROR, "Skip", f"got {skip}, wanted 0 or more")
    sort, descending = _sort(sandbox, paging, sorts, faults)
    faults.refuse()
    return ListWindow(limit, skip, sort, descending)


def window(sandbox: Sandbox, after: Micros | None, before: Micros | None) -> tuple[Micros | None, Micros | None]:
    """Bounds of the time of adding as ``Query`` takes them: exclusive (assumption ``search.bounds``)."""
    if (after is None and before is None) or sandbox.assume(SEARCH_BOUNDS) == "exclusive":
        return after, before
    return None if after is None else after - 1, None if before is None else before + 1


def _sort(
    sandbox: Sandbox, paging: Paging, sorts: Mapping[str, Callable[[R], Any]], faults: Faults
) -> tuple[Callable[[R], Any] | None, bool]:
    descending = sandbox.assume(PAGE_ORDER) == "newest_first"
    lenient = bool(paging.sort_by or paging.sort_order) and sandbox.assume(SORT_UNKNOWN) == "ignore"
    if paging.sort_order:
        order = _ORDERS.get(paging.sort_order.lower())
        if order is None and lenient:
            pass
        elif order is None:
            faults.add(Code.VALIDATION_ERROR, "SortOrder", f"got '{paging.sort_order[:20]}', wanted asc or desc")
        else:
            descending = order
    if not paging.sort_by or paging.sort_by.lower() == "none":
        return None, descending
    sort = sorts.get(paging.sort_by.lower())
    if sort is None and not lenient:
        hint = nearest(paging.sort_by, sorts)
        faults.add(
            Code.VALIDATION_ERROR, "SortBy", f"got '{paging.sort_by[:40]}', wanted one of {', '.join(sorts)}{hint}"
        )
    return sort, descending
