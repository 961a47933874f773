"""Answers that come late in the sandbox's own time (scenario language, Outcomes, transport: virtual)."""

from __future__ import annotations

import time

import httpx
import pytest

from mockserver.remote import RemoteSandbox
from tests.driving import DUMMY
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
    assert time.monotonic() - began < 10
    assert answer.status_code == 201
    assert sandbox.clock.now.isoformat() == "2031-03-01T18:00:31+00:00"
    # What came due meanwhile has run.
    assert sandbox.client.get(f"/charge/{answer.json()['chargeId']}").json()["status"] == "AUTHORISE_CANCELLED"


@pytest.mark.slow
def test_the_fault_that_joins_it_strikes_afterwards(url: str) -> None:
    sandbox = RemoteSandbox(url, "sk_virtual_reset")
    sandbox.clock.start("2031-03-01T18:00:00Z")
    sandbox.call("POST", "/__admin/scenarios", content=RULE.format(delay="31s", more=", reset: true"))
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


@pytest.mark.parametrize(
    "transport", ["{at: answer, virtual: true, reset: true}", "{at: receive, delay: 1s, virtual: true}"]
)
def test_virtual_belongs_to_the_delay_of_an_answer(transport: str) -> None:
    rule = f"  - id: r\n    when: {{op: charge.create}}\n    then: {{transport: {transport}}}\n"
    assert "virtual needs delay and at: answer: it says how the delay of an answer passes" in fault(rule)
