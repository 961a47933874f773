"""Rows of a batch that are taken like one before them leave what rows that go the whole way leave,
byte for byte."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.depth import tries
from tests.driving import DUMMY, Api, batch_of

NUMBERS = ("4111111111111111", "378282246310005", "5555555555554444")
ROWS = st.lists(
    st.tuples(
        st.integers(0, len(NUMBERS)),
        st.sampled_from(["10", "12.50", "12.5", "0.01", "0", "13.333", "0.00", "500"]),
        st.sampled_from(["AUD", "AUD", "AUD", "JPY", "", "XXX"]),
        st.sampled_from(["", "r-1", "r-2"]),
    ),
    min_size=1,
    max_size=12,
)
RULES = [
    {
        "id": "dear",
        "when": {"op": "batch.row", "request.amount": {"gte": 500}},
        "then": {"decline": "do_not_honour"},
    },
    {
        "id": "named",
        "when": {"op": "charge.create", "request.reference": "r-2"},
        "then": {"later": [{"after": "1h", "refund": {}}]},
    },
    {
        "id": "third",
        "when": {"op": "batch.row", "nth": 3},
        "then": {"decline": "insufficient_funds"},
    },
    {
        "id": "often",
        "when": {"op": "batch.row"},
        "chance": [
            {"weight": 1, "then": {"provider_down": {}}},
            {"weight": 2, "then": {"approve": {}}},
        ],
    },
    {"id": "slow", "when": {"op": "charge.create"}, "then": {"latency": "2s"}},
    {
        "id": "batch",
        "when": {"op": "batch.create"},
        "then": {"batch": {"rows": [{"at": [2], "decline": "expired_card"}]}},
    },
    {
        "id": "long",
        "when": {"op": "batch.create"},
        "then": {"batch": {"progress": [{"reach": 0.5, "after": "40d"}]}},
    },
]
NEVER = {
    "id": "never",
    "when": {"op": "batch.row", "request.amount": "987654321.99"},
    "then": {"approve": {}},
}
"""A rule that never fires, and that depends on what like rows differ in: each row goes the whole
way."""


def left_behind(
    rows: list[tuple[int, str, str, str]],
    rules: list[dict[str, Any]],
    *,
    hooked: bool = False,
    latency: str = "0s",
    flow: str = "50ms 100ms 2ms",
) -> tuple[Any, ...]:
    """Every charge, the results, the webhooks, and the state without its rules."""
    said = {
        "version": 1,
        "assumptions": {"provider.latency": latency, "batch.flow": flow},
        "rules": rules,
    }
    api = Api(scenario=json.dumps(said))
    info = {"expiryDate": "03/31", "cardholder": "Ann Example"}
    methods = [
        api.post(
            "/payment_method/card",
            {"providerId": DUMMY, "paymentInformation": {**info, "cardNumber": number}},
        )
        for number in NUMBERS
    ]
    account = {"bankCode": "650000", "accountNumber": "12345678", "accountName": "Ann"}
    methods.append(
        api.post(
            "/payment_method/bank_account", {"providerId": DUMMY, "bankPaymentInformation": account}
        )
    )
    assert [made.status for made in methods] == [201] * 4, methods
    ids = [made["paymentMethodId"] for made in methods]
    if hooked:
        assert (
            api.post(
                "/webhook/subscription",
                {"types": ["Transaction"], "url": "http://127.0.0.1/__inbox/a"},
            ).status
            < 300
        )
    body = batch_of(*(f"{ids[which]},{','.join(rest)}" for which, *rest in rows))
    batch = api.post("/batch/transaction/payment_method", body)
    api.advance("60d")
    assert batch.status == 201, batch.raw
    state = api.get("/__admin/state?secrets=true").body
    for name in ("scenarios", "checksum", "rules", "config"):
        state.pop(name, None)
    journal = api.get("/__admin/journal?limit=1000").body["entries"]
    listed, sent = api.get("/charge?limit=500").raw, api.get("/__admin/webhooks").raw
    return (
        batch.raw,
        listed,
        sent,
        [entry.get("events") for entry in journal],
        json.dumps(state, sort_keys=True),
    )


@settings(max_examples=tries(15, 300), derandomize=True, suppress_health_check=list(HealthCheck))
@given(ROWS, st.lists(st.sampled_from(RULES), max_size=1), st.booleans())
def test_like_rows_leave_what_others_leave(
    rows: list[tuple[int, str, str, str]], rules: list[dict[str, Any]], hooked: bool
) -> None:
    assert left_behind(rows, rules, hooked=hooked) == left_behind(
        rows, [*rules, NEVER], hooked=hooked
    )


LIKE = [
    (0, amount, "AUD", reference)
    for amount, reference in zip(
        ("10", "12.50", "500", "0.01", "13.333", "0", "10", "12.5"),
        ("", "r-1", "r-2", "", "", "", "r-2", ""),
        strict=True,
    )
]


@pytest.mark.parametrize("rule", [None, *RULES], ids=lambda rule: rule["id"] if rule else "none")
@pytest.mark.parametrize("hooked", [False, True])
def test_rows_of_one_kind_leave_what_others_leave(
    rule: dict[str, Any] | None, hooked: bool
) -> None:
    rules = [rule] if rule else []
    assert left_behind(LIKE, rules, hooked=hooked) == left_behind(
        LIKE, [*rules, NEVER], hooked=hooked
    )


def test_rows_that_are_due_at_once_are_reported_each() -> None:
    flow = "50ms 100ms 0ms"
    assert left_behind(LIKE, [], hooked=True, flow=flow) == left_behind(
        LIKE, [NEVER], hooked=True, flow=flow
    )


def test_rows_of_a_provider_that_takes_its_time_draw_it_each() -> None:
    assert left_behind(LIKE, [], latency="1ms..9ms") == left_behind(
        LIKE, [NEVER], latency="1ms..9ms"
    )
