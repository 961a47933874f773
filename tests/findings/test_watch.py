"""Findings of webhooks, pauses and real time, from the facts themselves: the mistake, and the near
miss."""

from collections.abc import Callable, Sequence

import pytest

from mockserver.domain.bounded_cache import Recent
from mockserver.domain.clock import DAY, MINUTE, SECOND
from mockserver.domain.facts import UncertainResult
from mockserver.domain.states import ChargeState
from mockserver.findings.policy import Policy
from tests.charges import charge_in
from tests.driving import VISA
from tests.findings.story import Story, declined


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
        "transaction.status.changed ch_1 try 1: 200, though its header X-Payfurl-Signature was "
        "missing"
    ]


@pytest.mark.parametrize("facts", [{"status": 401}, {"is_scripted": True}])
def test_a_forged_webhook_is_refused_or_nobody_got_it(
    story: Story, facts: dict[str, object]
) -> None:
    story.webhook(is_genuine=False, **facts)
    assert story.found() == []


Act = Callable[[Story], object]


def call(op: str = "charge.capture", **facts: object) -> Act:
    return lambda story: story.call(op, **{"charge": story.charges["ch_1"], **facts})


def webhook(*meanwhile: Act, **facts: object) -> Act:
    """A webhook, and what the client does before it answers."""
    return lambda story: story.webhook(lambda: [act(story) for act in meanwhile], **facts)


FORGERY = webhook(is_genuine=False)
FORGERIES: dict[str, tuple[Sequence[Act], str]] = {
    "it is answered 2xx and no more": ([FORGERY], "warning"),
    "its charge is captured": ([FORGERY, call()], "error"),
    "its charge is captured before it is answered": (
        [webhook(call(), is_genuine=False)],
        "error",
    ),
    "its charge is read first": ([FORGERY, call("charge.get"), call()], "warning"),
    "its charge is read while it is held": (
        [webhook(call("charge.get"), call(), is_genuine=False)],
        "warning",
    ),
    "a list that shows its charge is read first": (
        [FORGERY, call("charge.search", subject=None, answer=b"ch_1"), call()],
        "warning",
    ),
    "a genuine one comes first": (
        [FORGERY, webhook(event_id="evt_2", delivery_id="wh_2"), call()],
        "warning",
    ),
    "another charge is captured": ([FORGERY, call(subject="ch_2")], "warning"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_believed_where_something_follows(story: Story, name: str) -> None:
    acts, severity = FORGERIES[name]
    for act in acts:
        act(story)
    [found] = [one for one in story.watch.ledger if one.name == "forged-webhook-accepted"]
    assert found.severity.word == severity


@pytest.mark.parametrize(("subjects", "severity"), [({"ch_1"}, "error"), ({"ch_2"}, "warning")])
def test_books_that_differ_show_belief(story: Story, subjects: set[str], severity: str) -> None:
    story.webhook(is_genuine=False)
    story.watch.webhooks.disproved(subjects, 0)
    (found,) = story.watch.ledger
    assert found.severity.word == severity


def test_a_repeated_webhook_captures_again(story: Story) -> None:
    story.webhook()
    story.call()
    story.webhook(delivery_id="wh_1-2")
    story.call()
    assert story.found() == ["webhook-not-deduplicated"]
    (finding,) = story.watch.ledger
    assert finding.about == {"event": "evt_1"}
    assert [line.entry for line in finding.evidence] == [1, 1, 1, 2]


COPY, OTHER = {"delivery_id": "wh_1-2"}, {"event_id": "evt_2", "delivery_id": "wh_2"}
STORE = call(
    "payment_method.create", subject=None, request={"paymentInformation": {"cardNumber": VISA}}
)
REPEATED: dict[str, tuple[Sequence[Act], bool]] = {
    "it captures again": ([webhook(), call(), webhook(**COPY), call()], True),
    "it captures again before it answers": ([webhook(call()), webhook(call(), **COPY)], True),
    "a minute later": ([webhook(), call(), webhook(**COPY), call(at=SECOND + MINUTE)], True),
    "longer than a minute later": (
        [webhook(), call(), webhook(**COPY), call(at=SECOND + MINUTE + 1)],
        False,
    ),
    "nothing that moves money is done again": ([webhook(), STORE, webhook(**COPY), STORE], False),
    "something else is done": ([webhook(), call(), webhook(**COPY), call("charge.refund")], False),
    "nothing is done after the copy": ([webhook(), call(), webhook(**COPY)], False),
    "it was done twice before the copy": ([webhook(), call(), call(), webhook(**COPY)], False),
    "it was done before the webhook": (
        [webhook(**OTHER), call(), webhook(), webhook(**COPY), call()],
        False,
    ),
    "it is another event": ([webhook(), call(), webhook(**OTHER), call()], False),
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_webhook_that_comes_twice_is_acted_on_twice(story: Story, name: str) -> None:
    acts, is_mistake = REPEATED[name]
    for act in acts:
        act(story)
    assert story.found() == (["webhook-not-deduplicated"] if is_mistake else [])


@pytest.mark.parametrize("is_held", [True, False])
def test_what_is_done_while_a_copy_is_held_is_done_for_it(story: Story, is_held: bool) -> None:
    story.webhook()
    story.call()
    acts = [webhook(call(), **COPY)] if is_held else [webhook(**COPY), call()]
    for act in acts:
        act(story)
    (finding,) = story.watch.ledger
    assert finding.severity.word == ("error" if is_held else "warning")


READ, CAPTURE = call("charge.get"), call(code=54)
BELIEVED: dict[str, tuple[Sequence[Act], bool]] = {
    "it captures": ([webhook(), CAPTURE], True),
    "it captures before it answers": ([webhook(CAPTURE)], True),
    "it reads and captures before it answers": ([webhook(READ, CAPTURE)], False),
    "it captures and reads before it answers": ([webhook(CAPTURE, READ)], True),
    "it reads first": ([webhook(), READ, CAPTURE], False),
    "the answer to its read is lost": (
        [webhook(), call("charge.get", doubt=UncertainResult.RESET), CAPTURE],
        True,
    ),
    "another read": ([webhook(), call("charge.get", is_ours=False), CAPTURE], True),
    "it searches": ([webhook(), call("charge.search", subject=None), CAPTURE], True),
    "it hears the truth": (
        [webhook(), webhook(**OTHER, reported="AUTHORISE_CANCELLED"), CAPTURE],
        False,
    ),
    "it hears of something else": ([webhook(), webhook(**OTHER, reported=None), CAPTURE], True),
    "it was refused before": ([CAPTURE, webhook()], False),
    "the sandbox took the webhook itself": ([webhook(is_scripted=True), CAPTURE], False),
    "it voids what was authorised": (
        [webhook(reported="AUTHORISE"), call("charge.void", code=54)],
        True,
    ),
    "it refunds what was paid": (
        [webhook(reported="SUCCESS"), call("charge.refund", code=54)],
        True,
    ),
    "it refunds what was authorised": (
        [webhook(reported="AUTHORISE"), call("charge.refund", code=54)],
        False,
    ),
    "the webhook is true": ([webhook(reported="AUTHORISE_CANCELLED"), CAPTURE], False),
}


@pytest.mark.parametrize("name", BELIEVED)
def test_a_webhook_that_is_outdated_is_believed(story: Story, name: str) -> None:
    acts, is_mistake = BELIEVED[name]
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    for act in acts:
        act(story)
    assert story.found() == ["wrong-state", *(["stale-webhook-believed"] if is_mistake else [])]


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


def test_each_repeat_is_counted_once_for_each_event(story: Story) -> None:
    for event in ("evt_1", "evt_2"):
        story.webhook(event_id=event, delivery_id=f"{event}-1")
    story.call()
    story.webhook(delivery_id="evt_1-2")
    story.webhook(story.call, event_id="evt_2", delivery_id="evt_2-2")
    assert {finding.about["event"]: finding.count for finding in story.watch.ledger} == {
        "evt_1": 1,
        "evt_2": 1,
    }


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


@pytest.mark.parametrize(
    "facts",
    [
        {"code": 34},
        {"doubt": UncertainResult.RESET},
        {"charge": declined(928)},
        {"is_ours": False},
        {},
    ],
)
def test_an_operation_that_failed_is_repeated_for_that_reason(
    story: Story, facts: dict[str, object]
) -> None:
    story.webhook()
    story.pay("ch_3", **facts)
    story.webhook(delivery_id="wh_1-2")
    story.pay("ch_2")
    assert ("webhook-not-deduplicated" in story.found()) is (not facts)


def test_a_client_that_was_shown_an_earlier_state_believed_no_webhook(story: Story) -> None:
    story.charges["ch_1"] = charge_in(ChargeState.AUTHORISE_CANCELLED)
    story.call("charge.get", is_late=True, is_ours=False)
    story.webhook()
    story.call(code=54, charge=story.charges["ch_1"])
    assert story.found() == []


def test_a_webhook_is_given_up(story: Story) -> None:
    story.webhook(gave_up=True, status=500, number=6)
    assert story.found() == ["webhook-lost"]


@pytest.mark.parametrize(
    "facts", [{"is_genuine": False}, {"is_scripted": True}, {"gave_up": False}]
)
def test_a_webhook_that_was_meant_to_fail_is_not_lost(
    story: Story, facts: dict[str, object]
) -> None:
    story.webhook(**{"gave_up": True, "status": 500, **facts})
    assert story.found() == []


@pytest.mark.parametrize(("took", "found"), [(5 * SECOND, []), (5 * SECOND + 1, ["webhook-slow"])])
def test_a_receiver_may_take_five_seconds(story: Story, took: int, found: list[str]) -> None:
    story.webhook(took=took)
    story.webhook(took=took, is_scripted=True, delivery_id="wh_2", event_id="evt_2")
    assert story.found() == found
    assert [finding.about for finding in story.watch.ledger] == [{"webhook": "wh_1"} for _ in found]
    assert story.lines() == [
        "transaction.status.changed ch_1 try 1: 200 after 5.0 s" for _ in found
    ]


@pytest.mark.parametrize(
    ("after", "found"), [(5 * SECOND, []), (5 * SECOND - 1, ["retry-after-ignored"])]
)
def test_a_pause_that_was_asked_for(story: Story, after: int, found: list[str]) -> None:
    first = story.call(op="charge.search", subject=None, retry_after=5 * SECOND)
    story.call(op="charge.search", subject=None, real=first.real + after)
    assert story.found() == found
    told = [
        "charge.search: answered with Retry-After: 5",
        "charge.search: sent 0.0 s before Retry-After had passed",
    ]
    assert story.lines() == (told if found else [])


HERE, THERE = ("127.0.0.1", 5001), ("10.0.0.9", 5001)


@pytest.mark.parametrize(
    ("again", "meanwhile", "found"),
    [
        ({"connection": HERE}, True, ["retry-after-ignored"]),
        ({"connection": ("127.0.0.1", 5002)}, False, ["retry-after-ignored"]),
        ({"connection": ("127.0.0.1", 5002)}, True, []),
        ({"connection": THERE}, False, []),
        ({"connection": HERE, "headers": {"user-agent": "night-job"}}, False, []),
        ({"connection": HERE, "at": DAY}, False, []),
    ],
    ids=["same", "anew", "another worker", "another machine", "another program", "days later"],
)
def test_who_was_not_asked_to_wait_need_not(
    story: Story, again: dict[str, object], meanwhile: bool, found: list[str]
) -> None:
    story.call(op="charge.search", subject=None, connection=HERE, retry_after=5 * SECOND)
    if meanwhile:
        story.call(op="charge.get", connection=("127.0.0.1", 5002))
    story.call(op="charge.search", subject=None, **again)
    assert story.found() == found


def test_another_call_needs_no_pause(story: Story) -> None:
    story.call(op="charge.create", subject=None, text=b"1", retry_after=5 * SECOND)
    story.call(op="charge.create", subject=None, text=b"2")
    story.call(
        op="charge.search", subject=None, where="/charge?Reference=a", retry_after=5 * SECOND
    )
    story.call(op="charge.search", subject=None, where="/charge?Reference=b")
    assert story.found() == []


@pytest.mark.parametrize(
    ("waited", "found"), [(30 * SECOND, []), (30 * SECOND + 1, ["no-timeout"])]
)
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
def test_reads_within_a_second(
    story: Story, op: str, instants: list[int | None], count: int
) -> None:
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
        story.call(
            "charge.create", None, request={"token": f"tok-{number}"}, doubt=UncertainResult.RESET
        )
        story.webhook(event_id=f"evt-{number}", delivery_id=f"wh-{number}", is_genuine=False)
        if number >= 800:
            story.pay(None, is_open=True)
    assert len(story.watch.ledger) == 1_000
    assert story.watch.ledger.dropped == 100
    kept = [
        getattr(judge, name)
        for judge in story.watch.judges.values()
        for name in type(judge).__slots__
    ]
    assert all(len(memory) <= memory.most for memory in kept if isinstance(memory, Recent))
    story = Story()
    story.pay(None, is_open=True)
    for _ in range(300):
        story.pay(None)
    [first] = story.watch.doubts._calls.values()
    assert len(first.retries) == 256
