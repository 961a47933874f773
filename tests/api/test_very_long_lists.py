"""A page of a list has a limit in bytes."""

from tests.driving import CARD, DUMMY, Api

NOTE = {f"note-{number}": "long " * 400 for number in range(450)}


def test_a_page_of_over_ten_megabytes_is_refused_and_a_shorter_one_is_not(api: Api) -> None:
    for _ in range(12):
        api.charge(metadata=NOTE)
    refused = api.get("/charge")
    assert (refused.status, refused["code"]) == (400, 90)
    assert refused["details"] == {
        "Limit": "got rows of over 10000000 bytes on one page, wanted a limit below 12"
    }
    page = api.get("/charge", Limit=11)
    assert (page.status, page["count"], len(page["charges"])) == (200, 12, 11)
    assert page["charges"][0]["metadata"] == NOTE


def test_an_empty_page_of_such_a_list_is_empty(api: Api) -> None:
    api.call(
        "POST",
        "/customer/card",
        {"firstName": "a", "metadata": NOTE, "providerId": DUMMY, "paymentInformation": CARD},
    )
    assert api.get("/customer", Search="none").body == {
        "limit": 100,
        "skip": 0,
        "count": 0,
        "customers": [],
    }
    assert api.get("/customer", Limit=0).status == 400
