"""Card numbers."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.domain.cards import (
    CCV_LENGTHS,
    TEST_CARDS,
    Brand,
    Funding,
    brand_of,
    clean,
    mask,
    passes_luhn,
    prefix_digest,
    read_number,
)

DIGITS = st.text("0123456789", min_size=12, max_size=19)


@pytest.mark.parametrize("text", ["4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111"])
def test_blanks_and_hyphens_are_dropped(text: str) -> None:
    assert clean(text) == "4111111111111111"


@pytest.mark.parametrize(
    "text", ["", " ", "4111x", "٤١١١١١١١١١١١١١١١", "4111\n1111", "+4111111111111111"]
)
def test_anything_else_is_no_number(text: str) -> None:
    assert clean(text) is None


@given(st.text("0123456789 -\u0663\u00b2\n+a", max_size=20))
def test_digits_are_those_that_a_pattern_finds(text: str) -> None:
    bare = text.replace(" ", "").replace("-", "")
    assert clean(text) == (bare if re.fullmatch("[0-9]+", bare) else None)


@pytest.mark.parametrize(("name", "number"), TEST_CARDS.items())
def test_test_cards_pass_the_check_except_the_one_that_must_not(name: str, number: str) -> None:
    assert passes_luhn(number) is (name != "invalid_number")


@given(DIGITS)
def test_exactly_one_check_digit_is_right(number: str) -> None:
    assert sum(passes_luhn(number[:-1] + digit) for digit in "0123456789") == 1


@given(DIGITS, st.integers(0, 11), st.integers(1, 9))
def test_one_wrong_digit_is_noticed(number: str, place: int, step: int) -> None:
    wrong = number[:place] + str((int(number[place]) + step) % 10) + number[place + 1 :]
    assert not (passes_luhn(number) and passes_luhn(wrong))


@pytest.mark.parametrize(
    ("head", "brand"),
    [
        ("4", Brand.VISA),
        ("50", Brand.MAESTRO),
        ("51", Brand.MASTERCARD),
        ("55", Brand.MASTERCARD),
        ("56", Brand.MAESTRO),
        ("2220", Brand.UNKNOWN),
        ("2221", Brand.MASTERCARD),
        ("2720", Brand.MASTERCARD),
        ("2721", Brand.UNKNOWN),
        ("34", Brand.AMEX),
        ("35", Brand.UNKNOWN),
        ("3527", Brand.UNKNOWN),
        ("3528", Brand.JCB),
        ("3589", Brand.JCB),
        ("3590", Brand.UNKNOWN),
        ("300", Brand.DINERS),
        ("306", Brand.UNKNOWN),
        ("3095", Brand.DINERS),
        ("36", Brand.DINERS),
        ("37", Brand.AMEX),
        ("38", Brand.DINERS),
        ("6010", Brand.UNKNOWN),
        ("6011", Brand.DISCOVER),
        ("62", Brand.UNIONPAY),
        ("643", Brand.UNKNOWN),
        ("644", Brand.DISCOVER),
        ("65", Brand.DISCOVER),
        ("67", Brand.MAESTRO),
        ("9", Brand.UNKNOWN),
    ],
)
def test_the_brand_follows_from_the_leading_digits(head: str, brand: Brand) -> None:
    assert brand_of(head.ljust(16, "0")) is brand


def test_only_amex_has_four_ccv_digits_alone() -> None:
    assert CCV_LENGTHS[Brand.AMEX] == (4, 4)
    assert {CCV_LENGTHS[brand] for brand in Brand if brand is not Brand.AMEX} == {(3, 4)}


@pytest.mark.parametrize(
    ("number", "masked"),
    [
        ("4111111111111111", "4111********1111"),
        ("378282246310005", "3782*******0005"),
        ("123456789012", "1234****9012"),
        ("1234567890123456789", "1234***********6789"),
    ],
)
def test_the_mask_shows_four_digits_at_each_end(number: str, masked: str) -> None:
    assert mask(number) == masked


def test_what_is_remembered_of_a_number() -> None:
    card = read_number("4000000000009995", "salt")
    assert (card.masked, card.last4, card.iin) == ("4000********9995", "9995", "400000")
    assert (card.brand, card.funding, card.test_name) == (
        Brand.VISA,
        Funding.CREDIT,
        "insufficient_funds",
    )
    assert card.prefixes == tuple(
        prefix_digest("salt", "4000000000009995"[:length]) for length in (4, 6, 8)
    )
    assert "400000000000" not in repr(card)


def test_fingerprints_tell_numbers_and_sandboxes_apart() -> None:
    here = read_number("4111111111111111", "a")
    assert here == read_number("4111111111111111", "a")
    assert here.fingerprint != read_number("4242424242424242", "a").fingerprint
    there = read_number("4111111111111111", "b")
    assert here.fingerprint != there.fingerprint
    assert set(here.prefixes).isdisjoint(there.prefixes)


def test_numbers_that_are_no_test_cards_have_varied_funding() -> None:
    cards = [read_number(f"45{number:06d}00000000", "salt") for number in range(60)]
    assert {card.test_name for card in cards} == {None}
    assert {card.funding for card in cards} == set(Funding)
