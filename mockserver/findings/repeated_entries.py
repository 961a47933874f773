"""What a client has entered twice under names of its own: equal rows of batches, and customers.
Both may be meant, so they are notes.

Unlike a call in doubt nothing here was lost: the client was answered each time. A row that pays the
same method for the same reference, with all else equal and on the same day, is most likely an
export that ran twice. Two customers with one reference and address may be one person who has signed
up again, or a shop that looks nobody up.
"""

from collections.abc import Iterator
from typing import NamedTuple

from mockserver.domain.bounded_cache import Recent, memory
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.facts import Call
from mockserver.domain.ids import digest
from mockserver.domain.record import mutable
from mockserver.domain.states import ChargeState
from mockserver.findings.intents import INTENT_WINDOW, evidence_of
from mockserver.findings.ledger import Evidence, Ledger

MOST_ROWS = 1_000
"""Rows of a batch that are looked at, its first ones; as many of all batches are remembered."""

_MOST_CUSTOMERS = 256


class _Row(NamedTuple):
    """The newest row by which a method pays for a reference: when it came, and its digest."""

    at: Micros
    digest: bytes
    evidence: Evidence


@mutable
class RepeatedEntries:
    """The rows and customers of one sandbox that came last. They are digested, as they may hold
    what nobody should keep: ``_rows`` by method and reference, ``_customers`` by reference and
    address."""

    _ledger: Ledger
    _rows: Recent[bytes, _Row] = memory(MOST_ROWS)
    _customers: Recent[bytes, Evidence] = memory(_MOST_CUSTOMERS)

    def called(self, call: Call) -> None:
        """A call was decided."""
        if call.code is not None or call.subject is None:
            # It was refused, or nobody has carried it out: nothing was entered.
            return
        # That a batch was sent twice says already that all of its rows were.
        if call.op == "batch.create" and not self._ledger.explains(call.entry, "batch-sent-twice"):
            self._judge_rows(call)
        elif call.op == "customer.create":
            self._judge_customer(call)

    def _judge_rows(self, call: Call) -> None:
        """Judge each row of a batch beside those before it, in this batch too. One without a
        reference says nothing of what it is for."""
        for number, line in _rows_of(call):
            method, _, _, reference = _cells_of(line)
            if not reference:
                continue
            evidence = evidence_of(call, f"line {number} of the batch")
            row = _Row(call.at, digest("row", line), evidence)
            paid_for = digest("paid for", method, reference)
            before = self._rows.get(paid_for)
            self._rows.put(paid_for, row)
            if before is None or before.digest != row.digest:
                # Another amount for the same reference may be the rest of it.
                continue
            if row.at - before.at < INTENT_WINDOW:
                lines = (before.evidence, row.evidence)
                self._ledger.add("batch-row-repeated", call.at, lines, batch=call.subject)

    def row_charged(self, charge: Charge) -> None:
        """A row was charged: one that was declined may well be sent again."""
        if charge.status is ChargeState.FAILED:
            method = charge.instrument.payment_method_id or ""
            self._rows.pop(digest("paid for", method, charge.reference or ""), None)

    def _judge_customer(self, call: Call) -> None:
        """Judge a new customer: only one with a reference and an address can be known again."""
        reference, email = call.request.get("reference"), call.request.get("email")
        if not reference or not email:
            return
        customer = digest("customer", str(reference), str(email).lower())
        evidence, first = evidence_of(call), self._customers.get(customer)
        if first is None:
            self._customers.put(customer, evidence)
        else:
            self._ledger.add("customer-repeated", call.at, (first, evidence), customer=call.subject)


def _rows_of(call: Call) -> Iterator[tuple[int, str]]:
    """The first rows of a batch with the numbers of their lines, without its heading: no more than
    are remembered to be compared with. A line is taken for a row."""
    text = call.request.get("batch")
    if not isinstance(text, str):
        return
    heading_and_rows = text.splitlines()[: MOST_ROWS + 1]
    for number, row in enumerate(heading_and_rows[1:], start=2):
        if row.strip():
            yield number, row.strip()


def _cells_of(line: str) -> list[str]:
    """The four cells of a row: the payment method, the amount, the currency and the reference. One
    that is missing is empty: a row that cannot be read is judged when the batch is carried out."""
    cells = [*line.split(",", 3), "", "", ""]
    return [cell.strip() for cell in cells[:4]]
