"""A second payment of an order whose first one may still come."""

from decimal import Decimal

import pytest

from mockserver.domain.charge import Charge, Refund
from mockserver.domain.clock import DAY
from mockserver.domain.facts import UncertainResult
from mockserver.domain.states import ChargeState
from tests.charges import charge_in
from tests.findings.story import Story

BESIDE = "paid-beside-pending"
PENDING, WAITING = ChargeState.PENDING, ChargeState.PENDING_CHECKOUT
PAID, FAILED = ChargeState.SUCCESS, ChargeState.FAILED


def raised(story: Story) -> list[str]:
    """The severities of what was raised when the story ends."""
    story.finish()
    rows = [finding for finding in story.watch.ledger if finding.name == BESIDE]
    return [finding.severity.word for finding in rows]


def pay(story: Story, charge: Charge, **facts: object) -> None:
    """A charge that a card of its own pays."""
    story.charges[charge.charge_id] = charge
    story.pay(charge.charge_id, None, request={"token": charge.charge_id}, charge=charge, **facts)


@pytest.mark.parametrize("first", [PENDING, WAITING])
@pytest.mark.parametrize(
    ("became", "second", "severities"),
    [
        (None, PAID, ["warning"]),
        (PAID, PAID, ["error"]),
        (PAID, PENDING, ["warning"]),
        (FAILED, PAID, []),
        (PAID, FAILED, []),
    ],
)
def test_it_is_judged_by_what_became_of_both(
    story: Story,
    first: ChargeState,
    became: ChargeState | None,
    second: ChargeState,
    severities: list[str],
) -> None:
    pay(story, charge_in(first, "ch_2"))
    pay(story, charge_in(PAID, "ch_3"))
    story.charges["ch_2"] = charge_in(became or first, "ch_2")
    story.charges["ch_3"] = charge_in(second, "ch_3")
    assert raised(story) == severities


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (PENDING, PAID, "20.00 AUD of order-5 were taken while a first 20.00 AUD may still come"),
        (PAID, PENDING, "the first 20.00 AUD of order-5 came, and a second 20.00 AUD may still"),
        (PAID, WAITING, "may still come: that waits for its payer (3-D Secure)"),
        (PAID, PAID, "order-5 was paid twice"),
    ],
)
def test_it_says_which_of_the_two_may_still_come(
    story: Story, first: ChargeState, second: ChargeState, words: str
) -> None:
    pay(story, charge_in(PENDING, "ch_2"))
    pay(story, charge_in(PAID, "ch_3"))
    story.charges["ch_2"] = charge_in(first, "ch_2")
    story.charges["ch_3"] = charge_in(second, "ch_3")
    story.finish()
    [finding] = [finding for finding in story.watch.ledger if finding.name == BESIDE]
    assert any(words in line.line for line in finding.evidence)


def test_one_that_was_given_back_costs_nobody(story: Story) -> None:
    pay(story, charge_in(PENDING, "ch_2"))
    pay(story, charge_in(PAID, "ch_3"))
    story.charges["ch_2"] = charge_in(PAID, "ch_2")
    back = Refund(Decimal(20), 0, None)
    story.charges["ch_3"] = charge_in(ChargeState.REFUND, "ch_3", refunds=(back,))
    assert raised(story) == []


@pytest.mark.parametrize(
    "other",
    [
        {"reference": "order-6"},
        {"reference": None},
        {"amount": 5},
        {"email": "b@example.com"},
        {"metadata": {"guest": "2"}},
    ],
)
def test_another_order_or_payer_is_none(story: Story, other: dict[str, object]) -> None:
    pay(story, charge_in(PENDING, "ch_2"))
    pay(story, charge_in(PAID, "ch_3", **other))
    assert raised(story) == []


def test_who_was_not_told_that_the_first_is_pending_is_in_doubt_instead(story: Story) -> None:
    pay(story, charge_in(PENDING, "ch_2"), doubt=UncertainResult.RESET)
    pay(story, charge_in(PAID, "ch_3"))
    assert raised(story) == []


def test_a_payment_of_the_next_day_is_another(story: Story) -> None:
    pay(story, charge_in(PENDING, "ch_2"))
    pay(story, charge_in(PAID, "ch_3"), at=2 * DAY)
    assert raised(story) == []


def test_a_payment_that_follows_a_failed_one_is_right(story: Story) -> None:
    pay(story, charge_in(PENDING, "ch_2"))
    story.charges["ch_2"] = charge_in(FAILED, "ch_2")
    pay(story, charge_in(PAID, "ch_3"))
    story.charges["ch_2"] = charge_in(PAID, "ch_2")
    assert raised(story) == []
