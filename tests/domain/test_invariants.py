"""Invariants: sentences about the money that must hold."""

from collections.abc import Sequence
from decimal import Decimal

import pytest

from mockserver.domain.figures import Figures, OrderKey, OrderMoney
from mockserver.domain.invariants import Invariant
from mockserver.domain.states import ChargeState
from tests.charges import charge_in

CHARGE = charge_in(ChargeState.SUCCESS)


def order(name: str, currency: str, *each: Figures) -> OrderMoney:
    return OrderMoney(OrderKey("reference", name), currency, (CHARGE,) * len(each), each)


ORDERS = [
    order(
        "order-1",
        "AUD",
        Figures(captured=Decimal(20)),
        Figures(captured=Decimal(20), refunded=Decimal(20)),
    ),
    order("order-2", "AUD", Figures(held=Decimal("12.5"))),
    order("order-1", "JPY", Figures(captured=Decimal(500))),
]


def broken(text: str, orders: Sequence[OrderMoney] = ORDERS) -> str | None:
    return next(filter(None, Invariant(text).judged(orders)), None)


@pytest.mark.parametrize(
    "text",
    [
        'net("order-2") == 0',
        'transferred("order-1") == 0 and transferred(*) <= 20',
        'captured("order-1") >= 40 and charges("order-1") < 3',
        "held(*) <= 12.5",
        "total(AUD) == 20",
        "total(AUD) <= 20 or total(JPY) == 1",
        "total(NZD) == 0 and 0 <= net(*)",
        "net('order-2') == 0",
        'net("nobody") == 0',
        "net(*) > -1",
    ],
)
def test_it_holds(text: str) -> None:
    assert broken(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('net("order-1") <= 10', 'net("order-1") <= 10 does not hold: net of order-1 is 20.00 AUD'),
        ('net("order-1") <= 20', "net of order-1 is 500 JPY"),
        ("held(*) == 0", "held(*) == 0 does not hold: held of order-2 is 12.50 AUD"),
        ("charges(*) == 1", "charges of order-1 is 2"),
        ("total(AUD) > 20 and total(AUD) < 30", "the total is 20.00 AUD"),
    ],
)
def test_it_says_where_it_does_not_hold(text: str, words: str) -> None:
    assert words in str(broken(text))


def test_it_holds_of_a_sandbox_without_orders() -> None:
    assert broken("net(*) <= 20", []) is None
    assert broken('captured("order-1") > 0', []) is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "wanted comparisons with and, or"),
        ("net(", "wanted comparisons with and, or"),
        ("net(*) < 5 and", "got '', wanted comparisons"),
        ("net(*)", "wanted comparisons with and, or"),
        ("net(order) < 5", "wanted an order in quotes, or *"),
        ("1 + 1 == 2", "wanted comparisons"),
        (
            "nett(*) < 1",
            "got nett(), allowed: net, captured, refunded, held, pending, transferred, charges, "
            "tot",
        ),
        ("total(AUDD) < 1", "did you mean 'AUD'?"),
        ("__import__('os').system('x') == 0", "wanted comparisons"),
        ("net(*) in 5", "wanted comparisons"),
        ("net(*) < True", "wanted comparisons"),
        ("(" * 500 + ")" * 500, "wanted comparisons"),
        ("1<" * 800 + "1", "at most 1000 are allowed"),
    ],
)
def test_what_is_not_an_invariant_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        Invariant(text)
    assert words in str(refused.value)
