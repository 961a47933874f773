"""The cards that a sandbox has seen."""

from __future__ import annotations

import pytest

from mockserver.domain.cards import TEST_CARDS, TEST_NUMBERS, Card, passes_luhn
from mockserver.domain.sources import Instrument, PaymentType
from mockserver.engine.card_registry import CardRegistry

OWN = "4000020000000000"


@pytest.mark.parametrize("number", [*filter(passes_luhn, TEST_CARDS.values()), OWN])
def test_a_card_is_known_by_its_digest_or_as_a_published_one(number: str) -> None:
    cards = CardRegistry("salt")
    assert cards.known(number) is None
    met = cards.meet(number)
    assert [cards.known(number) is met for _ in range(3)] == [True] * 3
    assert cards.published(number) is (met if number in TEST_NUMBERS else None)
    copy = cards.copied()
    assert copy.known(number) is met
    cards.salt = "other"
    assert cards.known(number) is cards.published(number) is None, "the digests are others"


def test_no_number_is_kept_that_is_not_published() -> None:
    cards = CardRegistry("salt")
    for number in (OWN, *TEST_NUMBERS):
        if passes_luhn(number):
            cards.meet(number)
            cards.known(number)
    assert OWN not in repr([getattr(cards, name) for name in CardRegistry.__slots__])
    assert OWN not in TEST_NUMBERS


def test_a_card_that_paid_is_found_again_as_it_was_entered() -> None:
    cards = CardRegistry("salt")
    number = cards.meet(next(filter(passes_luhn, TEST_CARDS.values())))
    ways = [
        (number, expiry, holder, ccv, trans)
        for expiry in (None, "12/40")
        for holder in (None, "Ann")
        for ccv in (False, True)
        for trans in (None, "t")
    ]
    made = [cards.entered(*way) for way in ways]
    assert [card for card, _ in made] == [Card(*way) for way in ways]
    assert [shown for _, shown in made] == [
        Instrument(PaymentType.CARD, Card(*way), display_type=number.brand) for way in ways
    ]
    assert all(again is first for again, first in zip((cards.entered(*way) for way in ways), made, strict=True))
    assert cards.instrument(made[0][0]) is made[0][1]
