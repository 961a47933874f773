"""Set-up calls that are refused (scenario language, File, ``setup``): every answer says which call and why."""

import pytest

from tests.driving import DUMMY, Api

CARD = '{cardNumber: "4111111111111111", expiryDate: "12/40"}'


def api_with(provider: str) -> Api:
    body = f"{{providerId: {provider}, paymentInformation: {CARD}}}"
    return Api(scenario=f'version: 1\nname: s\nsetup:\n  - {{id: ann, call: "POST /customer/card", body: {body}}}')


@pytest.mark.parametrize("target", ["/charge", "/customer", "/__admin/rules"])
def test_a_set_up_that_is_refused_is_reported_by_every_answer(target: str) -> None:
    api = api_with("acq_nowhere")
    for _ in range(2):
        answer = api.get(target)
        assert (answer.status, answer["code"]) == (400, 90)
        told = answer["details"]["Setup.ann"]
        assert told.startswith("POST /customer/card answered 400: 39 ")
        assert "acq_nowhere" in told


def test_a_set_up_that_is_taken_is_there() -> None:
    assert api_with(DUMMY).get("/customer")["count"] == 1


def test_set_up_calls_have_no_number_among_the_calls_of_their_operation() -> None:
    body = f"{{providerId: {DUMMY}, paymentInformation: {CARD}}}"
    rule = "{id: first, when: {op: customer.create, call: 1}, then: {decline: expired_card}}"
    api = Api(
        scenario=f'version: 1\nname: s\nsetup:\n  - {{call: "POST /customer/card", body: {body}}}\nrules: [{rule}]'
    )
    customer = {"providerId": DUMMY, "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40"}}
    assert [api.post("/customer/card", customer).status for _ in range(2)] == [400, 201]
    assert api.get("/customer")["count"] == 2
    entries = api.get("/__admin/journal")["entries"]
    assert [(entry["op"], entry["call"]) for entry in entries] == [
        ("customer.create", 1),
        ("customer.create", 2),
        ("customer.search", 1),
    ]
