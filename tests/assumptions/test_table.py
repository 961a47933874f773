"""The assumption table: every question of the document has a row, every row a reader, every choice
an effect."""

import csv
import json
import re

import pytest

from mockserver.assumptions import ROWS, Assumed, Profile, read
from mockserver.domain.errors import Invalid
from tests.driving import DUMMY, VISA, Api, card, card_charge, problem_of, without
from tests.rows import at_row
from tools.imports import MODULES, PACKAGE


def test_a_row_reads_what_it_shows_and_refuses_what_it_cannot_mean() -> None:
    for key in ROWS:
        with at_row(key):
            for profile in Profile:
                value = ROWS[key].value(profile)
                assert read(key, ROWS[key].kind.show(value)) == value
                assert Assumed(profile)[key] == value
            for wrong in ("no such value", None, -1, [], {"a": 1}):
                if ROWS[key].kind.allowed == "a text" and isinstance(wrong, str):
                    continue
                with pytest.raises(Invalid) as refused:
                    read(key, wrong)
                assert list(refused.value.details or {}) == [key]


def test_an_unknown_row_is_refused_with_the_nearest_key() -> None:
    with pytest.raises(Invalid) as refused:
        read("vault.ccv_dely", "5m")
    assert "vault.ccv_delay" in str(refused.value.details)


def test_only_rows_that_differ_differ() -> None:
    differ = {key for key, row in ROWS.items() if row.documented != row.sdk}
    assert differ >= {
        "response.created_status",
        "card.iin_digits",
        "charge.status.authorised",
        "provider.latency",
        "error.not_found",
        "error.wrong_state",
        "payment_method.wallet_type",
        "network_token.date_added",
    }


def test_the_code_asks_every_row_that_can_be_changed_and_no_other() -> None:
    changeable = {
        key for key, row in ROWS.items() if row.kind.allowed != row.kind.show(row.documented)
    }
    code = "".join(path.read_text("utf-8") for path in MODULES if "assumptions" not in path.parts)
    # Some keys stand in tables that say which to ask.
    assert [key for key in sorted(changeable) if f'"{key}"' not in code] == []
    looked_up = set(re.findall(r"\bassumed?[(\[]\"([^\"]+)\"[)\]]", code))
    assert len(looked_up) > 50
    assert looked_up - changeable == set()


def assuming(key: str, value: object) -> Api:
    return Api(assumptions={key: value})


def test_unknown_fields_can_be_refused_without_strict() -> None:
    refused = assuming("request.unknown_fields", "refuse").post(
        "/charge/card", card_charge(colour="red")
    )
    assert problem_of(refused) == (400, 90)


@pytest.mark.parametrize(
    ("masking", "shown"),
    [
        ("first4_last4", "4111********1111"),
        ("first6_last4", "411111******1111"),
        ("last4", "************1111"),
    ],
)
def test_a_card_number_is_masked_as_assumed_everywhere(masking: str, shown: str) -> None:
    api = assuming("card.masking", masking)
    assert api.charge()["paymentInformation"]["card"]["cardNumber"] == shown
    assert api.post("/vault", {"cardNumber": VISA})["maskedCardNumber"] == shown
    stored = api.post("/payment_method/card", {"providerId": DUMMY, "paymentInformation": card()})
    assert stored["card"]["cardNumber"] == shown
    api.charge(webhook={"url": "https://shop.example"})
    # As it is sent: the log of deliveries stars more of it.
    [webhook] = api.app.world.sandboxes.open("sk_tests", 0).deliveries
    assert (
        json.loads(webhook.content.body)["data"]["paymentInformation"]["card"]["cardNumber"]
        == shown
    )


def test_a_bank_account_can_be_masked() -> None:
    bank = {"bankCode": "123-456", "accountNumber": "12345678", "accountName": "Ann"}
    body = {"providerId": DUMMY, "amount": 5, "bankPaymentInformation": bank}
    plain = Api().post("/charge/bank_account", body)["paymentInformation"]["bankPayment"]
    masked = assuming("bank_account.masking", "last4").post("/charge/bank_account", body)
    assert plain == bank
    assert masked["paymentInformation"]["bankPayment"]["accountNumber"] == "****5678"


def test_the_vault_can_keep_its_secrets() -> None:
    api = assuming("vault.get_shows", "nothing")
    vault_id = api.post("/vault", {"cardNumber": VISA, "ccv": "123"})["vaultId"]
    shown = api.get(f"/vault/{vault_id}")
    assert (shown["cardNumber"], shown["ccv"], shown["hasCvv"]) == (None, None, True)


def test_a_payer_without_a_stored_customer_can_be_left_out() -> None:
    assert Api().charge(firstName="Ann")["customer"]["firstName"] == "Ann"
    assert (
        assuming("charge.customer_summary", "stored_customers_only").charge(firstName="Ann")[
            "customer"
        ]
        is None
    )


def test_the_expiry_of_a_card_can_be_optional() -> None:
    body = card_charge(paymentInformation=without(card(), "expiryDate"))
    assert problem_of(Api().post("/charge/card", body))[0] == 400
    reply = assuming("card.required", "number").post("/charge/card", body)
    assert (reply.status, reply["paymentInformation"]["card"]["expiryDate"]) == (201, None)
    wrong = card_charge(paymentInformation=card(expiryDate="13/40"))
    assert problem_of(assuming("card.required", "number").post("/charge/card", wrong)) == (400, 9)


def test_a_ccv_can_be_required() -> None:
    body = card_charge(paymentInformation=without(card(), "ccv"))
    assert Api().post("/charge/card", body).status == 201
    assert problem_of(assuming("card.ccv", "required").post("/charge/card", body)) == (400, 6)


def test_bank_charges_can_succeed_at_once() -> None:
    bank = {"bankCode": "123-456", "accountNumber": "12345678", "accountName": "Ann"}
    body = {"providerId": DUMMY, "amount": 5, "bankPaymentInformation": bank}
    assert Api().post("/charge/bank_account", body)["status"] == "PENDING"
    assert (
        assuming("charge.pending_types", "none").post("/charge/bank_account", body)["status"]
        == "SUCCESS"
    )


def test_a_three_ds_result_can_be_ignored() -> None:
    body = card(externalThreeDsData={"eci": "05"})
    assert (
        assuming("charge.three_ds", "ignored").charge(paymentInformation=body)["threeDsVerified"]
        is False
    )


def test_failover_can_be_off() -> None:
    def answer(api: Api) -> int:
        backup = api.post("/provider", {"type": "dummy", "name": "Backup"})["providerId"]
        api.put(f"/provider/{DUMMY}", {"fallbackProviderId": backup})
        return api.post("/charge/card", card_charge()).status

    rules = (
        "version: 1\nname: d\nrules:\n"
        "  - "
        f"{{id: d, when: {{op: charge.create, provider: {DUMMY}}}, then: {{provider_down: {{}}}}}}\n"
    )
    assert answer(Api(scenario=rules)) == 201
    assert answer(Api(scenario=rules, assumptions={"failover": "never"})) == 400


@pytest.mark.parametrize(("order", "places"), [("newest_first", [1, 0]), ("oldest_first", [0, 1])])
@pytest.mark.parametrize("removed", ["hidden", "shown"])
def test_the_payment_methods_of_a_customer_come_in_the_order_of_lists(
    order: str, places: list[int], removed: str
) -> None:
    api = Api(assumptions={"paging.order": order, "removed.in_customer_list": removed})
    made = api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": card()}).body
    path = f"/customer/{made['customerId']}"
    second = api.post(
        f"{path}/payment_method/card", {"providerId": DUMMY, "paymentInformation": card()}
    )
    known = [made["defaultPaymentMethod"]["paymentMethodId"], second["paymentMethodId"]]
    for methods in ("payment_method", "payment_methods"):
        listed = api.get(f"{path}/{methods}").body
        assert [row["paymentMethodId"] for row in listed] == [known[place] for place in places]
    assert api.call("DELETE", path).status == 200


def test_lists_can_be_oldest_first_bounds_inclusive_and_sorting_lenient() -> None:
    def references(api: Api, **query: object) -> str:
        for reference in "abc":
            api.charge(reference=reference, amount=ord(reference))
            api.advance("1m")
        reply = api.get("/charge", **query)
        return "".join(charge["reference"] for charge in reply.body.get("charges", []))

    assert references(assuming("paging.order", "oldest_first")) == "abc"
    assert references(assuming("sort", "ignore"), sortBy="colour", sortOrder="up") == "cba"
    bounds = {"AddedAfter": "2031-03-01T00:01:00Z", "AddedBefore": "2031-03-01T00:02:00Z"}
    assert references(Api(), **bounds) == ""
    assert references(assuming("search.bounds", "inclusive"), **bounds) == "cb"
    amounts = {"AmountGreaterThan": 97, "AmountLessThan": 98}
    assert references(Api(), **amounts) == ""
    assert references(assuming("search.bounds", "inclusive"), **amounts) == "ba"


def test_inclusive_bounds_hold_in_every_list() -> None:
    at = "2031-03-01T00:00:00Z"
    for api, count in ((Api(), 0), (assuming("search.bounds", "inclusive"), 1)):
        token = api.post("/token/card", {"providerId": DUMMY, "paymentInformation": card()})
        assert token.status == 201
        customer = api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": card()})
        method = customer["defaultPaymentMethod"]["paymentMethodId"]
        plan = {"paymentMethodId": method, "amount": 5, "interval": "Month"}
        assert api.post("/subscription/payment_method", plan).status == 201
        assert api.post("/webhook/subscription", {"url": "https://shop.example"}).status == 201
        for path in (
            "/token",
            "/customer",
            "/payment_method",
            "/subscription",
            "/webhook/subscription",
        ):
            assert api.get(path, AddedAfter=at, AddedBefore=at)["count"] == count, path
        assert api.get("/subscription", AmountGreaterThan=5, AmountLessThan=5)["count"] == count


def test_the_currency_of_a_provider_is_an_assumption() -> None:
    api = assuming("provider.currency", "nzd")
    assert api.post("/provider", {"type": "dummy", "name": "x"})["currency"] == "NZD"


def test_amount_bounds_are_assumptions() -> None:
    api = Api(assumptions={"amount.minimum": 5, "amount.maximum": "10"})
    assert [
        api.post("/charge/card", card_charge(amount=n)).status for n in (4.99, 5, 10, 10.01)
    ] == [
        400,
        201,
        201,
        400,
    ]


def test_a_decimal_comma_is_refused_by_its_name_or_read() -> None:
    words = (
        "got a decimal comma, wanted a point as in 1.5 (the assumption request.decimal_comma "
        "reads both)"
    )
    rule = "{id: r, when: {op: charge.create, request.amount: 5.5}, then: {decline: expired_card}}"
    for reads in (False, True):
        told = {"request.decimal_comma": "read"} if reads else {}
        api = Api(assumptions=told, scenario=f"version: 1\nname: s\nrules: [{rule}]\n")
        paid = api.charge(amount=20)["chargeId"]
        lines = [{"quantity": "1,5", "amount": "2,50"}]
        replies = {
            "AmountGreaterThan": api.get("/charge", AmountGreaterThan="19,99"),
            "Amount": api.call("DELETE", f"/refund/{paid}", query={"amount": "7,25"}),
            "Order.Items.0.Quantity": api.post("/charge/card", card_charge(order={"items": lines})),
        }
        if not reads:
            assert {
                field: reply["details"][field] for field, reply in replies.items()
            } == dict.fromkeys(replies, words)
            continue
        assert [reply.status for reply in replies.values()] == [200, 200, 201]
        assert (replies["AmountGreaterThan"]["count"], replies["Amount"]["refundedAmount"]) == (
            1,
            7.25,
        )
        assert problem_of(api.post("/charge/card", card_charge(amount="5,5"))) == (400, 14)
    for wrong in ("1,2,3", "1.234,5", "1,", ",5", "5,5e1", "1 000,5"):
        refused = assuming("request.decimal_comma", "read").post(
            "/charge/card", card_charge(amount=wrong)
        )
        assert refused["details"] == {"Amount": "wanted a number"}


def test_the_depth_of_a_body_is_an_assumption() -> None:
    body = {"cardNumber": VISA, "unknown": [[[[[[[[1]]]]]]]]}
    assert Api().post("/vault", body).status == 201
    assert problem_of(assuming("request.json_depth", 8).post("/vault", body)) == (400, 90)


def test_a_refusal_names_states_in_the_words_of_the_profile() -> None:
    for profile, word in (("documented", "Authorised"), ("sdk", "AUTHORISE")):
        api = Api(profile=profile, assumptions={"provider.latency": "0"})
        refused = api.delete(f"/charge/{api.charge()['chargeId']}/void")
        assert refused["details"]["Status"].endswith(f"allowed in {word} only")


def test_every_key_has_one_row_with_its_question_and_evidence() -> None:
    with (PACKAGE / "assumptions" / "table.csv").open(encoding="utf-8", newline="") as file:
        keys = [row["key"] for row in csv.DictReader(file)]
    assert keys == list(ROWS)
    assert [key for key, row in ROWS.items() if not (row.question and row.evidence)] == []
