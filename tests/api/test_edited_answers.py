"""Answers that a scenario edits on their way (scenario language, Outcomes, transport): the real
ones but for what the file names, byte for byte."""

import json
from typing import Any

import pytest

from mockserver.scenario.transport import edited
from mockserver.web.transport_faults import Cut
from tests.driving import Api, card_charge
from tests.findings.test_client_mistakes import found
from tests.scenario.telling import fault, one, told
from tests.server.connecting import converse


def api_with(transport: str, op: str = "charge.create") -> Api:
    rule = f"{{id: r, when: {{op: {op}}}, then: {{transport: {{at: answer, {transport}}}}}}}"
    return Api(scenario=f"version: 1\nname: s\nrules: [{rule}]")


def charged(transport: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the answer says, and what it would have said."""
    api = api_with(transport)
    got = api.post("/charge/card", card_charge())
    assert got.status == 201
    (stored,) = api.get("/charge")["charges"]
    return got.body, api.get(f"/charge/{stored['chargeId']}").body


def test_real_ids_and_states_are_kept_beside_the_edited_members() -> None:
    got, stored = charged(
        "edit: {status: RETRY_SCHEDULED, paymentInformation.card: null, extra: [1]}, omit: [amount]"
    )
    assert (got["status"], got["paymentInformation"]["card"], got["extra"]) == (
        "RETRY_SCHEDULED",
        None,
        [1],
    )
    assert "amount" not in got
    assert (stored["status"], stored["amount"], got["chargeId"]) == (
        "SUCCESS",
        20,
        stored["chargeId"],
    )
    same = got.keys() - {"status", "paymentInformation", "extra"}
    assert {name: got[name] for name in same} == {name: stored[name] for name in same}


PATHS = [
    ({"a": 1}, {"b.c": 2}, [], {"a": 1}),
    ({"a": {"b": 1}}, {"a.b": None, "a.c": []}, [], {"a": {"b": None, "c": []}}),
    ({"a": [{"b": 1}, {"b": 2}]}, {"a.*.b": 0}, [], {"a": [{"b": 0}, {"b": 0}]}),
    ({"a": [{"b": 1}, {"b": 2}]}, {}, ["a.1.b", "a.7", "c.d"], {"a": [{"b": 1}, {}]}),
    ({"a": [1, 2, 3]}, {"a.1": 9}, ["a.0"], {"a": [9, 3]}),
    ({"a": [1, 2, 3]}, {"a.9": 9, "a.b": 9}, ["a.*"], {"a": []}),
    ({"a": 5}, {"a.b": 1}, ["a.b"], {"a": 5}),
]


@pytest.mark.parametrize(("value", "edit", "omit", "result"), PATHS)
def test_members_of_an_answer_are_edited_and_omitted_by_their_paths(
    value: Any, edit: dict[str, object], omit: list[str], result: object
) -> None:
    before = json.dumps(value)
    assert edited(value, edit, omit) == result
    assert json.dumps(value) == before


def test_headers_alone_leave_the_body_as_it_is() -> None:
    api = api_with("headers: {Content-Encoding: gzip, X-Up: stream, content-type: text/html}")
    reply = api.post("/charge/card", card_charge())
    assert reply["status"] == "SUCCESS"
    assert (reply.headers["content-encoding"], reply.headers["x-up"]) == ("gzip", "stream")
    assert reply.headers["content-type"] == "text/html"


FRAMINGS = [
    ("Content-Length: '20'", b"content-length: 20"),
    ("Content-Length: '99999'", b"content-length: 99999"),
    ("Transfer-Encoding: chunked", b"transfer-encoding: chunked"),
]


@pytest.mark.parametrize(("header", "line"), FRAMINGS)
def test_a_false_length_stands_on_the_wire(header: str, line: bytes) -> None:
    api = api_with(f"headers: {{{header}}}")
    with pytest.raises(Cut):
        api.post("/charge/card", card_charge())
    body = json.dumps(card_charge()).encode()
    head = (
        b"POST /charge/card HTTP/1.1\r\nhost: localhost\r\nx-secretkey: "
        b"sk_raw\r\ncontent-length: %d\r\n\r\n"
    )
    said, _ = converse(head % len(body) + body, until=b'"status":"SUCCESS"', app=api.app)
    told_head, _, told_body = said.partition(b"\r\n\r\n")
    assert told_head.startswith(b"HTTP/1.1 201 Created\r\n")
    assert [
        one for one in told_head.split(b"\r\n") if b"content-length" in one or b"transfer" in one
    ] == [line]
    assert told_body.startswith(b'{"chargeId":')


REFUSED = [
    ("{at: receive, edit: {status: X}}", "edit changes an answer, and at: receive there is none"),
    ("{at: receive, headers: {X-A: b}}", "headers changes an answer"),
    ("{at: answer, edit: {status: X}, reset: {}}", "got reset and edit, only one of them"),
    ("{at: answer, status: 200, omit: [amount]}", "got status and omit, only one of them"),
    ("{at: answer, truncate: {}, headers: {X-A: b}}", "got truncate and headers, only one of them"),
    ("{at: answer, edit: {}}", "got nothing, wanted at least one"),
    ("{at: answer, omit: []}", "got nothing, wanted at least one"),
    ("{at: answer, edit: {a..b: 1}}", "got 'a..b', wanted the path of a member"),
    ("{at: answer, omit: [amount, '']}", "wanted the path of a member"),
    ("{at: answer, edits: {a: 1}}", "unknown key 'edits' - did you mean 'edit'?"),
    (
        "{at: receive, status: 429, retry_after: 1500ms}",
        "wanted whole seconds: Retry-After has no fractions",
    ),
    ("{at: receive, status: 429, retry_after: soon}", "wanted a duration"),
    ("{at: receive, status: 429, retry_after: 2d}", "wanted whole seconds from 0 to 86400"),
]


@pytest.mark.parametrize(("transport", "words"), REFUSED, ids=[row[0] for row in REFUSED])
def test_an_edit_of_an_answer_that_makes_no_sense_is_refused(transport: str, words: str) -> None:
    assert words in fault(one("{op: charge.create}", f"then: {{transport: {transport}}}"))


def test_a_page_has_no_members_to_edit() -> None:
    words = fault(
        one("{op: payment_link.pay}", "then: {transport: {at: answer, edit: {status: X}}}")
    )
    assert "edit means nothing in payment_link.pay; it fits batch.create" in words
    (rule,) = told(one("{op: 'charge.*'}", "then: {transport: {at: answer, omit: [status]}}")).rules
    assert "charge.challenge" not in rule.operations


@pytest.mark.parametrize(("said", "sent"), [("3s", "3"), ("1m", "60"), ("0", "0")])
def test_retry_after_is_a_duration(said: str, sent: str) -> None:
    rule = f"{{id: r, then: {{transport: {{at: receive, status: 429, retry_after: {said}}}}}}}"
    api = Api(scenario=f"version: 1\nname: s\nrules: [{rule}]")
    assert api.get("/charge").headers["retry-after"] == sent


def test_an_edited_answer_is_no_mistake_of_the_client() -> None:
    api = api_with("edit: {code: 9999, isRetryable: true}")
    declined = card_charge(
        reference="o",
        paymentInformation={
            **card_charge()["paymentInformation"],
            "cardNumber": "4000000000000002",
        },
    )
    for _ in range(2):
        assert api.post("/charge/card", declined)["code"] == 9999
    assert "hard-decline-retried" not in found(api)


def test_what_cannot_be_read_leaves_the_client_in_doubt() -> None:
    api = api_with("headers: {Content-Encoding: gzip}")
    for _ in range(2):
        api.post("/charge/card", card_charge(reference="order-5"))
    rows = found(api)
    assert "the answer was unreadable" in rows["double-charge"]["evidence"][0]["line"]


def test_an_edited_answer_that_can_be_read_leaves_no_doubt() -> None:
    api = api_with("omit: [amount]")
    for _ in range(2):
        api.post("/charge/card", card_charge(reference="order-5"))
    assert "double-charge" not in found(api)
