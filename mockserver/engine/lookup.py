"""Stored objects by the ids that callers give, and what to say of an id that names nothing."""

from __future__ import annotations

from typing import TypeVar

from mockserver.domain.codes import Code
from mockserver.domain.errors import Faults, NotFound
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.states import Presence
from mockserver.engine.indexed_table import Table
from mockserver.engine.query import TableRow
from mockserver.engine.step import Step

R = TypeVar("R", bound=TableRow)


def found(step: Step, table: Table[R], kind: str, row_id: str, code: Code) -> R:
    """The object of an id in a path, which the step is about from now on. Raises ``NotFound`` with the code."""
    row = table.get(row_id)
    if row is None:
        field = f"{kind}_id".title().replace("_", "")
        raise NotFound(code, {field: unknown(kind, row_id)})
    step.result.about[kind] = row
    return row


def unknown(kind: str, row_id: str) -> str:
    """What to say of an id that names no object of a kind."""
    name = "vault item" if kind == "vault" else kind.replace("_", " ")
    return f"no {name} '{row_id[:64]}' in this sandbox"


def check_in_use(method: PaymentMethod | None, method_id: str, field: str, faults: Faults) -> None:
    """A fault when a body names no payment method (56), or one that was removed (73)."""
    if method is None:
        faults.add(Code.INVALID_PAYMENT_METHOD_ID, field, unknown("payment_method", method_id))
    elif method.state is Presence.REMOVED:
        faults.add(Code.INVALID_PAYMENT_METHOD_ID_REMOVED, field, "this payment method was removed")
