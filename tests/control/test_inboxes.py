"""Inboxes: what a message shows of a form, and what an inbox too many is answered."""

import json

import pytest

from mockserver.engine import inboxes
from tests.driving import VISA, Api

FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("order=77&amount=12.50&at=2031-03-01", "order=77&amount=12.50&at=2031-03-01"),
        ("a=1&a=2&b=", "a=1&a=2&b="),
        (
            f"note={VISA}&card[ccv]=123&x-secretkey=abc",
            "note=4111********1111&card[ccv]=***&x-secretkey=***",
        ),
        ("a%3Db=c%26d", "a=b=c&d"),
        # What is no form says itself what it holds, or is masked as any text.
        ("ccv is 123", "ccv is ***"),
        ("a=1&ccv 123", "a=*&ccv ***"),
        (json.dumps({"ccv": "123", "a": "1=1"}), {"ccv": "***", "a": "1=1"}),
    ],
)
def test_a_form_is_masked_by_its_fields(api: Api, sent: str, shown: object) -> None:
    assert api.call("POST", "/__inbox/shop", raw=sent.encode(), headers=FORM).status == 200
    assert [one["body"] for one in api.get("/__admin/inbox/shop")["messages"]] == [shown]


def test_an_inbox_too_many_says_what_makes_room(api: Api) -> None:
    for number in range(inboxes.MOST_INBOXES):
        api.call("POST", f"/__inbox/{number}", raw=b"x")
    refused = api.call("POST", "/__inbox/more", raw=b"x")
    assert (refused.status, refused["received"], refused["signature"]) == (507, False, None)
    assert refused["reason"].startswith(
        "this sandbox has 1000 inboxes, its limit; DELETE /__admin/inbox/<name>"
    )
    assert api.delete("/__admin/inbox/7").status == 200
    assert api.call("POST", "/__inbox/more", raw=b"x").status == 200
