"""A batch: many transactions from one CSV text, and how fast it progresses.

A batch has up to 100,000 rows, so everything about it is made to be done in parts: its text is read
and its results are written ``LINES`` at a time, and rows are taken some at a time as their turn
comes. Two decisions follow from that size:

- A ``Batch`` changes in place, the only entity that does: another value for each row that is done
  would copy all rows. Its rows are values, so that a fork, a thread that writes results, and the
  store may keep those that they have.
- A row that is open has no state of its own. It stands as its batch stands (``current_row``), so
  that one assignment moves 100,000 rows; only a row that is done is replaced.

``success`` and ``failure`` count what is done. Rows are reached in order, so that ``reached`` of
them have had their turn; with the ``pace`` of the batch that is all that its progress needs.

Sources: docs/spec/service.md, Batch, and States and transitions; assumption ``batch.flow``;
docs/spec/published-facts.md, 2.10.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from decimal import ROUND_DOWN, Decimal
from io import StringIO
from operator import attrgetter
from typing import Annotated

from mockserver.domain.charge import WebhookTarget
from mockserver.domain.clock import Micros
from mockserver.domain.constraints import ChargeId, NonNegative, Within
from mockserver.domain.csv_header import BYTE_ORDER_MARK, header_advice, shown_header
from mockserver.domain.ids import Salt
from mockserver.domain.money import amount_fault, number_text
from mockserver.domain.reading import number_of
from mockserver.domain.record import mutable, record, replace
from mockserver.domain.states import BATCH, BATCH_ROW, BatchEvent, BatchRowEvent, BatchState

COLUMNS = ("PaymentMethodId", "Amount", "Currency", "Reference")
"""Columns of a submitted batch (service document, Limits)."""

RESULT_COLUMNS = (
    *COLUMNS,
    "Status",
    "TransactionId",
    "FailureReason",
    "GatewayErrorCode",
    "GatewayErrorResponse",
    "IsRetryable",
)
"""Columns of ``results`` (service document, Batch)."""

LONGEST_REFERENCE = 40
LONGEST_ID = 64
MOST_FAULTS = 20
"""Faulty lines that one refusal names."""

LINES = 10_000
"""Lines that are read or written in one go."""

_LONGEST_LINE = 10_000

_SPECIAL = re.compile(r'[",\r\n]')
_MOST_PLACES = 6
_AMOUNT = re.compile(rf"-?[0-9]{{1,15}}(?:\.[0-9]{{1,{_MOST_PLACES}}})?", re.ASCII)
_FOLDED = tuple(name.lower() for name in COLUMNS)
_FINEST = Decimal("0.0001")
_DONE = frozenset({BatchState.SUCCESS, BatchState.FAILED})


@record
class RowFailure:
    """Why a row failed: the reason, and what the gateway said."""

    reason: str
    gateway_code: str | None = None
    gateway_message: str | None = None
    is_retryable: bool = False


BROKEN = RowFailure("The batch failed before this transaction was processed", is_retryable=True)
"""Why a row failed that was open when its batch broke down."""


@record
class BatchRow:
    """One transaction. ``status`` and ``failure`` are those of a row that is done: any other stands
    as its batch does (``Batch.current_row``). ``charge_id`` names its charge, also a declined one,
    and ``amount`` is then the charged amount. A row that ``stalls`` never finishes."""

    payment_method_id: str
    amount: Decimal
    currency: str
    reference: str
    status: BatchState = BatchState.RECEIVED
    charge_id: ChargeId | None = None
    failure: RowFailure | None = None
    stalls: bool | None = None


@record
class PacePoint:
    """A point of a batch's progress: this many rows are done this long after it was submitted."""

    rows: int
    after: Annotated[Micros, Within(0)]


@record
class BatchPace:
    """When each row is done: linear between ``steps``, the first of which is no row at no time.
    After ``last`` rows no more are tried: the batch ends, breaks down (``breaks``) or, with rows
    left, stalls for good."""

    steps: tuple[PacePoint, ...]
    last: NonNegative
    breaks: bool = False

    def after(self, row: int) -> Micros:
        """How long after the batch was submitted the ``row``-th row (from 1) is done."""
        return next(self.times(row))

    def times(self, row: int) -> Iterator[Micros]:
        """How long after the batch was submitted each row is done, from the ``row``-th on."""
        steps = self.steps
        first = bisect_left(steps, row, key=attrgetter("rows"))
        for before, step in zip(steps[first - 1 :], steps[first:], strict=False):
            rows, length = step.rows - before.rows, step.after - before.after
            # The number of the next row, from 1, among those between the two points.
            next_row = max(row - before.rows, 1)
            for number in range(next_row, rows + 1):
                yield before.after + length * number // rows


@record
class ResultsFault:
    """What a scenario has done to the results text: rows left out (from 1), the order they are put
    in (drawn by ``shuffled``, else their own), and after how many characters it is cut."""

    omitted: tuple[int, ...] = ()
    shuffled: Salt | None = None
    cut: NonNegative | None = None


@mutable
class Batch:
    """A batch as stored; ``success`` and ``failure`` count the rows that are done, ``stalled``
    those whose turn has come and that will never be done.

    ``meaning`` tells findings whether two batches ask for the same; it is there for the call that
    has just made the batch, and is not stored. ``_moved`` are places of rows for the store, None
    until it asks; ``_by_charge`` knows the rows up to ``_found``.
    """

    batch_id: str
    description: str
    added: Micros
    pace: BatchPace
    rows: list[BatchRow]
    status: BatchState = BatchState.RECEIVED
    success: int = 0
    failure: int = 0
    results_fault: ResultsFault | None = None
    metadata: Mapping[str, str] | None = None
    webhook: WebhookTarget | None = None
    stalled: NonNegative | None = None
    seq: int = -1
    meaning: str | None = field(default=None, init=False, repr=False, compare=False)
    _moved: list[int] | None = field(default=None, init=False, repr=False, compare=False)
    _by_charge: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _found: int = field(default=0, init=False, repr=False, compare=False)

    def move(self, event: BatchEvent) -> None:
        """Move by the state table, and the rows that are open with it. Raises ``WrongState``
        (101)."""
        after = BATCH.advance(self.status, event)
        if event is BatchEvent.BROKE_DOWN:
            self.failure, self.stalled = len(self.rows) - self.success, None
        self.status = after

    def current_row(self, place: int) -> BatchRow:
        """The row at a place (from 0) as it stands: one that is open stands as the batch does, and
        has failed with one that broke down."""
        row = self.rows[place]
        # It is done, or was stored with its batch in this state, as most rows of a batch that is
        # over.
        if row.status is self.status or row.status in _DONE:
            return row
        if self.status is BatchState.FAILED:
            # It has failed by now, and waits for nothing any more.
            return replace(row, status=self.status, failure=BROKEN, stalls=None)
        return replace(row, status=self.status)

    def end_row(
        self, place: int, failure: RowFailure | None, charge_id: str | None, amount: Decimal
    ) -> None:
        """The row at a place (from 0) has succeeded, or failed for a reason. Raises ``WrongState``
        (102)."""
        row = self.rows[place]
        before = row.status if row.status in _DONE else self.status
        if failure is None:
            after = BATCH_ROW.advance(before, BatchRowEvent.PAID)
            self.success += 1
        else:
            after = BATCH_ROW.advance(before, BatchRowEvent.REFUSED)
            self.failure += 1
        self._replace_row(
            place, replace(row, amount=amount, status=after, charge_id=charge_id, failure=failure)
        )

    def return_row(self, place: int, failure: RowFailure) -> None:
        """The payment of a row that had succeeded was returned. Raises ``WrongState`` (102)."""
        row = self.rows[place]
        after = BATCH_ROW.advance(row.status, BatchRowEvent.RETURNED)
        self._replace_row(place, replace(row, status=after, failure=failure))
        self.success -= 1
        self.failure += 1

    def _replace_row(self, place: int, row: BatchRow) -> None:
        """Put a row in a place; the store hears of it, once it has asked."""
        self.rows[place] = row
        if self._moved is not None:
            self._moved.append(place)

    def take_moved_rows(self) -> list[int]:
        """The places (from 0) of the rows that have ended or were returned since the last call, for
        the store; the first call begins to gather them."""
        moved = self._moved or []
        self._moved = []
        return moved

    def place_of(self, charge_id: str) -> int | None:
        """The place (from 0) of the row whose charge this is; None while it is not done."""
        # Learns the rows that were done since it was last asked: most batches are never asked.
        for place in range(self._found, self.reached):
            row_charge_id = self.rows[place].charge_id
            if row_charge_id is not None:
                self._by_charge[row_charge_id] = place
        self._found = self.reached
        return self._by_charge.get(charge_id)

    def copied(self) -> Batch:
        """A batch of its own that stands alike, as for a fork or an export. The two share the
        rows, which are values, until one of them puts another in a place."""
        return replace(self, rows=self.rows.copy())

    def write_current_rows(self, start: int) -> None:
        """Write into ``LINES`` rows how each stands that is open. For the copy that is exported: it
        does not move on."""
        stop = min(start + LINES, len(self.rows))
        self.rows[start:stop] = map(self.current_row, range(start, stop))

    @property
    def done(self) -> int:
        """Rows that have succeeded or failed."""
        return self.success + self.failure

    @property
    def reached(self) -> int:
        """Rows whose turn has come."""
        return self.done + (self.stalled or 0)

    @property
    def progress(self) -> Decimal:
        """The share of the rows that are done, 0 to 1 with up to four digits; 1 only when all
        are."""
        return (Decimal(self.done) / len(self.rows)).quantize(_FINEST, ROUND_DOWN).normalize()


def read_lines(text: str) -> Iterator[tuple[int, BatchRow | str | None]]:
    """The transactions of a CSV text by line (the header is line 1): each as a row or, in words,
    what is wrong with it; None for a line that is blank, as lines may be at the end. Quoting, any
    line end and a byte order mark are fine.

    A row may go over several lines, and is read in one step: none that is too long can be right.
    """
    # Where the row that is being read begins, its characters so far, and the first of the blank
    # lines before it, if any.
    line, length, blank = 1, 0, 0

    def lines_of_text() -> Iterator[str]:
        nonlocal length
        for part in StringIO(text.removeprefix(BYTE_ORDER_MARK), newline=""):
            length += len(part)
            if length > _LONGEST_LINE:
                raise csv.Error(f"longer than {_LONGEST_LINE} characters")
            yield part

    reader = csv.reader(lines_of_text(), strict=True)
    try:
        header = next(reader, [])
        if tuple(name.strip().lower() for name in header) != _FOLDED:
            wanted = f"wanted the header {','.join(COLUMNS)}"
            yield 1, f"got {shown_header(header)}, {wanted}{header_advice(header, COLUMNS)}"
            return
        line, length = reader.line_num + 1, 0
        for cells in reader:
            if len(cells) <= 1 and not "".join(cells).strip():
                blank = blank or line
                yield line, None
            else:
                # Only now is it known that the blank lines are not those at the end.
                if blank:
                    yield blank, "blank, and not the end"
                    blank = 0
                yield line, _row(cells)
            line, length = reader.line_num + 1, 0
    except csv.Error as problem:
        yield line, str(problem)


def _row(cells: list[str]) -> BatchRow | str:
    """The row of a line, or what is wrong with it."""
    if len(cells) != len(COLUMNS):
        return f"wanted {len(COLUMNS)} columns, got {len(cells)}"
    method_id, amount, currency, reference = cells
    if not method_id or len(method_id) > LONGEST_ID:
        return f"PaymentMethodId: got {len(method_id)} characters, wanted 1 to {LONGEST_ID}"
    bare = amount.strip()
    if not _AMOUNT.fullmatch(bare):
        # Numbers such as 1e2 and +5 are read as they are in a body.
        number = number_of(bare)
        if number is not None:
            bare = f"{number:f}"
    if not _AMOUNT.fullmatch(bare):
        return f"Amount: {amount_fault(bare, currency, _MOST_PLACES)}"
    if len(reference) > LONGEST_REFERENCE:
        return f"Reference: got {len(reference)} characters, wanted at most {LONGEST_REFERENCE}"
    return BatchRow(method_id.strip(), Decimal(bare), currency.strip(), reference)


@record
class WrittenRows:
    """Some rows, the state of their batch, and their lines of ``results``, without the last line
    end."""

    rows: list[BatchRow]
    batch_state: BatchState
    text: str


def results_text(batch: Batch, written: Sequence[WrittenRows] | None = None) -> str:
    """``results``: a header, then a line for each row in order, however far the batch has come.

    A long one is ``written`` ahead while others are served (``write_rows`` of each of
    ``result_rows``). What has moved on since is written again, so that all lines are of one
    moment.
    """
    texts = [",".join(RESULT_COLUMNS)]
    parts_ahead = iter(written or ())
    for rows in result_rows(batch):
        part = next(parts_ahead, None)
        if part is None or part.batch_state is not batch.status or part.rows != rows:
            part = write_rows(rows, batch.status)
        texts.append(part.text)
    text = "\n".join(texts)
    fault = batch.results_fault
    return text if fault is None or fault.cut is None else text[: fault.cut]


def result_rows(batch: Batch) -> Iterator[list[BatchRow]]:
    """The rows that ``results`` shows, in its order, ``LINES`` at a time."""
    rows, fault = batch.rows, batch.results_fault
    if fault is not None:
        omitted = set(fault.omitted)
        order: Sequence[int] = [place for place in range(len(rows)) if place + 1 not in omitted]
        if fault.shuffled is not None:
            order = in_drawn_order(order, fault.shuffled)
        rows = [rows[place] for place in order]
    return (rows[start : start + LINES] for start in range(0, len(rows), LINES))


def write_rows(rows: list[BatchRow], batch_state: BatchState) -> WrittenRows:
    """Some rows of a batch in this state, as lines of CSV. Hardly any cell needs quotes, so all are
    looked at together first: each by itself takes longer."""
    lines = [_cells(row, batch_state) for row in rows]
    text = "\n".join([",".join(cells) for cells in lines])
    if not _is_plain(text, len(lines)):
        text = "\n".join([",".join(map(_quoted, cells)) for cells in lines])
    return WrittenRows(rows, batch_state, text)


def _is_plain(text: str, lines: int) -> bool:
    """Whether no cell of so many lines holds a mark of CSV: the only commas and line ends are those
    between cells and lines. Counting them in one long text is far cheaper than a look at each
    cell."""
    if '"' in text or "\r" in text:
        return False
    commas = (len(RESULT_COLUMNS) - 1) * lines
    return text.count(",") == commas and text.count("\n") == lines - 1


def _cells(row: BatchRow, batch_state: BatchState) -> tuple[str, ...]:
    """The cells of a row. One that is open has the state of its batch, and fails with it."""
    state, failure = row.status, row.failure
    if state not in _DONE:
        state = batch_state
        failure = BROKEN if batch_state is BatchState.FAILED else None
    submitted = row.payment_method_id, number_text(row.amount), row.currency, row.reference
    if failure is None:
        return *submitted, state, row.charge_id or "", "", "", "", ""
    return (
        *submitted,
        state,
        # No transaction, though there may be a charge that was declined.
        "",
        failure.reason,
        failure.gateway_code or "",
        failure.gateway_message or "",
        "true" if failure.is_retryable else "false",
    )


def _quoted(cell: str) -> str:
    """The cell as CSV writes it, in quotes where it must be."""
    # Python's own writer leaves a lone carriage return bare, and its own reader then ends the line
    # there.
    if not _SPECIAL.search(cell):
        return cell
    return '"' + cell.replace('"', '""') + '"'


def in_drawn_order(places: Sequence[int], salt: int) -> list[int]:
    """Places in an order that looks drawn by chance, the same for the same ``salt``."""
    return sorted(places, key=lambda place: _scattered(salt, place))


def _scattered(salt: int, place: int) -> int:
    """A number of 64 bits that looks drawn by chance (SplitMix64)."""
    mixed = (place * 0x9E3779B97F4A7C15 + salt) & 0xFFFF_FFFF_FFFF_FFFF
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFF_FFFF_FFFF_FFFF
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & 0xFFFF_FFFF_FFFF_FFFF
    return mixed ^ (mixed >> 31)
