"""Explanations: which rule a request would meet and why the others would not fire, word for
word."""

import pytest

from mockserver.adapters.scenario_files import load
from mockserver.scenario.explain import explain
from tests.scenario.telling import NOW, one, told

RULES = """
  - {id: large, when: {op: charge.create, request.amount: {gt: 100}}, then: {decline: insufficient_funds}}
  - {id: refunds, when: {op: charge.refund}, then: {decline: do_not_honour}}
  - {id: lost-answer, when: {op: charge.create}, then: {transport: {at: answer, reset: {}}}}
  - {id: visa, when: {card: {brand: visa}}, then: {provider_down: {}, latency: 2s}}
  - {id: last, then: {approve: {}}}
"""
REQUEST = {
    "op": "charge.create",
    "body": {"Amount": 12, "PaymentInformation": {"CardNumber": "4111111111111111"}},
}


def test_an_explanation() -> None:
    assert explain([told(RULES)], REQUEST, now=NOW) == [
        "charge.create at 2031-03-01T18:00:00.0000000Z: at each stage the first rule that matches "
        "decides",
        "as the request arrives:",
        "  fires: lost-answer (story.yaml:7): transport at answer: reset",
        "as the provider is asked:",
        "  not:   large (story.yaml:5): request.amount: wanted more than 100, got 12",
        "  not:   refunds (story.yaml:6): op: wanted charge.refund, got charge.create",
        "  fires: visa (story.yaml:8): decline provider_down (code 34, gateway 91, retryable); "
        "latency 2s",
        "  after: last (story.yaml:9): never asked, an earlier rule fired",
        "as it is answered:",
        "  lost-answer spoils the answer",
        "as webhooks are delivered:",
        "  as usual",
    ]


def test_of_built_in_test_values_the_one_that_fires_is_named() -> None:
    values = load([], test_values=True)
    lines = explain([told(RULES), *values], REQUEST, now=NOW)
    assert [line for line in lines if "built-in" in line] == [
        f"  not:   {count} built-in test values" for count in (6, 24)
    ]
    declined = {"op": "charge.create", "body": {"Metadata": {"mock": "insufficient_funds"}}}
    lines = explain(values, declined, now=NOW)
    assert any(line.startswith("  fires: mock-names-the-outcome") for line in lines)
    assert "  not:   23 built-in test values" in lines


STAGES = """
  - {id: hooks, when: {op: charge.create}, then: {webhook: {copies: 2}}}
  - {id: early, when: {op: charge.create, request.amount: 7}, then: {transport: {at: receive, status: 503}}}
  - id: lost
    when: {op: charge.create}
    then: {approve: {}, transport: {at: answer, reset: {}}, webhook: {drop: true}}
  - {id: receiver, when: {op: webhook.deliver}, then: {webhook: {receiver: [500]}}}
"""


def stages(rules: str, request: dict[str, object]) -> dict[str, list[str]]:
    """The lines of each stage, without the rules that do not fire."""
    found: dict[str, list[str]] = {}
    for line in explain([told(rules)], request, now=NOW)[1:]:
        if line.startswith("  "):
            found[list(found)[-1]] += (
                [] if line.startswith("  not: ") else [line.strip().partition(":")[0]]
            )
        else:
            found[line] = []
    return found


def test_each_stage_has_a_first_match_of_its_own() -> None:
    assert stages(STAGES, {"op": "charge.create", "body": {"amount": 5}}) == {
        "as the request arrives:": ["fires", "after"],
        "as the provider is asked:": ["fires"],
        "as it is answered:": ["lost spoils the answer"],
        "as webhooks are delivered:": ["hooks says how webhooks go"],
    }
    assert list(stages(STAGES, {"op": "charge.get"})) == [
        "as the request arrives:",
        "as it is answered:",
    ]
    receiver = STAGES[STAGES.index("  - {id: receiver") :]
    assert stages(receiver, {"op": "customer.update"})["as webhooks are delivered:"] == [
        "as usual",
        "asked of each",
    ]
    assert list(stages(receiver, {"op": "webhook.deliver"})) == ["as webhooks are delivered:"]
    assert list(stages(STAGES, {"op": "batch.row"})) == [
        "as the provider is asked:",
        "as webhooks are delivered:",
    ]


def test_what_ends_a_call_as_it_arrives_ends_the_explanation() -> None:
    early = STAGES.replace(
        "{id: hooks, when: {op: charge.create}", "{id: hooks, when: {op: charge.refund}"
    )
    assert stages(early, {"op": "charge.create", "body": {"amount": 7}}) == {
        "as the request arrives:": ["fires", "nothing more is asked"]
    }


def test_no_rule_fires() -> None:
    assert explain(
        [told(one("{op: charge.get}", "then: {transport: {at: answer, reset: {}}}"))],
        REQUEST,
        now=NOW,
    )[1:] == [
        "as the request arrives:",
        "  not:   r (story.yaml:4): op: wanted charge.get, got charge.create",
        "  no rule fires",
        "as the provider is asked:",
        "  no rule fires",
        "as it is answered:",
        "  as usual",
        "as webhooks are delivered:",
        "  as usual",
    ]


def test_method_and_path_name_the_operation_and_the_source() -> None:
    def op_of(method: str, path: str) -> str | None:
        return "charge.create" if (method, path) == ("POST", "/charge/bank_account") else None

    scenario = told(one("{source: bank_account}", "then: {decline: invalid_account}"))
    request = {"method": "post", "path": "/charge/bank_account?x=1", "headers": {"X-Run": "1"}}
    assert (
        "  fires: r (story.yaml:4): decline invalid_account (code 20, gateway 14, not retryable)"
        in explain([scenario], request, now=NOW, op_of=op_of)
    )
    with pytest.raises(ValueError, match="which is not an operation of the service"):
        explain([scenario], {"method": "GET", "path": "/nowhere"}, now=NOW, op_of=op_of)


def test_test_values_are_explained() -> None:
    request = {
        "op": "charge.create",
        "body": {"bankPaymentInformation": {"accountNumber": "000000051"}},
    }
    fired = [
        line for line in explain(load([], test_values=True), request, now=NOW) if "fires:" in line
    ]
    assert len(fired) == 1
    assert "bank-account-insufficient-funds" in fired[0]


STATES = """
  - {id: held, when: {op: charge.capture, state.charge.status: Authorised}, then: {decline: do_not_honour}}
  - {id: part, when: {op: charge.capture, state.charge.refundedAmount: {gt: 5}}, then: {decline: do_not_honour}}
  - {id: old, when: {op: charge.capture, age: {above: 30d}}, then: {decline: do_not_honour}}
  - {id: gone, when: {op: [charge.capture, charge.create], state.paymentMethod.status: Removed}, then: {decline: error}}
  - {id: tier, when: {op: charge.capture, state.charge.metadata.tier: gold}, then: {decline: do_not_honour}}
  - {id: any, when: {op: [charge.capture, charge.create], state.customer: {exists: true}}, then: {decline: error}}
"""


@pytest.mark.parametrize(
    ("state", "fires"),
    [
        ({}, []),
        ({"charge.status": "Authorised"}, ["held"]),
        ({"state.charge.status": "authorised"}, ["held"]),
        ({"charge.status": "SUCCESS"}, []),
        ({"charge.refunded": "6"}, ["part"]),
        ({"charge.refundedAmount": 5}, []),
        ({"charge.added": "2031-01-01"}, ["old"]),
        ({"charge.dateAdded": "2031-02-28"}, []),
        ({"paymentMethod.state": "removed"}, ["gone"]),
        ({"payment_method.status": "Removed"}, ["gone"]),
        ({"charge.metadata.tier": "gold"}, ["tier"]),
        ({"customer.email": "ann@example.com"}, ["any"]),
    ],
)
def test_rules_see_of_stored_objects_what_is_given(
    state: dict[str, object], fires: list[str]
) -> None:
    lines = explain([told(STATES)], {"op": "charge.capture", "state": state}, now=NOW)
    assert [line.split()[1] for line in lines if line.startswith("  fires: ")] == fires


def test_a_rule_that_reads_another_stored_value_says_what_it_got() -> None:
    lines = explain(
        [told(STATES)], {"op": "charge.capture", "state": {"charge.status": "SUCCESS"}}, now=NOW
    )
    assert (
        "  not:   held (story.yaml:5): state.charge.status: wanted 'Authorised', got 'SUCCESS'"
        in lines
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"chrge.status": "x"}, "did you mean 'charge'"),
        ({"charge.statu": "x"}, "did you mean 'status'"),
        ({"charge.status": "Authorizd"}, "did you mean 'Authorised'"),
        ({"charge.refunded": "lots"}, "charge.refunded: got 'lots', wanted a number"),
        ({"charge.added": "soon"}, "charge.added: got 'soon', wanted an ISO 8601 date-time"),
        ({"charge": "x"}, "wanted the path of a stored value, such as charge.status"),
        ({"request.amount": 4}, "wanted state.<kind>.<field> with one of charge"),
        ({"charge.instrument.card.number": "4"}, "no such field"),
        (["charge.status"], "state: wanted an object such as"),
    ],
)
def test_stored_values_that_no_rule_could_read_are_refused(state: object, words: str) -> None:
    with pytest.raises(ValueError, match=r"^state: ") as refused:
        explain([], {"op": "charge.capture", "state": state}, now=NOW)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"op": "charge.creat"}, "did you mean 'charge.create'"),
        ({"oops": 1}, "unknown key 'oops'"),
        ({"method": "GET"}, "wanted method and path, or op"),
        ({"method": "GET", "path": "/charge"}, "which is not an operation of the service"),
        ({"op": "charge.create", "body": [1]}, "body: wanted an object"),
        ({"op": "charge.create", "headers": "x"}, "headers: wanted an object"),
        ({"op": "charge.create", "attempt": "x"}, "attempt: wanted a whole number"),
    ],
)
def test_a_request_that_cannot_be_explained_is_refused(
    request_: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        explain([], request_, now=NOW)


@pytest.mark.parametrize(
    ("then", "words"),
    [
        ("{approve: {}}", "approve"),
        ("{pending: {settle: FAILED, after: 1h}}", "pending, then FAILED after 1h"),
        ("{challenge: {}}", "3-D Secure challenge"),
        ("{partial_approve: 5.50}", "approve 5.50 only"),
        ("{latency: {min: 1s, max: 2s}}", "latency 1s to 2s"),
        ("{latency: {p50: 1s, p99: 2s}}", "latency p50 1s, p99 2s"),
        ("{transport: {at: receive, status: 429}}", "transport at receive: status 429"),
        ("{transport: {at: answer, hang: {}, delay: 1s}}", "transport at answer: hang after 1s"),
        ("{transport: {at: answer, delay: 1s}}", "transport at answer: delay 1s"),
        (
            "{webhook: {copies: 2, gap: 1s, stale: true, receiver: [500], authorization: x}}",
            "webhook: copies 2, gap 1s, stale, another authorization, receiver answers 500",
        ),
        ("{webhook: {copies: 1}}", "webhook: as usual"),
        (
            "{batch: {rows: [{at: [1], approve: {}}], stall_at: 0.5, end: FAILED, results: {cut: "
            "1}}}",
            "batch: 1 rules for rows, stalls at 0.5, ends FAILED, results spoilt",
        ),
        ("{later: [{after: 2d, void: {}}]}", "2d later: void"),
        (
            "{later: [{after: 5m, set: {payto.status: ACTIVE}}]}",
            "5m later: set payto.status ACTIVE",
        ),
        (
            '{later: [{after: 5m, emit: {event: charge.lost, data: {a: ["it\'s", 1.50, true, '
            "null]}}}]}",
            '5m later: emit event charge.lost, data {"a":["it\'s",1.50,true,null]}',
        ),
        (
            "{later: [{after: 5m, emit: {event: charge.lost, data: {a: '4111111111111111'}}}]}",
            '5m later: emit event charge.lost, data {"a":"4111********1111"}',
        ),
    ],
)
def test_words(then: str, words: str) -> None:
    when = "{op: batch.create}" if then.startswith("{batch") else "{}"
    (outcome,) = told(one(when, f"then: {then}")).rules[0].plan.outcomes
    assert outcome.words == words


@pytest.mark.parametrize(
    ("query", "fires"),
    [("?amount=5", True), ("?Amount=5", True), ("?amount=6", False), ("", False)],
)
def test_what_stands_in_the_query_is_seen_as_on_the_server(query: str, fires: bool) -> None:
    rule = "  - {id: five, when: {op: charge.refund, request.amount: 5}, then: {decline: do_not_honour}}"
    request = {"method": "DELETE", "path": f"/refund/abc{query}"}
    lines = explain([told(rule)], request, now=NOW, op_of=lambda method, path: "charge.refund")
    assert any("fires: five" in line for line in lines) is fires
