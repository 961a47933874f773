"""Handlers of operations that many resources share: one use case of the engine, and a page of a list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from mockserver.domain.errors import Invalid, invalid
from mockserver.engine import listing
from mockserver.engine.indexed_table import STEP_ROWS
from mockserver.engine.listing import Search
from mockserver.engine.step import Step
from mockserver.web.routes import OperationCall
from mockserver.web.runner import look_ahead
from mockserver.wire.body_tables import query_type
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import Encoded, dumps

LARGEST = 10_000_000
"""Bytes that the rows of one page may have."""


class UseCase:
    """The endpoint of one function of the engine, which is given what the path names and the command of the body, if
    there is one. What it makes is answered as ``shown``; ``words`` describe the operation in place of these."""

    def __init__(self, words: str, act: Callable[..., Any], shown: Callable[[OperationCall, Any], object]) -> None:
        self.__doc__ = words
        self._act = act
        self._shown = shown

    def __call__(self, call: OperationCall) -> object:
        given = () if call.body is None else (call.body.command(),)
        return self._shown(call, self._act(call.step, *call.path.values(), *given))


class ListOf:
    """The endpoint of a list: the page that the parameters of the type named ``query`` ask for, its rows under
    ``name``, each as ``shown``; without limit and skip when it is ``bare``. ``words`` describe it in place of these.
    Raises ``Invalid`` (90) for a page of over ``LARGEST`` bytes."""

    def __init__(
        self,
        words: str,
        wanted: Search[Any],
        query: str,
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

    def __call__(self, call: OperationCall) -> dict[str, object]:
        page = listing.search(call.step, self._wanted, vars(call.query))
        texts, size = list[bytes](), 0
        for row in page.rows:
            shown = self._shown(call, row)
            texts.append(shown if isinstance(shown, bytes) else dumps(shown))
            size += len(texts[-1])
            if size > LARGEST:
                words = f"got rows of over {LARGEST} bytes on one page, wanted a limit below {len(texts)}"
                raise invalid({"Limit": words})
        rows = Encoded(b"[%b]" % b",".join(texts))
        if self._bare:
            return {self._name: rows, "count": page.count}
        return {"limit": page.limit, "skip": page.skip, "count": page.count, self._name: rows}

    def ahead(self, step: Step) -> Awaitable[object] | None:
        """Look at the rows of a long list before the step that shows it; None where there is little to look at, or the
        parameters are faulty."""
        asked, table = step.asked.request, self._wanted.table(step.sandbox)
        if len(table) <= STEP_ROWS or not isinstance(asked, Fields):
            return None
        try:
            # The step itself will note what it rests on.
            given = vars(asked.typed(query_type(self._query), strict=False))
            return look_ahead(table, listing.query_of(Step(step.sandbox, step.asked), self._wanted, given))
        except Invalid:
            return None
