"""What the client did not ask for is not held against it: what the control page or ``repeat`` sends
again, and what the client script charges."""

import pytest

from tests.driving import DUMMY, PUBLIC, Api, card
from tests.findings.test_client_mistakes import DEAD, charge, finished, found

OWN = {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"}


@pytest.mark.parametrize(("headers", "by"), [(OWN, "control page"), ({}, "repeat")])
def test_what_is_sent_again_accuses_nobody_and_is_marked(
    api: Api, headers: dict[str, str], by: str
) -> None:
    charge(api, paymentInformation=card(DEAD))
    charge(api, reference="order-6", capture=False)
    for entry in (1, 2):
        again = api.call("POST", f"/__admin/journal/{entry}/repeat", headers=headers)
        assert again["status"] in (201, 400)
    entries = api.get("/__admin/journal")["entries"]
    assert [entry["by"] for entry in entries] == [None, None, by, by]
    assert "x-mockserver-sent-by" not in api.get("/__admin/journal/3/request")["headers"]
    captured = api.post(f"/charge/{entries[1]['answer']['chargeId']}")
    assert (captured.status, finished(api)) == (200, {})


def test_what_the_client_sends_again_is_judged(api: Api) -> None:
    for _ in range(2):
        charge(api, paymentInformation=card(DEAD))
    assert list(found(api)) == ["hard-decline-retried"]


def test_a_capture_from_the_page_ends_the_authorisation_of_the_client() -> None:
    api = Api(
        scenario="version: 1\nrules: [{id: r, when: {op: charge.capture}, limit: 1, then: "
        "{decline: do_not_honour}}]"
    )
    reply = charge(api, capture=False)
    assert reply is not None
    api.post(f"/charge/{reply['chargeId']}")
    assert api.call("POST", "/__admin/journal/2/repeat", headers=OWN)["status"] == 200
    assert finished(api) == {}


def test_the_client_script_has_no_reference_to_give(api: Api) -> None:
    body = {"amount": 20, "providerId": DUMMY, "token": {"paymentMethod": {"type": "googlepay"}}}
    api.call("POST", "/charge/token/apple", body, key=None, headers=PUBLIC)
    assert found(api) == {}
    api.call("POST", "/charge/token/apple", body, headers=PUBLIC)
    assert list(found(api)) == ["no-reference"]
