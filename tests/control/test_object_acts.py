"""What is done to an object by hand: ``POST /__admin/objects/KIND/ID`` with one entry of
``later``."""

from collections.abc import Mapping

import pytest

from tests.driving import CARD, Api

CHALLENGED = {**CARD, "cardNumber": "4000000000003220"}


def act(api: Api, charge: Mapping[str, object], **body: object) -> tuple[int, object]:
    """Status, and the state of the charge afterwards or the error's details."""
    reply = api.call("POST", f"/__admin/objects/charge/{charge['chargeId']}", body)
    return reply.status, reply.body["state"] if reply.status == 200 else reply.body["details"]


@pytest.mark.parametrize(
    ("given", "body", "state"),
    [
        ({"capture": False}, {"capture": {}}, "SUCCESS"),
        ({"capture": False}, {"capture": {"amount": 5}}, "SUCCESS"),
        ({"capture": False}, {"void": {}}, "AUTHORISE_CANCELLED"),
        ({}, {"refund": {"amount": 5}}, "PARTIAL_REFUND"),
        ({}, {"refund": {}}, "REFUND"),
        ({}, {"settle": "FAILED"}, "FAILED"),
        ({}, {"emit": {"event": "charge.dispute.created"}}, "SUCCESS"),
        ({"paymentInformation": CHALLENGED}, {"settle": "SUCCESS"}, "SUCCESS"),
        ({"paymentInformation": CHALLENGED}, {"settle": "FAILED"}, "FAILED"),
    ],
)
def test_a_move_that_the_state_allows_happens_at_once(
    api: Api, given: Mapping[str, object], body: Mapping[str, object], state: str
) -> None:
    charge = api.charge(reference="order-1", **given)
    assert act(api, charge, **body) == (200, state)
    [entry] = [
        one
        for one in api.call("GET", "/__admin/journal").body["entries"]
        if one["op"].startswith("object.")
    ]
    assert (entry["by"], entry["request"]) == ("control API", None)
    assert api.call("GET", "/__admin/findings").body["findings"] == []


@pytest.mark.parametrize(
    ("body", "status", "field", "words"),
    [
        ({"capture": {}}, 409, "Status", "allowed in Authorised only"),
        ({"refund": {"amount": 21}}, 400, "Amount", "21"),
        ({"refund": {"amount": "x"}}, 400, "refund.amount", "wanted a number"),
        ({"refnd": {}}, 400, "refnd", "did you mean 'refund'"),
        ({}, 400, "Body", "wanted exactly one of"),
        ({"delete": {}}, 400, "delete", "wanted it of one of vault, customer, payment_method"),
        ({"set": {"payto.status": "ACTIVE"}}, 400, "set", "and this is a charge"),
    ],
)
def test_what_cannot_happen_is_refused_and_changes_nothing(
    api: Api, body: Mapping[str, object], status: int, field: str, words: str
) -> None:
    charge = api.charge()
    before = api.call("GET", "/__admin/state").body
    reply = api.call("POST", f"/__admin/objects/charge/{charge['chargeId']}", body)
    assert reply.status == status
    assert words in reply.body["details"][field]
    assert api.call("GET", "/__admin/state").body == before


def test_only_objects_that_are_there_can_be_acted_on(api: Api) -> None:
    assert api.call("POST", f"/__admin/objects/charge/{'0' * 32}", {"void": {}}).status == 404
    charge = api.charge()
    reply = api.call(
        "POST",
        f"/__admin/objects/charge/{charge['chargeId']}",
        {"refund": {}},
        key=None,
        headers={"x-publickey": "pk_tests"},
    )
    assert reply.status == 401, "a public key changes nothing"
