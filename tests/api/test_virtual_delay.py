"""Answers that come late in the sandbox's own time, and what happens before a request is acted on:
time passes, a proxy sends it again. Source: docs/scenario-language.md, transport."""

import time
from datetime import datetime

import httpx
import pytest

from mockserver.remote import RemoteSandbox
from tests.driving import DUMMY, Api, card_charge
from tests.scenario.telling import fault

RULE = """
version: 1
name: late
rules:
  - id: late
    when: {{op: charge.create}}
    then: {{transport: {{at: answer, delay: {delay}, virtual: true{more}}}, later: [{{after: 20s, void: {{}}}}]}}
"""


def pay(sandbox: RemoteSandbox) -> httpx.Response:
    card = {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}
    body = {"providerId": DUMMY, "amount": 20, "capture": False, "paymentInformation": card}
    return sandbox.client.post("/charge/card", json=body)


@pytest.mark.slow
def test_a_clock_that_is_set_by_hand_moves_by_the_delay_and_nobody_waits(url: str) -> None:
    sandbox = RemoteSandbox(url, "sk_virtual")
    sandbox.clock.start("2031-03-01T18:00:00Z")
    sandbox.call("POST", "/__admin/scenarios", content=RULE.format(delay="31s", more=""))
    began = time.monotonic()
    answer = pay(sandbox)
    assert time.monotonic() - began < 31
    assert answer.status_code == 201
    assert sandbox.clock.now.isoformat() == "2031-03-01T18:00:31+00:00"
    # What came due meanwhile has run.
    assert (
        sandbox.client.get(f"/charge/{answer.json()['chargeId']}").json()["status"]
        == "AUTHORISE_CANCELLED"
    )


@pytest.mark.slow
def test_the_fault_that_joins_it_strikes_afterwards(url: str) -> None:
    sandbox = RemoteSandbox(url, "sk_virtual_reset")
    sandbox.clock.start("2031-03-01T18:00:00Z")
    sandbox.call(
        "POST", "/__admin/scenarios", content=RULE.format(delay="31s", more=", reset: true")
    )
    with pytest.raises(httpx.TransportError):
        pay(sandbox)
    assert sandbox.clock.now.isoformat() == "2031-03-01T18:00:31+00:00"


@pytest.mark.slow
def test_a_clock_that_runs_is_not_moved_and_the_client_waits(url: str) -> None:
    sandbox = RemoteSandbox(url, "sk_real")
    sandbox.call("POST", "/__admin/scenarios", content=RULE.format(delay="300ms", more=""))
    before = sandbox.clock.now
    began = time.monotonic()
    assert pay(sandbox).status_code == 201
    assert time.monotonic() - began >= 0.3
    assert (sandbox.clock.now - before).total_seconds() < 20


@pytest.mark.parametrize("mode", ["real", "manual", "fast"])
def test_time_passes_before_a_request_is_acted_on_by_whatever_clock(mode: str) -> None:
    late = (
        "{id: late, when: {op: charge.capture}, then: {transport: {at: receive, delay: 8d, "
        "virtual: true}}}"
    )
    api = Api(
        scenario=f"{{version: 1, name: s, clock: {{mode: {mode}}}, rules: [{late}]}}", waits=True
    )
    before = moment_of(api)
    charge_id = api.charge(capture=False)["chargeId"]
    refused = api.post(f"/charge/{charge_id}")
    assert (refused.status, refused["code"]) == (409, 54)
    assert api.get(f"/charge/{charge_id}")["status"] == "AUTHORISE_CANCELLED"
    assert (moment_of(api) - before).days == 8


REFUSED = [
    (
        "{op: charge.create}",
        "{at: answer, virtual: true, reset: true}",
        "virtual needs delay and at: receive or answer",
    ),
    (
        "{op: charge.create}",
        "{at: answer, copies: 2}",
        "copies comes before anything happens; use at: receive",
    ),
    (
        "{op: charge.create}",
        "{at: receive, copies: 1}",
        "got 1, wanted a whole number from 2 to 10",
    ),
    (
        "{op: charge.create, attempt: 1}",
        "{at: receive, copies: 2}",
        "come before a provider is asked",
    ),
]


@pytest.mark.parametrize(("when", "transport", "words"), REFUSED, ids=[row[2] for row in REFUSED])
def test_what_comes_first_is_refused_elsewhere(when: str, transport: str, words: str) -> None:
    assert words in fault(f"  - id: r\n    when: {when}\n    then: {{transport: {transport}}}\n")


def moment_of(api: Api) -> datetime:
    return datetime.fromisoformat(api.get("/__admin/clock")["now"])


def sent_twice(op: str = "charge.create", more: str = "") -> Api:
    return Api(
        scenario=f"{{version: 1, name: s, {more} rules: [{{id: twice, when: {{op: {op}}}, "
        "then: {transport: {at: receive, copies: 2}}}]}",
        waits=True,
    )


def test_a_request_that_reaches_the_service_twice_happens_twice_and_the_client_hears_of_the_last() -> (
    None
):
    api = sent_twice()
    answered = api.charge(reference="order-1")["chargeId"]
    charges = api.get("/charge", Reference="order-1")["charges"]
    assert len({one["chargeId"] for one in charges}) == 2
    assert answered in {one["chargeId"] for one in charges}
    entries = api.get("/__admin/journal", op="charge.create")["entries"]
    assert [one["by"] for one in entries] == ["proxy", None]
    # The client has sent it once.
    assert api.post("/__admin/findings/finish")["findings"] == []


def test_a_second_refund_of_the_whole_is_refused() -> None:
    api = sent_twice("charge.refund")
    charge_id = api.charge()["chargeId"]
    assert api.delete(f"/refund/{charge_id}").status == 409
    assert api.get(f"/charge/{charge_id}")["status"] == "REFUND"


def test_an_idempotency_key_makes_it_once() -> None:
    api = sent_twice(more="assumptions: {request.idempotency: by_header},")
    headers = {"Idempotency-Key": "k1"}
    assert (
        api.call(
            "POST", "/charge/card", card_charge(reference="order-1"), headers=headers, waits=True
        ).status
        == 201
    )
    assert len(api.get("/charge", Reference="order-1")["charges"]) == 1
