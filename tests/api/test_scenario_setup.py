"""Set-up calls that are refused (scenario language, File, ``setup``): every answer says which call and why."""

from __future__ import annotations

import pytest

from tests.driving import DUMMY, Api

CARD = '{cardNumber: "4111111111111111", expiryDate: "12/40"}'


def api_with(provider: str) -> Api:
    body = f"{{providerId: {provider}, paymentInformation: {CARD}}}"
    return Api(scenario=f'version: 1\nname: s\nsetup:\n  - {{id: ann, call: "POST /customer/card", body: {body}}}')


@pytest.mark.parametrize("target", ["/charge", "/customer", "/__admin/rules"])
def test_a_set_up_that_is_refused_is_told_by_every_answer(target: str) -> None:
    api = api_with("acq_nowhere")
    for _ in range(2):
        answer = api.get(target)
        assert (answer.status, answer["code"]) == (400, 90)
        told = answer["details"]["Setup.ann"]
        assert told.startswith("POST /customer/card answered 400: 39 ")
        assert "acq_nowhere" in told


def test_a_set_up_that_is_taken_is_there() -> None:
    assert api_with(DUMMY).get("/customer")["count"] == 1
