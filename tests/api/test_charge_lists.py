"""The charge search: every parameter of the document, pages and order (service document, Charges,
Search)."""

import pytest

from tests.driving import DUMMY, Api, card, problem_of

BANK = {"bankCode": "123-456", "accountNumber": "12345678", "accountName": "Ann Example"}


@pytest.fixture(scope="module")
def api() -> Api:
    """Five charges, a minute apart: a to e."""
    api = Api()
    usd = api.post("/provider", {"type": "dummy", "name": "US", "currency": "USD"})["providerId"]
    method = api.post(
        "/payment_method/card",
        {"providerId": DUMMY, "paymentInformation": card("5555555555554444")},
    )
    api.charge(reference="a", amount=10)
    api.advance("1m")
    api.charge(
        reference="b", amount=20, capture=False, paymentInformation=card(cardholder="Bo Other")
    )
    api.advance("1m")
    api.charge(reference="c", amount=30, providerId=usd, currency="USD")
    api.advance("1m")
    api.post(
        "/charge/payment_method",
        {"paymentMethodId": method["paymentMethodId"], "amount": 40, "reference": "d"},
    )
    api.advance("1m")
    api.post(
        "/charge/bank_account",
        {"providerId": DUMMY, "amount": 50, "reference": "e", "bankPaymentInformation": BANK},
    )
    return api


def found(api: Api, **query: object) -> str:
    reply = api.get("/charge", **query)
    assert reply.status == 200, reply.raw
    assert list(reply.body) == ["limit", "skip", "count", "charges"]
    return "".join(charge["reference"] for charge in reply["charges"])


@pytest.mark.parametrize(
    ("query", "references"),
    [
        ({}, "edcba"),
        ({"Reference": "a"}, "a"),
        ({"reference": "a"}, "a"),
        ({"Reference": "nothing"}, ""),
        ({"ProviderId": DUMMY}, "edba"),
        ({"AmountGreaterThan": 20}, "edc"),
        ({"AmountLessThan": "20.00"}, "a"),
        ({"AmountGreaterThan": "19.99", "AmountLessThan": "40.01"}, "dcb"),
        ({"CustomerId": "nobody"}, ""),
        ({"Status": "SUCCESS"}, "dca"),
        ({"Status": "Authorised"}, "b"),
        ({"Status": "AUTHORISE"}, "b"),
        ({"Status": "authorised"}, "b"),
        ({"Status": "pending"}, "e"),
        ({"AddedAfter": "2031-03-01T00:01:00Z"}, "edc"),
        ({"AddedAfter": "2031-03-01 00: 01:00"}, "edc"),
        ({"addedBefore": "2031-03-01T00:01:00Z"}, "a"),
        ({"AddedBefore": "Sat Mar 01 00:01:00 UTC 2031"}, "a"),
        ({"AddedAfter": "2031-03-01T00:00:00Z", "AddedBefore": "2031-03-01T00:03:00Z"}, "cb"),
        ({"PaymentType": "CARD"}, "dcba"),
        ({"PaymentType": "bank_account"}, "e"),
        ({"CardType": "VISA"}, "cba"),
        ({"CardType": "mastercard"}, "d"),
        ({"CardType": "credit"}, "dcba"),
        ({"CardType": "DEBIT"}, ""),
        ({"Currency": "usd"}, "c"),
        ({"CardNumber": "411111"}, "cba"),
        ({"CardNumber": "4111"}, "cba"),
        ({"CardNumber": "41111111"}, "cba"),
        ({"CardNumber": "5555555555554444"}, "d"),
        ({"CardNumber": "5555 5555 5555 4444"}, "d"),
        ({"CardNumber": "999999"}, ""),
        ({"Cardholder": "Bo Other"}, "b"),
        ({"BatchId": "x"}, ""),
        ({"SubscriptionId": "x"}, ""),
        ({"limit": 2}, "ed"),
        ({"limit": "2", "skip": 1}, "dc"),
        ({"Limit": 2, "Skip": 4}, "a"),
        ({"skip": 9}, ""),
        ({"sortBy": "amount", "sortOrder": "asc"}, "abcde"),
        ({"SortBy": "AMOUNT"}, "edcba"),
        ({"sortOrder": "asc"}, "abcde"),
        ({"sortBy": "reference", "sortOrder": "DESC", "limit": 1}, "e"),
        ({"sortBy": "dateAdded", "sortOrder": "asc", "limit": 2, "skip": 1}, "bc"),
        ({"sortBy": "currency", "sortOrder": "asc", "limit": 1, "skip": 4}, "c"),
        ({"Currency": "AUD", "CardType": "VISA", "Status": "SUCCESS"}, "a"),
        ({"somethingUnknown": "x"}, "edcba"),
        ({"Reference": ""}, "edcba"),
    ],
)
def test_charges_are_found_by_every_parameter_of_the_search(
    api: Api, query: dict[str, object], references: str
) -> None:
    assert found(api, **query) == references


def test_a_stored_method_finds_its_charges(api: Api) -> None:
    method = api.get("/charge", Reference="d")["charges"][0]["paymentInformation"][
        "paymentMethodId"
    ]
    assert found(api, PaymentMethodId=method) == "d"


def test_the_count_of_a_page_is_of_all_matches_and_limit_and_skip_are_echoed(api: Api) -> None:
    page = api.get("/charge", limit=2, skip=1).body
    assert (page["limit"], page["skip"], page["count"], len(page["charges"])) == (2, 1, 5, 2)
    plain = api.get("/charge").body
    assert (plain["limit"], plain["skip"], plain["count"]) == (100, 0, 5)


def test_a_list_shows_charges_as_get_does(api: Api) -> None:
    first = api.get("/charge", limit=1)["charges"][0]
    assert api.get(f"/charge/{first['chargeId']}").body == first


def test_equal_values_keep_the_newest_first() -> None:
    api = Api()
    for reference in "abc":
        api.charge(reference=reference)
    assert found(api, sortBy="amount") == "cba"
    assert found(api, sortBy="amount", sortOrder="asc") == "abc"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": 0}, "Limit"),
        ({"limit": 1001}, "Limit"),
        ({"limit": -1}, "Limit"),
        ({"limit": "many"}, "Limit"),
        ({"limit": 2**31}, "Limit"),
        ({"limit": "1.5"}, "Limit"),
        ({"skip": -1}, "Skip"),
        ({"sortBy": "colour"}, "SortBy"),
        ({"sortOrder": "up"}, "SortOrder"),
        ({"Status": "PAID"}, "Status"),
        ({"AddedAfter": "yesterday"}, "AddedAfter"),
        ({"AmountLessThan": "x"}, "AmountLessThan"),
        ({"CardNumber": "41111"}, "CardNumber"),
        ({"CardNumber": "abcdef"}, "CardNumber"),
        ({"Reference": "a", "REFERENCE": "b"}, "Reference"),
    ],
)
def test_a_search_for_charges_with_a_bad_parameter_is_refused(
    api: Api, query: dict[str, object], field: str
) -> None:
    refused = api.get("/charge", **query)
    assert problem_of(refused) == (400, 90)
    assert list(refused["details"]) == [field]


def test_the_bounds_of_a_page_are_assumptions() -> None:
    api = Api(assumptions={"paging.default": 1, "paging.maximum": 2})
    api.charge()
    api.charge()
    assert (api.get("/charge")["limit"], len(api.get("/charge")["charges"])) == (1, 1)
    assert problem_of(api.get("/charge", limit=3)) == (400, 90)


def test_a_default_limit_above_the_largest_is_the_largest() -> None:
    api = Api(assumptions={"paging.default": 50, "paging.maximum": 10})
    assert (api.get("/charge").status, api.get("/charge")["limit"]) == (200, 10)


@pytest.mark.parametrize(
    "query", ["Reference=caf%C3%A9+1", "Reference=café%201", "reference=caf%c3%a9%201&reference="]
)
def test_letters_beyond_ascii_are_found_escaped_or_not(query: str) -> None:
    api = Api()
    api.charge(reference="café 1")
    assert api.send("GET", f"/charge?{query}")["count"] == 1


def test_charges_are_sorted_by_the_status_that_is_shown() -> None:
    for word in ("Authorised", "AUTHORISE"):
        api = Api(assumptions={"charge.status.authorised": word})
        held = [api.charge(capture=False)["chargeId"] for _ in range(2)]
        api.delete(f"/charge/{held[0]}/void")
        api.charge()
        shown = [
            one["status"] for one in api.get("/charge", SortBy="status", SortOrder="asc")["charges"]
        ]
        assert (shown, len(set(shown))) == (sorted(shown), 3)
