"""Money that is found again is what the amount itself says."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mockserver.domain.errors import Faults, Invalid
from mockserver.domain.money import CURRENCIES, Currency, exact
from mockserver.engine import amount_check
from mockserver.engine.step import unnoted
from tests.driving import Api

AMOUNTS = (
    "12.5",
    "12.50",
    "12.500",
    "1.25E+1",
    "200",
    "2E+2",
    "0.01",
    "0.010",
    "1",
    "1.0",
    "12.345",
    "1" * 16,
    "5.000",
)


def plain(amount: Decimal, known: Currency) -> object:
    try:
        return str(exact(amount, known))
    except Invalid as refused:
        return refused.details


@pytest.mark.parametrize("order", [1, -1])
def test_equal_amounts_are_the_same_money_whatever_digits_they_came_with(order: int) -> None:
    api = Api()
    assert api.try_charge(10).status == 201
    (sandbox,) = api.app.world.sandboxes
    for code in ("AUD", "JPY", "BHD"):
        for text in (*AMOUNTS[::order], *AMOUNTS):
            faults, known, amount = Faults(), CURRENCIES[code], Decimal(text)
            found = amount_check.check(unnoted(sandbox), amount, known, faults)
            wanted = plain(amount, known)
            if found is None:
                assert {field: words for _, field, words in faults} == wanted or amount < known.unit, (text, code)
            else:
                assert (str(found.amount), found.currency, list(faults)) == (wanted, known, []), (text, code)
