"""Lines: each type goes out and comes back, in a store as it is, in a document without secrets; a
document refuses what is none of it by its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import pytest

from mockserver.domain.cards import CardNumber, read_number
from mockserver.domain.clock import Instant
from mockserver.domain.constraints import OneOf, Within
from mockserver.domain.ids import Salt, Seed
from mockserver.domain.record import record
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.line_reading import (
    ImportFault,
    checked_value_of,
    form_of,
    plain_of,
    value_of,
)
from mockserver.engine.lines import View, line_of
from mockserver.scenario.provider_outcome import Decline, Pending, ProviderOutcome


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Pair(NamedTuple):
    name: str
    number: int
    last: int | None = None


@record
class Part:
    name: str
    number: str | None = field(default=None, repr=False)


@record
class Whole:
    parts: list[Part]
    limit: Annotated[int, Within(1, 9)] = 1
    word: Annotated[str, OneOf(("red", "green"))] = "red"
    phone: str | None = None
    anything: object = None
    shuffled: Salt | None = None
    within: Whole | None = None
    seq: int = -1


DECLINE = Decline("do_not_honor", 5, "Refused", None, None, is_retryable=True)
CARD = read_number("4111111111111111", "salt")

CASES: list[tuple[Any, object, bytes, object, str]] = [
    # type, value, as written, what is refused, why
    (str, "a", b'"a"', 1, "wanted a text"),
    (str, "\ud800", b'"\\ud800"', None, "wanted a text"),
    (int, 5, b"5", "5", "wanted a whole number"),
    (int, 5, b"5", True, "wanted a whole number"),
    (int, Instant(7, 3), b'"7.3"', "7.03", "wanted a whole number"),
    (bool, True, b"true", 1, "wanted true or false"),
    (Decimal, Decimal("1.50"), b'"1.50"', 1.5, "wanted a number written as a text"),
    (Decimal, Decimal("1E+2"), b'"1E+2"', "NaN", "wanted a number written as a text"),
    (Decimal, Decimal("1E-1000"), b'"1E-1000"', "1E-1001", "wanted a number written as a text"),
    (Decimal, Decimal("1E+40"), b'"1E+40"', "1E+41", "wanted a number written as a text"),
    (Instant, Instant(7, 3), b'"7.3"', "7.03", "wanted a whole number"),
    (Seed, Seed(3), b"3", -1, "wanted a whole number, 0 to 2^63 - 1"),
    (Size, Size.LARGE, b'"large"', "huge", "wanted one of small, large"),
    (Pair, Pair("a", 1), b'["a",1]', ["a"], "wanted a list of 3"),
    (Pair, Pair("a", 1, 2), b'["a",1,2]', ["a", 1, "x"], "2: wanted a whole number"),
    (tuple[int, ...], (1, 2), b"[1,2]", {"0": 1}, "wanted a list"),
    (frozenset[str], frozenset({"b", "a"}), b'["a","b"]', 1, "wanted a list"),
    (Mapping[int, str], {1: "a"}, b'{"1":"a"}', {"one": "a"}, "wanted a whole number as a text"),
    (dict[str, int], {"a": 1}, b'{"a":1}', [], "wanted an object"),
    (str | None, None, b"null", 1, "wanted a text"),
    (object, Decimal("0.5"), b'"0.5"', {"$kind": "Decimal", "value": "x"}, "written as a text"),
    (
        ProviderOutcome,
        Pending(),
        b'{"$kind":"Pending"}',
        {"$kind": "Other"},
        "wanted an object whose",
    ),
    (
        Whole,
        Whole([Part("a", "b")], anything={"a": Decimal("0.5")}, shuffled=Salt(2**64 - 1)),
        b'{"parts":[{"name":"a","number":"b"}],"anything":{"a":{"$kind":"Decimal","value":"0.5"}},"shuffled":"18446744073709551615"}',
        {"parts": [], "shuffled": str(2**64)},
        f"shuffled: got {2**64}, wanted 0 to {2**64 - 1}",
    ),
    (CardNumber, CARD, b'"' + CARD.fingerprint.encode() + b'"', CARD.fingerprint, "an object"),
]


@pytest.mark.parametrize(("kind", "value", "written", "wrong", "why"), CASES)
def test_a_value_goes_out_comes_back_and_refuses_what_is_none(
    kind: Any, value: object, written: bytes, wrong: object, why: str
) -> None:
    cards = CardRegistry("salt")
    cards.remember(CARD)
    assert line_of(value) == written
    if kind is not object:
        assert value_of(kind, written, cards) == value
    with pytest.raises(ImportFault) as refused:
        checked_value_of(kind, wrong, cards)
    assert why in str(refused.value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[0]))
def test_a_document_with_secrets_comes_back_as_it_was(case: tuple[Any, object]) -> None:
    kind, value = case[:2]
    if kind is object:
        return
    raw = plain_of(line_of(value, View.WITH_SECRETS))
    assert not form_of(kind).faults(raw)
    assert checked_value_of(kind, raw, CardRegistry("")) == value


def test_every_fault_is_named_by_its_place() -> None:
    raw = {
        "limit": 10,
        "word": "blue",
        "parts": [{"name": "a"}, {"nmae": "b"}, 5],
        "within": {"parts": [], "limit": "1"},
    }
    with pytest.raises(ImportFault) as refused:
        checked_value_of(Whole, raw, CardRegistry(""))
    assert refused.value.faults == (
        ("limit", "got 10, wanted 1 to 9"),
        ("word", "got 'blue', which is not a known value"),
        ("parts.1.nmae", "unknown field - did you mean 'name'?"),
        ("parts.1.name", "missing, a state document has it"),
        ("parts.2", "wanted an object"),
        ("within.limit", "wanted a whole number"),
    )


def test_no_more_faults_are_named_than_are_read() -> None:
    raw = {"parts": [{"name": number} for number in range(100)]}
    with pytest.raises(ImportFault) as refused:
        checked_value_of(Whole, raw, CardRegistry(""))
    assert len(refused.value.faults) == 20


def test_a_document_without_secrets_leaves_them_out_and_masks_texts() -> None:
    whole = Whole(
        [Part("card 4111111111111111", "secret")],
        phone="0412345678",
        anything=["4111111111111111"],
        within=Whole([]),
    )
    assert plain_of(line_of(whole, View.MASKED)) == {
        "parts": [{"name": "card 4111********1111"}],
        "limit": 1,
        "word": "red",
        "phone": "0412345678",
        "anything": ["4111********1111"],
        "within": {"parts": [], "limit": 1, "word": "red"},
    }
    assert plain_of(line_of({"ccv": "123", "note": "123"}, View.MASKED)) == {
        "ccv": "***",
        "note": "123",
    }


def test_a_line_of_an_older_version_has_the_defaults_of_what_it_does_not_know() -> None:
    assert value_of(Whole, b'{"parts":[]}', CardRegistry("")) == Whole([])


def test_a_key_that_is_no_number_is_named_by_its_place() -> None:
    with pytest.raises(ImportFault, match=r"^9+: wanted a whole number as a text$"):
        checked_value_of(dict[int, str], {"9" * 5_000: "a"}, CardRegistry(""))


def test_a_type_without_a_form_is_refused() -> None:
    with pytest.raises(TypeError):
        form_of(complex)
    with pytest.raises(TypeError):
        line_of(1j)


def test_equal_cards_share_their_facts() -> None:
    cards = CardRegistry("salt")
    line = line_of(CARD, View.WITH_SECRETS)
    first = checked_value_of(CardNumber, plain_of(line), cards)
    assert first == CARD
    assert checked_value_of(CardNumber, plain_of(line), cards) is first
    assert value_of(CardNumber, line_of(CARD), cards) is first


def test_a_line_that_is_nested_too_deeply_is_no_value() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        plain_of(b"[" * 100_000)
