"""The outline of a body is a short way: what is asked of it is answered as by looking through the whole text."""

from __future__ import annotations

import json
from random import Random

import pytest

from mockserver.domain.outline import HIDDEN, outline_of
from mockserver.findings import habits
from tests.depth import tries

PIECES = (
    *("4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "378282246310005", "+61 400 000 000", "12.50"),
    *("1e5", "1.5E-3", "-1e+5 ", "NaN", "-Infinity", "City, ", "unit 5", "0" * 40, "9" * 39, "+-" * 9, "1.0000000"),
    *('"', "cardNumber", '"cardNumber":', '"CardNumber": "', '"metadata":{', "Metadata", "{", "}", ",", ":", " ", "\n"),
    *("1.", ".5", "1.5", "1.5,", "1.50}", ".", "e", "5", "\u00e9"),
)
CHARGE: dict[str, object] = {
    "Amount": 12.5,
    "ProviderId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
    "PaymentInformation": {"CardNumber": "4111111111111111", "ExpiryDate": "12/40", "Cardholder": "Ann Example"},
    "Address": {"Line1": "1 Example Street", "City": "Sydney", "PostalCode": "2000"},
    "Order": {"FreightAmount": 1.5},
}
BODY = {**CHARGE, "Reference": "2031-03-01 12:00", "Metadata": {"shop": "7e1a0e9", "cardNumber": "-"}}


def texts(seed: int) -> list[bytes]:
    """Bodies in which something was put, and heaps of such pieces."""
    draw = Random(seed)
    body = json.dumps(BODY, indent=seed % 3 or None, separators=None if seed % 2 else (",", ":"))
    found = []
    for _ in range(200):
        place, end = draw.randrange(len(body)), draw.randrange(25)
        put = "".join(draw.choices(PIECES, k=draw.randrange(4)))
        found += [body[:place] + put + body[place + end :], "".join(draw.choices(PIECES, k=draw.randrange(30)))]
    return [text.encode() for text in (body, *found)]


@pytest.mark.parametrize("seed", range(tries(6, 60)))
def test_it_answers_as_the_whole_text_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in texts(seed):
        is_clean = habits.is_clean(text, "/", {})
        with monkeypatch.context() as patch:
            # As if there were always more to look at.
            patch.setattr(habits, "outline_of", lambda text: (text, len(text) + 2))
            plainly = habits.is_clean(text, "/", {})
        # Where other signs may be or part digits, more is looked at (tests/findings/test_card_numbers.py).
        assert HIDDEN in outline_of(text)[0] or is_clean == plainly, text


def test_an_ordinary_body_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(habits, "_DIGITS_AS_ZEROS", None)
    for text in (json.dumps(CHARGE).encode(), json.dumps(CHARGE, separators=(",", ":")).encode()):
        assert habits.is_clean(text, "/", {})


def test_it_counts_digits_however_they_are_parted() -> None:
    for text in (b"4111111111111", b"41-11 11+1111111", b"4 1 1 1 1 1 1"):
        assert outline_of(b'{"a": "%b"}' % text)[1] == 1, text
    assert outline_of(b"4" * 26)[1] == 2
