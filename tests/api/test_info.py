"""What the account can do, and its providers, over HTTP (published facts, 1.1 rows 55-62 and 77,
2.12-2.14)."""

from typing import Any

import pytest

from tests.driving import DUMMY, PUBLIC, Api, card, problem_of

LISTS = {
    "hasPaypalProviders": "paypalProviders",
    "hasPayToProviders": "payToProviders",
    "hasBnplProviders": "bnplProviders",
    "hasVisaInstallmentsProviders": "visaInstallmentsProviders",
    "hasFraudProviders": "fraudProviders",
    "hasThreeDsProviders": "threeDsProviders",
    "hasGooglePayProviders": "googlePayProviders",
    "hasApplePayProviders": "applePayProviders",
    "hasNetworkTokenProviders": "networkTokenProviders",
}
CONDITION = {
    "currency": "AUD",
    "lessThanAmount": 5,
    "greaterThanAmount": None,
    "applyCurrencyConversion": False,
}


def provider(api: Api, **fields: object) -> str:
    reply = api.post("/provider", {"type": "dummy", "name": "Second", "currency": "AUD", **fields})
    assert reply.status == 201, reply.raw
    return reply["providerId"]


def test_reference_data_is_complete_and_not_null(api: Api) -> None:
    info = api.get("/info").body
    assert list(info) == ["countries", "currencies", "timezones"]
    australia = next(row for row in info["countries"] if row["twoLetterCode"] == "AU")
    assert australia == {
        "friendlyName": "Australia", "name": "Australia", "twoLetterCode": "AU", "threeLetterCode": "AUS",
        "numericCode": "036",
    }  # fmt: skip
    dollar = next(row for row in info["currencies"] if row["currencyCode"] == "AUD")
    assert dollar == {
        "id": "036", "currencyCode": "AUD", "currencyNumber": "036", "name": "Australian Dollar",
        "useConversion": False,
    }  # fmt: skip
    assert "Australia/Sydney" in info["timezones"]
    assert (len(info["countries"]), len(info["currencies"]) > 150) == (249, True)


def test_the_default_provider_offers_what_it_can(api: Api) -> None:
    offered = api.get("/info/providers", Amount=20, Currency="aud").body
    assert offered["hasCardProviders"] is True
    for flag, name in LISTS.items():
        assert offered[flag] is bool(offered[name])
        assert isinstance(offered[name], list)
    assert offered["payToProviders"] == [DUMMY]
    assert offered["payToProvidersWithOptions"] == [
        {"providerId": DUMMY, "minimumAmount": 0, "description": "Dummy"}
    ]
    assert offered["googlePayProviders"] == [
        {"providerId": DUMMY, "gateway": "dummy", "gatewayMerchantId": DUMMY}
    ]
    assert offered["applePayProviders"][0]["domainName"] == "127.0.0.1"
    three_ds = [{"providerId": DUMMY, "providerName": "Dummy", "providerType": "dummy"}]
    assert offered["threeDsProviders"] == offered["allThreeDsProviders"] == three_ds
    assert offered["networkTokenProviders"] == [
        {"providerId": DUMMY, "providerType": "dummy", "clientParameters": {}}
    ]
    assert (offered["hasBnplProviders"], offered["hasPaypalProviders"]) == (False, False)
    assert (offered["clickToPayEnabled"], offered["clickToPayOptions"]) == (
        False,
        {"dpaId": None, "dpaName": None},
    )
    assert offered["required3dsProvider"] is None


def test_checkouts_are_offered_by_their_kind(api: Api) -> None:
    paypal = provider(api, type="paypal")
    later = provider(api, type="afterpay", additionalParameters={"region": "au"})
    pay_id = provider(api, type="azupay")
    offered = api.get("/info/providers").body
    assert (offered["hasPaypalProviders"], offered["paypalProviders"]) == (True, [paypal])
    assert offered["bnplProviders"] == [
        {"providerId": later, "providerType": "afterpay", "options": {"region": "au"}},
        {"providerId": pay_id, "providerType": "azupay", "options": {}},
    ]
    assert offered["payToProviders"] == [DUMMY, pay_id]


def test_currency_amount_and_removal_decide(api: Api) -> None:
    assert api.get("/info/providers", currency="NZD")["hasCardProviders"] is True
    api.put("/__admin/assumptions", {"provider.other_currency": "none"})
    assert api.get("/info/providers", currency="NZD")["hasCardProviders"] is False
    hidden = provider(api, type="paypal", hideConfiguration=[CONDITION])
    required = provider(api, type="afterpay", requireConfiguration=[{"GreaterThanAmount": "100"}])

    def found(**query: object) -> tuple[list[str], list[str]]:
        offered = api.get("/info/providers", **query).body
        return offered["paypalProviders"], [row["providerId"] for row in offered["bnplProviders"]]

    assert found(amount="4.99", currency="AUD") == ([], [])
    assert found(amount=5, currency="AUD") == ([hidden], [])
    assert found(amount=100) == ([hidden], [])
    assert found(amount="100.01") == ([hidden], [required])
    assert found() == ([hidden], [])
    api.delete(f"/provider/{hidden}")
    assert found(amount=101) == ([], [required])


def test_who_challenges_the_payers_of_the_card_provider(api: Api) -> None:
    challenger = provider(api)
    carded = provider(api, threeDsProviderId=challenger)
    offered = api.get("/info/providers", cardProviderId=carded).body
    assert offered["required3dsProvider"] == challenger
    told = api.get(f"/info/providers/{carded}", amount=5, currency="AUD").body
    assert told == {
        "threeDsProviderId": challenger, "threeDsProviderType": "dummy", "requiredFields": {},
        "googlePay": {"gateway": "dummy", "gatewayMerchantId": carded}, "clientParameters": {},
    }  # fmt: skip
    plain = api.get(f"/info/providers/{provider(api, type='paypal')}").body
    assert (plain["threeDsProviderId"], plain["googlePay"]) == (None, None)


@pytest.mark.parametrize(
    "path", ["/info", "/info/providers", f"/info/providers/{DUMMY}", "/version"]
)
def test_the_public_key_is_enough(path: str) -> None:
    api = Api(key=None)
    assert api.call("GET", path, headers=PUBLIC).status == 200
    assert api.call("GET", path, headers={**PUBLIC, "x-secretkey": "invalid"}).status == 200
    assert problem_of(api.call("GET", path)) == (401, 40)
    assert problem_of(api.call("GET", path, headers={"x-publickey": "nobody"})) == (401, 40)


def test_a_secret_key_of_another_sandbox_beside_the_public_key_does_no_harm() -> None:
    api = Api(key="secret")
    reply = api.call("GET", "/info/providers", headers=PUBLIC)
    assert reply.status == 200
    assert b"hasCardProviders" in reply.raw


@pytest.mark.parametrize(
    ("assumed", "public", "keys", "status"),
    [
        ("public_key", "pk_tests", [], 200),
        ("public_key", "pk_wrong-key", [], 401),
        ("public_key", "pk_tests", ["sk_tests"], 200),
        ("public_key", "nobody", ["sk_tests"], 401),
        ("either", "pk_tests", ["sk_tests"], 200),
        ("either", "nobody", ["sk_tests"], 401),
        ("either", "nobody", [], 200),
    ],
)
def test_a_plugin_that_checks_a_public_key_beside_two_secret_keys_learns_the_truth(
    assumed: str, public: str, keys: list[str], status: int
) -> None:
    rows = f"version: 1\nname: s\nassumptions: {{keys.both: {assumed}}}\n"
    api = Api(scenario=rows, keys=frozenset(keys or ["sk_tests", "secret"]))
    reply = api.send(
        "GET", "/info/providers", b"", {"x-publickey": public}, (b"x-secretkey", b"secret")
    )
    assert (reply.status, b"hasCardProviders" in reply.raw) == (status, status == 200)
    assert api.send("GET", "/charge", b"", {"x-publickey": "nobody"}).status == 200


@pytest.mark.parametrize(("assumed", "status"), [("either", 200), ("public_key", 401)])
def test_a_sandbox_says_which_of_both_keys_counts(api: Api, assumed: str, status: int) -> None:
    rows = f"version: 1\nname: s\nassumptions: {{keys.both: {assumed}}}\n"
    assert api.call("POST", "/__admin/scenarios", raw=rows.encode()).status == 201
    assert api.call("GET", "/info/providers", headers={"x-publickey": "nobody"}).status == status


def test_the_public_key_does_not_open_other_operations() -> None:
    api = Api(key=None)
    assert problem_of(api.call("GET", "/info/default_fallback_provider", headers=PUBLIC)) == (
        401,
        40,
    )


def test_unknown_ids_and_currencies_are_refused(api: Api) -> None:
    assert problem_of(api.get("/info/providers/nothing")) == (404, 39)
    assert problem_of(api.get("/info/providers", cardProviderId="nothing")) == (400, 39)
    assert problem_of(api.get("/info/providers", cardProviderId=provider(api, type="paypal"))) == (
        400,
        32,
    )
    assert problem_of(api.get("/info/providers/token/nothing")) == (404, 87)
    assert problem_of(api.get("/info/providers", currency="QQQ")) == (400, 29)
    assert problem_of(api.get("/info/providers", amount="lots")) == (400, 90)


def test_the_provider_of_a_token(api: Api) -> None:
    token = api.call(
        "POST", "/token/card", {"paymentInformation": card()}, headers={"ProviderId": DUMMY}
    )
    told = api.call("GET", f"/info/providers/token/{token['tokenId']}", headers=PUBLIC)
    assert told.body == api.get(f"/info/providers/{DUMMY}").body
    api.delete(f"/provider/{DUMMY}")
    assert problem_of(api.get(f"/info/providers/token/{token['tokenId']}")) == (404, 39)


def test_the_default_fallback_provider(api: Api) -> None:
    found = api.get("/info/default_fallback_provider").body
    assert (found["providerId"], found["type"], found["environment"]) == (DUMMY, "dummy", "SANDBOX")
    second = provider(api)
    api.delete(f"/provider/{DUMMY}")
    assert api.get("/info/default_fallback_provider")["providerId"] == second
    api.delete(f"/provider/{second}")
    assert problem_of(api.get("/info/default_fallback_provider")) == (404, 65)


def test_a_provider_keeps_all_that_it_is_reported(api: Api) -> None:
    given: dict[str, Any] = {
        "type": "dummy", "name": "Main", "environment": "production", "currency": "nzd", "providerCountry": "NZ",
        "fallbackProviderId": DUMMY, "authenticationParameters": {"MinMilliseconds": "1", "MaxMilliseconds": "2"},
        "additionalParameters": {"a": "b"},
        "costData": [{"isInternationalCard": True, "cardScheme": "visa", "transactionCost": "0.3",
                      "transactionPercentage": 2}],
        "hideConfiguration": [CONDITION],
        "requireConfiguration": [{"currency": "nzd", "greaterThanAmount": 10, "applyCurrencyConversion": True}],
    }  # fmt: skip
    made = api.post("/provider", given).body
    assert (made["environment"], made["currency"], made["providerCountry"]) == (
        "PRODUCTION",
        "NZD",
        "NZ",
    )
    for name in ("authenticationParameters", "additionalParameters", "hideConfiguration"):
        assert made[name] == given[name]
    assert made["requireConfiguration"] == [
        {
            "currency": "NZD",
            "lessThanAmount": None,
            "greaterThanAmount": 10,
            "applyCurrencyConversion": True,
        }
    ]
    assert made["costData"] == [
        {
            "isInternationalCard": True,
            "cardScheme": "VISA",
            "transactionCost": 0.3,
            "transactionPercentage": 2,
        }
    ]
    assert made["fallbackProvider"] == {
        "id": DUMMY, "name": "Dummy", "type": "dummy", "applyCurrencyConversion": False,
    }  # fmt: skip
    path = f"/provider/{made['providerId']}"
    assert api.put(path, {"Name": "Other"}).body == {**made, "name": "Other"}
    assert api.put(path, {"hideConfiguration": []})["hideConfiguration"] == []
    refused = api.put(path, {"hideConfiguration": [{"lessThanAmount": "x"}]})
    assert (problem_of(refused), list(refused["details"])) == (
        (400, 90),
        ["HideConfiguration.0.LessThanAmount"],
    )


def test_the_version_names_a_release_a_day_and_a_region(api: Api) -> None:
    assert api.get("/version").body == {
        "version": "1.17.1.0", "released": "2025-08-05T00:00:00.0000000Z", "region": "au",
    }  # fmt: skip
    assert Api(key="sk_x-us").get("/version")["region"] == "us"
    assert Api(key="sk_x-gw0").get("/version")["region"] == "au"
    other = Api(
        assumptions={
            "version.number": "2",
            "version.released": "2030-01-01",
            "version.region": "jp",
        }
    )
    assert other.get("/version").body == {
        "version": "2", "released": "2030-01-01T00:00:00.0000000Z", "region": "jp",
    }  # fmt: skip
