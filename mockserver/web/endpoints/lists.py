"""A page of any list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mockserver.engine import listing
from mockserver.engine.listing import Search
from mockserver.web.route import OperationCall


def listed(
    call: OperationCall, wanted: Search[Any], name: str, shown: Callable[[OperationCall, Any], object]
) -> dict[str, object]:
    """The page that a query asks for, its rows under ``name``."""
    page = listing.search(call.sandbox, wanted, call.query.present())
    rows = [shown(call, row) for row in page.rows]
    return {"limit": page.limit, "skip": page.skip, "count": page.count, name: rows}


def listed_bare(
    call: OperationCall, wanted: Search[Any], name: str, shown: Callable[[OperationCall, Any], object]
) -> dict[str, object]:
    """The same without limit and skip."""
    page = listing.search(call.sandbox, wanted, call.query.present())
    return {name: [shown(call, row) for row in page.rows], "count": page.count}
