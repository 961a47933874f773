"""Every outcome of the language: what it compiles to, and what is refused about it."""

from decimal import Decimal
from typing import Any

import pytest

from mockserver.domain.clock import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from mockserver.scenario.batch_script import BatchEnd, Progress, ResultsPlan
from mockserver.scenario.file_model import Empty
from mockserver.scenario.later_step import Later, LaterAmount, Move
from mockserver.scenario.outcome import Outcome
from mockserver.scenario.provider_outcome import (
    DECLINES,
    PROVIDER_DOWN,
    PROVIDER_TIMEOUT,
    Approve,
    Challenge,
    Decline,
    Latency,
    PartialApprove,
    Pending,
    Settlement,
    draw_latency,
)
from mockserver.scenario.rule import Always
from mockserver.scenario.transport import At, Dribble, ErrorBody, HoldUntil, Transport
from mockserver.scenario.webhook_plan import Signature, WebhookPlan
from mockserver.wire.field_types import MOST_CHARACTERS
from tests.scenario.telling import fault, one, told


def outcome(text: str) -> Outcome:
    when = "{op: batch.create}" if text.startswith("batch") else "{}"
    plan = told(one(when, f"then: {{{text}}}")).rules[0].plan
    assert isinstance(plan, Always)
    return plan.outcomes[0]


OWN = Decline("mine", 77, "No", "X", "gone", is_retryable=True)
OWN_WORDS = (
    "name: mine, errorCode: 77, errorMessage: 'No', gatewayCode: X, gatewayMessage: gone, "
    "isRetryable: true"
)
PROVIDER: list[tuple[str, object]] = [
    ("approve: {}", Approve()),
    ("decline: insufficient_funds", DECLINES["insufficient_funds"]),
    ("decline: {name: lost_card}", DECLINES["lost_card"]),
    (f"decline: {{{OWN_WORDS}}}", OWN),
    (
        "decline: {errorCode: 34}",
        Decline("error_34", 34, "Provider Service Error", None, None, is_retryable=True),
    ),
    (
        "decline: {errorCode: 4711}",
        Decline("error_4711", 4711, "Declined", None, None, is_retryable=False),
    ),
    (
        "decline: {name: expired_card, isRetryable: true}",
        Decline("expired_card", 14, "Expired Card", "54", "Expired card", is_retryable=True),
    ),
    (
        "decline: {name: expired_card, errorCode: 954}",
        Decline(
            "expired_card", 954, "Issuer Expired Card", "54", "Expired card", is_retryable=False
        ),
    ),
    ("pending: {}", Pending(Settlement.SUCCESS, None)),
    ("pending: {settle: FAILED, after: 1h}", Pending(Settlement.FAILED, HOUR)),
    ("challenge: {}", Challenge()),
    ("provider_down: {}", PROVIDER_DOWN),
    ("provider_timeout: {}", PROVIDER_TIMEOUT),
    ("partial_approve: 5.00", PartialApprove(Decimal("5.00"))),
]


@pytest.mark.parametrize(("text", "expected"), PROVIDER, ids=[row[0] for row in PROVIDER])
def test_provider(text: str, expected: object) -> None:
    assert outcome(text).provider == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latency: 800ms", Latency(800 * MILLISECOND, 800 * MILLISECOND)),
        ("latency: {min: 20ms, max: 60ms}", Latency(20 * MILLISECOND, 60 * MILLISECOND)),
        ("latency: {max: 1s}", Latency(0, SECOND)),
        ("latency: {p50: 100ms, p99: 2s}", Latency(p50=100 * MILLISECOND, p99=2 * SECOND)),
    ],
)
def test_latency(text: str, expected: Latency) -> None:
    assert outcome(text).latency == expected


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("latency: {min: 1s, max: null}", "latency: 1s"),
        (
            "transport: {at: answer, hang: null, reset: {}, delay: null}",
            "transport: {at: answer, reset: {}}",
        ),
        ("batch: {end: FAILED, results: null}", "batch: {end: FAILED}"),
        ("later: [{after: 1s, void: {}, set: null}]", "later: [{after: 1s, void: {}}]"),
    ],
)
def test_null_is_absent(text: str, same: str) -> None:
    assert outcome(text) == outcome(same)


def test_levels_combine() -> None:
    told_all = outcome(
        "decline: expired_card, latency: 1s, webhook: {drop: true}, transport: {at: answer, "
        "reset: {}}"
    )
    assert told_all.provider == DECLINES["expired_card"]
    assert told_all.latency == Latency(SECOND, SECOND)
    assert told_all.webhook == WebhookPlan(drop=True)
    assert told_all.transport == Transport(At.ANSWER, reset=True)


FAULTS: list[tuple[str, Transport]] = [
    ("at: receive, reset: true", Transport(At.RECEIVE, reset=True)),
    ("at: receive, hang: {}", Transport(At.RECEIVE, hang=True)),
    ("at: answer, hold: 300ms", Transport(At.ANSWER, hold=300 * MILLISECOND)),
    ("at: receive, hold: released", Transport(At.RECEIVE, hold=HoldUntil.RELEASED)),
    ("at: answer, hold: all", Transport(At.ANSWER, hold=HoldUntil.ALL)),
    ("at: answer, garbage: {}", Transport(At.ANSWER, garbage=True)),
    ("at: answer, truncate: {}", Transport(At.ANSWER, truncate=True)),
    ("at: answer, malformed_json: {}", Transport(At.ANSWER, malformed_json=True)),
    ("at: answer, close_after: 10", Transport(At.ANSWER, close_after=10)),
    ("at: answer, close_after: 0", Transport(At.ANSWER, close_after=0)),
    (
        "at: answer, delay: 2s, close_after: 0",
        Transport(At.ANSWER, delay=2 * SECOND, close_after=0),
    ),
    ("at: answer, delay: 2s", Transport(At.ANSWER, delay=2 * SECOND)),
    ("at: answer, delay: 2s, reset: {}", Transport(At.ANSWER, delay=2 * SECOND, reset=True)),
    (
        "at: answer, dribble: {chunk: 5, every: 10ms}",
        Transport(At.ANSWER, dribble=Dribble(chunk=5, every=10 * MILLISECOND)),
    ),
    (
        "at: receive, status: 502, body: '<html>', headers: {X-A: b}",
        Transport(At.RECEIVE, status=502, body="<html>", headers={"X-A": "b"}),
    ),
]


@pytest.mark.parametrize(("text", "expected"), FAULTS, ids=[row[0] for row in FAULTS])
def test_transport(text: str, expected: Transport) -> None:
    assert outcome(f"transport: {{{text}}}").transport == expected


def test_a_status_without_body_answers_with_an_error_object() -> None:
    fault_of = outcome("transport: {at: receive, status: 429, retry_after: 2}").transport
    assert fault_of is not None
    assert fault_of.headers == {"Retry-After": "2"}
    assert fault_of.body == ErrorBody()


@pytest.mark.parametrize("text", ["status: 500, body: null", "status: 302"])
def test_a_body_can_be_left_out(text: str) -> None:
    fault_of = outcome(f"transport: {{at: receive, {text}}}").transport
    assert fault_of is not None
    assert fault_of.body is None


WEBHOOKS: list[tuple[str, WebhookPlan]] = [
    ("drop: true", WebhookPlan(drop=True)),
    ("delay: 5m", WebhookPlan(delay=5 * MINUTE)),
    ("copies: 3, gap: 1s", WebhookPlan(copies=3, gap=SECOND)),
    ("before_answer: true, copies: 2", WebhookPlan(before_answer=True, copies=2)),
    ("swap_with_next: true", WebhookPlan(swap_with_next=True)),
    ("swap_with_next: 2s", WebhookPlan(swap_with_next=2_000_000)),
    ("extra: true, signature: none", WebhookPlan(extra=True, signature=Signature.NONE)),
    ("stale: true", WebhookPlan(stale=True)),
    ("respelt: true", WebhookPlan(respelt=True)),
    ("extra: true, foreign: true", WebhookPlan(extra=True, foreign=True)),
    ("bad_signature: true", WebhookPlan(bad_signature=True)),
    ("authorization: Bearer x", WebhookPlan(authorization="Bearer x")),
    ("receiver: [500, 200, timeout]", WebhookPlan(receiver=(500, 200, "timeout"))),
]


@pytest.mark.parametrize(("text", "expected"), WEBHOOKS, ids=[row[0] for row in WEBHOOKS])
def test_webhook(text: str, expected: WebhookPlan) -> None:
    assert outcome(f"webhook: {{{text}}}").webhook == expected


def test_batch() -> None:
    script = outcome(
        "batch: {progress: [{reach: 0.25, after: 10s}, {reach: 1, after: 20s}], stall_at: 0.6, "
        "end: FAILED, "
        "results: {omit_rows: [4], shuffle: true, cut: 200}}"
    ).batch
    assert script is not None
    assert script.progress == (
        Progress(Decimal("0.25"), 10 * SECOND),
        Progress(Decimal(1), 20 * SECOND),
    )
    assert (script.stall_at, script.end) == (Decimal("0.6"), BatchEnd.FAILED)
    assert script.results == ResultsPlan(frozenset({4}), shuffle=True, cut=200)


LATER: list[tuple[str, Later]] = [
    ("{after: 5m, set: {payto.status: ACTIVE}}", Later(5 * MINUTE, set={"payto.status": "ACTIVE"})),
    ("{after: 2d, void: {}}", Later(2 * DAY, void=Empty())),
    ("{after: 1h, capture: {}}", Later(HOUR, capture=LaterAmount())),
    (
        "{after: 1h, refund: {amount: 2.50, comment: broken}}",
        Later(HOUR, refund=LaterAmount(Decimal("2.50"), "broken")),
    ),
    ("{after: 1h, settle: FAILED}", Later(HOUR, settle="FAILED")),
    ("{after: 0s, delete: {}}", Later(0, delete=Empty())),
]


@pytest.mark.parametrize(("text", "expected"), LATER, ids=[row[0] for row in LATER])
def test_later(text: str, expected: Later) -> None:
    assert outcome(f"later: [{text}]").later == (expected,)


def test_the_comment_of_a_later_refund_is_no_longer_than_that_of_a_request() -> None:
    longest = "c" * MOST_CHARACTERS
    text = "later: [{{after: 1h, refund: {{comment: {}}}}}]"
    assert outcome(text.format(longest)).later == (Later(HOUR, refund=LaterAmount(None, longest)),)
    found = fault(one(what=f"then: {{{text.format(longest + 'c')}}}"))
    assert found == (
        "bad.yaml:5:41: rules[0].then.later[0].refund.comment: got a text of 10,001 characters, "
        "wanted at most 10,000"
    )


def test_a_payer_who_abandons_a_challenge_does_nothing() -> None:
    assert outcome("challenge: {payer: abandons}").later == ()


@pytest.mark.parametrize(
    ("payer", "to"), [("passes", "SUCCESS"), ("fails", "FAILED"), ("abandons", "ABANDONED")]
)
def test_a_payer_who_meets_a_challenge(payer: str, to: str) -> None:
    (act,) = outcome(f"challenge: {{payer: {payer}, after: 10s}}").later
    assert (act.after, act.move, act.settle) == (10 * SECOND, Move.SETTLE, to)


REFUSED = [
    ("{}", "rules[0].then: got no outcome"),
    ("{aprove: {}}", "unknown key 'aprove' - did you mean 'approve'?"),
    ("{approve: {}, decline: expired_card}", "got approve and decline, only one of"),
    ("{approve: true}", "got true, wanted {} or a map of copies"),
    (
        "{decline: insuficient_funds}",
        "rules[0].then.decline: got 'insuficient_funds', which is not a known decline",
    ),
    ("{decline: approved}", "which is not a known decline"),
    ("{decline: {}}", "wanted the name of a refusal, or an errorCode"),
    ("{decline: {name: mine}}", "which is not a known decline"),
    ("{decline: {errorCode: 34, code: 5}}", "unknown key 'code'"),
    ("{decline: {errorCode: '34'}}", "got '34', wanted a whole number from 0 to 9999"),
    (
        "{decline: {name: expired_card, isRetryable: yes}}",
        "wanted true or false (yes and no are texts here)",
    ),
    ("{pending: {settle: LOST}}", "got 'LOST', allowed: SUCCESS, FAILED"),
    ("{pending: {after: 5}}", "got 5, wanted a duration with its unit"),
    ("{challenge: {payer: runs}}", "got 'runs', allowed: passes, fails, abandons"),
    ("{challenge: {after: 5s}}", "it needs payer"),
    ("{partial_approve: 0}", "got 0, wanted a number above 0"),
    ("{partial_approve: -1}", "got -1, wanted a number of 0 or more"),
    ("{latency: fast}", "wanted a duration"),
    ("{latency: {min: 2s, max: 1s}}", "got min 2s and max 1s, wanted the shorter first"),
    ("{latency: {p50: 2s}}", "got p50 2s, wanted both p50 and p99"),
    ("{latency: {p50: 2s, p99: 3s, max: 4s}}", "got a range and percentiles"),
    ("{transport: {reset: {}}}", "rules[0].then.transport: 'at' is missing"),
    (
        "{transport: {at: before, reset: {}}}",
        "got 'before', allowed: connect, upload, receive, answer",
    ),
    ("{transport: {at: answer}}", "wanted one of status, delay, reset"),
    ("{transport: {at: answer, reset: {}, hang: {}}}", "got reset and hang, only one of them"),
    (
        "{transport: {at: receive, truncate: {}}}",
        "truncate changes an answer, and at: receive there is none",
    ),
    (
        "{transport: {at: answer, hold: 0s}}",
        "got '0s', wanted a duration above 0 such as 300ms, or released, or all",
    ),
    ("{transport: {at: answer, hold: for ever}}", "got 'for ever', wanted a duration above 0"),
    ("{transport: {at: upload, hold: all}}", "hold cannot be used at: upload"),
    ("{transport: {at: answer, hold: all, reset: true}}", "got reset and hold, only one of them"),
    (
        "{transport: {at: receive, hold: all}, decline: do_not_honour}",
        "come before a provider is asked",
    ),
    (
        "{webhook: {hold: true, receiver: [200]}}",
        "got hold and receiver, only one of them is allowed",
    ),
    ("{transport: {at: answer, reset: {}, retry_after: 5}}", "retry_after need status"),
    ("{transport: {at: answer, status: 99}}", "got 99, wanted a whole number from 200 to 599"),
    ("{transport: {at: answer, status: 100}}", "got 100, wanted a whole number from 200 to 599"),
    (
        "{transport: {at: answer, status: 204, body: x}}",
        "got a body, and an answer of status 204 has none",
    ),
    (
        "{transport: {at: answer, status: 500, headers: {'X A:': b}}}",
        "got 'X A:', which is not the name of a header",
    ),
    (
        '{transport: {at: answer, status: 500, headers: {X-A: "a\\r\\nX-B: c"}}}',
        "wanted one line of Latin-1 text",
    ),
    (
        "{transport: {at: answer, status: 500, headers: {X-A: 5 \u20ac}}}",
        "wanted one line of Latin-1 text",
    ),
    (
        "{transport: {at: answer, status: 500, headers: {Content-Length: '5'}}}",
        "use truncate for a wrong length",
    ),
    (
        "{transport: {at: answer, status: 500, headers: {transfer-encoding: chunked}}}",
        "is the server's own",
    ),
    ("{transport: {at: answer, reset: false}}", "leave the key out to switch it off"),
    ("{transport: {at: answer, dribble: {chunk: 5}}}", "'every' is missing"),
    ("{webhook: {}}", "got nothing, wanted at least one of drop"),
    ("{webhook: {drop: true, copies: 2}}", "drop sends nothing"),
    ("{webhook: {before_answer: true, delay: 1s}}", "got before_answer and delay"),
    ("{webhook: {copies: 0}}", "wanted a whole number from 1 to 100"),
    ("{webhook: {receiver: [ok]}}", "wanted an HTTP status from 100 to 599 or timeout"),
    ("{later: [{after: 1s}]}", "got none, wanted exactly one of set, capture"),
    ("{later: [{after: 1s, void: {}, delete: {}}]}", "got void and delete, wanted exactly one of"),
    ("{later: [{after: 1s, set: {payto.state: x}}]}", "got 'payto.state', allowed: payto.status"),
    ("{later: [{after: 1s, set: {payto.status: actve}}]}", "allowed: PENDING, ACTIVE"),
    (
        "{later: [{after: 1s, set: {}}]}",
        "rules[0].then.later[0]: set: wanted at least one of payto.status",
    ),
    ("{later: [{after: 1s, refund: {amount: 0}}]}", "got 0, wanted a number above 0"),
    ("{later: [{void: {}}]}", "'after' is missing"),
    ("{batch: {end: FAILED}}", "use op: batch.create"),
    (
        "{outcome_from: request.metadata.mock, latency: 1s}",
        "it cannot be combined with anything else",
    ),
    ("{outcome_from: state.charge.status}", "wanted request.<path> or header.<name>"),
]


@pytest.mark.parametrize(("then", "words"), REFUSED, ids=[row[0] for row in REFUSED])
def test_an_outcome_that_makes_no_sense_is_refused(then: str, words: str) -> None:
    assert words in fault(one("{op: charge.create}", f"then: {then}"))


BATCH_REFUSED = [
    ("{}", "got nothing, wanted at least one of rows"),
    (
        "{rows: [{decline: expired_card}]}",
        "rules[0].then.batch.rows[0]: got none, wanted exactly one of at, every",
    ),
    ("{rows: [{at: [1], every: 2, decline: expired_card}]}", "got at and every"),
    ("{rows: [{at: [1]}]}", "wanted exactly one of decline, approve"),
    ("{rows: [{at: [0], decline: expired_card}]}", "got 0, wanted a whole number from 1"),
    ("{rows: [{share: 2, decline: expired_card}]}", "wanted a share from 0 to 1"),
    (
        "{rows: [{where: {amunt: 5}, decline: expired_card}]}",
        "unknown column 'amunt' - did you mean 'amount'?",
    ),
    ("{rows: [{where: {amount: {gtt: 5}}, decline: expired_card}]}", "unknown test 'gtt'"),
    ("{progress: [{reach: 0.5, after: 5s}, {reach: 0.4, after: 6s}]}", "wanted steps in order"),
    ("{end: DONE}", "got 'DONE', allowed: SUCCESS, FAILED"),
    ("{stall_at: 60}", "wanted a share from 0 to 1"),
    ("{rows: [{at: [1], decline: no_such}]}", "rules[0].then.batch.rows[0].decline: got 'no_such'"),
]


@pytest.mark.parametrize(("batch", "words"), BATCH_REFUSED, ids=[row[0] for row in BATCH_REFUSED])
def test_batch_refused(batch: str, words: str) -> None:
    assert words in fault(one("{op: batch.create}", f"then: {{batch: {batch}}}"))


def test_a_delivery_knows_webhook_outcomes_only() -> None:
    told(one("{op: webhook.deliver}", "then: {webhook: {receiver: [500]}}"))
    assert "a delivery takes only webhook outcomes" in fault(
        one("{op: webhook.deliver}", "then: {transport: {at: answer, reset: {}}}")
    )


def test_a_batch_cannot_be_mixed_with_what_a_provider_says() -> None:
    mixed: dict[str, Any] = {
        "when": "{op: batch.create}",
        "what": "then: {batch: {end: FAILED}, decline: expired_card}",
    }
    assert "no provider is asked in batch.create" in fault(one(**mixed))


def test_draws_of_latency_stay_in_their_range() -> None:
    uniform = Latency(20, 60)
    assert {draw_latency(uniform, draw) for draw in range(1000)} == set(range(20, 61))
    assert draw_latency(Latency(7, 7), 12345) == 7


def test_draws_of_latency_meet_their_percentiles() -> None:
    skewed = Latency(p50=100_000, p99=2_000_000)
    draws = sorted(draw_latency(skewed, (index << 32) // 10_000) for index in range(10_000))
    assert abs(draws[5_000] - 100_000) < 1_000
    assert abs(draws[9_900] - 2_000_000) < 50_000
    assert draws[-1] <= 20_000_000
    assert draw_latency(Latency(p50=5, p99=5), 99) == 5
