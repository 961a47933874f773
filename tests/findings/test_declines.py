"""Clients that charge declined cards again, from the facts themselves."""

from collections.abc import Callable

import pytest

from mockserver.domain.charge import Charge
from mockserver.domain.clock import DAY, SECOND
from mockserver.domain.codes import Code
from mockserver.domain.facts import Call, UncertainResult
from mockserver.domain.record import replace
from mockserver.domain.sources import BankAccount, Instrument, PaymentType
from mockserver.domain.states import ChargeState, Event, Subject
from mockserver.findings.policy import Policy
from tests.charges import charge_in
from tests.findings.story import STORED, Story, declined

STOLEN, SOFT, WRONG_CCV = Code(943), Code.INSUFFICIENT_FUNDS, Code.INVALID_CCV
PAID = charge_in(ChargeState.SUCCESS, instrument=STORED)
HARD = declined(STOLEN)


def pay(story: Story, charge: object = HARD, ccv: str | None = None, **facts: object) -> Call:
    request = {"paymentInformation": {"ccv": ccv}}
    return story.call("charge.create", f"ch_{story.entry}", charge=charge, request=request, **facts)


def retried(story: Story) -> int:
    return story.raised().get("hard-decline-retried", 0)


@pytest.mark.parametrize(
    ("instrument", "about"),
    [
        (STORED, {"paymentMethod": "pm_1"}),
        (Instrument(PaymentType.CARD, token_id="tok"), {"source": "CARD"}),
        (Instrument(PaymentType.CARD, token_id="tok", display_type="Visa"), {"source": "Visa"}),
        (
            Instrument(PaymentType.BANK_ACCOUNT, bank=BankAccount("1", "2", "Ann")),
            {"source": "BANK_ACCOUNT"},
        ),
        # What was charged is not known: two calls may be of two payers.
        (Instrument(PaymentType.CARD), None),
    ],
)
def test_what_was_declined(instrument: Instrument, about: dict[str, str] | None) -> None:
    story = Story()
    pay(story, declined(STOLEN, instrument=instrument))
    pay(story, declined(STOLEN, instrument=instrument))
    assert [finding.about for finding in story.watch.ledger] == ([about] if about else [])
    assert all(
        "declined" not in line or line.endswith("declined, not retryable") for line in story.lines()
    )


@pytest.mark.parametrize(
    ("first", "facts", "is_final"),
    [
        (declined(Code.AMOUNT_TOO_LARGE, STOLEN), {}, True),
        (declined(STOLEN, SOFT, may_retry=True), {}, False),
        # It was taken, and returned before its answer.
        (charge_in(ChargeState.FAILED, instrument=STORED), {}, False),
        # One provider has declined it, and the next has taken it.
        (
            charge_in(ChargeState.SUCCESS, instrument=STORED, failed_attempts=HARD.failed_attempts),
            {},
            False,
        ),
        (HARD, {"is_ours": False}, False),
        (HARD, {"doubt": UncertainResult.RESET}, False),
    ],
)
def test_what_the_client_was_reported_last(
    first: object, facts: dict[str, object], is_final: bool
) -> None:
    story = Story()
    pay(story, first, **facts)
    pay(story, PAID)
    assert retried(story) == is_final


@pytest.mark.parametrize(("ends", "count"), [(None, 1), (UncertainResult.HUNG_UP, 0)])
def test_a_decline_that_the_client_waited_for_was_reported(
    story: Story, ends: UncertainResult | None, count: int
) -> None:
    story.end(pay(story, is_open=True), ends)
    pay(story)
    assert retried(story) == count


def test_a_decline_stays_told_when_the_client_hangs_up_on_another_call(story: Story) -> None:
    pay(story)
    story.end(pay(story, is_open=True), UncertainResult.HUNG_UP)
    pay(story)
    assert retried(story) == 2


def test_a_card_that_pays_again_is_no_longer_declined(story: Story) -> None:
    for charge in (HARD, HARD, PAID, PAID):
        pay(story, charge)
    assert retried(story) == 2


def test_a_decline_that_is_repeated_by_its_key_is_no_second_try(story: Story) -> None:
    pay(story)
    pay(story, is_repeat=True)
    assert story.found() == []


@pytest.mark.parametrize(
    ("tries", "count"),
    [
        ([(WRONG_CCV, "1"), (None, "2"), (None, "2")], 0),
        ([(WRONG_CCV, "1"), (WRONG_CCV, "2"), (WRONG_CCV, "3")], 0),
        ([(WRONG_CCV, "1"), (WRONG_CCV, "1")], 1),
        ([(WRONG_CCV, "1"), (WRONG_CCV, "2"), (WRONG_CCV, "2")], 1),
        ([(WRONG_CCV, "1"), (WRONG_CCV, "2"), (WRONG_CCV, "1")], 1),
        ([(WRONG_CCV, "1"), (STOLEN, "2"), (None, "3")], 1),
        ([(STOLEN, "1"), (WRONG_CCV, "2"), (None, "3")], 2),
        # It was right after all.
        ([(WRONG_CCV, "1"), (None, "1"), (None, "1")], 1),
        ([(WRONG_CCV, None), (None, "1")], 0),
    ],
)
def test_a_wrong_ccv_may_be_corrected_and_nothing_else(
    tries: list[tuple[int | None, str | None]], count: int
) -> None:
    story = Story()
    for code, ccv in tries:
        pay(story, PAID if code is None else declined(code), ccv)
    assert retried(story) == count


@pytest.mark.parametrize(
    ("instants", "found"),
    [
        ([0, 0], []),
        ([0, 0, 30 * DAY], [0, 2]),
        ([0, 0, 30 * DAY + 1], []),
        ([0, 31 * DAY, 31 * DAY, 31 * DAY], [1, 3]),
        ([0, 0, "finish", 0], []),
    ],
)
def test_tries_within_thirty_days_are_counted(instants: list[object], found: list[int]) -> None:
    story = Story(Policy(retry_limit=2))
    for at in instants:
        if at == "finish":
            story.finish()
        else:
            pay(story, declined(SOFT, may_retry=True), at=at)
    evidence = [line for finding in story.watch.ledger for line in finding.evidence]
    assert [(line.entry or 0) - 1 for line in evidence] == found
    assert all(line.line.endswith(": declined, retryable") for line in evidence)


@pytest.mark.parametrize(
    ("tries", "after", "count"), [(15, 0, 0), (16, 30 * DAY, 1), (16, 30 * DAY + 1, 0)]
)
def test_fifteen_tries_in_thirty_days_are_allowed(
    story: Story, tries: int, after: int, count: int
) -> None:
    for number in range(tries):
        pay(story, declined(SOFT, may_retry=True), at=after * (number > 0))
    assert story.raised() == ({"too-many-retries": count} if count else {})


@pytest.mark.parametrize(
    ("code", "is_final", "is_counted"),
    [
        (STOLEN, True, True),
        # Said of one payment.
        (Code.AMOUNT_EXCEEDS_MAX_AMOUNT_FOR_PAYTO_AGREEMENT, False, True),
        (Code.AMOUNT_TOO_LARGE, False, True),
        (Code.CURRENCY_NOT_SUPPORTED, False, True),
        (Code.DUPLICATE_TRANSACTION, False, True),
        (Code.ISSUER_INVALID_AMOUNT, False, True),
        (Code.LOCATION_NOT_SUPPORTED, False, True),
        (Code.PAYTO_AGREEMENT_IS_NOT_ACTIVE, False, True),
        (Code.REQUIRE_THREE_D_SECURE, False, True),
        (Code.THREE_D_SECURE_FAILED, False, True),
        # No issuer has said it.
        (Code.PROVIDER_SERVICE_ERROR, False, False),
        (Code.GATEWAY_TIMEOUT, False, False),
        (Code.RATE_LIMITING_APPLIED, False, False),
        (Code.RETRY_LATER, False, False),
    ],
)
def test_what_a_code_says_of_the_card(code: int, is_final: bool, is_counted: bool) -> None:
    story = Story(Policy(retry_limit=1))
    for _ in range(2):
        pay(story, declined(code))
    assert story.raised() == {
        **({"hard-decline-retried": 1} if is_final else {}),
        **({"too-many-retries": 1} if is_counted else {}),
    }


def test_evidence_is_in_the_order_of_the_journal() -> None:
    story = Story(Policy(retry_limit=2))
    for _ in range(4):
        pay(story, declined(SOFT, may_retry=True), at=0)
    (finding,) = story.watch.ledger
    assert [line.entry for line in finding.evidence] == [1, 2, 3, 4]


def renewed(story: Story, charge_id: str, charge: Charge = HARD) -> None:
    """A subscription charges its payment method."""
    story.charges[charge_id] = replace(charge, charge_id=charge_id, subscription_id="sub_1")
    story.entry += 1
    begun = Event(Subject.CHARGE, charge_id, "declined", None, charge.status, story.entry * SECOND)
    story.watch.moved(begun, story.entry)


@pytest.mark.parametrize(
    ("told", "count"),
    [
        ({"subject": "ch_9"}, 1),
        ({"subject": "sub_1"}, 1),
        ({"subject": "ch_8"}, 0),
        ({"subject": None}, 0),
        ({"subject": "ch_9", "status": 500}, 0),
        ({"subject": "ch_9", "is_scripted": True}, 0),
    ],
)
def test_a_webhook_tells_of_a_declined_renewal(told: dict[str, object], count: int) -> None:
    for resumed in (True, False):
        story = Story()
        renewed(story, "ch_9")
        story.webhook(**told)
        if resumed:
            went_on = Event(Subject.SUBSCRIPTION, "sub_1", "resumed", "Suspended", "Active", 0)
            story.call("subscription.status", "sub_1", events=[went_on])
            renewed(story, "ch_10")
            renewed(story, "ch_11")
        else:
            pay(story)
        assert retried(story) == count


@pytest.mark.parametrize(("doubt", "count"), [(None, 1), (UncertainResult.HUNG_UP, 0)])
def test_a_batch_whose_answer_the_client_did_not_wait_for(
    doubt: UncertainResult | None, count: int
) -> None:
    story = Story()
    story.end(story.call("batch.create", "b_1", is_open=True), doubt)
    row = replace(HARD, charge_id="ch_9", batch_id="b_1")
    story.watch.declines.charged(row, story.entry * SECOND, story.entry)
    story.watch.moved(
        Event(Subject.BATCH, "b_1", "finished", "IN_PROGRESS", "SUCCESS", 0), story.entry
    )
    pay(story)
    assert retried(story) == count


@pytest.mark.parametrize(
    "declined_by", [pay, lambda story: renewed(story, "ch_9")], ids=["call", "service"]
)
def test_a_renewal_that_pays_ends_the_decline(
    story: Story, declined_by: Callable[[Story], object]
) -> None:
    declined_by(story)
    renewed(story, "ch_10", PAID)
    story.webhook(subject="ch_9")
    pay(story, PAID)
    assert story.found() == []
