"""A page of any list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.domain.errors import Invalid
from mockserver.domain.slices import Slices
from mockserver.engine import listing
from mockserver.engine.listing import QuickSearch, Search
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.sorted_places import SLICE
from mockserver.engine.step import Step
from mockserver.web.routes import OperationCall
from mockserver.wire.base import Body
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import dumps, with_rows
from mockserver.wire.long_text import Parts

LONG = 10_000_000
"""Bytes of a list that is not put together: it is sent as it stands in its rows."""


class ListOf:
    """The endpoint of a list: the page that a ``query`` asks for, its rows under ``name``, each as ``shown``; without
    limit and skip when it is ``bare``. ``words`` describe it in place of these."""

    def __init__(
        self,
        words: str,
        wanted: Search[Any],
        query: type[Body],
        name: str,
        shown: Callable[[OperationCall, Any], object],
        *,
        bare: bool = False,
    ) -> None:
        self.__doc__ = words
        self._wanted = wanted
        self._query = query
        self._name = name
        self._shown = shown
        self._bare = bare

    def __call__(self, call: OperationCall) -> dict[str, object] | bytes | Parts:
        ready, sandbox = call.ready, call.sandbox
        if type(ready) is QuickSearch:
            page = listing.found(sandbox, self._wanted, ready)
        else:
            page = listing.search(sandbox, self._wanted, vars(call.query), ready)
        rows: list[Any] = [self._shown(call, row) for row in page.rows]
        if self._bare:
            return {self._name: rows, "count": page.count}
        first = {"limit": page.limit, "skip": page.skip, "count": page.count}
        if rows and type(rows[0]) is bytes:
            is_long = self._wanted.table(sandbox).has_long and sum(map(len, rows)) > LONG
            return (parts_with_rows if is_long else with_rows)(first, self._name, rows)
        return {**first, self._name: rows}

    def ahead(self, sandbox: Sandbox, step: Step) -> Slices[object] | QuickSearch[Any] | None:
        """Look at the rows before the step, once the list is long: long work, or what is asked of a few rows."""
        asked = step.request
        if len(self._wanted.table(sandbox)) <= SLICE or not isinstance(asked, Fields):
            return None
        try:
            given = vars(asked.typed(self._query, strict=False))
        except Invalid:
            return None
        return listing.looking_ahead(sandbox, step, self._wanted, given)


def parts_with_rows(members: Mapping[str, object], name: str, rows: list[bytes]) -> Parts:
    """The text of ``with_rows`` in parts, which are the rows themselves."""
    parts = Parts([b'%b,"%b":[' % (dumps(members)[:-1], name.encode())])
    for row in rows:
        parts += [row, b","]
    parts[-1] = b"]}"
    return parts
