"""Capture, void and refund over HTTP: every state with every operation, on every path, exact to the
cent."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.domain.states import CHARGE, ChargeEvent, ChargeState
from tests.driving import DUMMY, Api, Reply, card, card_charge, problem_of

BANK = {"bankCode": "123-456", "accountNumber": "12345678", "accountName": "Ann Example"}


def _authorised(api: Api) -> str:
    return api.charge(capture=False)["chargeId"]


def _paid(api: Api) -> str:
    return api.charge()["chargeId"]


def _pending(api: Api) -> str:
    body = {"providerId": DUMMY, "amount": 20, "bankPaymentInformation": BANK}
    return api.post("/charge/bank_account", body)["chargeId"]


def _challenged(api: Api) -> str:
    return api.charge(paymentInformation=card("4000000000003220"))["chargeId"]


def _failed(api: Api) -> str:
    body = card_charge(paymentInformation=card("4000000000000002"))
    return api.post("/charge/card", body)["details"]["ChargeId"]


def _after(
    start: Callable[[Api], str], method: str, path: str, **query: object
) -> Callable[[Api], str]:
    def make(api: Api) -> str:
        charge_id = start(api)
        reply = api.call(method, path.format(charge_id), query=query)
        assert reply.status == 200, reply.raw
        return charge_id

    return make


MAKERS: dict[ChargeState, Callable[[Api], str]] = {
    ChargeState.PENDING_CHECKOUT: _challenged,
    ChargeState.PENDING: _pending,
    ChargeState.AUTHORISED: _authorised,
    ChargeState.SUCCESS: _paid,
    ChargeState.PARTIAL_REFUND: _after(_paid, "DELETE", "/refund/{}", amount=5),
    ChargeState.REFUND: _after(_paid, "DELETE", "/refund/{}"),
    ChargeState.AUTHORISE_CANCELLED: _after(_authorised, "DELETE", "/charge/{}/void"),
    ChargeState.FAILED: _failed,
}
"""How a caller brings a charge into each state."""

OPERATIONS: list[tuple[str, str, dict[str, object], ChargeEvent]] = [
    ("POST", "/charge/{}", {}, ChargeEvent.CAPTURED),
    ("POST", "/charge/{}/capture", {}, ChargeEvent.CAPTURED),
    ("DELETE", "/charge/{}/void", {}, ChargeEvent.VOIDED),
    ("DELETE", "/refund/{}", {}, ChargeEvent.FULLY_REFUNDED),
    ("DELETE", "/refund/{}", {"amount": "0.01"}, ChargeEvent.PARTLY_REFUNDED),
    ("DELETE", "/charge/{}", {"Amount": "0.01"}, ChargeEvent.PARTLY_REFUNDED),
    ("DELETE", "/charge/{}", {"Comment": "all of it"}, ChargeEvent.FULLY_REFUNDED),
]
SHOWN = {state: state.value for state in ChargeState} | {ChargeState.AUTHORISED: "Authorised"}


def exported_state(api: Api) -> str:
    """Everything in the sandbox, save that rules were asked: a refused request is a request all the
    same."""
    state = api.get("/__admin/state", secrets="true").body
    del state["rules"]
    return json.dumps(state)


def test_every_state_can_be_reached_by_a_caller() -> None:
    assert set(MAKERS) == set(ChargeState)


@pytest.mark.parametrize("state", list(ChargeState))
@pytest.mark.parametrize(("method", "path", "query", "event"), OPERATIONS)
def test_capture_void_and_refund_move_a_charge_by_the_table_of_states_or_are_refused_and_change_nothing(
    api: Api,
    state: ChargeState,
    method: str,
    path: str,
    query: dict[str, object],
    event: ChargeEvent,
) -> None:
    charge_id = MAKERS[state](api)
    before = api.get(f"/charge/{charge_id}")
    assert before["status"] == SHOWN[state]
    exported = exported_state(api)
    reply = api.call(method, path.format(charge_id), query=query)
    after = api.get(f"/charge/{charge_id}")
    wanted = CHARGE.moves[state].get(event)
    if wanted is None:
        assert problem_of(reply) == (409, 54)
        assert after.raw == before.raw
        assert exported_state(api) == exported
    else:
        assert (reply.status, reply["status"]) == (200, SHOWN[wanted])
        assert reply.raw == after.raw


@pytest.mark.parametrize("state", list(ChargeState))
def test_delete_without_query_voids_an_authorised_charge_and_refunds_any_other(
    api: Api, state: ChargeState
) -> None:
    charge_id = MAKERS[state](api)
    reply = api.delete(f"/charge/{charge_id}")
    event = ChargeEvent.VOIDED if state is ChargeState.AUTHORISED else ChargeEvent.FULLY_REFUNDED
    wanted = CHARGE.moves[state].get(event)
    if wanted is None:
        assert problem_of(reply) == (409, 54)
    else:
        assert (reply.status, reply["status"]) == (200, SHOWN[wanted])


@pytest.mark.parametrize(("meaning", "code"), [("refund", 54), ("void", None)])
def test_the_meaning_of_delete_is_an_assumption(meaning: str, code: int | None) -> None:
    api = Api(assumptions={"charge.on_delete_path": meaning})
    reply = api.delete(f"/charge/{_authorised(api)}")
    assert reply.body.get("code") == code


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/charge/{}"), ("POST", "/charge/{}/capture")]
)
@pytest.mark.parametrize(
    ("body", "captured"),
    [
        ({}, 20),
        ([], 20),
        ({"amount": None}, 20),
        ({"Amount": "5"}, 5),
        ({"amount": 20.0}, 20),
        ({"amount": 0.01}, 0.01),
    ],
)
def test_a_capture_takes_the_whole_or_a_part(
    api: Api, method: str, path: str, body: object, captured: float
) -> None:
    reply = api.call(method, path.format(_authorised(api)), body)
    assert (reply.status, reply["status"], reply["amount"]) == (200, "SUCCESS", captured)
    assert (reply["authorisationAmount"], reply["successDate"]) == (
        20,
        "2031-03-01T00:00:00.0000000Z",
    )


def test_a_capture_without_any_body_takes_the_whole(api: Api) -> None:
    assert api.send("POST", f"/charge/{_authorised(api)}")["amount"] == 20


@pytest.mark.parametrize(
    ("amount", "code"),
    [("20.01", 77), (0, 74), (-1, 74), ("0.001", 2), ("x", 90), (True, 90), ([], 90)],
)
def test_a_capture_of_more_than_was_authorised_or_of_no_amount_is_refused_and_changes_nothing(
    api: Api, amount: object, code: int
) -> None:
    charge_id = _authorised(api)
    before = api.get(f"/charge/{charge_id}").raw
    refused = api.post(f"/charge/{charge_id}", {"amount": amount})
    assert problem_of(refused) == (400, code)
    assert list(refused["details"]) == ["Amount"]
    assert api.get(f"/charge/{charge_id}").raw == before


@pytest.mark.parametrize("path", ["/refund/{}", "/charge/{}"])
@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"amount": "20.01"}, 76),
        ({"amount": 0}, 74),
        ({"amount": -1}, 74),
        ({"amount": "0.001"}, 2),
        ({"amount": "x"}, 90),
        ({"amount": "NaN"}, 90),
        ({"amount": "1", "Amount": "2"}, 90),
    ],
)
def test_a_refund_of_more_than_was_paid_or_of_no_amount_is_refused_and_changes_nothing(
    api: Api, path: str, query: dict[str, object], code: int
) -> None:
    charge_id = _paid(api)
    before = api.get(f"/charge/{charge_id}").raw
    refused = api.delete(path.format(charge_id), **query)
    assert problem_of(refused) == (400, code)
    assert list(refused["details"]) == ["Amount"]
    assert api.get(f"/charge/{charge_id}").raw == before


@pytest.mark.parametrize("path", ["/refund/{}", "/charge/{}"])
def test_partial_refunds_add_up_to_the_cent(api: Api, path: str) -> None:
    charge_id = api.charge(amount="0.30")["chargeId"]
    first = api.delete(path.format(charge_id), amount="0.10", comment="one")
    assert (first["status"], first["refundedAmount"]) == ("PARTIAL_REFUND", 0.1)
    api.advance("1s")
    second = api.delete(path.format(charge_id), Amount="0.10")
    assert b'"refundedAmount":0.2,' in second.raw
    assert problem_of(api.delete(path.format(charge_id), amount="0.11")) == (400, 76)
    last = api.delete(path.format(charge_id))
    assert (last["status"], last["refundedAmount"], last["amount"]) == ("REFUND", 0.3, 0.3)
    assert [row["amount"] for row in last["refunds"]] == [0.1, 0.1, 0.1]
    assert last["refunds"][0] == {
        "amount": 0.1,
        "dateAdded": "2031-03-01T00:00:00.0000000Z",
        "comment": "one",
    }
    assert last["refunds"][1] == {
        "amount": 0.1,
        "dateAdded": "2031-03-01T00:00:01.0000000Z",
        "comment": None,
    }
    assert problem_of(api.delete(path.format(charge_id), amount="0.01")) == (409, 54)


def test_only_what_was_captured_can_be_refunded(api: Api) -> None:
    charge_id = _authorised(api)
    api.post(f"/charge/{charge_id}", {"amount": 5})
    assert problem_of(api.delete(f"/refund/{charge_id}", amount=6)) == (400, 76)
    assert api.delete(f"/refund/{charge_id}", amount=5)["status"] == "REFUND"


def test_a_voided_charge_shows_its_void_date(api: Api) -> None:
    charge_id = _authorised(api)
    api.advance("1h")
    voided = api.delete(f"/charge/{charge_id}/void")
    assert (voided["voidDate"], voided["successDate"]) == ("2031-03-01T01:00:00.0000000Z", None)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/charge/{}"),
        ("POST", "/charge/{}"),
        ("POST", "/charge/{}/capture"),
        ("DELETE", "/charge/{}/void"),
        ("DELETE", "/charge/{}"),
        ("DELETE", "/refund/{}"),
    ],
)
def test_an_unknown_charge_is_code_84(api: Api, method: str, path: str) -> None:
    refused = api.call(method, path.format("0" * 32))
    assert problem_of(refused) == (404, 84)
    assert list(refused["details"]) == ["ChargeId"]


def test_the_status_of_a_refused_move_is_an_assumption() -> None:
    api = Api(assumptions={"error.wrong_state": 400})
    assert problem_of(api.post(f"/charge/{_paid(api)}")) == (400, 54)


RULES = """
version: 1
name: unwilling
rules:
  - id: unwilling
    when: {op: "OP"}
    then: {decline: do_not_honour}
"""


@pytest.mark.parametrize(
    ("op", "make", "call", "code"),
    [
        ("charge.capture", _authorised, ("POST", "/charge/{}"), 47),
        ("charge.void", _authorised, ("DELETE", "/charge/{}/void"), 48),
        ("charge.refund", _paid, ("DELETE", "/refund/{}"), 45),
    ],
)
def test_a_provider_may_refuse_a_move_and_then_nothing_has_changed(
    op: str, make: Callable[[Api], str], call: tuple[str, str], code: int
) -> None:
    api = Api(scenario=RULES.replace("OP", op))
    charge_id = make(api)
    before = api.get(f"/charge/{charge_id}").raw
    refused: Reply = api.call(call[0], call[1].format(charge_id))
    assert problem_of(refused) == (400, code)
    assert refused["gatewayCode"] == "05"
    assert api.get(f"/charge/{charge_id}").raw == before


def test_pending_bank_charges_settle_and_authorisations_lapse_on_the_clock(api: Api) -> None:
    pending, authorised = _pending(api), _authorised(api)
    api.advance("23h")
    assert api.get(f"/charge/{pending}")["status"] == "PENDING"
    api.advance("1h")
    settled: dict[str, Any] = api.get(f"/charge/{pending}").body
    assert (settled["status"], settled["successDate"]) == (
        "SUCCESS",
        "2031-03-02T00:00:00.0000000Z",
    )
    api.advance("6d")
    expired = api.get(f"/charge/{authorised}").body
    assert (expired["status"], expired["voidDate"]) == (
        "AUTHORISE_CANCELLED",
        "2031-03-08T00:00:00.0000000Z",
    )


def test_a_captured_authorisation_does_not_lapse(api: Api) -> None:
    charge_id = _authorised(api)
    api.post(f"/charge/{charge_id}")
    api.advance("30d")
    assert (
        api.get(f"/charge/{charge_id}")["status"],
        api.get(f"/charge/{charge_id}")["voidDate"],
    ) == ("SUCCESS", None)


def test_when_a_charge_settles_and_an_authorisation_lapses_is_an_assumption() -> None:
    api = Api(
        assumptions={
            "charge.pending_settles_after": "5m",
            "charge.authorisation_expires_after": "10m",
        }
    )
    pending, authorised = _pending(api), _authorised(api)
    api.advance("5m")
    assert api.get(f"/charge/{pending}")["status"] == "SUCCESS"
    api.advance("5m")
    assert api.get(f"/charge/{authorised}")["status"] == "AUTHORISE_CANCELLED"


BOUNCING = """
version: 1
name: bouncing
rules:
  - {id: bouncing, when: {source: bank_account}, then: {pending: {settle: FAILED, after: 1h}}}
"""


def test_a_pending_charge_can_bounce() -> None:
    api = Api(scenario=BOUNCING)
    charge_id = _pending(api)
    api.advance("1h")
    bounced = api.get(f"/charge/{charge_id}")
    # No source shows a code for it (assumption ``charge.returned``).
    assert (bounced["status"], bounced["failedAttempts"]) == ("FAILED", [])


def test_a_charge_that_is_read_again_is_reported_as_it_stands(api: Api) -> None:
    charge_id = _paid(api)
    first = api.get(f"/charge/{charge_id}")
    assert api.get(f"/charge/{charge_id}").raw == first.raw
    assert api.delete(f"/refund/{charge_id}", amount=1).status == 200
    refunded = api.get(f"/charge/{charge_id}")
    assert (first["refundedAmount"], refunded["refundedAmount"]) == (0, 1)
    api.put("/__admin/assumptions", {"card.masking": "last4"})
    masked = api.get(f"/charge/{charge_id}")
    assert (
        masked["paymentInformation"]["card"]["cardNumber"]
        != first["paymentInformation"]["card"]["cardNumber"]
    )
    assert masked["refundedAmount"] == 1
