"""The cards that a sandbox has seen."""

from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from mockserver.domain.cards import TEST_CARDS, TEST_NUMBERS, Card, passes_luhn
from mockserver.domain.clock import Micros, instant_of
from mockserver.domain.errors import Faults
from mockserver.domain.sources import CardDetails, Instrument, PaymentType
from mockserver.engine import intake
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.step import unnoted
from tests.driving import NOW, Api

OWN = "4000020000000000"


@pytest.mark.parametrize("number", [*filter(passes_luhn, TEST_CARDS.values()), OWN])
def test_a_card_is_known_by_its_digest(number: str) -> None:
    cards = CardRegistry("salt")
    assert cards.known(number) is None
    met = cards.meet(number)
    assert cards.known(number) is met
    cards.salt = "other"
    assert cards.known(number) is None, "the digests are others"


def test_no_number_is_kept_that_is_not_published() -> None:
    cards = CardRegistry("salt")
    for number in (OWN, *TEST_NUMBERS):
        if passes_luhn(number):
            cards.meet(number)
            cards.known(number)
    assert OWN not in repr(vars(cards))
    assert OWN not in TEST_NUMBERS


def test_a_card_that_paid_is_found_again_as_it_was_entered() -> None:
    cards = CardRegistry("salt")
    number = cards.meet(next(filter(passes_luhn, TEST_CARDS.values())))
    ways = [
        Card(number, expiry, holder, ccv, trans)
        for expiry in (None, "12/40")
        for holder in (None, "Ann")
        for ccv in (False, True)
        for trans in (None, "t")
    ]
    made = [cards.entered(way) for way in ways]
    assert [card for card, _ in made] == ways
    assert [shown for _, shown in made] == [
        Instrument(PaymentType.CARD, way, display_type=number.brand) for way in ways
    ]
    assert all(
        again is first
        for again, first in zip((cards.entered(way) for way in ways), made, strict=True)
    )
    assert cards.entered(made[0][0])[1] is made[0][1]


class _Entries:
    """Cards that are given to two sandboxes, of which one has to check each anew."""

    def __init__(self) -> None:
        api = Api()
        self.quick, self.plain = (
            api.app.world.sandboxes.open(key, NOW) for key in ("sk_quick", "sk_plain")
        )
        self.plain.cards = CardRegistry(self.quick.cards.salt)

    def given(self, *card: str | None, at: Micros = NOW) -> list[Any]:
        """What becomes of a card in both, and what was asked of the assumptions and refused."""
        found: list[Any] = []
        for sandbox in (self.quick, self.plain):
            sandbox.now, step, faults = at, unnoted(sandbox), Faults()
            self.plain.cards.accepted.clear()
            entered = intake.check_card(step, CardDetails(*card), faults)
            found.append((entered, list(faults), step.result.assumed, step.result.warnings))
        return found


def test_a_card_that_is_accepted_again_is_what_a_check_makes_of_it() -> None:
    entries = _Entries()
    numbers = (
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111111111111112",
        "378282246310005",
        OWN,
        "",
        None,
    )
    ways = product(
        numbers,
        ("12/40", "1/31", "13/40", None),
        ("123", "1234", "12", "\u0661\u0662\u0663", "", None),
        (None, "Ann"),
        (None, "", "t", "12345678-1234-1234-1234-123456789012"),
    )
    for card in list(ways) * 3:
        quick, plain = entries.given(*card)
        assert quick == plain, card
    assert entries.quick.cards.accepted
    assert OWN not in repr(entries.quick.cards.accepted)


@pytest.mark.parametrize(
    ("expiry", "end"), [("12/39", "2040-01-01"), ("2/32", "2032-03-01"), ("01/2033", "2033-02-01")]
)
def test_a_card_that_was_accepted_expires_all_the_same(expiry: str, end: str) -> None:
    entries, over = _Entries(), instant_of(datetime.fromisoformat(end).replace(tzinfo=UTC))
    for at in (NOW, NOW, over - 1, over, over, over - 1):
        quick, plain = entries.given("4111111111111111", expiry, "123", at=at)
        assert quick == plain
        assert (quick[0] is None) is (at >= over)
