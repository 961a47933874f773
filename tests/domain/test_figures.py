"""The money of a charge as figures, now and as it was."""

from decimal import Decimal

import pytest

from mockserver.domain.charge import Charge, PartCaptured, Refund
from mockserver.domain.figures import Figures, figures_of, peak, transferred
from mockserver.domain.states import ChargeState, Event, Subject, TransferState
from mockserver.domain.transfer import Transfer
from tests.charges import charge_in

REFUND, LATE = Refund(Decimal(5), 3, None), Refund(Decimal(4), 3, None, settles=8)
PARTS = (PartCaptured(Decimal(5), 1), PartCaptured(Decimal(7), 3))
CHARGES = {
    "held": charge_in(ChargeState.AUTHORISED, capture=False, authorised=Decimal(20)),
    "pending": charge_in(ChargeState.PENDING),
    "waiting": charge_in(ChargeState.PENDING_CHECKOUT),
    "declined": charge_in(ChargeState.FAILED),
    "voided": charge_in(
        ChargeState.AUTHORISE_CANCELLED, capture=False, voided=2, authorised=Decimal(20)
    ),
    "paid": charge_in(ChargeState.SUCCESS, succeeded=1),
    "captured-in-part": charge_in(
        ChargeState.SUCCESS, capture=False, amount=Decimal(12), authorised=Decimal(20), succeeded=2
    ),
    "captured-in-parts": charge_in(
        ChargeState.SUCCESS,
        capture=False,
        amount=Decimal(12),
        authorised=Decimal(20),
        captures=PARTS,
        kept=Decimal(8),
    ),
    "rest-released": charge_in(
        ChargeState.SUCCESS,
        capture=False,
        amount=Decimal(12),
        authorised=Decimal(20),
        captures=PARTS,
        voided=4,
    ),
    "refunded": charge_in(
        ChargeState.PARTIAL_REFUND, succeeded=1, refunded=Decimal(5), refunds=(REFUND,)
    ),
    "refunding": charge_in(
        ChargeState.PARTIAL_REFUND,
        succeeded=1,
        refunded=Decimal(9),
        refunds=(REFUND, LATE),
        reserved=(LATE,),
    ),
    "returned": charge_in(ChargeState.FAILED, succeeded=1, returned=4),
}


@pytest.mark.parametrize(
    ("name", "figures", "most"),
    [
        ("held", Figures(held=Decimal(20)), 20),
        ("pending", Figures(pending=Decimal(20)), 20),
        ("waiting", Figures(waiting=Decimal(20)), 0),
        ("declined", Figures(), 0),
        ("voided", Figures(), 20),
        ("paid", Figures(captured=Decimal(20)), 20),
        ("captured-in-part", Figures(captured=Decimal(12)), 20),
        ("captured-in-parts", Figures(held=Decimal(8), captured=Decimal(12)), 20),
        ("rest-released", Figures(captured=Decimal(12)), 20),
        ("refunded", Figures(captured=Decimal(20), refunded=Decimal(5)), 20),
        ("returned", Figures(returned=Decimal(20)), 20),
    ],
)
def test_the_money_of_a_charge(name: str, figures: Figures, most: int) -> None:
    assert figures_of(CHARGES[name], 5) == figures
    assert peak([CHARGES[name]], 5) == most


def test_the_most_that_was_missed_at_once() -> None:
    later = charge_in(ChargeState.SUCCESS, added=4, succeeded=4)
    assert peak([CHARGES["voided"], later], 5) == 20
    assert peak([CHARGES["refunded"], later], 5) == 35
    assert peak([], 5) == 0


def test_a_refund_counts_once_its_provider_has_answered() -> None:
    charge = CHARGES["refunding"]
    assert figures_of(charge, 5) == Figures(
        captured=Decimal(20), refunded=Decimal(5), refunding=Decimal(8)
    )
    assert figures_of(charge, 8) == Figures(
        captured=Decimal(20), refunded=Decimal(9), refunding=Decimal(4)
    )


def test_exposure_is_what_the_customer_misses() -> None:
    figures = sum(
        (figures_of(CHARGES[name], 5) for name in ("held", "pending", "refunded", "waiting")),
        Figures(),
    )
    assert (figures.net, figures.exposure) == (15, 55)


def test_a_transfer_that_has_arrived_counts() -> None:
    known = {
        "transfer_id": "tr_1",
        "group_reference": None,
        "provider_id": "p",
        "charge_id": "ch_1",
        "account": "acc",
    }
    known |= {
        "amount": Decimal(3),
        "total": Decimal(3),
        "currency": "AUD",
        "reference": None,
        "message": None,
    }
    arrived, waiting = (
        Transfer(**known, status=state, added=4)  # type: ignore[arg-type]
        for state in (TransferState.SUCCESS, TransferState.PENDING)
    )
    assert ([*transferred(arrived)], [*transferred(waiting)]) == ([("transferred", Decimal(3))], [])


def moved(before: ChargeState | None, after: ChargeState) -> Event:
    return Event(Subject.CHARGE, "ch_1", "moved", before, after, at=0)


@pytest.mark.parametrize(
    ("before", "after", "at", "figures"),
    [
        (None, ChargeState.PENDING, 0, Figures(pending=Decimal(20))),
        (ChargeState.PENDING, ChargeState.AUTHORISED, 0, Figures(held=Decimal(20))),
        (None, ChargeState.AUTHORISED, 0, Figures(held=Decimal(20))),
        (ChargeState.AUTHORISED, ChargeState.PENDING, 2, Figures(pending=Decimal(12))),
        (ChargeState.AUTHORISED, ChargeState.SUCCESS, 2, Figures(captured=Decimal(12))),
        (
            ChargeState.SUCCESS,
            ChargeState.PARTIAL_REFUND,
            3,
            Figures(captured=Decimal(12), refunded=Decimal(5)),
        ),
    ],
)
def test_a_charge_as_it_was(
    before: ChargeState | None, after: ChargeState, at: int, figures: Figures
) -> None:
    charge: Charge = charge_in(
        ChargeState.PARTIAL_REFUND,
        capture=False,
        amount=Decimal(12),
        authorised=Decimal(20),
        succeeded=2,
        refunded=Decimal(5),
        refunds=(REFUND,),
    )
    assert figures_of(charge, at, moved(before, after)) == figures


def test_captures_in_parts_are_as_they_were() -> None:
    charge = CHARGES["rest-released"]
    assert figures_of(charge, 2, moved(ChargeState.AUTHORISED, ChargeState.SUCCESS)) == Figures(
        held=Decimal(15), captured=Decimal(5)
    )
    assert figures_of(charge, 3, moved(ChargeState.SUCCESS, ChargeState.SUCCESS)) == Figures(
        held=Decimal(8), captured=Decimal(12)
    )
