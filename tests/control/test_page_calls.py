"""What the control page asks for beside lists: webhooks sent again, what belongs to an object, a
request with another body, the histogram of the timeline, a sandbox named and deleted."""

from pathlib import Path
from typing import Any

import pytest

from mockserver.engine.sandbox import sandbox_id_of
from tests.driving import CARD, Api, Reply
from tests.store.twins import Kept

SHOP, AGAIN = "http://127.0.0.1:4111/__inbox/shop", "http://127.0.0.1:4111/__inbox/again"
SOMEBODYS = "4539578763621486"


def inbox(api: Api, name: str) -> list[Any]:
    return api.call("GET", f"/__admin/inbox/{name}").body["messages"]


def replay(api: Api, **body: object) -> Reply:
    return api.call("POST", "/__admin/webhooks/replay", body)


def shop() -> tuple[Api, list[str]]:
    """A sandbox with two charges, each reported to an inbox, and a mark between them."""
    api = Api()
    url = f"{SHOP}?publicKey=pk_{api.key.removeprefix('sk_')}"
    first = api.charge(reference="one", webhook={"url": url})["chargeId"]
    api.call("POST", "/__admin/marks", {"name": "second"})
    return api, [first, api.charge(reference="two", webhook={"url": url})["chargeId"]]


def test_the_webhooks_of_an_object_or_of_a_part_of_the_journal_are_sent_again_where_they_were() -> (
    None
):
    api, (first, second) = shop()
    assert [one["subject"] for one in replay(api, subject=first).body["webhooks"]] == [first]
    assert [one["subject"] for one in replay(api, since="second").body["webhooks"]] == [second]
    assert [one["subject"] for one in replay(api, since="0", until="second").body["webhooks"]] == [
        first
    ]
    got = [one["body"]["data"]["chargeId"] for one in inbox(api, "shop")]
    assert got == [first, second, first, second, first]


def test_another_receiver_gets_the_same_bytes_and_signature_and_no_finding_comes_of_it() -> None:
    api, charges = shop()
    made = replay(api, since="0", url=f"{AGAIN}?publicKey=pk_{api.key.removeprefix('sk_')}").body[
        "webhooks"
    ]
    assert [one["subject"] for one in made] == charges
    old, new = inbox(api, "shop"), inbox(api, "again")
    assert [(one["body"], one["signature"]) for one in new] == [
        (one["body"], one["signature"]) for one in old
    ]
    kept = api.call("GET", "/__admin/webhooks").body["webhooks"]
    assert len({one["id"] for one in kept}) == 4
    assert [len(one["tries"]) for one in kept] == [1, 1, 1, 1]
    assert api.call("POST", "/__admin/findings/finish", {}).body["findings"] == []


@pytest.mark.parametrize(
    ("body", "status", "field", "words"),
    [
        ({}, 400, "Since", "wanted subject, since or both"),
        ({"url": AGAIN}, 400, "Since", "wanted subject, since or both"),
        ({"since": "secnd"}, 400, "Since", "did you mean 'second'"),
        ({"since": "second", "until": "thrid"}, 400, "Until", "wanted a mark"),
        ({"since": "2"}, 404, "Webhooks", "none"),
        ({"subject": "nobody"}, 404, "Webhooks", "none"),
        ({"since": "0", "url": "ftp://127.0.0.1/"}, 400, "url", "http or https"),
        ({"since": "0", "url": "http://169.254.169.254/"}, 400, "url", "link-local"),
        ({"since": "0", "url": "http://127.0.0.1:4111/__admin/reset"}, 400, "url", "control API"),
        ({"sinec": "0"}, 400, "sinec", "did you mean 'since'"),
    ],
)
def test_what_cannot_be_sent_again_is_refused_and_nothing_is_sent(
    body: dict[str, object], status: int, field: str, words: str
) -> None:
    api, _ = shop()
    refused = replay(api, **body)
    assert refused.status == status
    said = {name.lower(): text for name, text in refused.body["details"].items()}
    assert words in said[field.lower()]
    assert len(inbox(api, "shop")) == 2
    assert len(api.call("GET", "/__admin/webhooks").body["webhooks"]) == 2


def shown(api: Api, kind: str, object_id: str) -> Any:
    return api.call("GET", f"/__admin/objects/{kind}/{object_id}").body


def related(api: Api, kind: str, object_id: str) -> dict[str, list[str]]:
    return {
        one["kind"]: [row["id"] for row in one["objects"]]
        for one in shown(api, kind, object_id)["related"]
    }


def test_a_customer_shows_its_methods_charges_and_subscriptions_and_a_method_what_it_pays(
    api: Api,
) -> None:
    method = api.method()
    customer = api.call(
        "POST",
        "/customer/card",
        {"providerId": api.charge()["providerId"], "paymentInformation": CARD},
    )
    customer_id = customer.body["customerId"]
    own = customer.body["defaultPaymentMethod"]["paymentMethodId"]
    charges = [
        api.post(
            "/charge/customer",
            {"customerId": customer_id, "amount": 5, "reference": f"order-{number}"},
        )["chargeId"]
        for number in (1, 2)
    ]
    plan = {
        "paymentMethodId": own,
        "amount": 3,
        "currency": "AUD",
        "interval": "Month",
        "frequency": 1,
    }
    subscription = api.post("/subscription/payment_method", {**plan, "startDate": "2031-04-01"})[
        "subscriptionId"
    ]
    assert related(api, "customer", customer_id) == {
        "payment_method": [own], "charge": charges[::-1], "subscription": [subscription],
    }  # fmt: skip
    assert related(api, "payment_method", own) == {
        "charge": charges[::-1],
        "subscription": [subscription],
    }
    assert related(api, "payment_method", method) == {}
    assert shown(api, "customer", customer_id)["rows"] is None


def test_a_batch_shows_its_rows_with_what_they_pay_by_and_what_came_of_them(api: Api) -> None:
    method = api.method()
    batch = api.batch(f"{method},10,AUD,row-1", f"{'0' * 32},5,AUD,row-2")
    before = shown(api, "batch", batch)["rows"]
    assert [(row["number"], row["reference"], row["chargeId"]) for row in before] == [
        (1, "row-1", None),
        (2, "row-2", None),
    ]
    api.advance("30d")
    good, bad = shown(api, "batch", batch)["rows"]
    assert (good["state"], good["amount"], good["paymentMethodId"]) == ("SUCCESS", "AUD 10", method)
    assert (bad["state"], bad["chargeId"]) == ("FAILED", None)
    assert bad["reason"]
    assert related(api, "batch", batch) == {"charge": [good["chargeId"]]}
    assert related(api, "charge", good["chargeId"]) == {"batch": [batch]}


def entries(api: Api) -> list[Any]:
    return api.call("GET", "/__admin/journal").body["entries"]


def test_a_request_is_sent_with_another_amount_and_the_card_as_it_came(api: Api) -> None:
    api.try_charge(number=SOMEBODYS, reference="order-1")
    body = api.call("GET", "/__admin/journal/1/request").body["body"]
    assert body["paymentInformation"]["cardNumber"] == "$CARD_NUMBER"
    sent = api.call(
        "POST", "/__admin/journal/1/repeat", {"body": {**body, "amount": 7, "more": 1}}
    ).body
    assert (sent["status"], sent["answer"]["amount"], sent["answer"]["status"]) == (
        201,
        7,
        "SUCCESS",
    )
    assert sent["answer"]["paymentInformation"]["card"]["cardNumber"].endswith(SOMEBODYS[-4:])
    assert entries(api)[-1]["ignored"] == ["more"]
    del body["reference"]
    assert (
        api.call("POST", "/__admin/journal/1/repeat", {"body": body}).body["answer"]["reference"]
        is None
    )
    asked = api.call("POST", "/__admin/journal/1/repeat", {"body": {"amount": "x"}}).body
    assert asked["status"] == 400


def test_a_refund_is_sent_with_another_query_and_one_as_it_came_stays_as_it_was(api: Api) -> None:
    charge = api.charge()["chargeId"]
    api.delete(f"/charge/{charge}?amount=3")
    assert (
        api.call("POST", "/__admin/journal/2/repeat", {"query": {"amount": "4"}}).body["answer"][
            "refundedAmount"
        ]
        == 7
    )
    assert api.call("POST", "/__admin/journal/2/repeat", {}).body["answer"]["refundedAmount"] == 10
    refused = api.call("POST", "/__admin/journal/2/repeat", {"qurey": {}})
    assert (refused.status, "did you mean 'query'" in str(refused.body["details"])) == (400, True)


def bars(api: Api, **query: object) -> list[Any]:
    return api.get("/__admin/timeline", bars=4, **query)["bars"]


def test_a_histogram_counts_calls_and_failures_in_parts_that_a_search_finds(api: Api) -> None:
    for hour in range(8):
        api.try_charge(amount=20 if hour % 2 else -1)
        api.advance("1h")
    parts = bars(api)
    assert [(one["calls"], one["failed"]) for one in parts] == [(2, 1)] * 4
    for one in parts:
        found = api.get("/__admin/timeline", q=f"since:{one['since']} until:{one['until']} -is:due")
        assert (
            sum(line[2] == "POST" and line[3] == "/charge/card" for line in found["lines"])
            == one["calls"]
        )
    assert [one["failed"] for one in bars(api, q="is:failed")] == [1, 1, 1, 1]
    assert api.get("/__admin/timeline")["bars"] == []


def test_where_no_time_passes_the_parts_are_entries(api: Api) -> None:
    assert bars(api) == []
    for number in range(6):
        api.try_charge(amount=20 if number < 4 else -1)
    parts = bars(api)
    assert [(one["since"], one["until"], one["calls"], one["failed"]) for one in parts] == [
        ("0", "2", 2, 0), ("2", "4", 2, 0), ("4", "6", 2, 2),
    ]  # fmt: skip
    assert api.get("/__admin/timeline", q="since:4 until:6")["count"] == 2


def test_a_sandbox_is_named_by_its_id_and_refuses_a_name_with_its_key(api: Api) -> None:
    api.try_charge()
    named = api.call(
        "PUT",
        "/__admin/sandbox",
        {"name": " Nightly "},
        key=None,
        headers={"x-sandbox": sandbox_id_of(api.key)},
    )
    assert (named.status, named.body["name"]) == (200, "Nightly")
    refused = api.call("PUT", "/__admin/sandbox", {"name": f"of {api.key}"})
    assert (refused.status, list(refused.body["details"])) == (400, ["Name"])
    assert api.call("GET", "/__admin/sandbox").body["name"] == "Nightly"


def sandboxes(api: Api) -> list[tuple[str | None, int]]:
    listed = api.call("GET", "/__admin/sandboxes", key=None).body["sandboxes"]
    return [(one["name"], one["requests"]) for one in listed]


def test_a_deleted_sandbox_is_gone_with_its_name_and_its_key_opens_a_new_one(api: Api) -> None:
    api.try_charge()
    api.call("PUT", "/__admin/sandbox", {"name": "Nightly"})
    api.call("POST", "/__admin/reset?undo=true")
    api.try_charge()
    assert api.call("DELETE", "/__admin/sandbox", {}).body == {"cleared": 1}
    assert sandboxes(api) == []
    assert api.call("DELETE", "/__admin/sandbox", {}).body == {"cleared": 0}
    assert api.call("POST", "/__admin/undo", {}).status == 404
    assert api.try_charge().status == 201
    assert sandboxes(api) == [(None, 1)]


def test_a_sandbox_that_is_deleted_is_gone_from_the_store(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    for key in ("sk_one", "sk_two"):
        assert api.try_charge(key=key).status == 201
    assert api.call("DELETE", "/__admin/sandbox", {}, key="sk_one").body == {"cleared": 1}
    api.restart()
    assert sandboxes(api) == [(None, 1)]
    assert api.call("GET", "/charge", key="sk_one").body["count"] == 0
    assert api.try_charge(key="sk_one").status == 201
    api.restart()
    assert sandboxes(api) == [(None, 2), (None, 1)]
