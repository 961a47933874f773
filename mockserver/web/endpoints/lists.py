"""A page of any list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mockserver.domain.errors import Invalid
from mockserver.domain.slices import Slices
from mockserver.engine import listing
from mockserver.engine.indexed_table import ListPage
from mockserver.engine.listing import Ahead, QuickSearch, Search
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.sorted_places import SLICE
from mockserver.engine.step import Step
from mockserver.web.routes import OperationCall
from mockserver.wire.base import Body
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import dumps, with_rows
from mockserver.wire.long_text import Parts
from mockserver.wire.profile import profile_of

LONG = 10_000_000
"""Bytes of a list that is not put together: it is sent as it stands in its rows."""

_PART = 250_000
"""Bytes of rows after which others have their turn."""


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
            page, ready = listing.found(sandbox, self._wanted, ready), None
        else:
            page = listing.search(sandbox, self._wanted, vars(call.query), ready)
        if ready is not None and ready.texts:
            # Under other assumptions every row has another text.
            texts = ready.texts if ready.assumed is sandbox.assumed else {}
            return self._text(page, [self._written(call, row, *texts.get(row.seq, _UNKNOWN)) for row in page.rows])
        rows: list[Any] = [self._shown(call, row) for row in page.rows]
        if self._bare:
            return {self._name: rows, "count": page.count}
        first = {"limit": page.limit, "skip": page.skip, "count": page.count}
        if rows and type(rows[0]) is bytes:
            return with_rows(first, self._name, rows)
        return {**first, self._name: rows}

    def ahead(self, sandbox: Sandbox, step: Step) -> Slices[object] | QuickSearch[Any] | None:
        """Look at the rows before the step, once the list is long, and word them where one may be very long: long
        work, or what is asked of a few rows."""
        asked, has_long = step.request, sandbox.has_long
        if (len(self._wanted.table(sandbox)) <= SLICE and not has_long) or not isinstance(asked, Fields):
            return None
        try:
            given = vars(asked.typed(self._query, strict=False))
        except Invalid:
            return None
        looking = listing.looking_ahead(sandbox, step, self._wanted, given)
        return looking if looking is None or not has_long else self._wording(sandbox, given, looking)

    def _wording(
        self, sandbox: Sandbox, given: Mapping[str, Any], looking: Slices[Ahead[Any] | None] | QuickSearch[Any]
    ) -> Slices[Ahead[Any]]:
        assumed, texts = sandbox.assumed, dict[int, tuple[object, bytes]]()
        seen = None if isinstance(looking, QuickSearch) else (yield from looking)
        call = OperationCall(sandbox, profile_of(assumed), {}, None, None, {}, "")
        with _noting_nothing(sandbox):
            page = listing.search(sandbox, self._wanted, given, seen)
        written = 0
        for row in page.rows:
            with _noting_nothing(sandbox):
                shown = self._shown(call, row)
            text = shown if isinstance(shown, bytes) else dumps(shown)
            texts[row.seq] = row if text is shown else shown, text
            written += len(text)
            if written > _PART:
                written = 0
                yield
        return Ahead(None if seen is None else seen.scan, assumed, texts)

    def _written(self, call: OperationCall, row: Any, known: object, text: bytes) -> bytes:
        """The text of a row: the one that was made ahead, unless the row would be shown in another way by now."""
        if known is row:
            return text
        shown = self._shown(call, row)
        if isinstance(shown, bytes):
            return shown
        return text if known == shown else dumps(shown)

    def _text(self, page: ListPage[Any], rows: list[bytes]) -> bytes | Parts:
        first, last = b'{"limit":%d,"skip":%d,"count":%d,' % (page.limit, page.skip, page.count), b"]}"
        if self._bare:
            first, last = b"{", b'],"count":%d}' % page.count
        parts = Parts([b'%b"%b":[' % (first, self._name.encode())])
        for row in rows:
            parts += [row, b","]
        parts[-1:] = [last] if rows else [parts[-1], last]
        return parts if sum(map(len, rows)) > LONG else b"".join(parts)


_UNKNOWN: tuple[object, bytes] = None, b""


@contextmanager
def _noting_nothing(sandbox: Sandbox) -> Iterator[None]:
    """Ahead of a step it is not noted what an answer rests on, nor in the step of somebody else."""
    step, sandbox.step = sandbox.step, Step("")
    try:
        yield
    finally:
        sandbox.step = step
