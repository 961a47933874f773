"""The form of a row: without what has its default, and read by versions with other fields."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from mockserver.engine.codec import row_form


@dataclass
class Order:
    """The same record, as a later version has it."""

    id: str
    kind: str = "plain"
    amount: Decimal = Decimal(0)
    rows: list[str] = field(default_factory=list)
    note: str | None = None
    within: Order | None = None


FORM = row_form(Order)


def test_fields_of_another_version_are_skipped_and_those_that_are_missing_have_their_defaults() -> None:
    assert FORM.to_value({"id": "o-1", "gone": "old", "amount": "2.50"}) == Order("o-1", amount=Decimal("2.50"))
    assert FORM.to_value({"id": "o-1"}) == Order("o-1")


@pytest.mark.parametrize(
    ("order", "plain"),
    [
        (Order("o-2"), {"id": "o-2"}),
        (Order("o-3", amount=Decimal("0.00")), {"id": "o-3", "amount": "0.00"}),
        (Order("o-4", "large", rows=["a"], note="n"), {"id": "o-4", "kind": "large", "rows": ["a"], "note": "n"}),
        (Order("o-5", within=Order("o-6")), {"id": "o-5", "within": {"id": "o-6"}}),
    ],
)
def test_a_row_has_what_is_not_the_default(order: Order, plain: object) -> None:
    assert FORM.to_plain(order) == plain
    again = FORM.to_value(json.loads(json.dumps(plain)))
    assert again == order
    assert str(again.amount) == str(order.amount)


@pytest.mark.parametrize("raw", [None, 7, "", [], {}, ["o-1"], {"kind": "large"}])
def test_what_was_not_written_is_refused(raw: Any) -> None:
    with pytest.raises(ValueError, match=r"wanted|missing"):
        FORM.to_value(raw)


def test_bytes_that_are_not_text_and_values_of_several_types_come_back() -> None:
    form = row_form(tuple[bytes, bytes, int | str, frozenset[int]])
    value = (b"text", b"\xff", "7", frozenset({1, 2}))
    assert form.to_value(json.loads(json.dumps(form.to_plain(value)))) == value
