"""Findings of webhooks, pauses and real time, from the facts themselves: the mistake, and the near miss."""

from __future__ import annotations

import pytest

from mockserver.domain.clock import MINUTE, SECOND
from mockserver.domain.remembered import Recent
from mockserver.domain.states import ChargeState
from mockserver.findings.facts import Policy, UncertainResult
from tests.charges import charge_in
from tests.findings.story import Story, declined


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.mark.parametrize("subject", ["ch_1", None])
def test_a_forged_webhook_is_accepted(story: Story, subject: str | None) -> None:
    story.webhook(is_genuine=False, subject=subject, caused_by=None)
    assert story.found() == ["forged-webhook-accepted"]
    about = f" {subject}" if subject else ""
    fault = "though its header X-Payfurl-Signature did not fit its body"
    assert story.lines() == [f"transaction.status.changed{about} try 1: 200, {fault}"]


def test_a_missing_signature_is_told_from_a_wrong_one(story: Story) -> None:
    story.webhook(is_genuine=False, is_signed=False)
    assert story.found() == ["forged-webhook-accepted"]
    assert story.lines() == [
        "transaction.status.changed ch_1 try 1: 200, though its header X-Payfurl-Signature was missing"
    ]


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


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_copy_whose_capture_is_refused_is_one_mistake(story: Story, is_answered: bool) -> None:
    def capture(code: int | None = None) -> None:
        story.call(code=code, charge=story.charges["ch_1"])

    def hear(code: int | None, **facts: object) -> None:
        story.webhook(None if is_answered else lambda: capture(code), **facts)
        if is_answered:
            capture(code)

    hear(None)
    story.charges["ch_1"] = charge_in(ChargeState.SUCCESS)
    hear(54, delivery_id="wh_1-2")
    assert story.found() == ["webhook-not-deduplicated"]
    # Another refusal is a mistake of its own.
    capture(54)
    story.call("charge.void", code=54, charge=story.charges["ch_1"])
    assert "wrong-state" in story.found()


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
    card = {"paymentInformation": {"cardNumber": "4111111111111111"}}
    story.webhook()
    story.call()
    story.call("payment_method.create", None, request=card)
    story.webhook(delivery_id="wh_1-2")
    story.call("payment_method.create", None, request=card)
    story.call("charge.refund")
    assert story.found() == []


@pytest.mark.parametrize(("after", "found"), [(MINUTE, ["webhook-not-deduplicated"]), (MINUTE + 1, [])])
def test_an_operation_long_after_a_repeated_webhook_has_another_cause(
    story: Story, after: int, found: list[str]
) -> None:
    story.webhook()
    story.call()
    story.webhook(delivery_id="wh_1-2")
    story.call(at=story.entry * SECOND + after)
    assert story.found() == found


@pytest.mark.parametrize("when", ["before", "between"])
def test_an_operation_that_is_repeated_before_the_webhook_is(story: Story, when: str) -> None:
    story.webhook()
    story.call()
    if when == "between":
        story.call()
    story.webhook(delivery_id="wh_1-2")
    assert story.found() == []


def test_each_repeat_is_counted_once_for_each_event(story: Story) -> None:
    for event in ("evt_1", "evt_2"):
        story.webhook(event_id=event, delivery_id=f"{event}-1")
    story.call()
    story.webhook(delivery_id="evt_1-2")
    story.webhook(story.call, event_id="evt_2", delivery_id="evt_2-2")
    assert {finding.about["event"]: finding.count for finding in story.watch.ledger} == {"evt_1": 1, "evt_2": 1}


def test_calls_of_the_next_story_are_no_reactions_to_webhooks_of_this(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.webhook()
    story.call()
    story.webhook(delivery_id="wh_1-2")
    story.finish()
    story.call()
    story.webhook(delivery_id="wh_1-3")
    story.finish()
    story.call(code=54, charge=story.charges["ch_1"])
    assert story.found() == ["wrong-state"]


def test_an_operation_from_before_the_webhook_may_be_repeated(story: Story) -> None:
    story.webhook(event_id="evt_0", delivery_id="wh_0")
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


@pytest.mark.parametrize("facts", [{"code": 34}, {"doubt": UncertainResult.RESET}, {"charge": declined(928)}, {}])
def test_an_operation_that_failed_is_repeated_for_that_reason(story: Story, facts: dict[str, object]) -> None:
    story.webhook()
    story.pay("ch_3", **facts)
    story.webhook(delivery_id="wh_1-2")
    story.pay("ch_2")
    assert ("webhook-not-deduplicated" in story.found()) is (not facts)


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({}, ["wrong-state"]),
        ({"doubt": UncertainResult.RESET}, ["wrong-state", "stale-webhook-believed"]),
        ({"is_ours": False}, ["wrong-state", "stale-webhook-believed"]),
        ({"op": "charge.search", "subject": None}, ["wrong-state", "stale-webhook-believed"]),
    ],
)
def test_a_client_that_reads_after_an_outdated_webhook_did_not_believe_it(
    story: Story, facts: dict[str, object], found: list[str]
) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.webhook()
    story.call(**{"op": "charge.get", **facts})
    story.call(code=54, charge=story.charges["ch_1"])
    assert story.found() == found


@pytest.mark.parametrize(("reported", "is_truth"), [("AUTHORISE_CANCELLED", True), (None, False)])
def test_a_client_that_heard_the_truth_after_an_outdated_webhook_did_not_believe_it(
    story: Story, reported: str | None, is_truth: bool
) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.webhook()
    story.webhook(event_id="evt_2", delivery_id="wh_2", reported=reported)
    story.call(code=54, charge=story.charges["ch_1"])
    assert story.found() == ["wrong-state", *([] if is_truth else ["stale-webhook-believed"])]


def test_an_outdated_webhook_that_was_sent_after_a_refusal_is_not_its_reason(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.call(code=54, charge=story.charges["ch_1"])
    story.webhook()
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
    story.webhook()
    story.call(code=54, charge=story.charges["ch_1"])
    assert story.found() == ["wrong-state"]


@pytest.mark.parametrize(("op", "reported"), [("charge.void", "AUTHORISE"), ("charge.refund", "SUCCESS")])
def test_every_move_that_an_outdated_webhook_promises(story: Story, op: str, reported: str) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.webhook(reported=reported)
    story.call(op, code=54, charge=story.charges["ch_1"])
    assert story.found() == ["wrong-state", "stale-webhook-believed"]


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
    story.webhook(took=took, is_scripted=True, delivery_id="wh_2", event_id="evt_2")
    assert story.found() == found
    assert [finding.about for finding in story.watch.ledger] == [{"webhook": "wh_1"} for _ in found]
    assert story.lines() == ["transaction.status.changed ch_1 try 1: 200 after 5.0 s" for _ in found]


@pytest.mark.parametrize(("after", "found"), [(5 * SECOND, []), (5 * SECOND - 1, ["retry-after-ignored"])])
def test_a_pause_that_was_asked_for(story: Story, after: int, found: list[str]) -> None:
    first = story.call(op="charge.search", subject=None, retry_after=5 * SECOND)
    story.call(op="charge.search", subject=None, real=first.real + after)
    assert story.found() == found
    told = ["charge.search: answered with Retry-After: 5", "charge.search: sent 0.0 s before Retry-After had passed"]
    assert story.lines() == (told if found else [])


def test_another_call_needs_no_pause(story: Story) -> None:
    story.call(op="charge.create", subject=None, text=b"1", retry_after=5 * SECOND)
    story.call(op="charge.create", subject=None, text=b"2")
    story.call(op="charge.search", subject=None, where="/charge?Reference=a", retry_after=5 * SECOND)
    story.call(op="charge.search", subject=None, where="/charge?Reference=b")
    assert story.found() == []


@pytest.mark.parametrize(("waited", "found"), [(30 * SECOND, []), (30 * SECOND + 1, ["no-timeout"])])
def test_a_client_that_waits(story: Story, waited: int, found: list[str]) -> None:
    call = story.call(op="charge.get", is_open=True, doubt=UncertainResult.TIMED_OUT)
    story.watch.ended(call.entry, UncertainResult.HUNG_UP, call.at, call.real + waited)
    assert story.found() == found


def test_a_client_that_still_waits_is_seen_when_somebody_looks(story: Story) -> None:
    call = story.call(op="charge.get", is_open=True, doubt=UncertainResult.TIMED_OUT)
    for waited, raised in ((30, {}), (31, {"no-timeout": 1}), (32, {"no-timeout": 1})):
        story.watch.pace.look(call.at, call.real + waited * SECOND)
        assert story.raised() == raised
    story.watch.ended(call.entry, UncertainResult.HUNG_UP, call.at, call.real + 33 * SECOND)
    assert story.raised() == {"no-timeout": 1}
    assert story.lines() == ["charge.get ch_1: waited for 31 s"]


def test_a_client_that_has_its_answer_waits_no_longer(story: Story) -> None:
    call = story.call(op="charge.get")
    story.watch.pace.look(call.at, call.real + 31 * SECOND)
    assert story.found() == []


@pytest.mark.parametrize(
    ("op", "instants", "count"),
    [
        ("charge.get", [0] * 10 + [SECOND - 1], 1),
        ("charge.get", [0] * 10 + [SECOND], 0),
        ("charge.get", [0] + [2 * SECOND] * 11, 1),
        # Each burst counts once.
        ("charge.get", [0] * 22, 2),
        ("charge.get", [None] * 11, 0),
        ("batch.status", [0] * 11, 1),
        ("customer.update", [0] * 11, 0),
    ],
)
def test_reads_within_a_second(story: Story, op: str, instants: list[int | None], count: int) -> None:
    for pace in instants:
        story.call(op, pace=pace, real=pace or 0)
    assert story.raised() == ({"polled-hard": count} if count else {})
    for finding in story.watch.ledger:
        assert finding.about == {op.partition(".")[0]: "ch_1"}
        last = len(instants) - 11 * (count - 1)
        assert [line.entry for line in finding.evidence][:2] == [last - 10, last]


def test_the_limits_can_be_set() -> None:
    story = Story(Policy(timeout=SECOND, slow_receiver=SECOND, allow=frozenset({"webhook-slow"})))
    call = story.call(op="charge.get", is_open=True)
    story.watch.ended(call.entry, None, call.at, call.real + SECOND + 1)
    story.webhook(took=2 * SECOND)
    assert story.found() == ["no-timeout"]


def test_memory_is_bounded() -> None:
    story = Story()
    for number in range(1_100):
        story.call("charge.create", None, request={"token": f"tok-{number}"}, doubt=UncertainResult.RESET)
        story.webhook(event_id=f"evt-{number}", delivery_id=f"wh-{number}", is_genuine=False)
        if number >= 800:
            story.pay(None, is_open=True)
    assert len(story.watch.ledger) == 1_000
    assert story.watch.ledger.dropped == 100
    kept = [getattr(judge, name) for judge in story.watch.judges.values() for name in type(judge).__slots__]
    assert all(len(memory) <= memory.most for memory in kept if isinstance(memory, Recent))
    story = Story()
    story.pay(None, is_open=True)
    for _ in range(300):
        story.pay(None)
    assert len(story.watch.doubts.chains().doubtful) == 257
