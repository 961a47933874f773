"""What the control page does for a tester: undo, compare, send again, what is due next, deltas."""

import asyncio
from typing import Any

import pytest

from mockserver.engine.sandbox import sandbox_id_of
from tests.driving import Api, Reply, card_charge


def compare(api: Api, key: str) -> dict[str, Any]:
    return api.call("GET", f"/__admin/compare?with={sandbox_id_of(key)}").body


def test_a_reset_is_undone_journal_and_all(api: Api) -> None:
    charge_id = api.try_charge().body["chargeId"]
    api.call("POST", "/__admin/reset?undo=true")
    assert api.call("GET", f"/charge/{charge_id}").status == 404
    assert api.call("POST", "/__admin/undo").status == 200
    assert api.call("GET", f"/charge/{charge_id}").status == 200
    assert [line[0] for line in api.call("GET", "/__admin/timeline").body["lines"]] == [1, 2]


def test_an_import_is_undone(api: Api) -> None:
    empty = api.call("GET", "/__admin/state").body
    charge_id = api.try_charge().body["chargeId"]
    api.call("PUT", "/__admin/state?undo=true", empty)
    assert api.call("GET", f"/charge/{charge_id}").status == 404
    api.call("POST", "/__admin/undo")
    assert api.call("GET", f"/charge/{charge_id}").status == 200


def test_a_reset_that_is_refused_keeps_what_an_earlier_one_put_aside(api: Api) -> None:
    _, charge_id = [api.try_charge().body["chargeId"] for _ in range(2)]
    api.call("POST", "/__admin/reset?undo=true")
    api.try_charge()
    refused_later = {"call": "POST /customer/card", "body": {"providerId": "acq_nowhere"}}
    assert (
        api.call(
            "PUT", "/__admin/scenarios", {"version": 1, "name": "s", "setup": [refused_later]}
        ).status
        == 200
    )
    assert api.call("POST", "/__admin/reset?undo=true").status == 400
    assert api.call("POST", "/__admin/undo").status == 200
    assert api.call("GET", f"/charge/{charge_id}").status == 200


def test_nothing_is_kept_unless_it_was_asked_for(api: Api) -> None:
    api.try_charge()
    api.call("POST", "/__admin/reset")
    refused = api.call("POST", "/__admin/undo")
    assert refused.status == 404
    assert "undo=true" in refused.body["details"]["Undo"]


def test_a_fork_is_equal_until_something_happens(api: Api) -> None:
    charge_id = api.try_charge(amount=10).body["chargeId"]
    api.call("POST", "/__admin/fork", {"to": "sk_copy"})
    assert compare(api, "sk_copy") == {"equal": True, "facts": {}, "kinds": {}}
    api.call("DELETE", f"/charge/{charge_id}?amount=4", key="sk_copy")
    mine = api.try_charge().body["chargeId"]
    told = compare(api, "sk_copy")
    charges = told["kinds"]["charge"]
    assert (told["equal"], charges["onlyHereIds"], charges["onlyThere"]) == (False, [mine], 0)
    assert charges["changedFields"][charge_id]["status"] == {
        "here": "SUCCESS",
        "there": "PARTIAL_REFUND",
    }
    assert charges["changedFields"][charge_id]["refunded"] == {"here": "0", "there": "4"}
    api.call("POST", "/__admin/clock/advance", {"by": "1h"}, waits=True)
    assert compare(api, "sk_copy")["facts"]["now"]["here"].startswith("2031-03-01T01:00")


@pytest.mark.usefixtures("every_pause")
def test_two_sandboxes_are_compared_as_they_are_at_the_beginning(api: Api) -> None:
    charge_ids = [api.try_charge(amount=10).body["chargeId"] for _ in range(210)]
    api.call("POST", "/__admin/fork", {"to": "sk_copy"})

    async def compared_meanwhile() -> Reply:
        comparing = asyncio.ensure_future(
            api.calling("GET", f"/__admin/compare?with={sandbox_id_of('sk_copy')}")
        )
        await asyncio.sleep(0)
        assert (await api.calling("DELETE", f"/charge/{charge_ids[-1]}")).status == 200
        assert (await api.calling("POST", "/charge/card", card_charge())).status == 201
        assert not comparing.done()
        return await comparing

    assert asyncio.run(compared_meanwhile()).body == {"equal": True, "facts": {}, "kinds": {}}


@pytest.mark.parametrize("query", ["?with=nobody", ""])
def test_an_unknown_sandbox_is_compared_with_nothing(api: Api, query: str) -> None:
    api.try_charge()
    assert list(api.call("GET", f"/__admin/compare{query}").body["details"]) == ["With"]


def test_a_request_is_sent_again_as_it_came(api: Api) -> None:
    first = api.try_charge(reference="again").body["chargeId"]
    told = api.call("POST", "/__admin/journal/1/repeat", {})
    assert (told.status, told.body["status"], told.body["entry"]) == (200, 201, 2)
    assert told.body["answer"]["chargeId"] != first
    assert told.body["answer"]["reference"] == "again"
    assert "4111111111111111" not in told.raw.decode()


def test_a_request_that_is_cut_is_sent_again_too(api: Api) -> None:
    api.try_charge()
    cut = "{id: cut, when: {op: charge.create}, then: {transport: {at: answer, reset: true}}}"
    yaml = {"content-type": "application/yaml"}
    api.call(
        "PUT",
        "/__admin/scenarios",
        raw=f"version: 1\nname: cut\nrules:\n  - {cut}\n".encode(),
        headers=yaml,
    )
    assert api.call("POST", "/__admin/journal/1/repeat", {}).body["status"] is None


def test_what_is_no_request_is_not_sent_again(api: Api) -> None:
    api.call("POST", "/__admin/clock/advance", {"by": "1h"}, waits=True)
    assert api.call("POST", "/__admin/journal/1/repeat", {}).status == 400
    assert api.call("POST", "/__admin/journal/9/repeat", {}).status == 404


def test_a_request_for_others_to_send_shows_test_cards_and_no_other(api: Api) -> None:
    api.try_charge(number="4000 0000 0000 9995", reference="5555555555554444")
    api.call(
        "POST", "/vault", {"cardNumber": 4539578763621486, "ccv": 937, "note": "4539578763621486"}
    )
    api.call("GET", "/charge?cardNumber=4111111111111111&cvv=9371")
    charge, vault, search = (
        api.call("GET", f"/__admin/journal/{entry}/request").body for entry in (1, 2, 3)
    )
    assert (charge["method"], charge["path"]) == ("POST", "/charge/card")
    assert charge["headers"]["x-secretkey"] == "***"
    assert charge["body"]["reference"] == "5555555555554444"
    assert charge["body"]["paymentInformation"]["cardNumber"] == "4000 0000 0000 9995"
    assert charge["body"]["paymentInformation"]["ccv"] == "123"
    assert vault["body"] == {"cardNumber": "$CARD_NUMBER", "ccv": 123, "note": "4539********1486"}
    assert search["query"] == {"cardNumber": "4111111111111111", "cvv": "1234"}
    assert (
        api.call("GET", "/__admin/journal/1").body["request"]["body"]["reference"]
        == "5555********4444"
    )


def test_what_came_without_a_request_is_not_for_others_to_send(api: Api) -> None:
    api.try_charge(capture=False)
    api.call("POST", "/__admin/clock/advance", {"by": "7d"}, waits=True)
    due = next(
        one for one in api.call("GET", "/__admin/journal").body["entries"] if one["request"] is None
    )
    assert api.call("GET", f"/__admin/journal/{due['id']}/request").status == 400
    assert api.call("GET", "/__admin/journal/99/request").status == 404


def test_what_is_due_next_is_reported_in_order(api: Api) -> None:
    charge_id = api.try_charge(capture=False).body["chargeId"]
    vault_id = api.call(
        "POST", "/vault", {"cardNumber": "4111111111111111", "expireSeconds": 60}
    ).body["vaultId"]
    told = api.call("GET", "/__admin/clock/due").body
    assert told["pending"] == len(told["due"])
    vault, charge = (
        next(one for one in told["due"] if one["id"] == wanted) for wanted in (vault_id, charge_id)
    )
    assert (vault["kind"], vault["in"], vault["words"]) == ("vault", "1m", "a vault item expires")
    assert (charge["kind"], charge["in"]) == ("charge", "7d")
    assert [one["at"] for one in told["due"]] == sorted(one["at"] for one in told["due"])
    assert len(api.call("GET", "/__admin/clock/due?limit=1").body["due"]) == 1
    assert api.call("GET", "/__admin/clock/due?limit=0").status == 400


def test_a_webhook_without_its_body_says_what_it_is_about(api: Api) -> None:
    hook = {"url": "http://127.0.0.1:4111/__inbox/mine"}
    api.try_charge(webhook=hook, amount=20, reference="4111111111111111")
    [sent] = api.call("GET", "/__admin/webhooks?bodies=false").body["webhooks"]
    [came] = api.call("GET", "/__admin/inbox/mine?bodies=false").body["messages"]
    wanted = {"amount": "20", "currency": "AUD", "status": "SUCCESS"}
    assert sent["about"] == came["about"] == {"reference": "4111********1111", **wanted}
    assert "about" not in api.call("GET", f"/__admin/webhooks/{sent['id']}").body


@pytest.mark.parametrize(
    "body", [b"no JSON", b"[1]", b'{"data": 1}', b'{"data": {"amount": true, "status": {}}}']
)
def test_what_is_not_a_webhook_is_about_nothing(api: Api, body: bytes) -> None:
    api.send("POST", "/__inbox/mine", body, {"content-type": "application/json"})
    [came] = api.call("GET", "/__admin/inbox/mine?bodies=false").body["messages"]
    assert (came["about"], came["eventType"]) == ({}, None)


def test_what_was_done_by_hand_was_never_due(api: Api) -> None:
    charge_id = api.try_charge(capture=False).body["chargeId"]
    api.call("POST", f"/__admin/objects/charge/{charge_id}", {"capture": {}})
    api.try_charge(capture=False)
    api.call("POST", "/__admin/clock/advance", {"by": "7d"}, waits=True)
    found = api.call("GET", "/__admin/timeline?q=is:due").body["lines"]
    assert [line[4] for line in found] == ["clock.authorisation_expiry"]


def test_webhooks_and_messages_come_as_deltas_without_bodies(api: Api) -> None:
    hook = {"url": "http://127.0.0.1:4111/__inbox/mine"}
    api.try_charge(webhook=hook)
    all_of = api.call("GET", "/__admin/webhooks?bodies=false").body
    [first] = all_of["webhooks"]
    assert (first["body"], first["state"]) == (None, "delivered")
    nothing = api.call("GET", f"/__admin/webhooks?changed={all_of['changes']}").body
    assert (nothing["count"], nothing["kept"], nothing["webhooks"]) == (0, 1, [])
    api.try_charge(webhook=hook)
    [second] = api.call("GET", f"/__admin/webhooks?changed={all_of['changes']}&bodies=false").body[
        "webhooks"
    ]
    assert (
        api.call("GET", f"/__admin/webhooks/{second['id']}").body["body"]["meta"]["messageId"]
        == second["messageId"]
    )
    assert api.call("GET", "/__admin/webhooks?skip=1").body["webhooks"][0]["id"] == first["id"]
    assert api.call("GET", "/__admin/webhooks/nothing").status == 404
    [line] = api.call("GET", "/__admin/inbox/mine?bodies=false&after=1").body["messages"]
    assert line["eventType"] == "transaction.status.changed"
    assert set(line) == {"id", "at", "method", "path", "signature", "eventType", "about"}
    assert (
        api.call("GET", f"/__admin/inbox/mine/{line['id']}").body["body"]["meta"]["messageId"]
        == second["messageId"]
    )
    assert api.call("GET", "/__admin/inbox/mine/99").status == 404
