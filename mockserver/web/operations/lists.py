"""The lists of the payments API: one page of rows, each as an operation on that one object shows
it.

A list is an object (``ListOf``), not a function, as each needs two: one shows the page, in the step
(``__call__``); one finds it before the step where the table is long (``find``), as nobody else is
served while a step lasts. A page is found as of one instant, whichever of the two has found it.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from mockserver.domain.errors import Invalid, invalid
from mockserver.engine import listing
from mockserver.engine.indexed_table import STEP_ROWS, ListPage, TableRow
from mockserver.engine.listing import Search
from mockserver.engine.step import Step
from mockserver.web.operations.route import OperationCall
from mockserver.web.operations.shown import Call
from mockserver.web.runner import Runner
from mockserver.wire.bodies.shared import ListQuery
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import dumps
from mockserver.wire.replies import Members, reply_of, reply_type

R = TypeVar("R", bound=TableRow)
Q = TypeVar("Q", bound=ListQuery)

LARGEST = 10_000_000
"""Bytes that the rows of one page may have."""

_EACH = "list of "


class ListOf(Generic[R, Q]):
    """Answers with a page of rows that fit the query, as the ``reply`` wraps them; a row is written
    by ``show``, or as its own reply says. Raises ``Invalid`` (90) for a page of over ``LARGEST``
    bytes."""

    def __init__(
        self,
        wanted: Search[R],
        reply: str,
        query: type[Q],
        show: Callable[[Call, R], Members | bytes] | None = None,
    ) -> None:
        self._wanted = wanted
        self.query = query
        # Of the members of such a reply one is the list of rows; the others count.
        fields = reply_type(reply).fields
        [self._rows_name] = (name for name, held in fields.items() if held.startswith(_EACH))
        self._row_reply = fields[self._rows_name].removeprefix(_EACH)
        self._names = list(fields)
        self._show = show or self._show_plainly

    def _show_plainly(self, call: Call, row: R) -> Members:
        """A row as its own reply says."""
        return reply_of(self._row_reply, row)

    def __call__(self, call: OperationCall[None, Q]) -> bytes:
        """The page of the query, as JSON."""
        query = listing.query_of(call.step, self._wanted, vars(call.query))
        page = call.ready or self._wanted.table(call.sandbox).search(query)
        show, texts, size = self._show, list[bytes](), 0
        for row in page.rows:
            shown = show(call, row)
            text = shown if isinstance(shown, bytes) else dumps(shown)
            texts.append(text)
            size += len(text)
            if size > LARGEST:
                words = (
                    f"got rows of over {LARGEST} bytes on one page, wanted a limit below "
                    f"{len(texts)}"
                )
                raise invalid({"Limit": words})
        return self._wrapped(page, texts)

    def _wrapped(self, page: ListPage[R], rows: list[bytes]) -> bytes:
        """The page as JSON. The rows are texts already, and to read them only to write them again
        would take longest of all: so an empty list is written, and they are put into it. All other
        members are numbers, so the first bracket that closes is that of the list."""
        members = {name: getattr(page, name, None) for name in self._names}
        members[self._rows_name] = []
        begin, closing, end = dumps(members).partition(b"]")
        return b"".join((begin, b",".join(rows), closing, end))

    def find(self, runner: Runner, step: Step) -> Awaitable[ListPage[R]] | None:
        """Finds the page of a long list before the step that shows it; None where the table is
        short, or the parameters are faulty: then the step finds it, or says what is wrong."""
        asked, table = step.asked.request, self._wanted.table(step.sandbox)
        if len(table) <= STEP_ROWS or not isinstance(asked, Fields):
            return None
        # A step of its own, as to read the query notes assumptions: the step that shows the page
        # notes them itself.
        trial = Step(step.sandbox, step.asked)
        try:
            query = listing.query_of(trial, self._wanted, vars(asked.typed(self.query)))
        except Invalid:
            return None
        return runner.search(table, query, step.seen)
