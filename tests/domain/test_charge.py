"""What charges know of their money: what is left of it, on which days it moved, and how it stood
before."""

from decimal import Decimal

import pytest

from mockserver.domain.charge import Charge, Refund
from mockserver.domain.clock import DAY, HOUR, Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid
from mockserver.domain.money import ZERO
from mockserver.domain.record import replace
from mockserver.domain.states import ChargeEvent, ChargeState
from tests.charges import charge_in

NOON = 12 * HOUR


def charge(state: ChargeState = ChargeState.SUCCESS, **fields: object) -> Charge:
    return charge_in(
        state, **{"succeeded": 5 * DAY + NOON if state is ChargeState.SUCCESS else None, **fields}
    )


def reserved(given: Charge, *refunds: tuple[object, Micros]) -> Charge:
    """The charge while its provider is still to answer some refunds, each with its instant."""
    for amount, settles in refunds:
        wanted = replace(
            given.refund_of(Decimal(str(amount)), None, 6 * DAY + NOON), settles=settles
        )
        given = given.after_reserving(wanted)
    return given


def marks(given: Charge) -> list[str]:
    return [refund.mark for refund in given.reserved or ()]


def test_what_is_reserved_is_left_for_no_other_refund() -> None:
    waits = reserved(charge(), (5, 7 * DAY), (12, 8 * DAY))
    assert waits.refundable == 3
    for amount in (Decimal(4), Decimal("3.01")):
        with pytest.raises(Invalid) as refused:
            waits.refund_of(amount, None, 0)
        assert refused.value.code is Code.INVALID_AMOUNT_MAXIMUM_AVAILABLE_REFUND
    all_of_it = reserved(waits, (3, 9 * DAY))
    with pytest.raises(Invalid):
        all_of_it.refund_of(None, None, 0)


@pytest.mark.parametrize("settled", [True, False])
def test_each_refund_that_waits_is_answered_by_itself(settled: bool) -> None:
    waits = reserved(charge(), (5, 7 * DAY), (12, 8 * DAY))
    first, second = marks(waits)
    after = waits.after_answer(second, settled=settled)
    assert after is not None
    assert marks(after) == [first]
    assert (after.refunded, after.refundable) == ((12, 3) if settled else (0, 15))
    last = after.after_answer(first, settled=settled)
    assert last is not None
    assert last.reserved is None
    assert (last.refunded, last.refundable) == ((17, 3) if settled else (0, 20))
    assert last.after_answer(first, settled=settled) is None or settled


def test_the_days_on_which_money_moved() -> None:
    refunds = (
        Refund(Decimal(4), 6 * DAY + NOON, None),
        Refund(Decimal(3), 6 * DAY + NOON, None, settles=8 * DAY + HOUR),
        Refund(Decimal(1), 5 * DAY + 13 * HOUR, None),
    )
    given = charge(refunds=refunds)
    assert sorted(given.money_days()) == [5 * DAY, 6 * DAY, 8 * DAY]
    assert {day: given.net_on(day * DAY) for day in range(4, 10)} == {
        4: 0,
        5: 19,
        6: -4,
        7: 0,
        8: -3,
        9: 0,
    }
    plain = charge()
    assert (plain.money_days(), plain.net_on(5 * DAY), plain.net_on(6 * DAY)) == (
        (5 * DAY,),
        20,
        0,
    )


def test_a_payment_that_is_taken_back_moves_money_only_if_it_had_come() -> None:
    paid = charge().after_settlement(ChargeEvent.RETURNED, 9 * DAY + NOON)
    assert sorted(paid.money_days()) == [5 * DAY, 9 * DAY]
    assert paid.net_on(9 * DAY) == -20
    pending = charge(ChargeState.PENDING).after_settlement(ChargeEvent.RETURNED, 9 * DAY + NOON)
    assert (pending.returned, pending.money_days(), pending.net_on(9 * DAY)) == (None, (), ZERO)


def test_a_charge_as_it_was_before() -> None:
    given = charge(ChargeState.AUTHORISED, authorised=Decimal(20))
    captured = given.after_capture(Decimal(15), 5 * DAY)
    for refund in (Refund(Decimal(4), 6 * DAY, None), Refund(Decimal(2), 7 * DAY, None)):
        captured = captured.after_refund(refund)
    before = captured.as_before(ChargeState.PARTIAL_REFUND)
    assert (before.refunded, [one.amount for one in before.refunds]) == (4, [4])
    assert (before.amount, before.succeeded) == (15, 5 * DAY)
    authorised = given.after_capture(Decimal(15), 5 * DAY).as_before(ChargeState.AUTHORISED)
    assert (authorised.amount, authorised.succeeded, authorised.status) == (
        20,
        None,
        ChargeState.AUTHORISED,
    )
