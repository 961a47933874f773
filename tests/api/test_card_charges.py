"""Taking payments over HTTP: by card, by cost, by stored method, from a bank account (service
document, Charges)."""

import pytest

from tests.driving import DUMMY, VISA, Api, card, card_charge, problem_of, without

CHARGE_FIELDS = {
    "chargeId", "providerChargeId", "amount", "providerId", "reference", "paymentInformation", "customerId", "status",
    "dateAdded", "successDate", "voidDate", "refundedAmount", "estimatedCost", "estimatedCostCurrency", "currency",
    "refunds", "failedAttempts", "customer", "provider", "threeDsVerified", "authorisationAmount", "initiator", "ip",
    "ipInfo", "descriptor", "threeDsRedirectUrl", "paymentTokenId", "subscriptionId", "metadata", "visaInstallments",
    "threeDsServerTransId",
}  # fmt: skip
CARD_FIELDS = {
    "cardNumber", "expiryDate", "cardholder", "type", "cardType", "cardIin", "ccvCheck", "threeDSServerTransID",
    "iinData",
}  # fmt: skip
BANK = {"bankCode": "123-456", "accountNumber": "12345678", "accountName": "Ann Example"}
NOW = "2031-03-01T00:00:00.0000000Z"


def test_a_card_charge_shows_every_documented_field(api: Api) -> None:
    charge = api.charge()
    assert set(charge) >= CHARGE_FIELDS
    information = charge["paymentInformation"]
    assert set(information) >= {
        "paymentMethodId",
        "card",
        "type",
        "displayType",
        "email",
        "bankPayment",
    }
    assert set(information["card"]) == CARD_FIELDS
    assert set(information["card"]["iinData"]) == {
        "scheme",
        "country",
        "issuer",
        "countryCode",
        "cardType",
    }
    assert (charge["status"], charge["successDate"], charge["dateAdded"]) == ("SUCCESS", NOW, NOW)
    assert (charge["amount"], charge["authorisationAmount"], charge["refundedAmount"]) == (
        20,
        20,
        0,
    )
    assert (charge["voidDate"], charge["refunds"], charge["failedAttempts"]) == (None, [], [])
    assert charge["provider"] == {"providerId": DUMMY, "type": "dummy", "name": "Dummy"}


def test_what_is_sent_with_a_charge_is_shown(api: Api) -> None:
    charge = api.charge(
        reference="r" * 40,
        email="ann@example.com",
        phone="+61400000000",
        firstName="A" * 40,
        lastName="B" * 40,
        ip="203.0.113.7",
        initiator="merchant",
        descriptor="SHOP",
        metadata={"Order_Id": "7"},
        address={"line1": "1 Road", "country": "Australia", "state": "Victoria"},
        order={
            "orderNumber": "1",
            "items": [{"productCode": "x", "quantity": "1.5", "amount": "2.50"}],
        },
        geolocation={"longitude": 151.2, "latitude": "-33.8"},
        customerCode="c",
        invoiceNumber="i",
        threeDSNotificationUrl="https://example.com/3ds",
        webhook={"url": "https://example.com/hook", "authorization": "Basic x"},
        somethingUnknown={"is": "ignored"},
    )
    assert charge["reference"] == "r" * 40
    assert (charge["initiator"], charge["descriptor"], charge["ip"]) == (
        "MERCHANT",
        "SHOP",
        "203.0.113.7",
    )
    assert charge["metadata"] == {"Order_Id": "7"}
    assert charge["paymentInformation"]["email"] == "ann@example.com"
    assert {
        "firstName": "A" * 40,
        "lastName": "B" * 40,
        "email": "ann@example.com",
    }.items() <= charge["customer"].items()
    assert set(charge["ipInfo"]) == {
        "ip", "hostname", "city", "region", "country", "loc", "org", "postal", "timezone"
    }  # fmt: skip


@pytest.mark.parametrize("index", [0, 1])
def test_an_initiator_is_taken_by_its_index_too(api: Api, index: int) -> None:
    assert api.charge(initiator=index)["initiator"] == ("CUSTOMER", "MERCHANT")[index]


@pytest.mark.parametrize(
    ("amount", "raw"),
    [
        (20, b"20"),
        (20.0, b"20"),
        ("20", b"20"),
        ("20.00", b"20"),
        ("0.10", b"0.1"),
        (12.34, b"12.34"),
        ("1e2", b"100"),
    ],
)
def test_amounts_are_exact_and_written_without_idle_zeros(
    api: Api, amount: object, raw: bytes
) -> None:
    reply = api.post("/charge/card", card_charge(amount=amount))
    assert b'"amount":' + raw + b"," in reply.raw


@pytest.mark.parametrize("case", ["pascal", "upper", "lower"])
def test_fields_of_a_charge_are_taken_in_any_letter_case(api: Api, case: str) -> None:
    def cased(value: object) -> object:
        if not isinstance(value, dict):
            return value
        change = {
            "pascal": lambda name: name[:1].upper() + name[1:],
            "upper": str.upper,
            "lower": str.lower,
        }[case]
        return {change(name): cased(item) for name, item in value.items()}

    reply = api.post("/charge/card", cased(card_charge(reference="x")))
    assert (
        reply.status,
        reply["reference"],
        reply["paymentInformation"]["card"]["cardholder"],
    ) == (
        201,
        "x",
        "Ann Example",
    )


def test_the_currency_is_any_case_in_and_upper_case_out_and_by_default_the_providers(
    api: Api,
) -> None:
    assert api.charge(currency="usd")["currency"] == "USD"
    assert api.charge(currency=None)["currency"] == "AUD"
    yen = api.post("/provider", {"type": "dummy", "name": "Yen", "currency": "jpy"})["providerId"]
    assert api.charge(currency=None, providerId=yen, amount=500)["currency"] == "JPY"
    refused = api.post("/charge/card", card_charge(currency=None, providerId=yen, amount="500.50"))
    assert problem_of(refused) == (400, 2)


@pytest.mark.parametrize(
    ("currency", "least", "too_little", "cost_of_forty"),
    [
        ("JPY", "1", "0.5", "1"),
        ("AUD", "0.01", "0.001", "0.9"),
        ("KWD", "0.001", "0.0001", "0.901"),
    ],
)
def test_smallest_amount_and_cost_have_the_digits_of_the_currency(
    api: Api, currency: str, least: str, too_little: str, cost_of_forty: str
) -> None:
    refused = api.post("/charge/card", card_charge(amount=too_little, currency=currency))
    assert (problem_of(refused), refused["details"]) == (
        (400, 90),
        {"Amount": f"wanted at least {least}"},
    )
    for path in ("/charge/card", "/charge/card/least_cost"):
        taken = api.post(path, card_charge(amount=least, currency=currency))
        assert (taken.status, str(taken["amount"])) == (201, least)
    amount = {"JPY": 40, "AUD": 40, "KWD": 40.05}[currency]
    taken = api.post("/charge/card", card_charge(amount=amount, currency=currency))
    assert (str(taken["estimatedCost"]), taken["estimatedCostCurrency"]) == (
        cost_of_forty,
        currency,
    )


def test_the_digits_of_the_providers_currency_count_where_none_is_named(api: Api) -> None:
    for currency, least, too_little in (("JPY", 1, 0.5), ("KWD", 0.001, 0.0001)):
        own = api.post("/provider", {"type": "dummy", "name": currency, "currency": currency})[
            "providerId"
        ]
        body = card_charge(providerId=own, currency=None)
        refused = api.post("/charge/card", {**body, "amount": too_little})
        assert refused["details"] == {"Amount": f"wanted at least {least}"}
        assert api.post("/charge/card", {**body, "amount": least})["currency"] == currency
    for amount in ("1e99", "1e30"):
        assert problem_of(
            api.post("/charge/card/least_cost", card_charge(amount=amount, currency=None))
        ) == (400, 2)


def test_the_default_currency_is_an_assumption() -> None:
    api = Api(assumptions={"currency.default": "NZD"})
    assert api.charge(currency=None)["currency"] == "NZD"


@pytest.mark.parametrize(
    ("fields", "code", "details"),
    [
        ({"amount": 0}, 90, ["Amount"]),
        ({"amount": -1}, 90, ["Amount"]),
        ({"amount": "0.001"}, 90, ["Amount"]),
        ({"amount": 20.001}, 2, ["Amount"]),
        ({"amount": "20,00"}, 90, ["Amount"]),
        ({"amount": True}, 90, ["Amount"]),
        ({"amount": None}, 90, ["Amount"]),
        ({"amount": 1e300}, 2, ["Amount"]),
        ({"currency": "ZZZ"}, 29, ["Currency"]),
        ({"currency": "AU"}, 29, ["Currency"]),
        ({"currency": 36}, 90, ["Currency"]),
        ({"reference": "r" * 41}, 90, ["Reference"]),
        ({"firstName": "r" * 41}, 90, ["FirstName"]),
        ({"lastName": "r" * 41}, 90, ["LastName"]),
        ({"initiator": "NOBODY"}, 90, ["Initiator"]),
        ({"initiator": 2}, 90, ["Initiator"]),
        ({"capture": "maybe"}, 90, ["Capture"]),
        ({"webhook": {"authorization": "x"}}, 90, ["Webhook.Url"]),
        ({"webhook": "https://example.com"}, 90, ["Webhook"]),
        ({"order": {"items": [{"quantity": "some"}]}}, 90, ["Order.Items.0.Quantity"]),
        ({"geolocation": {"latitude": "north"}}, 90, ["Geolocation.Latitude"]),
        ({"metadata": {"a": [1]}}, 90, ["Metadata"]),
        ({"providerId": "nobody"}, 39, ["ProviderId"]),
        ({"providerId": ""}, 90, ["ProviderId"]),
        ({"providerId": None}, 90, ["ProviderId"]),
        ({"paymentInformation": None}, 81, ["PaymentInformation"]),
        ({"paymentInformation": {}}, 81, ["CardNumber", "ExpiryDate"]),
        ({"paymentInformation": card(ccv="1")}, 6, ["Ccv"]),
        ({"paymentInformation": card(expiryDate="00/40")}, 9, ["ExpiryDate"]),
        ({"paymentInformation": card(expiryDate="02/31")}, 14, ["ExpiryDate"]),
        (
            {"paymentInformation": card(threeDSServerTransID="no uuid")},
            59,
            ["ThreeDSServerTransID"],
        ),
    ],
)
def test_a_card_charge_with_a_bad_amount_currency_reference_name_provider_or_card_is_refused(
    shared: Api, fields: dict[str, object], code: int, details: list[str]
) -> None:
    refused = shared.post("/charge/card", card_charge(**fields))
    assert problem_of(refused) == (400, code)
    assert list(refused["details"]) == details
    assert refused["resource"] == "/charge/card"
    assert shared.get("/charge")["count"] == 0


def test_the_published_example_of_a_refusal_field_by_field(api: Api) -> None:
    refused = api.post("/charge/card", card_charge(paymentInformation=card("4000000000000000")))
    assert refused.body == {
        "message": "Invalid Card Number",
        "code": 5,
        "isRetryable": False,
        "type": "https://docs.payfurl.com/errorcodes#5",
        "resource": "/charge/card",
        "details": None,
        "gatewayCode": None,
        "gatewayMessage": None,
        "httpStatus": 400,
    }


def test_a_three_ds_result_marks_the_charge_verified(api: Api) -> None:
    trans_id = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
    charge = api.charge(paymentInformation=card("4000000000003220", threeDSServerTransID=trans_id))
    assert (charge["threeDsVerified"], charge["threeDsServerTransId"], charge["status"]) == (
        True,
        trans_id,
        "SUCCESS",
    )
    assert (
        api.charge(paymentInformation=card(externalThreeDsData={"eci": "05"}))["threeDsVerified"]
        is True
    )
    assert api.charge()["threeDsVerified"] is False


def test_a_challenge_waits_for_the_payer(api: Api) -> None:
    reply = api.post("/charge/card", card_charge(paymentInformation=card("4000000000003220")))
    assert (reply.status, reply["status"]) == (201, "PENDING_CHECKOUT")
    assert reply["threeDsRedirectUrl"].endswith(f"/3ds/{reply['chargeId']}")


@pytest.mark.parametrize(
    ("number", "code", "gateway", "retryable"),
    [
        ("4000000000000002", 905, "05", False),
        ("4000000000009995", 15, "51", True),
        ("4000000000009987", 941, "41", False),
        ("4000000000009979", 943, "43", False),
        ("4000000000000069", 14, "54", False),
        ("4000000000000127", 6, "N7", False),
        ("4000000000000119", 34, "96", True),
        ("4000000000006975", 965, "65", True),
        ("4100000000000019", 112, "59", False),
        ("4000000000000341", 905, "05", False),
    ],
)
def test_a_declined_charge_is_refused_and_stored(
    api: Api, number: str, code: int, gateway: str, retryable: bool
) -> None:
    refused = api.post(
        "/charge/card", card_charge(paymentInformation=card(number), reference="declined")
    )
    assert problem_of(refused) == (400, code)
    assert (refused["gatewayCode"], refused["isRetryable"]) == (gateway, retryable)
    stored = api.get(f"/charge/{refused['details']['ChargeId']}").body
    assert (stored["status"], stored["providerChargeId"], stored["successDate"]) == (
        "FAILED",
        None,
        None,
    )
    [attempt] = stored["failedAttempts"]
    assert {
        "providerId": DUMMY,
        "errorCode": str(code),
        "gatewayCode": gateway,
        "isRetryable": retryable,
    }.items() <= (attempt.items())
    assert api.get("/charge", Reference="declined", Status="FAILED")["count"] == 1


def test_a_declined_charge_can_be_answered_as_a_charge() -> None:
    api = Api(assumptions={"charge.declined_reply": "charge"})
    reply = api.post("/charge/card", card_charge(paymentInformation=card("4000000000000002")))
    assert (reply.status, reply["status"]) == (201, "FAILED")


def test_no_answer_repeats_a_number_or_a_ccv(api: Api) -> None:
    for number in (VISA, "4000000000000002"):
        raw = api.post("/charge/card", card_charge(paymentInformation=card(number, ccv="987"))).raw
        assert number.encode() not in raw
        assert b"987" not in raw
    raw = api.post(
        "/charge/card", card_charge(initiator=VISA, currency=VISA, providerId=VISA, capture=VISA)
    ).raw
    assert VISA.encode() not in raw


@pytest.mark.parametrize("others", ["any", "none"])
def test_least_cost_takes_the_cheapest_provider_that_fits(others: str) -> None:
    api = Api(assumptions={"provider.other_currency": others})

    def provider(name: str, cost: list[dict[str, object]], **fields: object) -> str:
        made = api.post("/provider", {"type": "dummy", "name": name, "costData": cost, **fields})
        assert made.status == 201, made.raw
        return made["providerId"]

    assert api.delete(f"/provider/{DUMMY}").status == 200
    provider("Dear", [{"transactionCost": 300}])
    small = provider("Small", [{"transactionCost": "0.10", "transactionPercentage": 2}])
    large = provider("Large", [{"transactionCost": "0.50", "transactionPercentage": 1}])
    visa_only = provider("Mastercard", [{"cardScheme": "mastercard", "transactionCost": 0}])
    free = provider("Elsewhere", [{"transactionCost": 0}], currency="USD")
    provider("Checkout", [{"transactionCost": 0}], type="afterpay")

    def chosen(amount: object, number: str = VISA, **fields: object) -> tuple[str, object]:
        body = without(
            card_charge(amount=amount, paymentInformation=card(number), **fields), "providerId"
        )
        reply = api.post("/charge/card/least_cost", body)
        assert reply.status == 201, reply.raw
        return reply["providerId"], reply["estimatedCost"]

    assert chosen(10) == (small, 0.3)
    assert chosen(1000) == (large, 10.5)
    assert chosen(1000, "5555555555554444") == (visa_only, 0)
    assert chosen(10, currency=None) == (small, 0.3)
    assert chosen(10, currency="USD")[1] == 0
    if others == "none":
        refused = api.post("/charge/card/least_cost", card_charge(currency="NZD"))
        assert problem_of(refused) == (400, 63)
    else:
        assert api.delete(f"/provider/{free}").status == 200
        assert chosen(10, currency="NZD") == (small, 0.3)
    assert problem_of(api.post("/charge/card/least_cost", card_charge(currency="XX"))) == (400, 29)
    assert problem_of(api.post("/charge/card/least_cost", card_charge(amount="1e30"))) == (400, 2)


def test_a_foreign_card_can_cost_more(api: Api) -> None:
    costs = [
        {"isInternationalCard": True, "transactionCost": 5},
        {"isInternationalCard": False, "transactionCost": 1},
    ]
    home = api.post(
        "/provider", {"type": "dummy", "name": "AU", "providerCountry": "AU", "costData": costs}
    )
    abroad = api.post(
        "/provider", {"type": "dummy", "name": "JP", "providerCountry": "jp", "costData": costs}
    )
    assert api.charge(providerId=home["providerId"])["estimatedCost"] == 1
    assert api.charge(providerId=abroad["providerId"])["estimatedCost"] == 5


def test_a_stored_method_is_charged(api: Api) -> None:
    method = api.method()
    reply = api.post(
        "/charge/payment_method", {"paymentMethodId": method, "amount": "7.70", "recurring": True}
    )
    assert (reply.status, reply["amount"], reply["status"]) == (201, 7.7, "SUCCESS")
    assert reply["paymentInformation"]["paymentMethodId"] == method
    assert problem_of(
        api.post("/charge/payment_method", {"paymentMethodId": "nothing", "amount": 1})
    ) == (400, 56)
    assert problem_of(api.post("/charge/payment_method", {"paymentMethodId": "", "amount": 1})) == (
        400,
        90,
    )


def test_a_bank_account_is_charged_and_stays_pending(api: Api) -> None:
    body = {"providerId": DUMMY, "amount": 50, "bankPaymentInformation": BANK}
    reply = api.post("/charge/bank_account", body)
    assert (reply.status, reply["status"], reply["successDate"]) == (201, "PENDING", None)
    information = reply["paymentInformation"]
    assert (information["type"], information["card"]) == ("BANK_ACCOUNT", None)
    assert {"bankCode", "accountNumber", "accountName"} == set(information["bankPayment"])
    for name in ("bankCode", "accountNumber", "accountName"):
        refused = api.post(
            "/charge/bank_account", {**body, "bankPaymentInformation": {**BANK, name: ""}}
        )
        assert problem_of(refused) == (400, 90)
    assert problem_of(
        api.post("/charge/bank_account", without(body, "bankPaymentInformation"))
    ) == (400, 90)
    nab = api.post("/provider", {"type": "nab_transact", "name": "NAB"})["providerId"]
    assert problem_of(api.post("/charge/bank_account", {**body, "providerId": nab})) == (400, 103)


@pytest.mark.parametrize(("account", "code"), [("000000051", 15), ("000000014", 20)])
def test_bank_test_values_are_declined(api: Api, account: str, code: int) -> None:
    bank = {**BANK, "accountNumber": account}
    refused = api.post(
        "/charge/bank_account", {"providerId": DUMMY, "amount": 5, "bankPaymentInformation": bank}
    )
    assert problem_of(refused) == (400, code)


def test_published_client_profile_speaks_its_own_words() -> None:
    api = Api(profile="sdk", assumptions={"provider.latency": "0"})
    reply = api.post("/charge/card", card_charge(capture=False))
    assert (reply.status, reply["status"]) == (200, "AUTHORISE")
    information = reply["paymentInformation"]
    assert information["cardData"] == information["card"]
    assert information["card"]["cardIin"] == "411"
    assert problem_of(api.get("/charge/nothing")) == (400, 84)
