"""What a comparison of the shop's books with the sandbox's finds, and on what it keeps silent."""

from decimal import Decimal
from typing import Any

import pytest

from mockserver.books.comparison import Belief, differs, finding_of
from mockserver.books.shop_rows import read_row
from mockserver.domain.charge import Charge, FailedAttempt, Refund
from mockserver.domain.figures import OrderKey, OrderMoney, figures_of
from mockserver.domain.states import ChargeState
from tests.charges import charge_in

PAID = charge_in(ChargeState.SUCCESS, "ch_1", succeeded=0)
PAID_AGAIN = charge_in(ChargeState.SUCCESS, "ch_2", succeeded=0)
HELD = charge_in(ChargeState.AUTHORISED, "ch_3", capture=False)
PENDING = charge_in(ChargeState.PENDING, "ch_4")
CAPTURED_SOON = charge_in(ChargeState.PENDING, "ch_10", capture=False)
WAITING = charge_in(ChargeState.PENDING_CHECKOUT, "ch_5")
DECLINED = charge_in(ChargeState.FAILED, "ch_6")
REFUSED = charge_in(
    ChargeState.FAILED,
    "ch_9",
    failed_attempts=(FailedAttempt("p", 0, 10, "Lost card", None, None, False),),
)
VOIDED = charge_in(ChargeState.AUTHORISE_CANCELLED, "ch_7", voided=0)
BOUNCED = charge_in(ChargeState.FAILED, "ch_8", succeeded=0, returned=0)
LARGE = charge_in(ChargeState.SUCCESS, "ch_11", amount=Decimal(40), succeeded=0)
SMALL = charge_in(ChargeState.SUCCESS, "ch_9", amount=Decimal("19.99"), succeeded=0)


def refunded(amount: str, *, settles: int | None = None, of: str = "20", times: int = 1) -> Charge:
    given = times * Decimal(amount)
    state = ChargeState.REFUND if given == Decimal(of) else ChargeState.PARTIAL_REFUND
    refund = Refund(Decimal(amount), 0, None, settles)
    return charge_in(
        state, amount=Decimal(of), succeeded=0, refunded=given, refunds=(refund,) * times
    )


def told(
    row: dict[str, Any] | list[dict[str, Any]] | None, *charges: Charge, is_settled: bool = False
) -> Any:
    rows = [] if row is None else row if isinstance(row, list) else [row]
    belief = Belief("order-5", [read_row({"reference": "order-5", **one}) for one in rows])
    order = OrderMoney(
        OrderKey("reference", "order-5"),
        "AUD",
        charges,
        tuple(figures_of(charge, 1) for charge in charges),
    )
    if not differs(belief, order, is_settled=is_settled):
        return None
    return finding_of(belief, order)


def found(
    row: dict[str, Any] | list[dict[str, Any]] | None, *charges: Charge, is_settled: bool = False
) -> str | None:
    difference = told(row, *charges, is_settled=is_settled)
    return None if difference is None else difference[0]


@pytest.mark.parametrize(
    ("row", "charges"),
    [
        pytest.param({"paid": 20, "refunded": 0, "state": "paid"}, [PAID], id="paid"),
        pytest.param(
            {"paid": "20.00", "state": "Shipped"},
            [PAID, DECLINED, VOIDED],
            id="paid-after-declines",
        ),
        pytest.param({"paid": 20}, [PAID, WAITING], id="an-abandoned-challenge-is-no-money"),
        pytest.param({"paid": 40}, [PAID, PAID_AGAIN], id="split-payments"),
        pytest.param([{"paid": 20}, {"paid": 20}], [PAID, PAID_AGAIN], id="two-rows-of-one-order"),
        pytest.param({"state": "paid"}, [PAID], id="paid-without-an-amount"),
        pytest.param({"paid": 20}, [refunded("5")], id="gross"),
        pytest.param({"paid": 20}, [refunded("20")], id="gross-without-a-claim"),
        pytest.param({"paid": 0, "state": "shipped"}, [], id="shipped-for-a-voucher"),
        pytest.param(
            {"paid": 20, "state": "paid"}, [refunded("5")], id="paid-and-partly-given-back"
        ),
        pytest.param(
            {"paid": 20, "state": "paid"},
            [refunded("20", settles=9)],
            id="paid-until-the-refund-settles",
        ),
        pytest.param(
            {"paid": 20, "state": "paid"},
            [refunded("20"), PAID_AGAIN],
            id="given-back-and-paid-again",
        ),
        pytest.param({"paid": 15}, [refunded("5")], id="net"),
        pytest.param({"paid": 20, "refunded": 5}, [refunded("5")], id="gross-and-refunded"),
        pytest.param(
            {"paid": 20, "refunded": 20, "state": "refunded"}, [refunded("20")], id="refunded"
        ),
        pytest.param(
            {"paid": 20, "refunded": 0}, [refunded("20"), PAID_AGAIN], id="refunded-and-paid-again"
        ),
        pytest.param(
            {"paid": 40, "refunded": 5},
            [refunded("5"), PAID_AGAIN],
            id="one-of-two-partly-refunded",
        ),
        pytest.param(
            {"paid": 40, "refunded": 20}, [refunded("20"), PAID_AGAIN], id="one-of-two-given-back"
        ),
        pytest.param(
            {"paid": 20, "refunded": 5}, [refunded("5", settles=9)], id="a-pending-refund-is-booked"
        ),
        pytest.param(
            {"paid": 20, "refunded": 0},
            [refunded("5", settles=9)],
            id="a-pending-refund-is-not-booked",
        ),
        pytest.param({"state": "cancelled"}, [refunded("20")], id="cancelled-and-given-back"),
        pytest.param(
            {"state": "cancelled", "paid": 20}, [VOIDED], id="cancelled-with-the-total-of-its-order"
        ),
        pytest.param({"state": "unpaid"}, [DECLINED], id="declined"),
        pytest.param({"state": "unpaid"}, [PENDING], id="an-order-that-waits-is-unpaid"),
        pytest.param({"paid": 0}, [PENDING], id="nothing-paid-yet"),
        pytest.param({"state": "failed"}, [], id="never-asked"),
        pytest.param({"state": "held", "paid": 20}, [HELD], id="held"),
        pytest.param({"state": "Authorised", "held": 20}, [HELD], id="held-with-its-amount"),
        pytest.param(
            {"state": "held", "held": 20}, [CAPTURED_SOON], id="held-until-its-capture-is-answered"
        ),
        pytest.param({"state": "pending", "paid": 20}, [PENDING], id="pending"),
        pytest.param({"state": "pending"}, [PAID], id="paid-meanwhile"),
        pytest.param(
            {"state": "unknown", "paid": 20}, [DECLINED], id="it-knows-that-it-does-not-know"
        ),
        pytest.param({"state": "processing"}, [PAID], id="a-state-of-its-own-claims-nothing"),
        pytest.param(None, [DECLINED], id="an-unknown-order-without-money"),
        pytest.param(None, [HELD], id="an-unknown-order-that-is-held"),
        pytest.param(
            {"paid": 0.1 + 0.2},
            [charge_in(ChargeState.SUCCESS, amount=Decimal("0.3"))],
            id="binary-dust",
        ),
    ],
)
def test_right_books_raise_nothing(row: Any, charges: list[Charge]) -> None:
    assert found(row, *charges) is None


@pytest.mark.parametrize(
    ("row", "charges", "finding"),
    [
        pytest.param({"state": "paid"}, [PENDING], "pending-counted-as-paid", id="pending-shipped"),
        pytest.param(
            {"paid": 20}, [WAITING], "pending-counted-as-paid", id="a-challenge-that-waits"
        ),
        pytest.param(
            {"paid": 40}, [PAID, PENDING], "pending-counted-as-paid", id="half-of-it-pending"
        ),
        pytest.param({"paid": 20}, [DECLINED], "paid-without-money", id="declined"),
        pytest.param({"paid": 20, "state": "paid"}, [BOUNCED], "paid-without-money", id="bounced"),
        pytest.param({"state": "shipped"}, [VOIDED], "paid-without-money", id="voided"),
        pytest.param({"state": "shipped"}, [HELD], "paid-without-money", id="never-captured"),
        pytest.param({"paid": 20}, [], "paid-without-money", id="never-asked"),
        pytest.param(
            {"state": "refunded"}, [DECLINED], "paid-without-money", id="a-refund-of-nothing"
        ),
        pytest.param({"paid": 20}, [PAID, PAID_AGAIN], "taken-twice", id="two-clicks"),
        pytest.param(
            {"paid": 20, "refunded": 5},
            [refunded("5"), PAID_AGAIN],
            "taken-twice",
            id="one-partly-refunded",
        ),
        pytest.param(
            {"paid": 20, "refunded": 5},
            [refunded("5")] * 2,
            "taken-twice",
            id="both-partly-refunded",
        ),
        pytest.param(
            {"paid": 15}, [refunded("5")] * 2, "taken-twice", id="both-partly-refunded-net"
        ),
        pytest.param(
            {"paid": 20, "refunded": 20},
            [refunded("20"), PAID_AGAIN],
            "taken-twice",
            id="one-given-back",
        ),
        pytest.param({"paid": 40}, [PAID], "booked-twice", id="credited-twice"),
        pytest.param({"paid": 2000}, [PAID], "booked-twice", id="minor-units"),
        pytest.param({"state": "cancelled"}, [PAID], "charged-but-unpaid", id="cancelled"),
        pytest.param({"paid": 0, "state": "unpaid"}, [PAID], "charged-but-unpaid", id="unpaid"),
        pytest.param({"paid": 0}, [PAID], "charged-but-unpaid", id="nothing-paid"),
        pytest.param(None, [PAID], "charged-but-unpaid", id="an-unknown-order"),
        pytest.param(
            {"paid": 20, "refunded": 0},
            [refunded("5")],
            "refund-not-booked",
            id="refund-not-booked",
        ),
        pytest.param(
            {"paid": 20, "refunded": 0}, [refunded("10")], "refund-not-booked", id="half-not-booked"
        ),
        pytest.param(
            {"state": "paid"}, [refunded("20")], "refund-not-booked", id="paid-but-given-back"
        ),
        pytest.param(
            {"paid": 20, "state": "Shipped"},
            [refunded("20")],
            "refund-not-booked",
            id="shipped-but-given-back",
        ),
        pytest.param({"paid": 20, "refunded": 5}, [PAID], "refund-not-made", id="refund-not-made"),
        pytest.param(
            {"paid": 40, "refunded": 20},
            [PAID, PAID_AGAIN],
            "refund-not-made",
            id="one-of-two-not-made",
        ),
        pytest.param(
            {"state": "refunded"}, [PAID], "refund-not-made", id="refunded-in-the-books-only"
        ),
        pytest.param({"paid": 20}, [SMALL], "amount-differs", id="a-cent"),
        pytest.param(
            {"paid": 20}, [PAID, LARGE], "amount-differs", id="a-payment-beside-that-was-not-booked"
        ),
        pytest.param(
            {"paid": 20, "refunded": "4.99"},
            [refunded("5")],
            "amount-differs",
            id="a-cent-of-a-refund",
        ),
        pytest.param({"state": "held"}, [VOIDED], "amount-differs", id="a-hold-that-lapsed"),
        pytest.param({"state": "held"}, [PENDING], "amount-differs", id="held-but-pending"),
        pytest.param(
            {"state": "held"}, [PAID, CAPTURED_SOON], "amount-differs", id="held-but-paid"
        ),
        pytest.param(
            {"state": "shipped"},
            [CAPTURED_SOON],
            "pending-counted-as-paid",
            id="shipped-before-its-capture",
        ),
        pytest.param(
            {"state": "cancelled"}, [PENDING], "amount-differs", id="cancelled-but-pending"
        ),
        pytest.param({"state": "cancelled"}, [HELD], "hold-left-open", id="cancelled-but-held"),
        pytest.param({"state": "unpaid"}, [HELD], "hold-left-open", id="unpaid-but-held"),
    ],
)
def test_wrong_books_get_the_first_finding_that_fits(
    row: Any, charges: list[Charge], finding: str
) -> None:
    assert found(row, *charges) == finding


def test_pending_is_contradicted_by_money_once_everything_has_settled() -> None:
    assert found({"state": "pending"}, PAID, is_settled=True) == "charged-but-unpaid"
    assert found({"state": "pending"}, DECLINED, is_settled=True) is None


@pytest.mark.parametrize(
    ("row", "charges", "words"),
    [
        ({"paid": 20}, [PAID, PAID_AGAIN], "customer paid 40.00 AUD for order-5 of 20.00 AUD"),
        (
            {"paid": 20},
            [PAID, LARGE],
            "order-5: the shop books paid 20.00 AUD, the sandbox has captured 60.00 AUD in 2",
        ),
        (
            {"paid": 20},
            [SMALL, DECLINED],
            "order-5: the shop books paid 20.00 AUD, the sandbox has captured 19.99 AUD\n",
        ),
        ({"paid": 15}, [refunded("5")] * 2, "customer paid 30.00 AUD for order-5 of 15.00 AUD"),
        (
            {"paid": 20, "refunded": 5},
            [refunded("5"), PAID_AGAIN],
            "customer paid 40.00 AUD for order-5 of 20.00 AUD, and got 5.00 AUD back",
        ),
        (
            {"paid": 20, "refunded": 5},
            [refunded("5", times=2)],
            "10.00 AUD of order-5 were given back, and the shop books 5.0",
        ),
        (
            {"paid": 20},
            [BOUNCED],
            "the shop counts as paid 20.00 AUD of order-5, which bounced: 20.00 AUD",
        ),
        (
            {"state": "shipped"},
            [DECLINED],
            "the shop ships order-5, whose payment of 20.00 AUD failed",
        ),
        (
            {"state": "shipped"},
            [DECLINED, VOIDED],
            "the shop ships order-5, whose payment of 20.00 AUD was voided",
        ),
        (
            {"state": "shipped"},
            [REFUSED],
            "the shop ships order-5, whose payment of 20.00 AUD was declined: Lost card",
        ),
        ({"state": "paid"}, [], "the shop counts as paid order-5, for which no payment was ever"),
        (
            {"paid": 20, "state": "paid"},
            [PENDING],
            "the shop counts order-5 as paid, but 20.00 AUD of it is still",
        ),
        (
            {"paid": 20, "refunded": 0},
            [refunded("5")],
            "5.00 AUD of order-5 were given back, and the shop books no",
        ),
        (
            {"paid": 40},
            [PAID, BOUNCED],
            "the shop books 40.00 AUD for order-5, whose customer paid 20.00 AUD; 20.00 AUD b",
        ),
        (
            {"paid": 0},
            [PAID],
            "customer paid 20.00 AUD for order-5, which the shop books as paid 0.00 AUD",
        ),
        (
            {"state": "cancelled"},
            [PAID],
            "customer paid 20.00 AUD for order-5, which the shop calls cancelled",
        ),
        (
            {"state": "cancelled"},
            [PENDING],
            "20.00 AUD of order-5 may still come, which the shop calls cancelled",
        ),
        (
            {"paid": 2000},
            [PAID],
            "minor units? the shop books 2000.00 AUD for order-5, whose customer paid 20.00 AUD",
        ),
        (
            {"paid": 20},
            [SMALL],
            "order-5: the shop books paid 20.00 AUD, the sandbox has captured 19.99 AUD",
        ),
        (
            {"paid": 20},
            [PAID, SMALL],
            "order-5: the shop books paid 20.00 AUD, the sandbox has captured 39.99 AUD in 2 c",
        ),
    ],
)
def test_a_difference_is_told_in_money(
    row: dict[str, Any], charges: list[Charge], words: str
) -> None:
    assert f"{told(row, *charges)[1]}\n".startswith(words)


def test_the_minor_units_of_a_currency_are_asked_about() -> None:
    charge = charge_in(ChargeState.SUCCESS, amount=Decimal("1.234"), succeeded=0)
    belief = Belief("order-5", [read_row({"reference": "order-5", "paid": 1234})])
    order = OrderMoney(OrderKey("reference", "order-5"), "BHD", (charge,), (figures_of(charge, 1),))
    assert differs(belief, order)
    made = finding_of(belief, order)
    assert made[1].startswith("minor units? the shop books 1234.000 BHD")
    assert made[1].endswith("whose customer paid 1.234 BHD")
