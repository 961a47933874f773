"""The form of a row: the fields of a record in their order, read by versions that have more or
fewer at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from mockserver.domain.clock import Instant
from mockserver.engine.card_registry import CardRegistry
from mockserver.scenario.provider_outcome import Decline, Pending, ProviderOutcome
from mockserver.store.row_codec import Record, form_of, json_text, json_value

CARDS = CardRegistry("")
DECLINE = Decline("do_not_honor", 5, "Refused", None, None, is_retryable=True)


@dataclass
class Order:
    """The same record, as a later version has it."""

    id: str
    kind: str = "plain"
    amount: Decimal = Decimal(0)
    rows: list[str] = field(default_factory=list)
    note: str | None = None
    within: Order | None = None
    due: Instant | None = None
    added: int = 0
    seq: int = -1


def back(value: Any, annotation: Any = Order) -> Any:
    form = form_of(annotation)
    return form.read(json_value(json_text(form.write(value))), CARDS)


def test_fields_of_another_version_are_skipped_and_those_that_are_missing_have_their_defaults() -> (
    None
):
    read = Record.of(Order).read
    assert read(["o-1", "old", "2.50"], CARDS) == Order("o-1", "old", Decimal("2.50"))
    assert read(["o-1"], CARDS) == Order("o-1")
    assert read(["o-1", "plain", "0", [], None, None, None, 0, "later"], CARDS) == Order("o-1")


@pytest.mark.parametrize(
    ("order", "text"),
    [
        (Order("o-2"), b'["o-2","plain","0",[],null,null,null,0]'),
        (Order("o-3", amount=Decimal("0.00")), b'["o-3","plain","0.00",[],null,null,null,0]'),
        (
            Order("o-5", within=Order("o-6")),
            b'["o-5","plain","0",[],null,["o-6","plain","0",[],null,null,null,0],null,0]',
        ),
        (Order("o-7", note="\ud800", seq=7), b'["o-7","plain","0",[],"\\ud800",null,null,0]'),
        (
            Order("o-8", due=Instant(5, 3), added=Instant(5, 3)),
            b'["o-8","plain","0",[],null,null,"5.3","5.3"]',
        ),
    ],
)
def test_a_record_is_the_list_of_its_fields(order: Order, text: bytes) -> None:
    assert json_text(order) == text
    again = back(order)
    assert again == Order(**{**vars(order), "seq": -1})
    assert str(again.amount) == str(order.amount)


@pytest.mark.parametrize("raw", [None, 7, "", [], {}, {"kind": "large"}])
def test_what_was_not_written_is_refused(raw: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"wanted|missing"):
        Record.of(Order).read(raw, CARDS)


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        (
            (b"text", b"\xff", "7", frozenset({1, 2})),
            tuple[bytes, bytes, int | str, frozenset[int]],
        ),
        ({1: "one", 2: None}, dict[int, str | None]),
        ({1: DECLINE, 2: Pending()}, dict[int, ProviderOutcome]),
        (("\ud800", 2**70), tuple[str, int]),
        (({"amount": Decimal("1.50"), "$kind": "own"}, "\udfff"), tuple[Mapping[str, object], str]),
    ],
)
def test_values_of_any_kind_come_back(value: Any, annotation: Any) -> None:
    again = back(value, annotation)
    assert again == value
    assert repr(again) == repr(value)
    assert json_text(again) == json_text(value)
