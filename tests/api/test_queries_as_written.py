"""A parameter without a value, and a plus sign that was not escaped: what is read, refused and
reported."""

import json

import pytest

from tests.driving import Api, problem_of

BLANK = (
    "got no value, wanted one, or no such parameter (the assumption request.blank_query reads both)"
)
PLUS = (
    "got a blank before the zone of a date, wanted its plus sign escaped as %2B "
    "(the assumption request.raw_plus reads both)"
)
FINDING = "query-not-as-written"
RAW_PLUS = "/charge?AddedAfter=2031-03-01T09:00:00+10:00"


def assuming(key: str, value: str) -> Api:
    return Api(assumptions={key: value})


def found(api: Api) -> list[str]:
    """The evidence of the finding."""
    rows = api.get("/__admin/findings", finding=FINDING)["findings"]
    return [line["line"] for row in rows for line in row["evidence"]]


@pytest.mark.parametrize("query", ["amount=", "amount", "Amount=&comment=late", "AMOUNT"])
def test_a_refund_with_a_blank_amount_is_refused_in_profile_documented(query: str) -> None:
    api = Api()
    charge = api.charge()
    refused = api.send(
        "DELETE", f"/refund/{charge['chargeId']}?{query}", headers={"x-secretkey": "sk_tests"}
    )
    assert problem_of(refused) == (400, 90)
    assert refused["details"] == {"Amount": BLANK}
    assert api.get(f"/charge/{charge['chargeId']}")["refundedAmount"] == 0


@pytest.mark.parametrize("query", ["amount=", "amount"])
def test_it_gives_back_all_where_a_blank_counts_as_absent(query: str) -> None:
    for api in (assuming("request.blank_query", "absent"), Api(profile="sdk", waits=True)):
        charge = api.charge(amount=20)
        refunded = api.call("DELETE", f"/refund/{charge['chargeId']}?{query}")
        assert (refunded.status, refunded["refundedAmount"]) == (200, 20)
        (line,) = found(api)
        assert "amount: got no value, wanted one, or no such parameter" in line


def test_a_blank_filter_is_read_as_absent_or_refused(api: Api) -> None:
    for _ in range(2):
        api.charge(reference="order-5")
    assert api.call("GET", "/charge?Reference=")["count"] == 2
    assert len(found(api)) == 1
    refused = assuming("request.blank_query", "refused").call(
        "GET", "/charge?Reference=&customerid"
    )
    assert problem_of(refused) == (400, 90)
    assert refused["details"] == {"Reference": BLANK, "CustomerId": BLANK}


@pytest.mark.parametrize("name", ["AmountGreaterThan", "AmountLessThan"])
def test_a_blank_bound_of_an_amount_is_refused_as_an_amount(api: Api, name: str) -> None:
    assert api.call("GET", f"/charge?{name}=")["details"] == {name: BLANK}
    assert assuming("request.blank_query", "absent").call("GET", f"/charge?{name}=").status == 200


def test_a_comment_may_be_blank() -> None:
    api = assuming("request.blank_query", "refused")
    charge = api.charge(amount=20)
    refunded = api.call("DELETE", f"/refund/{charge['chargeId']}?Amount=5&Comment=")
    assert (refunded.status, refunded["refundedAmount"]) == (200, 5)
    assert found(api) == []


def test_what_has_a_value_is_read_as_before_and_not_reported(api: Api) -> None:
    api.charge(reference="order-5")
    for query in (
        "Reference=order-5&Limit=5",
        "Reference=a+b",
        "Reference=a%20b&unknown=",
        "",
        "&&",
    ):
        assert api.call("GET", f"/charge?{query}").status == 200
    assert found(api) == []


def test_a_raw_plus_in_a_date_is_read_as_the_plus_and_reported() -> None:
    api = Api()
    api.charge()
    for query, count in ((RAW_PLUS, 1), (RAW_PLUS.replace("09", "11"), 0)):
        assert api.call("GET", query)["count"] == count
        assert api.call("GET", query.replace("+", "%2B"))["count"] == count
        assert api.call("GET", query.replace("+", "%20"))["count"] == count
    lines = found(api)
    assert len(lines) == 4
    assert all("%2B" in line for line in lines)


def test_a_raw_plus_is_refused_where_the_assumption_says_so() -> None:
    api = assuming("request.raw_plus", "refused")
    refused = api.call("GET", RAW_PLUS)
    assert problem_of(refused) == (400, 90)
    assert refused["details"] == {"AddedAfter": PLUS}
    assert api.call("GET", RAW_PLUS.replace("+", "%2B")).status == 200
    # A blank between a date and its time is no plus sign.
    assert api.call("GET", "/charge?AddedAfter=2031-03-01+09:00").status == 200


def test_under_strict_both_are_refused_with_every_other_fault() -> None:
    api = Api(strict=True)
    refused = api.call("GET", f"{RAW_PLUS}&Reference=&Limit=many")
    assert problem_of(refused) == (400, 90)
    assert refused["details"] == {
        "AddedAfter": PLUS,
        "Reference": BLANK,
        "Limit": "wanted a number",
    }


def test_the_journal_says_which_assumption_was_asked(api: Api) -> None:
    api.call("GET", "/charge?Reference=")
    entry = api.get("/__admin/journal/1").body
    assert "request.blank_query" in json.dumps(entry["assumptions"])
