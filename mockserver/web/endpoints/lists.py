"""A page of any list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mockserver.domain.errors import Invalid
from mockserver.domain.slices import Slices
from mockserver.engine import listing
from mockserver.engine.listing import Search
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.scans import SLICE
from mockserver.engine.step import Step
from mockserver.web.route import OperationCall
from mockserver.wire.base import Body
from mockserver.wire.fields import Fields


def listed(
    call: OperationCall, wanted: Search[Any], name: str, shown: Callable[[OperationCall, Any], object]
) -> dict[str, object]:
    """The page that a query asks for, its rows under ``name``."""
    page = listing.search(call.sandbox, wanted, call.query.present(), call.ready)
    rows = [shown(call, row) for row in page.rows]
    return {"limit": page.limit, "skip": page.skip, "count": page.count, name: rows}


def listed_bare(
    call: OperationCall, wanted: Search[Any], name: str, shown: Callable[[OperationCall, Any], object]
) -> dict[str, object]:
    """The same without limit and skip."""
    page = listing.search(call.sandbox, wanted, call.query.present(), call.ready)
    return {name: [shown(call, row) for row in page.rows], "count": page.count}


def ahead(wanted: Search[Any], query: type[Body]) -> Callable[[Sandbox, Step], Slices[object] | None]:
    """What looks ahead at the rows of a list once it is long."""

    def look(sandbox: Sandbox, step: Step) -> Slices[object] | None:
        asked = step.request
        if len(wanted.table(sandbox)) <= SLICE or not isinstance(asked, Fields):
            return None
        try:
            given = asked.typed(query, strict=False).present()
        except Invalid:
            return None
        return listing.looking_ahead(sandbox, step, wanted, given)

    return look
