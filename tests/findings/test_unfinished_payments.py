"""What a client leaves open, from the facts themselves."""

from decimal import Decimal

import pytest

from mockserver.domain.states import ChargeState, Event, Subject
from tests.charges import charge_in
from tests.findings.story import Story

IGNORED = "partial-approval-ignored"


def pay(
    story: Story,
    asked: object,
    approved: object = None,
    reference: str | None = "order-5",
    currency: str = "AUD",
    state: ChargeState = ChargeState.SUCCESS,
    **facts: object,
) -> None:
    """A charge, of which the provider may have ``approved`` a part only."""
    charge_id = f"ch_{story.entry + 1}"
    amount = Decimal(str(asked if approved is None else approved))
    charge = charge_in(state, charge_id, amount=amount, reference=reference, currency=currency)
    story.charges[charge_id] = charge
    events = [Event(Subject.CHARGE, charge_id, "paid", None, state, 0)]
    fields = {
        "request": {"amount": asked},
        "is_partial": approved is not None,
        "events": events,
        **facts,
    }
    story.call("charge.create", charge_id, charge=charge, **fields)


@pytest.mark.parametrize(
    ("later", "is_complete"),
    [
        ([], False),
        ([(15, None, "order-6")], True),
        ([(10,)], False),
        ([(10,), (5,)], True),
        ([(14.50,)], False),
        ([(15, 10), (5,)], True),
        ([(10, None, "order-6"), (5, None, "order-6")], False),
        ([(20,)], False),
        ([(15, None, "order-5", "USD")], False),
        # Declined, and the client does not know.
        ([(15, None, "order-5", "AUD", ChargeState.FAILED)], False),
    ],
)
def test_a_partial_approval_is_completed_by_what_it_lacks(
    later: list[tuple[object, ...]], is_complete: bool
) -> None:
    story = Story()
    pay(story, 20, 5)
    for one in later:
        pay(story, *one)  # type: ignore[arg-type]
    story.finish()
    assert story.raised() == ({} if is_complete else {IGNORED: 1})


def test_parts_belong_together_by_a_reference(story: Story) -> None:
    for asked, approved in ((20, 5), (10, None), (5, None)):
        pay(story, asked, approved, None)
    story.finish()
    assert IGNORED in story.found()


def test_two_partial_approvals(story: Story) -> None:
    pay(story, 20, 5)
    pay(story, 20, 5, "order-6")
    story.finish()
    assert story.raised() == {IGNORED: 2}


@pytest.mark.parametrize(
    ("asked", "approved", "facts"),
    [
        (5, 5, {}),
        # Less than was asked for, and no decision of the provider.
        (20, 5, {"is_partial": False}),
        # Another answer has told the client that nothing was paid.
        (20, 5, {"code": 37, "is_ours": False}),
    ],
)
def test_what_is_no_partial_approval(asked: int, approved: int, facts: dict[str, object]) -> None:
    story = Story()
    pay(story, asked, approved, **facts)
    story.finish()
    assert story.found() == []


@pytest.mark.parametrize("what", ["voided", "partly_refunded", "fully_refunded"])
def test_a_partial_approval_that_was_undone(what: str) -> None:
    story = Story()
    pay(story, 20, 5)
    undone = Event(Subject.CHARGE, "ch_1", what, None, "AUTHORISE_CANCELLED", 0)
    story.call("charge.refund", charge=story.charges["ch_1"], events=[undone])
    story.finish()
    assert story.found() == []


@pytest.mark.parametrize(
    ("op", "found"),
    [(op, ["wrong-state"]) for op in ("charge.capture", "charge.void", "charge.refund")],
)
def test_moves_that_do_not_fit_the_state(op: str, found: list[str]) -> None:
    story = Story()
    story.call(op, code=54, charge=story.charges["ch_1"])
    story.call(op, code=55, charge=story.charges["ch_1"])
    story.call("transfer.create", None, code=54, charge=story.charges["ch_1"])
    assert story.raised() == {"wrong-state": 1}


def test_a_capture_does_not_complete_a_partial_approval(story: Story) -> None:
    pay(story, 20, 5, state=ChargeState.AUTHORISED)
    captured = Event(Subject.CHARGE, "ch_1", "captured", "AUTHORISE", "SUCCESS", 0)
    story.call(
        "charge.capture", request={"amount": 15}, charge=story.charges["ch_1"], events=[captured]
    )
    story.finish()
    assert story.found() == [IGNORED]


def test_a_challenge_that_passed_unseen_leaves_an_authorisation(story: Story) -> None:
    pay(story, 20, state=ChargeState.PENDING_CHECKOUT)
    story.move("ch_1", "authorised", ChargeState.AUTHORISED)
    story.finish()
    assert story.lines() == ["charge.create 20 AUD ch_1: answered, the charge is PENDING_CHECKOUT"]
    assert story.found() == ["authorisation-forgotten"]


def test_an_authorisation_of_which_only_the_payer_is_known(story: Story) -> None:
    story.move("ch_1", "authorised", ChargeState.AUTHORISED)
    story.finish()
    assert story.lines() == ["ch_1: authorised by the payer"]


def test_a_challenge_that_nobody_took_in_time_waits_no_longer(story: Story) -> None:
    pay(story, 20, state=ChargeState.PENDING_CHECKOUT)
    story.move("ch_1", "abandoned", ChargeState.FAILED)
    story.finish()
    assert story.found() == []
