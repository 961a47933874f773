"""Errors that a scenario asks for are worded as genuine ones (published facts, 4.1; scenario
language, Outcomes)."""

import pytest

from tests.driving import DUMMY, Api, Reply, card, card_charge, problem_of


def api_with(op: str, plan: str) -> Api:
    return Api(scenario=f"version: 1\nname: s\nrules:\n  - {{id: r, when: {{op: {op}}}, {plan}}}")


def scripted(op: str, status: int, at: str = "receive") -> Api:
    return api_with(op, f"then: {{transport: {{at: {at}, status: {status}}}}}")


def without_details(reply: Reply) -> dict[str, object]:
    return {**reply.body, "details": None}


GENUINE = [
    ("charge.get", "GET", "/charge/none"),
    ("charge.capture", "POST", "/charge/none"),
    ("charge.void", "DELETE", "/charge/none/void"),
    ("charge.refund", "DELETE", "/refund/none"),
    ("customer.get", "GET", "/customer/none"),
    ("customer.update", "PUT", "/customer/none"),
    ("payment_method.get", "GET", "/payment_method/none"),
    ("payment_method.delete", "DELETE", "/payment_method/none"),
    ("vault.get", "GET", "/vault/none"),
    ("token.get", "GET", "/token/none"),
    ("provider.delete", "DELETE", "/provider/none"),
    ("batch.status", "GET", "/batch/none/status"),
    ("payment_link.get", "GET", "/payment_link/none"),
    ("subscription.get", "GET", "/subscription/none"),
    ("transfer.get", "GET", "/transfer/none"),
    ("webhook_subscription.get", "GET", "/webhook/subscription/none"),
    ("webhook_subscription.delete", "DELETE", "/webhook/subscription/none"),
]


@pytest.mark.parametrize(("op", "method", "path"), GENUINE, ids=[row[0] for row in GENUINE])
def test_a_scripted_404_is_the_genuine_one(op: str, method: str, path: str) -> None:
    body = {"email": "a@example.com"} if method == "PUT" else None
    genuine = Api().call(method, path, body)
    assert problem_of(genuine)[0] == 404
    assert without_details(scripted(op, 404).call(method, path, body)) == without_details(genuine)


@pytest.mark.parametrize("at", ["receive", "answer"])
@pytest.mark.parametrize(
    ("status", "code", "is_retryable"),
    [
        (400, 90, False),
        (401, 40, False),
        (402, 1, False),
        (404, 1, False),
        (408, 94, True),
        (409, 54, False),
        (429, 35, True),
        (500, 1, False),
        (502, 1, True),
        (503, 37, True),
        (504, 94, True),
    ],
)
def test_a_scripted_status_has_all_that_an_error_has(
    status: int, code: int, is_retryable: bool, at: str
) -> None:
    refused = scripted("charge.create", status, at).post("/charge/card", card_charge())
    assert problem_of(refused) == (status, code)
    # Nothing that has happened is to be repeated, but where the service says that it was away.
    assert refused["isRetryable"] is (
        is_retryable and (at == "receive" or status not in (502, 504))
    )
    assert refused["resource"] == "/charge/card"
    assert refused["type"] == f"https://docs.payfurl.com/errorcodes#{code}"


def test_an_exhausted_sequence_is_refused_like_anything_else() -> None:
    api = api_with("charge.get", "sequence: [{transport: {at: answer, delay: 1us}}], at_end: fail")
    api.waits = True
    assert problem_of(api.get("/charge/none")) == (404, 84)
    refused = api.get("/charge/none")
    assert problem_of(refused) == (400, 1)
    assert refused["message"] == "The sequence of rule 'r' is used up and says at_end: fail"
    assert (refused["resource"], refused["type"]) == (
        "/charge/none",
        "https://docs.payfurl.com/errorcodes#1",
    )


MOVES = [
    ("charge.capture", False, "POST", "/charge/{}", 47, "Unable To Capture"),
    ("charge.void", False, "DELETE", "/charge/{}/void", 48, "Unable To Void"),
    ("charge.refund", True, "DELETE", "/refund/{}", 45, "Unable To Refund"),
]
OWN = [
    ("{errorCode: 12, errorMessage: Not today}", 12, "Not today"),
    ("{errorCode: 12}", 12, "Invalid Refund Details"),
    ("{errorCode: 4711}", 4711, "Declined"),
    ("{name: lost_card, errorMessage: Not today}", None, "Not today"),
    ("lost_card", None, None),
]


@pytest.mark.parametrize(
    ("op", "capture", "method", "path", "code", "message"), MOVES, ids=[row[0] for row in MOVES]
)
@pytest.mark.parametrize(("decline", "own_code", "own_message"), OWN, ids=[row[0] for row in OWN])
def test_the_code_and_message_of_the_file_win(
    op: str,
    capture: bool,
    method: str,
    path: str,
    code: int,
    message: str,
    decline: str,
    own_code: int | None,
    own_message: str | None,
) -> None:
    api = api_with(op, f"then: {{decline: {decline}}}")
    refused = api.call(method, path.format(api.charge(capture=capture)["chargeId"]))
    assert problem_of(refused) == (400, own_code or code)
    assert refused["message"] == (own_message or message)


@pytest.mark.parametrize(
    ("decline", "is_retryable"),
    [
        ("errorCode: 15", True),
        ("errorCode: 37", True),
        ("errorCode: 14", False),
        ("errorCode: 4711", False),
        ("errorCode: 15, isRetryable: false", False),
        ("name: mine, errorCode: 80", True),
    ],
)
def test_a_code_without_a_name_may_be_tried_again_where_its_own_outcome_may(
    decline: str, is_retryable: bool
) -> None:
    refused = api_with("charge.create", f"then: {{decline: {{{decline}}}}}").post(
        "/charge/card", card_charge()
    )
    assert refused["isRetryable"] is is_retryable


@pytest.mark.parametrize(
    ("op", "path"),
    [("customer.create", "/customer/card"), ("payment_method.create", "/payment_method/card")],
)
def test_a_code_that_the_service_does_not_know_is_reported_as_given(op: str, path: str) -> None:
    api = api_with(op, "then: {decline: {errorCode: 4711, errorMessage: Not today}}")
    refused = api.post(path, {"providerId": DUMMY, "paymentInformation": card(), "verify": True})
    assert (problem_of(refused), refused["message"]) == ((400, 4711), "Not today")
