"""Findings of webhooks, pauses and real time, from the facts themselves: the mistake, and the near miss."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from mockserver.domain.charge import Charge, FailedAttempt
from mockserver.domain.clock import MINUTE, SECOND
from mockserver.domain.events import Event, Subject
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.sources import Instrument, PaymentType
from mockserver.domain.states import ChargeState
from mockserver.findings.facts import Call, Doubt, WebhookTry
from mockserver.findings.policy import Policy
from mockserver.findings.watch import Watch


def charge_in(state: ChargeState, charge_id: str = "ch_1") -> Charge:
    return Charge(
        charge_id=charge_id,
        provider_charge_id=None,
        amount=Decimal(20),
        currency="AUD",
        status=state,
        provider=ProviderSummary("p", "dummy", "Dummy"),
        instrument=Instrument(PaymentType.CARD),
        added=0,
        reference="order-5",
    )


class Story:
    """One sandbox's facts, a second apart; ``charges`` are those that it holds."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.charges = {"ch_1": charge_in(ChargeState.AUTHORISED)}
        self.watch = Watch(self.charges.get, policy or Policy())
        self.entry = 0

    def call(self, op: str = "charge.capture", subject: str | None = "ch_1", **facts: object) -> Call:
        self.entry += 1
        instant = self.entry * SECOND
        fields = {"entry": self.entry, "at": instant, "real": instant, "op": op, "request": {}, "path": {}}
        call = Call(**{**fields, "subject": subject, **facts})  # type: ignore[arg-type]
        self.watch.called(call)
        return call

    def webhook(self, meanwhile: Callable[[], object] | None = None, **facts: object) -> None:
        """A webhook that is sent and answered; the client acts ``meanwhile``."""
        fields = {
            "at": self.entry * SECOND,
            "delivery_id": "wh_1",
            "event_id": "evt_1",
            "event_type": "transaction.status.changed",
            "subject": "ch_1",
            "caused_by": 1,
            "reported": "AUTHORISE",
            "number": 1,
            "is_accepted": True,
            "is_genuine": True,
            "is_scripted": False,
            "gave_up": False,
            "took": 0,
            "result": "200",
        }
        tried = WebhookTry(**{**fields, **facts})  # type: ignore[arg-type]
        self.watch.sent(tried.delivery_id, self.entry)
        if meanwhile is not None:
            meanwhile()
        self.watch.tried(tried)

    def found(self) -> list[str]:
        return [finding.kind.name for finding in self.watch.ledger]


@pytest.fixture
def story() -> Story:
    return Story()


def test_a_forged_webhook_is_accepted(story: Story) -> None:
    story.webhook(is_genuine=False)
    assert story.found() == ["forged-webhook-accepted"]


@pytest.mark.parametrize("facts", [{"is_accepted": False, "result": "401"}, {"is_scripted": True}])
def test_a_forged_webhook_is_refused_or_nobody_got_it(story: Story, facts: dict[str, object]) -> None:
    story.webhook(is_genuine=False, **facts)
    assert story.found() == []


def test_a_repeated_webhook_captures_again(story: Story) -> None:
    story.webhook()
    story.call()
    story.webhook(delivery_id="wh_1-2")
    story.call()
    assert story.found() == ["webhook-not-deduplicated"]
    (finding,) = story.watch.ledger
    assert finding.about == {"event": "evt_1"}
    assert [line.entry for line in finding.evidence] == [1, 1, 1, 2]


def test_a_repeated_webhook_captures_again_before_it_is_answered(story: Story) -> None:
    story.webhook(story.call)
    story.webhook(story.call, delivery_id="wh_1-2")
    assert story.found() == ["webhook-not-deduplicated"]


def test_an_outdated_webhook_is_believed_before_it_is_answered(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.webhook(lambda: story.call(code=54, charge=story.charges["ch_1"]))
    assert story.found() == ["wrong-state", "stale-webhook-believed"]


def test_a_client_that_reads_while_it_takes_an_outdated_webhook_did_not_believe_it(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)

    def read_and_capture() -> None:
        story.call("charge.get")
        story.call(code=54, charge=story.charges["ch_1"])

    story.webhook(read_and_capture)
    assert story.found() == ["wrong-state"]


def test_a_client_that_reads_only_after_it_acted_has_believed_the_outdated_webhook(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)

    def capture_and_read() -> None:
        story.call(code=54, charge=story.charges["ch_1"])
        story.call("charge.get")

    story.webhook(capture_and_read)
    assert story.found() == ["wrong-state", "stale-webhook-believed"]


def test_a_repeated_webhook_of_which_nothing_is_made_again(story: Story) -> None:
    story.webhook()
    story.call()
    story.webhook(delivery_id="wh_1-2")
    story.call(op="charge.get")
    assert story.found() == []


def test_an_operation_long_after_a_repeated_webhook_has_another_cause(story: Story) -> None:
    story.webhook()
    story.call()
    story.webhook(delivery_id="wh_1-2")
    story.call(at=story.entry * SECOND + MINUTE + 1)
    assert story.found() == []


def test_an_operation_from_before_the_webhook_may_be_repeated(story: Story) -> None:
    story.call()
    story.webhook()
    story.webhook(delivery_id="wh_1-2")
    story.call()
    assert story.found() == []


def test_two_events_are_no_copies(story: Story) -> None:
    story.webhook()
    story.call()
    story.webhook(event_id="evt_2", delivery_id="wh_2")
    story.call()
    assert story.found() == []


@pytest.mark.parametrize("facts", [{"code": 34}, {"doubt": Doubt.RESET}])
def test_an_operation_that_failed_is_repeated_for_that_reason(story: Story, facts: dict[str, object]) -> None:
    story.webhook()
    story.call("charge.refund", **facts)
    story.webhook(delivery_id="wh_1-2")
    story.call("charge.refund", charge=story.charges["ch_1"])
    assert "webhook-not-deduplicated" not in story.found()


def test_a_client_that_reads_after_an_outdated_webhook_did_not_believe_it(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.webhook()
    story.call("charge.get")
    story.call(code=54, charge=story.charges["ch_1"])
    assert story.found() == ["wrong-state"]


def test_an_outdated_webhook_that_the_sandbox_took_itself_misleads_nobody(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.webhook(is_scripted=True)
    story.call(code=54, charge=story.charges["ch_1"])
    assert story.found() == ["wrong-state"]


def test_a_client_that_was_shown_an_earlier_state_believed_no_webhook(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.call("charge.get", is_late=True, is_ours=False)
    story.webhook()
    story.call(code=54, charge=story.charges["ch_1"])
    assert story.found() == []


def test_an_outdated_webhook_is_believed(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.webhook()
    story.call(code=54, charge=story.charges["ch_1"])
    assert story.found() == ["wrong-state", "stale-webhook-believed"]


def test_a_webhook_that_is_true_is_no_excuse(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.webhook(reported="AUTHORISE_CANCELLED")
    story.call(code=54, charge=story.charges["ch_1"])
    assert story.found() == ["wrong-state"]


def test_a_move_that_the_reported_state_would_not_allow_either(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.webhook()
    story.call(op="charge.refund", code=54, charge=story.charges["ch_1"])
    assert story.found() == ["wrong-state"]


def test_a_webhook_is_given_up(story: Story) -> None:
    story.webhook(is_accepted=False, gave_up=True, result="500", number=6)
    assert story.found() == ["webhook-lost"]


@pytest.mark.parametrize("facts", [{"is_genuine": False}, {"is_scripted": True}, {"gave_up": False}])
def test_a_webhook_that_was_meant_to_fail_is_not_lost(story: Story, facts: dict[str, object]) -> None:
    story.webhook(**{"is_accepted": False, "gave_up": True, "result": "500", **facts})
    assert story.found() == []


@pytest.mark.parametrize(("took", "found"), [(5 * SECOND, []), (5 * SECOND + 1, ["webhook-slow"])])
def test_a_receiver_may_take_five_seconds(story: Story, took: int, found: list[str]) -> None:
    story.webhook(took=took)
    assert story.found() == found


def test_a_webhook_about_a_charge_in_doubt_is_a_look(story: Story) -> None:
    story.call(doubt=Doubt.RESET)
    story.webhook()
    story.call()
    assert story.found() == []


def test_a_webhook_that_the_sandbox_took_itself_is_no_look(story: Story) -> None:
    story.call(doubt=Doubt.RESET)
    story.webhook(is_scripted=True)
    story.call()
    assert story.found() == ["blind-retry"]


def test_a_decline_after_the_client_hung_up_was_not_told(story: Story) -> None:
    declined = charge_in(ChargeState.FAILED)
    declined.instrument = Instrument(PaymentType.CARD, payment_method_id="pm_1")
    declined.failed_attempts = (FailedAttempt("p", 0, 943, "Stolen", "43", "Stolen", False),)
    for number in range(2):
        call = story.call("charge.create", f"ch_{number}", request={"token": "tok"}, charge=declined, is_open=True)
        story.watch.ended(call.entry, Doubt.HUNG_UP, call.at, call.real)
    assert "hard-decline-retried" not in story.found()


@pytest.mark.parametrize(("after", "found"), [(5 * SECOND, []), (5 * SECOND - 1, ["retry-after-ignored"])])
def test_a_pause_that_was_asked_for(story: Story, after: int, found: list[str]) -> None:
    first = story.call(op="charge.search", subject=None, retry_after=5 * SECOND)
    story.call(op="charge.search", subject=None, real=first.real + after)
    assert story.found() == found


def test_another_call_needs_no_pause(story: Story) -> None:
    story.call(op="charge.create", subject=None, text=b"1", retry_after=5 * SECOND)
    story.call(op="charge.create", subject=None, text=b"2")
    story.call(op="charge.search", subject=None, where="/charge?Reference=a", retry_after=5 * SECOND)
    story.call(op="charge.search", subject=None, where="/charge?Reference=b")
    assert story.found() == []


@pytest.mark.parametrize(("waited", "found"), [(30 * SECOND, []), (30 * SECOND + 1, ["no-timeout"])])
def test_a_client_that_waits(story: Story, waited: int, found: list[str]) -> None:
    call = story.call(op="charge.get", is_open=True, doubt=Doubt.TIMED_OUT)
    story.watch.ended(call.entry, Doubt.HUNG_UP, call.at, call.real + waited)
    assert story.found() == found


def test_a_client_that_still_waits_is_seen_when_somebody_looks(story: Story) -> None:
    call = story.call(op="charge.get", is_open=True, doubt=Doubt.TIMED_OUT)
    story.watch.look(call.at, call.real + 31 * SECOND)
    story.watch.look(call.at, call.real + 32 * SECOND)
    story.watch.ended(call.entry, Doubt.HUNG_UP, call.at, call.real + 33 * SECOND)
    (finding,) = story.watch.ledger
    assert (finding.kind.name, finding.count) == ("no-timeout", 1)


def test_the_limits_can_be_set() -> None:
    story = Story(Policy(timeout=SECOND, slow_receiver=SECOND, allow=frozenset({"webhook-slow"})))
    call = story.call(op="charge.get", is_open=True)
    story.watch.ended(call.entry, None, call.at, call.real + SECOND + 1)
    story.webhook(took=2 * SECOND)
    assert story.found() == ["no-timeout"]


def test_a_client_that_hangs_up_and_asks_again_is_in_doubt(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.SUCCESS)
    story.charges["ch_2"] = charge_in(ChargeState.SUCCESS, "ch_2")
    request = {"amount": 20, "token": "tok"}
    first = story.call("charge.create", "ch_1", request=request, charge=story.charges["ch_1"], is_open=True)
    story.call("charge.create", "ch_2", request=request, charge=story.charges["ch_2"])
    assert story.found() == []
    story.watch.ended(first.entry, Doubt.HUNG_UP, first.at, first.real)
    assert story.found() == ["double-charge", "blind-retry"]


def test_an_answer_that_has_not_come_when_the_story_ends_was_not_waited_for_by_a_client_that_asked_again(
    story: Story,
) -> None:
    story.charges["ch_2"] = charge_in(ChargeState.SUCCESS, "ch_2")
    request = {"amount": 20, "token": "tok"}
    first = story.call("charge.create", "ch_1", request=request, charge=story.charges["ch_1"], is_open=True)
    story.call("charge.create", "ch_2", request=request, charge=story.charges["ch_2"])
    story.watch.finish(first.at)
    assert story.found() == ["double-charge", "blind-retry"]
    story.watch.ended(first.entry, Doubt.HUNG_UP, first.at, first.real)
    assert story.found() == ["double-charge", "blind-retry"]


def test_an_answer_that_has_not_come_when_the_story_ends_is_no_reason_to_blame_a_client_that_waits(
    story: Story,
) -> None:
    first = story.call("charge.create", "ch_1", charge=story.charges["ch_1"], is_open=True)
    story.watch.finish(first.at)
    assert "double-charge" not in story.found()


def test_two_equal_calls_at_once_that_are_both_answered(story: Story) -> None:
    story.charges["ch_2"] = charge_in(ChargeState.SUCCESS, "ch_2")
    request = {"amount": 20, "token": "tok"}
    first = story.call("charge.create", "ch_1", request=request, charge=story.charges["ch_1"], is_open=True)
    second = story.call("charge.create", "ch_2", request=request, charge=story.charges["ch_2"], is_open=True)
    for call in (first, second):
        story.watch.ended(call.entry, None, call.at, call.real)
    assert story.found() == []


def test_an_idempotent_repeat_is_no_blind_retry(story: Story) -> None:
    story.call("charge.create", "ch_1", request={"token": "tok"}, doubt=Doubt.RESET)
    story.call("charge.create", "ch_1", request={"token": "tok"}, is_repeat=True)
    assert story.found() == []


def test_a_challenge_passed_after_the_second_charge_makes_it_a_double_charge(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.PENDING_CHECKOUT)
    story.charges["ch_2"] = charge_in(ChargeState.SUCCESS, "ch_2")
    request = {"amount": 20, "token": "tok"}
    story.call("charge.create", "ch_1", request=request, charge=story.charges["ch_1"], doubt=Doubt.RESET)
    story.call("charge.create", "ch_2", request=request, charge=story.charges["ch_2"])
    assert story.found() == ["blind-retry"]
    story.charges["ch_1"] = charge_in(ChargeState.SUCCESS)
    story.watch.moved(Event(Subject.CHARGE, "ch_1", "paid", "PENDING_CHECKOUT", "SUCCESS", 9 * SECOND))
    assert story.found() == ["blind-retry", "double-charge"]


def test_memory_is_bounded() -> None:
    story = Story()
    for number in range(5_000):
        story.call("charge.create", None, request={"token": f"tok-{number}"}, doubt=Doubt.RESET)
        story.webhook(event_id=f"evt-{number}", delivery_id=f"wh-{number}", is_genuine=False)
    assert len(story.watch.ledger) == 1_000
    assert story.watch.ledger.dropped == 4_000
