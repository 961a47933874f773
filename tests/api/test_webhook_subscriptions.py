"""Webhook subscriptions over HTTP (published facts, 1.1 rows 72-75, 2.14)."""

from typing import Any

import pytest

from mockserver.domain.webhook_subscription import WebhookType
from tests.driving import Api, card_charge, problem_of

PATH = "/webhook/subscription"
FIELDS = [
    "webhookSubscriptionId",
    "accountId",
    "url",
    "authorization",
    "types",
    "createdDate",
    "dateRemoved",
]


def make(api: Api, **fields: object) -> Any:
    reply = api.post(
        PATH,
        {"url": "https://example", "authorization": "secret", "types": ["Transaction"], **fields},
    )
    assert reply.status == 201, reply.raw
    return reply.body


def test_a_subscription_shows_every_published_field(api: Api) -> None:
    made = make(api)
    assert list(made) == FIELDS
    assert (made["url"], made["authorization"], made["types"]) == (
        "https://example",
        "secret",
        ["Transaction"],
    )
    assert (made["createdDate"], made["dateRemoved"]) == ("2031-03-01T00:00:00.0000000Z", None)
    assert made["accountId"] == api.post("/payment_link", {})["accountId"]
    assert api.get(f"{PATH}/{made['webhookSubscriptionId']}").body == made


def test_the_trailing_slash_of_one_client_is_taken(api: Api) -> None:
    assert api.post(PATH + "/", {"url": "http://127.0.0.1:9/x", "types": ["Batch"]}).status == 201


@pytest.mark.parametrize("word", [member.value for member in WebhookType])
def test_every_type_is_taken_in_any_letter_case_and_shown_in_one(api: Api, word: str) -> None:
    for given in (word, word.lower(), word.upper(), word[:1].lower() + word[1:]):
        assert make(api, types=[given])["types"] == [word]


def test_types_by_index_and_pascal_keys(api: Api) -> None:
    reply = api.post(PATH, {"Url": "https://example", "Types": [4, 0, 4]})
    assert reply["types"] == ["PaymentMethod", "Transaction"]


@pytest.mark.parametrize("none", [None, []])
def test_no_types_means_all(api: Api, none: object) -> None:
    assert make(api, types=none)["types"] == [member.value for member in WebhookType]


@pytest.mark.parametrize(
    "url", ["example.com/x", "ftp://example.com", "https://", "javascript:alert(1)", "http://a b"]
)
def test_an_unusable_url_is_refused(api: Api, url: str) -> None:
    reply = api.post(PATH, {"url": url, "types": ["Batch"]})
    assert (problem_of(reply), list(reply["details"])) == ((400, 109), ["Url"])
    assert api.get(PATH)["count"] == 0


NEVER = {
    "http://169.254.169.254/latest": "got 169.254.169.254; link-local",
    "https://[fe80::1]:8443/": "got fe80::1; link-local",
    "http://[::ffff:169.254.1.1]/x": "got ::ffff:169.254.1.1; link-local",
    "http://0.0.0.0/": "got 0.0.0.0; link-local",
    "http://ann:secret@example.com/": "got a user name",
    "http://[64:ff9b::a9fe:a9fe]/": "got 64:ff9b::a9fe:a9fe; link-local",
    "http://168.63.129.16/machine": "got 168.63.129.16; link-local",
    "http://127.0.0.1:4111/__admin/reset?all=true": "got a path with __admin; a control API is "
    "never called",
    "http://127.0.0.1:0/": "got port 0, on which nothing listens; wanted a port from 1 to 65535",
    "https://hooks.test:000/x": "got port 0, on which nothing listens; wanted a port from 1 to "
    "65535",
    "https://sandbox.corp/x/%5f%5fadmin/reset": "got a path with __admin; a control API is never "
    "called",
}


@pytest.mark.parametrize("url", NEVER)
def test_an_address_that_is_never_called_is_refused_at_once(api: Api, url: str) -> None:
    subscribed = api.post(PATH, {"url": url})
    assert (problem_of(subscribed), list(subscribed["details"])) == ((400, 109), ["Url"])
    asked = api.post("/charge/card", card_charge(webhook={"url": url}))
    assert (problem_of(asked), list(asked["details"])) == ((400, 90), ["Webhook.Url"])
    challenged = api.post("/charge/card", card_charge(threeDSNotificationUrl=url))
    assert (problem_of(challenged), list(challenged["details"])) == (
        (400, 90),
        ["ThreeDSNotificationUrl"],
    )
    emitted = api.post("/__admin/events", {"type": "batch", "url": url})
    assert (problem_of(emitted), list(emitted["details"])) == ((400, 90), ["Url"])
    for reply in (subscribed, asked, challenged, emitted):
        [told] = reply["details"].values()
        assert told.startswith(NEVER[url])
        assert "secret" not in told
    assert (api.get(PATH)["count"], api.get("/charge")["count"]) == (0, 0)


@pytest.mark.parametrize("text", ["Bearer a\r\nx-secretkey: sk_b", "a\nb", "a\x00b", "a\x7f"])
def test_what_is_presented_to_a_receiver_is_one_line(api: Api, text: str) -> None:
    url = "http://127.0.0.1:9/"
    subscribed = api.post(PATH, {"url": url, "authorization": text})
    asked = api.post("/charge/card", card_charge(webhook={"url": url, "authorization": text}))
    emitted = api.post("/__admin/events", {"type": "batch", "url": url, "authorization": text})
    for reply, field in (
        (subscribed, "Authorization"),
        (asked, "Webhook.Authorization"),
        (emitted, "Authorization"),
    ):
        assert (problem_of(reply), reply["details"]) == (
            (400, 90),
            {field: "wanted a text without control characters"},
        )


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/",
        "http://[::1]:9/",
        "http://10.1.2.3/",
        "http://hooks.test/x",
        "http://hooks.test:/x",
    ],
)
def test_loopback_and_private_addresses_and_names_are_taken(api: Api, url: str) -> None:
    assert make(api, url=url)["url"] == url
    assert api.charge(webhook={"url": url})["status"] == "SUCCESS"


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["Url"]),
        ({"url": "", "types": ["Payment"]}, ["Url", "Types.0"]),
        ({"url": "https://example", "types": "Batch"}, ["Types"]),
    ],
)
def test_a_bad_field_is_refused(api: Api, body: dict[str, object], fields: list[str]) -> None:
    reply = api.post(PATH, body)
    assert (problem_of(reply), list(reply["details"])) == ((400, 90), fields)


def test_listing_filters_and_pages_without_limit_and_skip(api: Api) -> None:
    ids = []
    for kind in ("Batch", "Transaction", "Batch"):
        ids.append(make(api, types=[kind])["webhookSubscriptionId"])
        api.advance("1h")
    listed = api.get(PATH).body
    assert list(listed) == ["webhookSubscriptions", "count"]

    def found(**query: object) -> list[str]:
        return [
            row["webhookSubscriptionId"] for row in api.get(PATH, **query)["webhookSubscriptions"]
        ]

    assert found() == ids[::-1]
    assert found(type="batch") == [ids[2], ids[0]]
    assert found(Id=ids[1]) == [ids[1]]
    assert found(AddedAfter="2031-03-01 00:30:00", AddedBefore="2031-03-01T01:30:00Z") == [ids[1]]
    assert found(limit=1, skip=1) == [ids[1]]
    assert found(Sort="DATE", sortOrder="asc") == ids
    assert found(SortBy="None") == ids[::-1]
    assert api.get(PATH, limit=1)["count"] == 3
    assert problem_of(api.get(PATH, type="Charge")) == (400, 90)
    assert problem_of(api.get(PATH, sortBy="colour")) == (400, 90)


def test_deleting_ends_a_subscription_once(api: Api) -> None:
    made = make(api)
    path = f"{PATH}/{made['webhookSubscriptionId']}"
    api.advance("1h")
    removed = api.delete(path)
    assert (removed.status, removed.body) == (
        200,
        {**made, "dateRemoved": "2031-03-01T01:00:00.0000000Z"},
    )
    assert (api.get(path).body, api.get(PATH)["count"]) == (removed.body, 0)
    assert problem_of(api.delete(path)) == (409, 111)


@pytest.mark.parametrize("what", ["receiver: [500, 500]", "delay: 1h", "swap_with_next: true"])
def test_deleting_ends_what_is_still_to_be_sent(what: str) -> None:
    rule = f"{{id: w, then: {{webhook: {{{what}}}}}}}"
    api = Api(scenario=f"version: 1\nname: s\nrules:\n  - {rule}\n")
    made = make(api, url="http://127.0.0.1:4111/__inbox/subscribed")
    api.charge()
    tried = len(api.get("/__admin/webhooks")["webhooks"][0]["tries"])
    api.delete(f"{PATH}/{made['webhookSubscriptionId']}")
    api.advance("1d")
    (delivery,) = api.get("/__admin/webhooks")["webhooks"]
    assert (delivery["state"], delivery["next"], len(delivery["tries"])) == (
        "given_up",
        None,
        tried,
    )
    api.post(f"/__admin/webhooks/{delivery['id']}/resend")
    assert len(api.get("/__admin/webhooks")["webhooks"][0]["tries"]) == tried + 1


def test_deleting_ends_nothing_that_another_asked_for() -> None:
    api = Api(
        scenario="version: 1\nname: s\nrules:\n  - {id: w, then: {webhook: {receiver: [500]}}}\n"
    )
    made = make(api, url="http://127.0.0.1:4111/__inbox/subscribed")
    api.charge(webhook={"url": "http://127.0.0.1:4111/__inbox/own"})
    api.delete(f"{PATH}/{made['webhookSubscriptionId']}")
    api.advance("1d")
    assert {one["url"][-4:]: one["state"] for one in api.get("/__admin/webhooks")["webhooks"]} == {
        "/own": "delivered",
        "ibed": "given_up",
    }


def test_unknown_ids_have_their_own_codes(api: Api) -> None:
    assert problem_of(api.get(f"{PATH}/nothing")) == (404, 110)
    assert problem_of(api.delete(f"{PATH}/nothing")) == (404, 111)
    assert problem_of(Api(profile="sdk").get(f"{PATH}/nothing")) == (400, 110)


def test_who_is_reported_of_what(api: Api) -> None:
    make(api, types=["Batch"], url="http://127.0.0.1:4111/__inbox/first")
    second = make(api, types=["Transaction", "Batch"], url="http://127.0.0.1:4111/__inbox/second")

    def told(what: str) -> list[str]:
        return [
            one["url"].rpartition("/")[2]
            for one in api.post("/__admin/events", {"type": what})["webhooks"]
        ]

    assert told("Batch") == ["first", "second"]
    assert told("Transaction") == ["second"]
    assert "no webhook subscription for customer" in str(
        api.post("/__admin/events", {"type": "Customer"})["details"]
    )
    api.delete(f"{PATH}/{second['webhookSubscriptionId']}")
    assert told("Batch") == ["first"]
