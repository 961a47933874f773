"""Currencies and exact amounts."""

import tracemalloc
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid
from mockserver.domain.money import CURRENCIES, currency, exact, number_text, share

AUD, JPY, KWD = CURRENCIES["AUD"], CURRENCIES["JPY"], CURRENCIES["KWD"]

# The list of a published client (published facts, 3), less the ariary: ISO 4217 gives it
# hundredths.
WITHOUT_DECIMALS = [
    "BIF",
    "CLP",
    "DJF",
    "GNF",
    "JPY",
    "KMF",
    "KRW",
    "PYG",
    "RWF",
    "UGX",
    "VND",
    "VUV",
    "XAF",
    "XOF",
    "XPF",
]


def refusal(text: str, unit: str = "AUD") -> str:
    with pytest.raises(Invalid) as caught:
        exact(Decimal(text), CURRENCIES[unit])
    assert caught.value.code is Code.INVALID_AMOUNT
    assert caught.value.details is not None
    return caught.value.details["Amount"]


def test_the_table_is_well_formed() -> None:
    assert len(CURRENCIES) > 150
    assert list(CURRENCIES) == sorted(CURRENCIES)
    for code, row in CURRENCIES.items():
        assert row.code == code
        assert code.isalpha()
        assert code.isupper()
        assert len(code) == 3
        assert row.number.isdecimal()
        assert len(row.number) == 3
        assert row.digits in (0, 2, 3)
        assert row.name
    assert len({row.number for row in CURRENCIES.values()}) == len(CURRENCIES)


@pytest.mark.parametrize(
    ("code", "number", "digits"),
    [
        ("AUD", "036", 2),
        ("USD", "840", 2),
        ("EUR", "978", 2),
        ("JPY", "392", 0),
        ("ISK", "352", 0),
        ("BHD", "048", 3),
    ],
)
def test_known_rows(code: str, number: str, digits: int) -> None:
    assert (CURRENCIES[code].number, CURRENCIES[code].digits) == (number, digits)


def test_currencies_without_decimals() -> None:
    assert {code for code, row in CURRENCIES.items() if row.digits == 0} == {
        *WITHOUT_DECIMALS,
        "ISK",
    }


@pytest.mark.parametrize("code", ["XAU", "XTS", "XXX", "CLF", "USN", "HRK"])
def test_what_is_no_means_of_payment_is_left_out(code: str) -> None:
    assert code not in CURRENCIES


@pytest.mark.parametrize("text", ["AUD", "aud", "Aud", " aud "])
def test_a_currency_is_found_in_any_case(text: str) -> None:
    assert currency(text) is AUD


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("AUX", "got 'AUX', wanted an ISO 4217 code such as AUD - did you mean 'AUD'?"),
        ("euro", "got 'euro', wanted an ISO 4217 code such as AUD - did you mean 'EUR'?"),
        ("yen", "got 'yen', wanted an ISO 4217 code such as AUD - did you mean 'JPY'?"),
        ("", "got an empty text, wanted an ISO 4217 code such as AUD"),
        ("4111111111111111", "got a text of 16 characters, wanted an ISO 4217 code such as AUD"),
        ("X" * 5000, "got a text of 5000 characters, wanted an ISO 4217 code such as AUD"),
        ("X" * 25, "got a text of 25 characters, wanted an ISO 4217 code such as AUD"),
        ("Q" * 24, f"got '{'Q' * 24}', wanted an ISO 4217 code such as AUD"),
        ("\u0131dr", "got '\u0131dr', wanted an ISO 4217 code such as AUD - did you mean 'IDR'?"),
        ("AUD 4111", "got a text of 8 characters, wanted an ISO 4217 code such as AUD"),
    ],
)
def test_an_unknown_currency_is_refused(text: str, got: str) -> None:
    with pytest.raises(Invalid) as caught:
        currency(text)
    assert caught.value.code is Code.CURRENCY_NOT_SUPPORTED
    assert caught.value.details == {"Currency": got}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("5", "5"),
        ("5.00", "5.00"),
        ("200.0", "200.0"),
        ("2E+2", "200"),
        ("12.30", "12.30"),
        ("12.34", "12.34"),
        ("0.0100", "0.01"),
        ("-5.10", "-5.10"),
        ("-5.000", "-5.00"),
        ("-10.0500", "-10.05"),
        ("-0.00", "0"),
        ("0E-999999", "0"),
        ("0E+99", "0"),
        ("1.5E+3", "1500"),
        ("1.0000000000000000000000000000000000000000", "1.00"),
        ("999999999999999.99", "999999999999999.99"),
        ("-999999999999999.99", "-999999999999999.99"),
    ],
)
def test_an_exact_amount_has_the_digits_that_it_came_with_and_no_exponent(
    text: str, kept: str
) -> None:
    assert str(exact(Decimal(text), AUD)) == kept


@pytest.mark.parametrize(
    ("unit", "text"),
    [("JPY", "5.0"), ("JPY", "-5"), ("JPY", "-50.00"), ("KWD", "1.234"), ("AUD", "1.23")],
)
def test_as_many_digits_as_the_currency_has_are_taken(unit: str, text: str) -> None:
    assert exact(Decimal(text), CURRENCIES[unit]) == Decimal(text)


@pytest.mark.parametrize(
    ("unit", "text", "reason"),
    [
        ("AUD", "12.345", "got 12.345, AUD has 2 digits after the point"),
        ("AUD", "-12.345", "got -12.345, AUD has 2 digits after the point"),
        ("JPY", "5.5", "got 5.5, JPY has no digits after the point"),
        ("KWD", "1E-4", "got 0.0001, KWD has 3 digits after the point"),
        ("AUD", "1000000000000000", "got 16 digits before the point, at most 15 are allowed"),
        ("AUD", "-1000000000000000.00", "got 16 digits before the point, at most 15 are allowed"),
        ("AUD", "1E+15", "got 16 digits before the point, at most 15 are allowed"),
        ("AUD", "1E+999999", "got 1000000 digits before the point, at most 15 are allowed"),
        ("AUD", "1E-999999", "got 999999 digits after the point, AUD has 2 digits after the point"),
        (
            "AUD",
            "1." + "0" * 40 + "1",
            "got 41 digits after the point, AUD has 2 digits after the point",
        ),
        ("AUD", "NaN", "got a value that is not a finite number"),
        ("AUD", "sNaN", "got a value that is not a finite number"),
        ("AUD", "-Infinity", "got a value that is not a finite number"),
    ],
)
def test_an_amount_that_the_currency_cannot_hold_is_refused(
    unit: str, text: str, reason: str
) -> None:
    assert refusal(text, unit) == reason


@pytest.mark.parametrize("text", ["4111111111111111", "0.4111111111111111", "4111111.111111111"])
def test_a_card_number_in_the_wrong_field_is_not_repeated(text: str) -> None:
    assert "1111" not in refusal(text)


@pytest.mark.parametrize("text", ["1E+999999", "-1E+999999", "1E-999999"])
def test_a_huge_exponent_is_never_written_out(text: str) -> None:
    tracemalloc.start()
    try:
        refusal(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000


@given(st.decimals(min_value=-(10**14), max_value=10**14, places=2))
def test_exact_keeps_the_value(amount: Decimal) -> None:
    kept = exact(amount, AUD)
    assert kept == amount
    assert exact(kept, AUD) == kept
    assert "E" not in str(kept)
    assert not str(kept).endswith(".0")


@given(st.decimals())
def test_exact_returns_or_refuses_whatever_comes(amount: Decimal) -> None:
    try:
        kept = exact(amount, KWD)
    except Invalid:
        return
    assert kept == amount


@pytest.mark.parametrize(
    ("text", "json"),
    [
        ("5", "5"),
        ("5.0", "5"),
        ("2E+2", "200"),
        ("200.00", "200"),
        ("12.50", "12.5"),
        ("-1.10", "-1.1"),
        ("1E-7", "0.0000001"),
        ("0.00", "0"),
        ("-0.0", "0"),
        ("-0", "0"),
        ("12345678901234567890.123456789", "12345678901234567890.123456789"),
    ],
)
def test_number_text(text: str, json: str) -> None:
    assert number_text(Decimal(text)) == json


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "sNaN"])
def test_number_text_refuses_what_json_has_no_word_for(text: str) -> None:
    with pytest.raises(ValueError, match="wanted a finite number"):
        number_text(Decimal(text))


@pytest.mark.parametrize(
    ("amount", "percent", "part"),
    [
        ("100", "2.5", "2.5"),
        ("10.05", "1.5", "0.15"),
        ("0.50", "1", "0.01"),
        ("0.49", "1", "0"),
        ("200", "100", "200"),
    ],
)
def test_a_share_is_rounded_half_up(amount: str, percent: str, part: str) -> None:
    assert str(share(Decimal(amount), Decimal(percent))) == part


def test_a_share_of_yen_is_whole_yen() -> None:
    assert str(share(Decimal(333), Decimal("1.5"), JPY.digits)) == "5"
