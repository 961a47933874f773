"""The vault over HTTP: create, get, delete, expiry, and the removal of the ccv (service document,
Vault)."""

from typing import Any

import pytest

from tests.driving import DUMMY, VISA, Api, card, card_charge, problem_of

FIELDS = ["vaultId", "createdDate", "expireDate", "maskedCardNumber", "hasCvv"]


def item(api: Api, **fields: object) -> dict[str, Any]:
    reply = api.post("/vault", {"CardNumber": VISA, "Ccv": "123", **fields})
    assert reply.status == 201, reply.raw
    return reply.body


def test_a_created_vault_item_shows_no_card_number(api: Api) -> None:
    made = item(api)
    assert list(made) == FIELDS
    assert made["maskedCardNumber"] == "4111********1111"
    assert (made["createdDate"], made["expireDate"], made["hasCvv"]) == (
        "2031-03-01T00:00:00.0000000Z",
        None,
        True,
    )


def test_a_vault_item_that_is_read_shows_the_card_number_and_the_ccv_while_it_is_held(
    api: Api,
) -> None:
    made = item(api)
    got = api.get(f"/vault/{made['vaultId']}")
    assert (got.status, got.body) == (200, {**made, "cardNumber": VISA, "ccv": "123"})


def test_a_deleted_vault_item_is_shown_without_its_card_number_and_then_unknown(api: Api) -> None:
    vault_id = item(api)["vaultId"]
    gone = api.delete(f"/vault/{vault_id}")
    assert (gone.status, list(gone.body), gone["hasCvv"]) == (200, FIELDS, False)
    assert problem_of(api.get(f"/vault/{vault_id}")) == (404, 62)
    assert problem_of(api.delete(f"/vault/{vault_id}")) == (404, 62)


@pytest.mark.parametrize(
    "body",
    [
        {"cardNumber": VISA, "ccv": "123", "expireSeconds": 60},
        {"CardNumber": VISA, "Ccv": "123", "ExpireSeconds": 60},
        {"CARDNUMBER": VISA, "CCV": "123", "EXPIRESECONDS": "60"},
        {
            "cardNumber": "4111 1111-1111 1111",
            "ccv": "123",
            "expireSeconds": 60.0,
            "expireDate": None,
        },
    ],
)
def test_any_letter_case_and_every_form_of_a_number_is_taken(
    api: Api, body: dict[str, object]
) -> None:
    made = api.post("/vault", body)
    assert (made.status, made["expireDate"]) == (201, "2031-03-01T00:01:00.0000000Z")
    assert api.get(f"/vault/{made['vaultId']}")["cardNumber"] == VISA


@pytest.mark.parametrize(
    "date",
    [
        "2031-03-01T00:01:00Z",
        "2031-03-01T11:01:00+11:00",
        "2031-03-01 00: 01:00",
        1930089660000,
        "2031-03-01T00:01:00",
    ],
)
def test_the_expiry_date_of_a_vault_item_is_taken_in_every_published_form(
    api: Api, date: object
) -> None:
    assert item(api, ExpireDate=date)["expireDate"] == "2031-03-01T00:01:00.0000000Z"


def test_a_vault_item_expires_to_the_second(api: Api) -> None:
    vault_id = item(api, ExpireSeconds=60)["vaultId"]
    api.advance("59s")
    assert api.get(f"/vault/{vault_id}").status == 200
    api.advance("1s")
    assert problem_of(api.get(f"/vault/{vault_id}")) == (404, 62)


def test_a_vault_item_without_expiry_stays(api: Api) -> None:
    vault_id = item(api)["vaultId"]
    api.advance("3650d")
    assert api.get(f"/vault/{vault_id}").status == 200


def test_the_ccv_is_removed_after_the_short_delay(api: Api) -> None:
    vault_id = item(api)["vaultId"]
    api.advance("299s")
    assert api.get(f"/vault/{vault_id}")["ccv"] == "123"
    api.advance("1s")
    later = api.get(f"/vault/{vault_id}")
    assert (later["ccv"], later["hasCvv"], later["cardNumber"]) == (None, False, VISA)


@pytest.mark.parametrize("capture", [True, False])
def test_the_ccv_is_removed_by_the_first_payment_for_the_card(api: Api, capture: bool) -> None:
    vault_id = item(api)["vaultId"]
    api.charge(capture=capture, paymentInformation=card(ccv="999"))
    assert api.get(f"/vault/{vault_id}")["hasCvv"] is False


@pytest.mark.parametrize("answer", ["approve: {}", "pending: {after: 1h, settle: SUCCESS}"])
def test_the_ccv_of_an_item_made_after_an_authorisation_is_removed_by_its_capture(
    answer: str,
) -> None:
    api = Api(
        scenario=f"{{version: 1, rules: [{{id: a, when: {{op: charge.capture}}, then: {{{answer}}}}}]}}"
    )
    charge = api.charge(capture=False)
    vault_id, other = item(api)["vaultId"], item(api, CardNumber="4000000000000002")["vaultId"]
    assert api.post(f"/charge/{charge['chargeId']}", {}).status == 200
    assert [api.get(f"/vault/{one}")["hasCvv"] for one in (vault_id, other)] == [False, True]
    assert api.get(f"/vault/{other}")["ccv"] == "123"


def test_the_ccv_survives_what_is_no_payment() -> None:
    rule = (
        "{id: a, when: {op: charge.create, request.amount: 7}, then: {pending: {after: 1h, "
        "settle: SUCCESS}}}"
    )
    api = Api(scenario=f"{{version: 1, rules: [{rule}]}}")
    held, kept, waits = api.charge(capture=False), api.charge(), api.charge(amount=7)
    refused = api.charge(capture=False)
    vault_id = item(api)["vaultId"]
    assert api.delete(f"/charge/{held['chargeId']}/void").status == 200
    assert api.delete(f"/refund/{kept['chargeId']}").status == 200
    assert api.post(f"/charge/{refused['chargeId']}", {"amount": 10_000}).status == 400
    assert api.get(f"/charge/{waits['chargeId']}")["status"] == "PENDING"
    assert api.get(f"/vault/{vault_id}")["hasCvv"] is True


def test_a_capture_removes_only_the_linked_ccv_where_that_is_assumed() -> None:
    api = Api(assumptions={"vault.ccv_spent_by": "linked_method"})
    method = api.post(
        "/payment_method/card", {"providerId": DUMMY, "paymentInformation": card()}
    ).body
    charge = api.post(
        "/charge/payment_method",
        {"amount": 1, "paymentMethodId": method["paymentMethodId"], "capture": False},
    )
    vault_id = item(api)["vaultId"]
    assert api.post(f"/charge/{charge['chargeId']}", {}).status == 200
    assert api.get(f"/vault/{vault_id}")["hasCvv"] is True


def test_the_ccv_survives_a_payment_with_another_card_and_a_declined_one(api: Api) -> None:
    vault_id = item(api, CardNumber="4000000000000002")["vaultId"]
    api.charge()
    declined = api.post("/charge/card", card_charge(paymentInformation=card("4000000000000002")))
    assert problem_of(declined) == (400, 905)
    assert api.get(f"/vault/{vault_id}")["ccv"] == "123"


def test_a_payment_removes_only_the_linked_ccv_where_that_is_assumed() -> None:
    api = Api(assumptions={"vault.ccv_spent_by": "linked_method"})
    vault_id = item(api)["vaultId"]
    method = api.post(
        "/payment_method/card",
        {"providerId": DUMMY, "paymentInformation": card(), "vaultCard": True},
    ).body
    api.post("/charge/payment_method", {"amount": 1, "paymentMethodId": method["paymentMethodId"]})
    assert api.get(f"/vault/{vault_id}")["hasCvv"] is True
    assert api.get(f"/vault/{method['vaultId']}")["hasCvv"] is False


def test_the_length_of_the_delay_is_an_assumption() -> None:
    api = Api(assumptions={"vault.ccv_delay": "10s"})
    vault_id = item(api)["vaultId"]
    api.advance("10s")
    assert api.get(f"/vault/{vault_id}")["hasCvv"] is False


def test_a_vault_item_with_both_expire_seconds_and_expire_date_is_refused(shared: Api) -> None:
    seconds, date = {"ExpireSeconds": 60}, {"ExpireDate": "2031-04-01T00:00:00Z"}
    for fields in (seconds, date):
        assert shared.post("/vault", {"CardNumber": VISA, **fields}).status == 201
    refused = shared.post("/vault", {"CardNumber": VISA, **seconds, **date})
    assert problem_of(refused) == (400, 82)
    assert list(refused["details"]) == ["ExpireSeconds"]


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"ExpireSeconds": 0}, 83, "ExpireSeconds"),
        ({"ExpireSeconds": -5}, 83, "ExpireSeconds"),
        ({"ExpireDate": "2031-03-01T00:00:00Z"}, 83, "ExpireDate"),
        ({"ExpireDate": "2020-01-01"}, 83, "ExpireDate"),
        ({"ExpireDate": "soon"}, 90, "ExpireDate"),
        ({"ExpireSeconds": 1.5}, 90, "ExpireSeconds"),
        ({"ExpireSeconds": 2**31}, 90, "ExpireSeconds"),
        ({"Ccv": "12"}, 6, "Ccv"),
        ({"Ccv": "12345"}, 6, "Ccv"),
        ({"Ccv": "12a"}, 6, "Ccv"),
        ({"Ccv": ""}, 6, "Ccv"),
        ({"CardNumber": "378282246310005", "Ccv": "123"}, 6, "Ccv"),
        ({"CardNumber": ""}, 90, "CardNumber"),
        ({"CardNumber": None}, 90, "CardNumber"),
    ],
)
def test_a_vault_item_with_a_bad_expiry_ccv_or_card_number_is_refused(
    shared: Api, fields: dict[str, object], code: int, field: str
) -> None:
    refused = shared.post("/vault", {"CardNumber": VISA, "Ccv": "123", **fields})
    assert problem_of(refused) == (400, code)
    assert list(refused["details"]) == [field]


@pytest.mark.parametrize(
    "number", ["4000000000000000", "4111", "4111111111111112", "x" * 16, "4" * 20, "٤" * 16]
)
def test_a_card_number_with_a_wrong_check_digit_or_length_is_refused_without_repeating_it(
    api: Api, number: str
) -> None:
    refused = api.post("/vault", {"CardNumber": number})
    assert problem_of(refused) == (400, 5)
    assert (refused["message"], refused["details"]) == ("Invalid Card Number", None)


def test_the_ccv_of_amex_has_four_digits(api: Api) -> None:
    assert (
        item(api, CardNumber="378282246310005", Ccv="1234")["maskedCardNumber"] == "3782*******0005"
    )


def test_a_vault_item_that_is_deleted_before_its_expiry_ends_once(api: Api) -> None:
    vault_id = item(api, ExpireSeconds=60)["vaultId"]
    api.delete(f"/vault/{vault_id}")
    api.advance("61s")
    assert problem_of(api.get(f"/vault/{vault_id}")) == (404, 62)


def test_vault_items_of_another_secret_key_are_unknown(api: Api) -> None:
    vault_id = item(api)["vaultId"]
    other = api.call("GET", f"/vault/{vault_id}", headers={"x-secretkey": "sk_other"})
    assert problem_of(other) == (404, 62)


def test_every_ccv_of_a_card_is_removed_by_one_payment_and_none_is_looked_for_again(
    api: Api,
) -> None:
    held = [item(api)["vaultId"] for _ in range(3)]
    item(api, CardNumber="5555555555554444")
    api.charge()
    assert [api.get(f"/vault/{vault_id}")["hasCvv"] for vault_id in held] == [False] * 3
    again = item(api)["vaultId"]
    api.charge()
    assert api.get(f"/vault/{again}")["ccv"] is None
