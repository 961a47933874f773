"""The codec of state documents: each type goes out and comes back, and refuses what is none of it
by its place."""

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import pytest

from mockserver.domain.clock import Instant
from mockserver.domain.constraints import OneOf, Within
from mockserver.domain.ids import Salt, Seed
from mockserver.domain.record import record
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.codec import ImportFault, form


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Pair(NamedTuple):
    name: str
    number: int


@record
class Part:
    name: str
    number: str | None = field(default=None, repr=False)


@record
class Whole:
    parts: list[Part]
    limit: Annotated[int, Within(1, 9)] = 1
    word: Annotated[str, OneOf(("red", "green"))] = "red"


CASES: list[tuple[Any, object, object, object, str]] = [
    # type, value, as written, what is refused, why
    (str, "a", "a", 1, "wanted a text"),
    (int, 5, 5, "5", "wanted a whole number"),
    (int, 5, 5, True, "wanted a whole number"),
    (bool, True, True, 1, "wanted true or false"),
    (Decimal, Decimal("1.50"), "1.50", 1.5, "wanted a number written as a text"),
    (Decimal, Decimal("1E+2"), "1E+2", "NaN", "wanted a number written as a text"),
    (Instant, Instant(7, 3), "7.3", "7.03", "wanted a whole number"),
    (Salt, Salt(2**64 - 1), str(2**64 - 1), str(2**64), f"got {2**64}, wanted 0 to {2**64 - 1}"),
    (Seed, Seed(3), 3, -1, "wanted a whole number, 0 to 2^63 - 1"),
    (Size, Size.LARGE, "large", "huge", "wanted one of small, large"),
    (Pair, Pair("a", 1), ["a", 1], ["a"], "wanted a list of 2"),
    (tuple[int, ...], (1, 2), [1, 2], {"0": 1}, "wanted a list"),
    (Mapping[int, str], {1: "a"}, {"1": "a"}, {"one": "a"}, "wanted a whole number as a text"),
    (dict[str, int], {"a": 1}, {"a": 1}, [], "wanted an object"),
    (str | None, None, None, 1, "wanted a text"),
    (
        Part | Whole | None,
        Part("a"),
        {"$kind": "Part", "name": "a"},
        {"$kind": "Other"},
        "wanted an object whose",
    ),
]


@pytest.mark.parametrize(("kind", "value", "written", "wrong", "why"), CASES)
def test_a_value_goes_out_comes_back_and_refuses_what_is_none(
    kind: Any, value: object, written: object, wrong: object, why: str
) -> None:
    shape = form(kind)
    assert shape.write(value, True) == written
    assert shape.read(written, CardRegistry("")) == value
    with pytest.raises(ImportFault) as refused:
        shape.read(wrong, CardRegistry(""))
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({"limit": 10}, {"limit": "got 10, wanted 1 to 9"}),
        (
            {"word": "gren"},
            {"word": "got 'gren', which is not a known value - did you mean 'green'?"},
        ),
        ({"parts": [{"name": 1}, {"nam": "b"}]}, {"parts.0.name": "wanted a text"}),
        ({"colour": "red"}, {"colour": "unknown field"}),
        ({"parts": None}, {"parts": "wanted a list"}),
    ],
)
def test_every_fault_of_a_record_is_named_by_its_place(
    change: dict[str, object], faults: dict[str, str]
) -> None:
    written: dict[str, object] = {"parts": [{"name": "a"}], **change}
    with pytest.raises(ImportFault) as refused:
        form(Whole).read(written, CardRegistry(""))
    assert dict(refused.value.faults).items() >= faults.items()


def test_a_secret_goes_out_only_when_it_is_asked_for_and_a_card_number_is_masked() -> None:
    part = Part("card 4111111111111111", "4111111111111111")
    assert form(Part).write(part, True) == {"name": part.name, "number": part.number}
    assert form(Part).write(part, False) == {"name": "card 4111********1111"}


def test_a_type_without_a_form_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError, match="no form"):
        form(complex)
