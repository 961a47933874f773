"""Customers over HTTP (service document, Customers; published facts, 1.1 rows 14-28, 2.4, 2.5)."""

from typing import Any

import pytest

from tests.driving import DUMMY, Api, Reply, card, problem_of, without

NOW = "2031-03-01T00:00:00.0000000Z"
FIELDS = [
    "customerId", "reference", "firstName", "lastName", "email", "phone", "dateAdded", "dateRemoved",
    "defaultPaymentMethod", "ip", "address",
]  # fmt: skip
SUMMARY = {
    "paymentMethodId", "customerId", "type", "card", "providerId", "providerType", "dateAdded", "email", "vaultId",
    "dateRemoved", "providerPaymentMethodId", "providerPaymentMethodData", "token", "fallbackPaymentMethodId",
    "metadata", "networkTokenId",
}  # fmt: skip
BANK = {"bankCode": "123-456", "accountNumber": "012345678", "accountName": "Ann Example"}
AGREEMENT = {
    "payerName": "Ann Example",
    "description": "Membership",
    "maximumAmount": 100,
    "providerId": DUMMY,
}
PERSON = {
    "reference": "c-1",
    "firstName": "Ann",
    "lastName": "Example",
    "email": "Ann@example.com",
    "phone": "0400",
}


def token(api: Api) -> str:
    reply = api.call(
        "POST", "/token/card", {"paymentInformation": card()}, headers={"ProviderId": DUMMY}
    )
    assert reply.status in (200, 201), reply.raw
    return reply["tokenId"]


def customer(api: Api, **fields: object) -> dict[str, Any]:
    reply = api.post(
        "/customer/card", {"providerId": DUMMY, "paymentInformation": card(), **fields}
    )
    assert reply.status in (200, 201), reply.raw
    return reply.body


def methods(api: Api, made: dict[str, Any]) -> list[dict[str, Any]]:
    return api.get(f"/customer/{made['customerId']}/payment_method").body


def add_bank(api: Api, made: dict[str, Any], **fields: object) -> Reply:
    body = {"providerId": DUMMY, "bankPaymentInformation": BANK, **fields}
    return api.post(f"/customer/{made['customerId']}/bank_account", body)


def test_a_customer_has_every_documented_field_and_the_card_as_default(api: Api) -> None:
    address = {
        "line1": "1 Main St",
        "line2": None,
        "city": "Perth",
        "country": "Australia",
        "postalCode": "6000",
    }
    made = customer(api, **PERSON, ip="203.0.113.9", address=address, metadata={"Shop_Id": "7"})
    assert list(made) == FIELDS
    assert without(made, "customerId", "defaultPaymentMethod") == {
        **PERSON,
        "dateAdded": NOW,
        "dateRemoved": None,
        "ip": "203.0.113.9",
        "address": {**address, "state": None},
    }
    default = made["defaultPaymentMethod"]
    assert set(default) == SUMMARY
    assert (default["type"], default["card"]["cardNumber"]) == ("CARD", "4111********1111")
    assert (default["customerId"], default["email"]) == (made["customerId"], "Ann@example.com")
    assert default["metadata"] == {"Shop_Id": "7"}
    assert api.get(f"/customer/{made['customerId']}").body == made


WAYS: dict[str, tuple[dict[str, object], str]] = {
    "bank_account": ({"providerId": DUMMY, "bankPaymentInformation": BANK}, "BANK_ACCOUNT"),
    "payto": ({"payToAgreement": AGREEMENT}, "PAYTO"),
    "provider_token": ({"providerId": DUMMY, "providerToken": "pt_1", "verify": True}, "CARD"),
    "provider_single_use_token": ({"providerId": DUMMY, "providerToken": "pt_1"}, "CARD"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_customer_can_be_created_in_every_other_way(api: Api, way: str) -> None:
    body, kind = WAYS[way]
    reply = api.post(f"/customer/{way}", {**body, **PERSON})
    assert (reply.status, reply["firstName"], reply["defaultPaymentMethod"]["type"]) == (
        201,
        "Ann",
        kind,
    )


def test_a_lasting_provider_token_is_kept_and_a_single_use_one_exchanged(api: Api) -> None:
    body = {
        "providerId": DUMMY,
        "providerToken": "pt_1",
        "providerTokenData": {"Key_a": 1},
        "MetaData": {"k": "v"},
    }
    lasting = api.post("/customer/provider_token", body)["defaultPaymentMethod"]
    once = api.post("/customer/provider_single_use_token", body)["defaultPaymentMethod"]
    assert lasting["providerPaymentMethodId"] == "pt_1"
    assert once["providerPaymentMethodId"].startswith("pm_")
    assert (
        lasting["providerPaymentMethodData"] == once["providerPaymentMethodData"] == {"Key_a": "1"}
    )
    assert lasting["metadata"] == {"k": "v"}


def test_a_customer_from_a_token_uses_it_up(api: Api) -> None:
    used = token(api)
    made = api.post("/customer/token", {"token": used, "firstName": "Ann"})
    assert (made.status, made["defaultPaymentMethod"]["token"]) == (201, used)
    assert problem_of(api.post("/customer/token", {"token": used})) == (400, 51)


def test_a_fallback_of_a_new_customer_is_kept(api: Api) -> None:
    other = api.method()
    body = {"providerId": DUMMY, "providerToken": "pt_1", "fallbackPaymentMethodId": other}
    made = api.post("/customer/provider_single_use_token", body)
    assert made["defaultPaymentMethod"]["fallbackPaymentMethodId"] == other
    assert api.delete(f"/payment_method/{other}").status == 200
    assert problem_of(api.post("/customer/provider_single_use_token", body)) == (400, 73)
    refused = api.post(
        "/customer/provider_single_use_token", {**body, "fallbackPaymentMethodId": "none"}
    )
    assert (problem_of(refused), list(refused["details"])) == (
        (400, 56),
        ["FallbackPaymentMethodId"],
    )


def everything_but_calls(api: Api) -> dict[str, Any]:
    """The state of the sandbox; refused calls are counted too."""
    state: dict[str, Any] = api.get("/__admin/state").body
    del state["rules"]["calls"]
    return state


def test_a_fallback_is_the_customers_own_or_nobodys(api: Api) -> None:
    ann, bob = customer(api, firstName="Ann"), customer(api, firstName="Bob")
    ours, theirs = (one["defaultPaymentMethod"]["paymentMethodId"] for one in (ann, bob))
    poor = {"providerId": DUMMY, "paymentInformation": card("4000000000009995"), "vaultCard": True}
    nobodys = api.method()
    add = f"/customer/{ann['customerId']}/payment_method/card"
    vaulted = api.post(add, poor)["paymentMethodId"]
    token = api.post("/token/card", {"providerId": DUMMY, "paymentInformation": card()})["tokenId"]
    for path, body in (
        (add, poor),
        (f"/customer/{ann['customerId']}/payment_method/token", {"token": token}),
        ("/payment_method/card", poor),
        ("/payment_method/vault", {"providerId": DUMMY, "paymentMethodId": vaulted}),
        ("/customer/provider_single_use_token", {"providerId": DUMMY, "providerToken": "pt"}),
    ):
        before = everything_but_calls(api)
        refused = api.post(path, {**body, "fallbackPaymentMethodId": theirs})
        assert (problem_of(refused), list(refused["details"])) == (
            (400, 56),
            ["FallbackPaymentMethodId"],
        ), path
        assert everything_but_calls(api) == before
    switched = {"providerId": DUMMY, "paymentMethodId": vaulted, "fallbackPaymentMethodId": ours}
    assert api.post("/payment_method/vault", switched).status == 201
    for fallback in (ours, nobodys):
        method = api.post(add, {**poor, "setDefault": True, "fallbackPaymentMethodId": fallback})[
            "paymentMethodId"
        ]
        for path, body in (
            ("/charge/payment_method", {"paymentMethodId": method}),
            ("/charge/customer", {"customerId": ann["customerId"]}),
        ):
            charge = api.post(path, {**body, "amount": 5})
            assert charge["status"] == "SUCCESS"
            assert charge["paymentInformation"]["paymentMethodId"] == fallback
            assert charge["customerId"] == charge["customer"]["customerId"] == ann["customerId"]
    assert api.get("/charge", CustomerId=ann["customerId"])["count"] == 4


BAD = {
    "provider": ({"providerId": "nobody"}, 39, "ProviderId"),
    "ccv": ({"paymentInformation": card(ccv="12")}, 6, "Ccv"),
    "expiry": ({"paymentInformation": card(expiryDate="13/40")}, 9, "ExpiryDate"),
    "expired": ({"paymentInformation": card(expiryDate="02/31")}, 14, "ExpiryDate"),
    "no number": ({"paymentInformation": {"expiryDate": "12/40"}}, 81, "CardNumber"),
    "both expiries": (
        {"vaultExpireSeconds": 5, "vaultExpireDate": "2040-01-01"},
        85,
        "VaultExpireSeconds",
    ),
    "past expiry": ({"vaultExpireDate": "2020-01-01"}, 86, "VaultExpireDate"),
    "reference": ({"reference": "x" * 41}, 90, "Reference"),
    "first name": ({"firstName": "x" * 41}, 90, "FirstName"),
    "last name": ({"lastName": "x" * 41}, 90, "LastName"),
    "webhook": ({"webhook": {"authorization": "a"}}, 90, "Webhook.Url"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_customer_with_a_bad_field_is_refused_and_not_stored(api: Api, case: str) -> None:
    fields, code, name = BAD[case]
    reply = api.post(
        "/customer/card", {"providerId": DUMMY, "paymentInformation": card(), **fields}
    )
    assert (problem_of(reply), list(reply["details"])) == ((400, code), [name])
    assert api.get("/customer", IncludeRemoved="true")["count"] == 0
    assert api.get("/payment_method")["count"] == 0


def test_an_empty_agreement_names_the_missing_fields(api: Api) -> None:
    reply = api.post("/customer/payto", {"PayToAgreement": [], "FirstName": "Ann"})
    assert problem_of(reply) == (400, 90)
    missing = ("PayerName", "Description", "MaximumAmount", "ProviderId")
    assert set(reply["details"]) == {f"PayToAgreement.{name}" for name in missing}


def test_verify_asks_the_provider_and_stores_nothing_when_it_declines(api: Api) -> None:
    body = {
        "providerId": DUMMY,
        "paymentInformation": card("4000000000000002"),
        "verify": True,
        "vaultCard": True,
    }
    reply = api.post("/customer/card", body)
    assert (problem_of(reply), reply["gatewayCode"], reply["isRetryable"]) == (
        (400, 905),
        "05",
        False,
    )
    assert api.get("/customer")["count"] == api.get("/payment_method")["count"] == 0
    assert api.post("/customer/card", {**body, "verify": False}).status == 201


def test_a_rule_can_decline_the_creation(api: Api) -> None:
    api = Api(
        scenario="version: 1\nrules: [{id: r, when: {op: customer.create}, then: {decline: "
        "lost_card}}]\n"
    )
    assert problem_of(api.post("/customer/bank_account", WAYS["bank_account"][0])) == (400, 941)
    assert api.get("/customer")["count"] == 0


def test_an_update_of_a_customer_changes_what_is_given_and_leaves_the_rest(api: Api) -> None:
    made = customer(api, **PERSON, address={"line1": "1 Main St", "city": "Perth"})
    path = f"/customer/{made['customerId']}"
    nulls = {"email": None, "phone": None, "address": None, "defaultPaymentMethodId": None}
    assert api.put(path, nulls).body == made
    changed = api.put(path, {"Email": "new@example.com", "Address": {"City": "Hobart"}})
    assert (changed.status, changed["email"], changed["phone"]) == (200, "new@example.com", "0400")
    assert (changed["address"]["line1"], changed["address"]["city"]) == ("1 Main St", "Hobart")
    moved = api.put(path, {"address": {"line1": "2 High St"}})["address"]
    assert (moved["line1"], moved["city"]) == ("2 High St", "Hobart")
    assert methods(api, made)[0]["customer"]["email"] == "new@example.com"


def test_the_default_method_can_be_another_one_of_the_customer_only(api: Api) -> None:
    made, other = customer(api), customer(api)
    path = f"/customer/{made['customerId']}"
    second = add_bank(api, made)["paymentMethodId"]
    changed = api.put(path, {"defaultPaymentMethodId": second})
    assert changed["defaultPaymentMethod"]["paymentMethodId"] == second
    for bad in (other["defaultPaymentMethod"]["paymentMethodId"], "nothing"):
        reply = api.put(path, {"defaultPaymentMethodId": bad})
        assert (problem_of(reply), list(reply["details"])) == (
            (400, 56),
            ["DefaultPaymentMethodId"],
        )
    first = made["defaultPaymentMethod"]["paymentMethodId"]
    api.delete(f"/payment_method/{first}")
    assert problem_of(api.put(path, {"defaultPaymentMethodId": first})) == (400, 73)


ADDITIONS: dict[str, dict[str, object]] = {
    "payment_method/card": {"providerId": DUMMY, "paymentInformation": card()},
    "payment_method/payto": AGREEMENT,
    "bank_account": {"providerId": DUMMY, "bankPaymentInformation": BANK},
    "payment_method/bank_account": {"providerId": DUMMY, "bankPaymentInformation": BANK},
}


@pytest.mark.parametrize("way", ADDITIONS)
def test_a_method_is_added_and_becomes_the_default_on_demand(api: Api, way: str) -> None:
    made = customer(api)
    path = f"/customer/{made['customerId']}"
    added = api.post(f"{path}/{way}", ADDITIONS[way])
    assert (added.status, added["customerId"]) == (201, made["customerId"])
    assert api.get(path)["defaultPaymentMethod"] == made["defaultPaymentMethod"]
    chosen = api.post(f"{path}/{way}", {**ADDITIONS[way], "SetDefault": "true"})
    assert api.get(path)["defaultPaymentMethod"]["paymentMethodId"] == chosen["paymentMethodId"]
    assert len(methods(api, made)) == 3


def test_a_token_is_added_to_a_customer(api: Api) -> None:
    made = customer(api)
    path = f"/customer/{made['customerId']}/payment_method/token"
    used = token(api)
    assert api.post(path, {"token": used, "setDefault": False})["customerId"] == made["customerId"]
    assert problem_of(api.post(path, {"token": used})) == (400, 51)


def test_both_lists_of_methods_are_the_same_bare_array_newest_first(api: Api) -> None:
    made = customer(api)
    second = add_bank(api, made)["paymentMethodId"]
    first = api.get(f"/customer/{made['customerId']}/payment_method").body
    assert [row["paymentMethodId"] for row in first] == [
        second,
        made["defaultPaymentMethod"]["paymentMethodId"],
    ]
    assert api.get(f"/customer/{made['customerId']}/payment_methods").body == first
    assert problem_of(api.get("/customer/none/payment_method")) == (404, 52)


def test_the_first_method_of_a_customer_without_default_becomes_it(api: Api) -> None:
    made = customer(api)
    api.delete(f"/payment_method/{made['defaultPaymentMethod']['paymentMethodId']}")
    assert api.get(f"/customer/{made['customerId']}")["defaultPaymentMethod"] is None
    added = add_bank(api, made)["paymentMethodId"]
    assert (
        api.get(f"/customer/{made['customerId']}")["defaultPaymentMethod"]["paymentMethodId"]
        == added
    )


def test_the_newest_method_takes_over_when_the_assumption_says_so() -> None:
    api = Api(assumptions={"removed.default_method": "newest"})
    made = customer(api)
    added = add_bank(api, made)["paymentMethodId"]
    api.delete(f"/payment_method/{made['defaultPaymentMethod']['paymentMethodId']}")
    assert (
        api.get(f"/customer/{made['customerId']}")["defaultPaymentMethod"]["paymentMethodId"]
        == added
    )


def test_a_deleted_customer_can_be_read_and_nothing_else(api: Api) -> None:
    made = customer(api, **PERSON)
    path = f"/customer/{made['customerId']}"
    removed = api.delete(path)
    assert (removed.status, removed["email"], removed["phone"], removed["dateRemoved"]) == (
        200, "deleted", "deleted", NOW,
    )  # fmt: skip
    assert api.get(path).body == removed.body
    assert problem_of(api.delete(path)) == (409, 72)
    assert problem_of(api.put(path, {"email": "a@example.com"})) == (409, 72)
    assert problem_of(add_bank(api, made)) == (409, 72)
    assert problem_of(
        api.post("/charge/customer", {"customerId": made["customerId"], "amount": 1})
    ) == (400, 72)
    assert methods(api, made) == []
    method = api.get(f"/payment_method/{made['defaultPaymentMethod']['paymentMethodId']}")
    assert (method["dateRemoved"], method["email"], method["customer"]["dateRemoved"]) == (
        NOW,
        "deleted",
        NOW,
    )


@pytest.mark.parametrize(("assumed", "listed"), [("hidden", 1), ("shown", 2)])
def test_a_removed_method_is_not_offered_in_the_list_of_its_customer(
    assumed: str, listed: int
) -> None:
    api = Api(assumptions={"removed.in_customer_list": assumed})
    made = customer(api)
    second = add_bank(api, made)["paymentMethodId"]
    api.delete(f"/payment_method/{made['defaultPaymentMethod']['paymentMethodId']}")
    for path in ("payment_method", "payment_methods"):
        shown = api.get(f"/customer/{made['customerId']}/{path}").body
        assert (len(shown), shown[0]["paymentMethodId"], shown[0]["dateRemoved"]) == (
            listed,
            second,
            None,
        )


def test_methods_outlive_their_customer_when_the_assumption_says_so() -> None:
    api = Api(assumptions={"removed.customer_methods": "no"})
    made = customer(api)
    api.delete(f"/customer/{made['customerId']}")
    method = methods(api, made)[0]
    assert method["dateRemoved"] is None
    charge = api.post(
        "/charge/payment_method", {"paymentMethodId": method["paymentMethodId"], "amount": 1}
    )
    assert problem_of(charge) == (400, 72)


def test_a_customer_is_deleted_at_the_provider_too_unless_gateway_delete_is_false() -> None:
    api = Api(
        scenario="version: 1\nrules: [{id: r, when: {op: customer.delete}, then: {decline: "
        "processing_error}}]\n"
    )
    made = customer(api)
    path = f"/customer/{made['customerId']}"
    refused = api.delete(path)
    assert (problem_of(refused), refused["gatewayCode"], refused["isRetryable"]) == (
        (400, 34),
        "96",
        True,
    )
    assert api.get(path).body == made
    assert api.delete(path, gatewayDelete="false")["dateRemoved"] == NOW


@pytest.mark.parametrize(("profile", "status"), [("documented", 404), ("sdk", 400)])
def test_an_unknown_customer_is_reported_in_the_words_of_the_profile(
    profile: str, status: int
) -> None:
    api = Api(profile=profile)
    assert problem_of(api.get("/customer/none")) == (status, 52)
    assert problem_of(api.put("/customer/none", {})) == (status, 52)
    assert problem_of(api.delete("/customer/none")) == (status, 52)
    assert problem_of(api.post("/customer/none/bank_account", ADDITIONS["bank_account"])) == (
        status,
        52,
    )


def found(api: Api, **query: object) -> list[str]:
    reply = api.get("/customer", **query)
    assert reply.status == 200, reply.raw
    return [row["reference"] for row in reply["customers"]]


@pytest.fixture
def three(api: Api) -> Api:
    customer(api, reference="one", firstName="Ann", lastName="Zhu", email="Ann@example.com")
    api.advance("1h")
    customer(api, reference="two", firstName="Bob", lastName="Young", phone="0411")
    api.advance("1h")
    customer(api, reference="three", firstName="Cy", lastName="Xu")
    return api


def test_customers_are_found_by_every_parameter_of_the_search(three: Api) -> None:
    assert found(three) == ["three", "two", "one"]
    assert found(three, Reference="two") == ["two"]
    assert found(three, email="ann@EXAMPLE.com") == ["one"]
    assert found(three, Search="ANN zh") == ["one"]
    assert found(three, Search="0411") == ["two"]
    assert found(three, AddedAfter="2031-03-01T00:30:00Z") == ["three", "two"]
    assert found(three, AddedBefore="2031-03-01T01:30:00Z") == ["two", "one"]
    assert found(three, Limit=1, Skip=1) == ["two"]
    assert found(three, SortBy="LastName", SortOrder="asc") == ["three", "two", "one"]
    assert found(three, SortBy="firstname") == ["three", "two", "one"]
    one = three.get("/customer", reference="one")["customers"][0]
    assert found(three, CustomerId=one["customerId"]) == ["one"]
    assert found(three, PaymentMethodId=one["defaultPaymentMethod"]["paymentMethodId"]) == ["one"]
    assert found(three, PaymentMethodId="none") == found(three, Reference="four") == []


def test_a_page_of_customers_tells_its_limit_its_skip_and_the_count_of_all(three: Api) -> None:
    page = three.get("/customer", limit=2).body
    assert (page["limit"], page["skip"], page["count"], len(page["customers"])) == (2, 0, 3, 2)


def test_removed_customers_are_found_with_include_removed_only(three: Api) -> None:
    one = three.get("/customer", Reference="one")["customers"][0]
    three.delete(f"/customer/{one['customerId']}")
    assert found(three) == ["three", "two"]
    assert found(three, IncludeRemoved="True") == ["three", "two", "one"]
    assert found(three, email="ann@example.com", IncludeRemoved="true") == []


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"limit": 0}, "Limit"),
        ({"limit": 1001}, "Limit"),
        ({"skip": -1}, "Skip"),
        ({"sortBy": "shoeSize"}, "SortBy"),
        ({"sortOrder": "up"}, "SortOrder"),
        ({"addedAfter": "soon"}, "AddedAfter"),
        ({"includeRemoved": "perhaps"}, "IncludeRemoved"),
    ],
)
def test_a_search_for_customers_with_a_bad_parameter_is_refused(
    shared: Api, query: dict[str, object], name: str
) -> None:
    reply = shared.get("/customer", **query)
    assert (problem_of(reply), list(reply["details"])) == ((400, 90), [name])


def test_every_change_of_a_customer_is_journaled(api: Api) -> None:
    made = customer(api)
    path = f"/customer/{made['customerId']}"
    api.put(path, {"phone": "1"})
    api.delete(path)
    entries = api.get("/__admin/journal")["entries"]
    events = [
        (event["subject"], event["what"])
        for row in entries
        for event in api.get(f"/__admin/journal/{row['id']}")["events"]
    ]
    for what in ("created", "updated", "removed"):
        assert ("customer", what) in events
    assert ("payment_method", "removed") in events
