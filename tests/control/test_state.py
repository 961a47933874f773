"""Export, import and fork: everything, byte for byte, and nothing that is secret."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from mockserver.domain.batch import Batch
from mockserver.domain.clock import SECOND
from mockserver.engine import state_document, state_reading
from mockserver.engine.indexed_table import Table
from mockserver.engine.line_reading import form_of
from mockserver.engine.lines import stored
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.tables import ROW_CLASSES, Tables
from tests.driving import CARD, DUMMY, NOW, Api, Reply, batch_of

SERVER = "http://127.0.0.1:4111"
NUMBER, CCV = "4539578763621486", "937"


def fill(api: Api) -> dict[str, str]:
    """A sandbox with something of everything."""
    paid = api.try_charge(20, metadata={"tier": "gold"}).body["chargeId"]
    held = api.try_charge(30, capture=False).body["chargeId"]
    api.try_charge(5, number="4000000000000002")
    api.call("DELETE", f"/refund/{paid}?amount=5.25&comment=late")
    vault = api.call(
        "POST", "/vault", {"cardNumber": NUMBER, "ccv": CCV, "expireSeconds": 3600}
    ).body["vaultId"]
    card = {**CARD, "cardNumber": NUMBER, "ccv": CCV}
    method = api.call(
        "POST",
        "/payment_method/card",
        {"providerId": DUMMY, "paymentInformation": card, "vaultCard": True},
    ).body["paymentMethodId"]
    api.call("POST", "/charge/payment_method", {"amount": 7, "paymentMethodId": method})
    api.call("POST", "/provider", {"type": "dummy", "name": "Backup", "currency": "NZD"})
    api.call("PUT", "/__admin/assumptions", {"vault.ccv_delay": "10m"})
    return {"paid": paid, "held": held, "vault": vault, "method": method}


@pytest.mark.parametrize("query", ["", "?secrets=true"])
def test_an_import_of_an_export_exports_equal_bytes(api: Api, query: str) -> None:
    fill(api)
    before = api.call("GET", f"/__admin/state{query}").raw
    api.call("POST", "/__admin/reset")
    assert api.call("GET", f"/__admin/state{query}").raw != before
    assert api.call("PUT", "/__admin/state", raw=before).status == 200
    assert api.call("GET", f"/__admin/state{query}").raw == before


def test_dates_that_callers_named_keep_their_last_digit_in_answers_and_documents(api: Api) -> None:
    date = "2031-04-01T00:00:00.1234567Z"
    vault = api.call("POST", "/vault", {"cardNumber": NUMBER, "expireDate": date}).body
    card = {
        "providerId": DUMMY,
        "paymentInformation": CARD,
        "vaultCard": True,
        "vaultExpireDate": date,
    }
    method = api.call("POST", "/payment_method/card", card).body
    plan = {"paymentMethodId": method["paymentMethodId"], "amount": 5, "interval": "Day"}
    subscription = api.call(
        "POST",
        "/subscription/payment_method",
        {**plan, "startDate": date, "endAfter": {"date": date}},
    )
    paths = {
        f"/vault/{vault['vaultId']}": ["expireDate"],
        f"/vault/{method['vaultId']}": ["expireDate"],
        f"/subscription/{subscription.body['subscriptionId']}": ["startDate", "endAfter"],
    }
    before = {path: api.call("GET", path).body for path in paths}
    for path, names in paths.items():
        assert {str(before[path][name]) for name in names} <= {
            date,
            str({"count": None, "amount": None, "date": date}),
        }
    document = api.call("GET", "/__admin/state?secrets=true").raw
    other = Api()
    assert other.call("PUT", "/__admin/state", raw=document).status == 200
    assert other.call("GET", "/__admin/state?secrets=true").raw == document
    assert {path: other.call("GET", path).body for path in paths} == before


def test_a_standing_clock_exports_the_same_bytes_on_a_later_machine() -> None:
    apis = [Api(real_clock=lambda now=now: now) for now in (NOW, NOW + 86_400_000_000)]
    for api in apis:
        fill(api)
        assert api.call("POST", "/__admin/clock/advance", {"by": "1h"}).status == 200
    first, second = (api.call("GET", "/__admin/state").raw for api in apis)
    assert first == second


def test_an_imported_sandbox_goes_on_as_the_first_would_have(api: Api) -> None:
    ids = fill(api)
    document = api.call("GET", "/__admin/state?secrets=true").raw
    other = Api()
    assert other.call("PUT", "/__admin/state", raw=document).status == 200
    for one in (api, other):
        assert one.call("GET", f"/vault/{ids['vault']}").body["cardNumber"] == NUMBER
        assert one.call("GET", "/charge?cardNumber=453957").body["count"] == 1
        one.call("POST", f"/charge/{ids['held']}", {"amount": 12})
        one.call("POST", "/__admin/clock/advance", {"by": "2h"})
        assert one.call("GET", f"/vault/{ids['vault']}").status == 404
        one.try_charge(3)
    assert other.call("GET", "/__admin/state").raw == api.call("GET", "/__admin/state").raw


def test_card_numbers_and_ccv_only_with_secrets(api: Api) -> None:
    fill(api)
    api.try_charge(reference=f"for {NUMBER}")
    api.call("POST", "/vault", {"cardNumber": NUMBER, "ccv": CCV})
    plain = api.call("GET", "/__admin/state").raw.decode()
    assert NUMBER not in plain
    assert f'"{CCV}"' not in plain
    assert "salt" not in plain
    assert "for 4539********1486" in plain
    secret = api.call("GET", "/__admin/state?secrets=true").raw.decode()
    assert NUMBER in secret
    assert f'"{CCV}"' in secret
    assert api.call("GET", "/__admin/state?secrets=perhaps").status == 400


def test_a_public_key_opens_no_card_number(api: Api) -> None:
    fill(api)
    public = {"x-publickey": "pk_tests"}
    assert api.call("GET", "/__admin/state", key=None, headers=public).status == 200
    assert api.call("GET", "/__admin/state?secrets=true", key=None, headers=public).status == 401
    assert (
        api.call("POST", "/__admin/fork", {"to": "sk_mine"}, key=None, headers=public).status == 401
    )
    assert api.call("GET", "/__admin/state?secrets=true").status == 200


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"format": "other"}, "Format"),
        ({"version": 3}, "Version"),
        ({"version": True}, "Version"),
        ({"seed": "one"}, "Seed"),
        ({"seed": -1}, "Seed"),
        ({"seed": 2**63}, "Seed"),
        ({"clock": {"mode": "fast", "virtual": 0, "real": 0, "rate": -1}}, "Clock.rate"),
        ({"tabels": {}}, "Tabels"),
        ({"profile": "loud"}, "Profile"),
        ({"assumptions": {"no.such": 1}}, "no.such"),
        ({"clock": {"mode": "manual", "real": 0, "rate": 1}}, "Clock.virtual"),
        ({"counters": {"charge": "3"}}, "Counters.charge"),
        # At once: nothing else of it is read.
        (
            {
                "counters": {f"c{number}": 1 for number in range(state_reading.MOST_COUNTERS + 1)},
                "seed": "one",
            },
            "Counters",
        ),
        (
            {"schedule": {"order": 1, "entries": [[1, 2, "nothing", "x", ""]]}},
            "Schedule.entries.0.2",
        ),
        ({"tables": {}}, "Tables"),
        ({"rules": {"rules": []}}, "Rules.rules"),
        ({"rules": 1}, "Rules"),
        ({"salt": "5" * 65}, "Salt"),
        ({"salt": "é"}, "Salt"),
    ],
)
def test_a_foreign_document_is_refused_and_changes_nothing(
    api: Api, change: dict[str, Any], field: str
) -> None:
    fill(api)
    before = api.call("GET", "/__admin/state")
    reply = api.call("PUT", "/__admin/state", {**before.body, **change})
    assert reply.status == 400
    assert list(reply.body["details"]) == [field]
    assert api.call("GET", "/__admin/state").raw == before.raw


def test_a_document_with_as_many_counters_as_there_may_be_is_taken_and_may_grow(api: Api) -> None:
    document = api.call("GET", "/__admin/state").body
    document["counters"].update((f"c{number}", 1) for number in range(state_reading.MOST_COUNTERS))
    assert api.call("PUT", "/__admin/state", document).status == 200
    fill(api)
    grown = api.call("GET", "/__admin/state")
    assert len(grown.body["counters"]) > state_reading.MOST_COUNTERS
    assert api.call("PUT", "/__admin/state", raw=grown.raw).status == 200
    assert api.call("GET", "/__admin/state").raw == grown.raw


def test_the_largest_seed_comes_back() -> None:
    api = Api(seed=2**63 - 1)
    api.try_charge()
    before = api.call("GET", "/__admin/state").raw
    assert api.call("PUT", "/__admin/state", raw=before).status == 200
    assert api.call("GET", "/__admin/state").raw == before


def test_a_row_that_does_not_fit_is_named(api: Api) -> None:
    fill(api)
    document = api.call("GET", "/__admin/state").body
    document["tables"]["charges"][1]["amount"] = 12.5
    reply = api.call("PUT", "/__admin/state", document)
    assert reply.body["details"] == {"Tables.charges.1.amount": "wanted a number written as a text"}


APART = {
    "totals": "are the sums of the charges",
    "assumed": "written as profile and overrides",
    "arrivals": "counts calls that wait to be acted on; in a copy none does",
    "cards": "grows again from the rows; its salt is a secret",
    "config": "seed, scenarios and rule counters are written, settings are the server's",
    "deliveries": "tells what was told; a copy tells nobody anything twice",
    "director": "written as counters of rules",
    "horizon": "follows from the clock",
    "ids": "written as counters",
    "inboxes": "tells what arrived, not what is",
    "journal": "tells what happened, not what is",
    "key": "names the sandbox; a document can be imported under any key",
    "now": "follows from the clock",
    "opened": "tells whether it was used since it opened, and a copy was",
    "own": "written as profile and overrides",
    "past": "keeps a read from seeing what happened a moment ago; in a copy it is long ago",
    "public_key": "follows from the key",
    "setup": "tells what the calls answered with which it was opened; what they made is written",
    "under_way": "counts answers that are being given",
    "holding": "holds answers that are being given",
    "touched": "is the machine's time, of which no answer tells",
    "used": "orders the list of sandboxes, and changes no answer of one",
    "observers": "judge what the client did, not what is",
    "warned": "keeps a person from being told twice, and changes no answer",
}
"""Parts of a sandbox that are not in its document, and why."""


def test_every_part_of_a_sandbox_is_exported_or_left_out_for_a_reason() -> None:
    sandbox = Api().app.world.sandboxes.open("sk_any", NOW)
    document = state_document.document(sandbox, secrets=True)
    written = {*document, *document["tables"], *document["records"], "replays"}
    parts = [*Tables.__slots__, *vars(sandbox)]
    assert set(parts) - APART.keys() - written == set()
    assert written & APART.keys() == set()
    for name in parts:
        if isinstance(getattr(sandbox, name), Table):
            assert name in document["tables"], (
                f"engine.tables.Tables does not name the table {name}"
            )


def test_rows_of_every_table_have_a_form() -> None:
    for row in ROW_CLASSES.values():
        assert form_of(row).read


def test_a_fork_is_a_copy_that_lives_its_own_life(api: Api) -> None:
    ids = fill(api)
    before = api.call("GET", "/__admin/state?secrets=true").raw
    reply = api.call("POST", "/__admin/fork", {"to": "sk_copy"})
    assert (reply.status, reply.body["publicKey"]) == (201, "pk_copy")
    assert api.call("GET", "/__admin/state?secrets=true", key="sk_copy").raw == before
    assert api.call("GET", "/charge?cardNumber=4539", key="sk_copy").body["count"] == 1
    api.call("POST", f"/charge/{ids['held']}", {}, key="sk_copy")
    assert api.call("GET", "/__admin/state?secrets=true").raw == before
    assert api.call("GET", f"/charge/{ids['held']}").body["status"] == "Authorised"


def test_a_fork_goes_on_as_an_import_does_and_shares_nothing_that_moves(api: Api) -> None:
    fill(api)
    fill_everything(api)
    document = api.call("GET", "/__admin/state?secrets=true").raw

    def ends() -> bytes:
        for charge in api.call("GET", "/charge?limit=100", key="sk_two").body["charges"]:
            api.call("POST", f"/charge/{charge['chargeId']}/refund", {"amount": 0.01}, key="sk_two")
        api.call("POST", "/__admin/clock/advance", {"by": "400d"}, key="sk_two")
        return api.call("GET", "/__admin/state?secrets=true", key="sk_two").raw

    assert api.call("PUT", "/__admin/state", raw=document, key="sk_two").status == 200
    imported = ends()
    assert api.call("POST", "/__admin/fork", {"to": "sk_two"}).status == 201
    assert api.call("GET", "/__admin/state?secrets=true", key="sk_two").raw == document
    assert ends() == imported != document
    assert api.call("GET", "/__admin/state?secrets=true").raw == document


def pay(api: Api, address: str, **typed: str) -> Reply:
    """Fill in the form of a page, which needs no key, and send it where it says."""
    page = api.call("GET", address, key=None)
    if page.status == 303:
        page = api.call("GET", page.headers["location"], key=None)
    assert page.status == 200
    text = page.raw.decode()
    action = re.search(r'<form method="post"(?: action="([^"]*)")?', text)
    assert action is not None
    form = dict(re.findall(r'name="(\w+)"[^>]*value="([^"]*)"', text)) | typed
    kind = {"content-type": "application/x-www-form-urlencoded"}
    place = (action[1] or address).replace("&amp;", "&")
    return api.call("POST", place, raw=urlencode(form).encode(), key=None, headers=kind)


def place_of(url: str) -> str:
    """Path and query of an address on this server."""
    server, path = url[: len(SERVER)], url[len(SERVER) :]
    assert server == SERVER
    return path


def test_everything_in_a_fork_speaks_of_the_fork(api: Api) -> None:
    # The copy's key was known first: age is no sign of the original.
    api.try_charge(5, key="sk_copy")
    link = api.call("POST", "/payment_link", {"amount": 4.5, "currency": "AUD"}).body
    waiting = api.try_charge(20, number="4000000000003220").body
    hook = api.call(
        "POST", "/webhook/subscription", {"url": "https://example.com/h", "types": ["Transaction"]}
    ).body
    api.call("POST", "/__admin/fork", {"to": "sk_copy"})

    copied = api.call("GET", f"/payment_link/{link['paymentLinkId']}", key="sk_copy").body
    assert copied == {
        **link,
        "url": f"{link['url']}?sandbox=pk_copy",
        "publicKey": "pk_copy",
        "accountId": copied["accountId"],
    }
    assert copied["accountId"] != link["accountId"]
    assert api.call("GET", "/payment_link", key="sk_copy").body["paymentLinks"] == [copied]
    told = api.call(
        "GET", f"/webhook/subscription/{hook['webhookSubscriptionId']}", key="sk_copy"
    ).body
    assert told == {**hook, "accountId": copied["accountId"]}
    challenge = api.call("GET", f"/charge/{waiting['chargeId']}", key="sk_copy").body[
        "threeDsRedirectUrl"
    ]
    assert challenge == f"{waiting['threeDsRedirectUrl']}?sandbox=pk_copy"

    before = api.call("GET", "/__admin/state").raw
    paid = pay(api, place_of(copied["url"]), **CARD)
    assert (paid.status, api.call("GET", paid.headers["location"], key=None).status) == (303, 200)
    assert pay(api, place_of(copied["url"]), paymentType="paypal", result="approve").status == 303
    answered = pay(api, place_of(challenge), result="pass")
    assert "Thank you" in api.call("GET", answered.headers["location"], key=None).raw.decode()
    held = pay(api, place_of(copied["url"]), **{**CARD, "cardNumber": "4000000000003220"})
    back = pay(api, held.headers["location"], result="pass")
    assert (
        b"Your payment was received"
        in api.call("GET", place_of(back.headers["location"]), key=None).raw
    )
    assert api.call("GET", "/__admin/state").raw == before

    assert (
        api.call("GET", f"/payment_link/{link['paymentLinkId']}", key="sk_copy").body[
            "countPayments"
        ]
        == 3
    )
    assert {
        charge["status"] for charge in api.call("GET", "/charge", key="sk_copy").body["charges"]
    } == {"SUCCESS"}
    pay(api, place_of(link["url"]), **CARD)
    assert api.call("GET", f"/payment_link/{link['paymentLinkId']}").body["countPayments"] == 1


def test_a_copy_of_a_copy_and_an_imported_original_name_themselves_rightly(api: Api) -> None:
    link = api.call("POST", "/payment_link", {"amount": 4.5, "currency": "AUD"}).body
    api.call("POST", "/__admin/fork", {"to": "sk_copy"})
    api.call("POST", "/__admin/fork", {"to": "sk_third"}, key="sk_copy")
    path = f"/payment_link/{link['paymentLinkId']}"
    assert api.call("GET", path, key="sk_third").body["url"] == f"{link['url']}?sandbox=pk_third"
    home = api.call("GET", "/__admin/state?secrets=true", key="sk_third").raw
    assert api.call("PUT", "/__admin/state", raw=home).status == 200
    assert api.call("GET", path).body == link
    assert api.call("PUT", "/__admin/state", raw=home, key="sk_far").status == 200
    assert api.call("GET", path, key="sk_far").body["url"] == f"{link['url']}?sandbox=pk_far"


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 400, "To"),
        ({"to": "sk_tests"}, 400, "To"),
        ({"to": 5}, 400, "To"),
        ({"to": "invalid_key"}, 401, "XSecretkey"),
        ({"to": "sk_copy", "at": 99}, 400, "At"),
        ({"to": "sk_copy", "at": "1"}, 400, "At"),
        ({"to": "sk_copy", "form": 1}, 400, "Form"),
    ],
)
def test_a_senseless_fork_is_refused(api: Api, body: object, status: int, field: str) -> None:
    api.try_charge()
    reply = api.call("POST", "/__admin/fork", body)
    assert (reply.status, list(reply.body["details"])) == (status, [field])


def test_a_fork_at_a_journal_entry_is_the_past(api: Api) -> None:
    states = []
    held = api.try_charge(30, capture=False).body["chargeId"]
    states.append(api.call("GET", "/__admin/state").body)
    api.call("POST", "/__admin/clock/advance", {"by": "1d"})
    states.append(api.call("GET", "/__admin/state").body)
    api.call("POST", f"/charge/{held}", {"amount": 12})
    states.append(api.call("GET", "/__admin/state").body)
    api.call("POST", "/__admin/clock/advance", {"by": "30d"})
    api.try_charge(1)
    for number, state in enumerate(states, start=1):
        assert (
            api.call("POST", "/__admin/fork", {"to": f"sk_past{number}", "at": number}).status
            == 201
        )
        past = api.call("GET", "/__admin/state", key=f"sk_past{number}").body
        assert {**past, "clock": None} == {**state, "clock": None}
        assert past["clock"]["virtual"] == state["clock"]["virtual"]
    assert api.call("GET", f"/charge/{held}", key="sk_past1").body["status"] == "Authorised"


def test_a_payment_on_a_page_is_part_of_the_past(api: Api) -> None:
    link = api.call(
        "POST", "/payment_link", {"title": "Tea", "amount": 4.5, "currency": "AUD"}
    ).body["paymentLinkId"]
    view = api.call("GET", f"/pay/{link}", key=None).headers["location"]
    page = api.call("GET", view, key=None).raw.decode()
    form = dict(re.findall(r'name="(\w+)"[^>]*value="([^"]*)"', page)) | CARD
    typed = {"content-type": "application/x-www-form-urlencoded"}
    assert (
        api.call(
            "POST", f"/pay/{link}", raw=urlencode(form).encode(), key=None, headers=typed
        ).status
        == 303
    )
    state = api.call("GET", "/__admin/state").body
    assert api.call("POST", "/__admin/fork", {"to": "sk_past", "at": 2}).status == 201
    past = api.call("GET", "/__admin/state", key="sk_past").body
    assert past["tables"] == state["tables"]
    assert len(past["tables"]["charges"]) == 1


def test_a_batch_that_gets_on_while_it_is_read_bars_no_way_back() -> None:
    now = [NOW]
    api = Api(clock="real", real_clock=lambda: now[0])
    batch = api.batch(*[f"{api.method()},10,AUD,"] * 1_500)
    now[0] += SECOND
    reading = api.calling("GET", f"/batch/{batch}")
    reading.send(None)
    now[0] += SECOND
    try:
        while True:
            reading.send(None)
    except StopIteration as read:
        told = read.value.body
    later = api.call("GET", f"/batch/{batch}/status").body
    assert told["success"] < later["success"] < 1_500
    number = api.call("GET", "/__admin/journal?op=batch.status").body["entries"][-1]["id"]
    assert api.call("POST", "/__admin/fork", {"to": "sk_past", "at": number}).status == 201
    assert api.call("GET", f"/batch/{batch}/status", key="sk_past").body == later


def test_no_way_back_when_the_journal_does_not_tell_the_whole_story() -> None:
    api = Api(journal_limit=2)
    for _ in range(3):
        api.try_charge()
    assert (
        "--journal-limit"
        in api.call("POST", "/__admin/fork", {"to": "sk_x", "at": 3}).body["details"]["At"]
    )
    other = Api()
    other.try_charge()
    other.call("PUT", "/__admin/assumptions", {"vault.ccv_delay": "10m"})
    assert (
        "overridden"
        in other.call("POST", "/__admin/fork", {"to": "sk_x", "at": 1}).body["details"]["At"]
    )


def fill_everything(api: Api) -> None:
    """A sandbox with rows in every table."""
    method = api.method()
    paid = api.try_charge(50).body["chargeId"]
    agreement = {
        "payerName": "Ann",
        "description": "rent",
        "maximumAmount": 100,
        "providerId": DUMMY,
    }
    account = {"bankCode": "123456", "accountNumber": "12345678", "accountName": "Ann"}
    calls: list[tuple[str, dict[str, Any]]] = [
        (
            "/customer/card",
            {"providerId": DUMMY, "paymentInformation": CARD, "createNetworkToken": True},
        ),
        ("/customer/payto", {"payToAgreement": agreement}),
        ("/customer/bank_account", {"providerId": DUMMY, "bankPaymentInformation": account}),
        ("/token/card", {"providerId": DUMMY, "paymentInformation": CARD, "vaultCard": True}),
        (
            "/payment_link",
            {"title": "Tea", "amount": 4.5, "currency": "AUD", "allowedPaymentTypes": ["card"]},
        ),
        ("/batch/transaction/payment_method", batch_of(f"{method},5,AUD,b-1")),
        (
            "/subscription/payment_method",
            {
                "paymentMethodId": method,
                "amount": 9,
                "currency": "AUD",
                "interval": "Month",
                "frequency": 1,
                "endAfter": {"count": 3},
            },
        ),
        (
            "/webhook/subscription",
            {"types": ["transaction"], "url": "http://127.0.0.1:9/x", "authorization": "a"},
        ),
        (
            "/transfer",
            {
                "providerId": DUMMY,
                "chargeId": paid,
                "transfers": [{"account": "acc_1", "amount": 5}],
            },
        ),
    ]
    for path, body in calls:
        reply = api.call("POST", path, body)
        assert reply.status < 400, (path, reply.raw)


def test_every_kind_of_row_comes_back(api: Api) -> None:
    fill(api)
    fill_everything(api)
    sandbox = api.app.world.sandboxes.open(api.key, NOW)
    assert [name for name in ROW_CLASSES if not len(getattr(sandbox, name))] == []
    for by in ("1ms", "60ms", "2d", "70d"):
        before = api.call("GET", "/__admin/state?secrets=true").raw
        assert api.call("PUT", "/__admin/state", raw=before).status == 200
        assert api.call("GET", "/__admin/state?secrets=true").raw == before
        api.call("POST", "/__admin/fork", {"to": "sk_copy"})
        api.call("POST", "/__admin/clock/advance", {"by": by})
        api.call("POST", "/__admin/clock/advance", {"by": by}, key="sk_copy")
        here, there = (
            api.call("GET", "/__admin/state").body,
            api.call("GET", "/__admin/state", key="sk_copy").body,
        )
        assert here["schedule"]["order"] == there["schedule"]["order"]
        assert [charge["status"] for charge in here["tables"]["charges"]] == [
            charge["status"] for charge in there["tables"]["charges"]
        ]


def test_a_copy_of_a_batch_under_way_ends_as_the_batch_does(api: Api) -> None:
    method = api.method()
    then = {"batch": {"rows": [{"at": [2, 5], "decline": "lost_card"}, {"at": [4], "approve": {}}]}}
    rule = {"id": "rows", "when": {"op": "batch.create"}, "then": then}
    assert (
        api.call("PUT", "/__admin/scenarios", {"version": 1, "name": "s", "rules": [rule]}).status
        == 200
    )
    batch = api.batch(*(f"{method},{row},AUD,r{row}" for row in range(1, 6)))
    before = api.call("GET", "/__admin/state").raw
    assert api.call("PUT", "/__admin/state", raw=before).status == 200
    assert api.call("GET", "/__admin/state").raw == before
    api.call("POST", "/__admin/fork", {"to": "sk_copy"})
    for key in ("sk_tests", "sk_copy"):
        api.call("POST", "/__admin/clock/advance", {"by": "1m"}, key=key)
        found = api.call("GET", f"/batch/{batch}", key=key).body
        assert (found["success"], found["failure"], found["status"]) == (3, 2, "SUCCESS")


def everything() -> tuple[Api, Sandbox]:
    api = Api()
    fill(api)
    fill_everything(api)
    return api, api.app.world.sandboxes.open(api.key, NOW)


@pytest.mark.parametrize("secrets", [False, True])
@pytest.mark.parametrize("as_lines", [False, True])
def test_an_export_tells_how_things_stood_when_it_began(*, secrets: bool, as_lines: bool) -> None:
    api, sandbox = everything()

    def taken() -> Callable[[], bytes]:
        document = state_document.taken(sandbox, secrets=secrets)
        return (lambda: b"".join(document.lines())) if as_lines else document.whole

    before, exporting = taken()(), taken()
    api.try_charge(3)
    api.call(
        "PUT",
        f"/provider/{DUMMY}",
        {"name": "Renamed", "authenticationParameters": {"MinMilliseconds": "1"}},
    )
    for by in ("1ms", "60ms", "400d"):
        api.call("POST", "/__admin/clock/advance", {"by": by})
    [batch] = sandbox.batches
    assert batch.status == "SUCCESS"
    assert exporting() == before
    assert taken()() != before


def test_a_refused_import_of_many_rows_names_the_first_faults_and_leaves_everything(
    api: Api,
) -> None:
    fill(api)
    document = api.call("GET", "/__admin/state").body
    charge = document["tables"]["charges"][0]
    document["tables"]["charges"] = [
        {**charge, "charge_id": f"c{number}", "amount": 1} for number in range(1_000)
    ]
    document["clock"]["mode"] = "none"
    before = api.call("GET", "/__admin/state").raw
    refused = api.call("PUT", "/__admin/state", document)
    assert refused.status == 400
    assert len(refused["details"]) == 20
    assert {"Clock.mode", "Tables.charges.0.amount", "Tables.charges.18.amount"} <= refused[
        "details"
    ].keys()
    assert api.call("GET", "/__admin/state").raw == before


def test_of_many_unknown_names_the_first_are_looked_up(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[str] = []
    monkeypatch.setattr(
        "mockserver.engine.line_reading.nearest", lambda name, names: looked_up.append(name) or ""
    )
    document = {
        **api.call("GET", "/__admin/state").body,
        **{f"k{number}": 1 for number in range(1_000)},
    }
    assert len(api.call("PUT", "/__admin/state", document)["details"]) == 20
    assert looked_up == [f"k{number}" for number in range(20)]


def test_a_fork_has_a_clock_of_its_own() -> None:
    api = Api(clock="real")
    api.charge()
    assert api.call("POST", "/__admin/fork", {"to": "sk_two"}).status == 201
    before = api.call("GET", "/__admin/clock", key="sk_two")["now"]
    assert api.call("POST", "/__admin/clock/advance", {"by": "1h"}).status == 200
    assert (
        api.call("GET", "/__admin/clock", key="sk_two")["now"]
        == before
        != api.call("GET", "/__admin/clock")["now"]
    )


def test_a_fork_shares_the_rows(api: Api) -> None:
    fill(api)
    fill_everything(api)
    assert api.call("POST", "/__admin/fork", {"to": "sk_two"}).status == 201
    one, two = (api.app.world.sandboxes.open(key, NOW) for key in (api.key, "sk_two"))
    for name, row_class in ROW_CLASSES.items():
        shared = [
            row is other for row, other in zip(getattr(one, name), getattr(two, name), strict=True)
        ]
        assert shared == [row_class is not Batch] * len(shared), name
    assert all(
        row is other
        for row, other in zip(one.batches.rows[0].rows, two.batches.rows[0].rows, strict=True)
    )


def test_the_text_of_a_state_is_that_of_the_document() -> None:
    api, sandbox = everything()
    api.try_charge(reference='","tables":{"x":[1]}')
    api.call("PUT", "/__admin/assumptions", {"vault.ccv_delay": "10m"})
    for secrets in (False, True):
        reply = api.call("GET", f"/__admin/state?secrets={secrets}")
        assert reply.body == state_document.document(sandbox, secrets=secrets)
        assert reply.headers["content-length"] == str(len(reply.raw))
        assert reply.headers["content-type"] == "application/json; charset=utf-8"


LINES = "application/x-ndjson"


def lines_of(api: Api, query: str = "?secrets=true", key: str = "sk_tests") -> bytes:
    reply = api.call("GET", f"/__admin/state{query}", headers={"accept": LINES}, key=key)
    assert (reply.status, reply.headers["content-type"]) == (200, LINES)
    return reply.raw


def put_lines(api: Api, raw: bytes, key: str = "sk_two") -> Reply:
    return api.call("PUT", "/__admin/state", raw=raw, headers={"content-type": LINES}, key=key)


@pytest.mark.parametrize("query", ["?secrets=true", ""])
def test_lines_and_one_object_say_the_same(query: str) -> None:
    api, _ = everything()
    lines = lines_of(api, query)
    assert put_lines(api, lines).status == 200
    assert lines_of(api, query, "sk_two") == lines
    whole = api.call("GET", f"/__admin/state{query}").raw
    assert api.call("GET", f"/__admin/state{query}", key="sk_two").raw == whole
    assert api.call("PUT", "/__admin/state", raw=whole, key="sk_three").status == 200
    assert lines_of(api, query, "sk_three") == lines


def test_the_type_of_lines_may_have_capital_letters_and_a_misspelt_one_is_told() -> None:
    api, _ = everything()
    loud = {"accept": LINES.upper(), "content-type": LINES.upper()}
    document = api.call("GET", "/__admin/state?secrets=true", headers=loud).raw
    assert document == lines_of(api)
    put = partial(api.call, "PUT", "/__admin/state", raw=document, key="sk_two")
    assert put(headers=loud).status == 200
    refused = put(headers={"content-type": "application/ndjson"})
    assert refused.status == 415
    assert LINES in refused["details"]["ContentType"]


def test_a_line_is_a_row_and_names_its_part() -> None:
    api, sandbox = everything()
    header, *rows = map(json.loads, lines_of(api, "").splitlines())
    assert (header["format"], header["version"]) == ("mockserver-sandbox", 2)
    parts = [row["part"] for row in rows]
    assert all(parts.count(name) == len(getattr(sandbox, name)) for name in ROW_CLASSES)
    assert {"batch_rows", "schedule", "rules"} <= set(parts)
    [charge] = [row for row in rows if row.get("charge_id") == sandbox.charges.rows[0].charge_id]
    assert charge["amount"] == str(sandbox.charges.rows[0].amount)
    assert NUMBER not in lines_of(api, "").decode()


def test_no_row_has_a_field_that_would_hide_its_part() -> None:
    for cls in state_document.PARTS.values():
        assert "part" not in {one.name for one in stored(cls)}


def test_transactions_of_a_batch_are_at_most_200_a_line(api: Api) -> None:
    method = api.method()
    api.batch(*(f"{method},{row},AUD,r{row}" for row in range(1, 451)))
    document = lines_of(api)
    rows = map(json.loads, document.splitlines())
    assert [len(row["rows"]) for row in rows if row.get("part") == "batch_rows"] == [200, 200, 50]
    assert put_lines(api, document).status == 200
    assert lines_of(api, key="sk_two") == document


@pytest.mark.parametrize(
    ("part", "change", "line", "words"),
    [
        ("charges", {"amount": 5}, 4, "amount: wanted a number written as a text"),
        ("charges", {"amuont": "5"}, 4, "amuont: unknown field - did you mean 'amount'?"),
        ("charges", {"customer_id": "nobody"}, 4, "customer_id: "),
        ("charges", {"part": "chargse"}, 4, "part: wanted one of "),
        ("batch_rows", {"batch_id": "none"}, 2, "batch_id: wanted one that a line before it has"),
        ("rule_keys", {"rule": "none"}, 2, "rule: wanted one that a line before it has"),
        ("schedule", {"entry": [1, 2, "nothing", "x", ""]}, 5, "entry.2: wanted one of "),
        ("rules", {"rule": "twice"}, 8, "rule: got one that a line before it has"),
    ],
)
def test_the_line_of_a_fault_is_named_and_nothing_changes(
    part: str, change: dict[str, object], line: int, words: str
) -> None:
    api = Api()
    for reference in ("first", "second", "third"):
        api.charge(reference=reference)
    before = lines_of(api)
    header, *rows = map(json.loads, before.splitlines())
    counters = {"text": "x", "calls": 0, "hits": 0, "exhausted": 0, "first": None, "keys": {}}
    more: dict[str, list[dict[str, object]]] = {
        "batch_rows": [{"part": "batch_rows", "batch_id": "b", "rows": []}],
        "rule_keys": [{"part": "rule_keys", "rule": "r", "keys": {}}],
        "schedule": [{"part": "schedule", "entry": [1, 2, "ccv_delay", "x", ""]}],
        "rules": [{"part": "rules", "rule": "twice", "tally": counters}] * 2,
    }
    rows = more.get(part, []) + rows if part in ("batch_rows", "rule_keys") else rows
    rows += more[part] if part in ("schedule", "rules") else []
    place = line - 2
    if part in ("schedule", "rules"):
        place, line = len(rows) - 1, len(rows) + 1
    rows[place] = {**rows[place], **change}
    refused = put_lines(api, b"\n".join(json.dumps(row).encode() for row in [header, *rows]))
    assert refused.status == 400
    [(name, told)] = refused["details"].items()
    assert name == f"Line {line}"
    assert words in told
    assert lines_of(api) == before


@pytest.mark.parametrize(
    ("raw", "name", "words"),
    [
        (b"", "Line 1", "wanted the header of a state document"),
        (b"\n\n", "Line 1", "wanted the header of a state document"),
        (b"[1]", "Line 1", "wanted the header of a state document"),
        (b'{"part":"charges"}', "Line 1", "format: wanted a state document of this product"),
        (b"\n{", "Body", "(line 2, column 2)"),
        (b'{"a":1,"a":2}', "Body", "got the key 'a' twice (line 1, column 8)"),
    ],
)
def test_lines_that_are_no_document_are_refused(
    api: Api, raw: bytes, name: str, words: str
) -> None:
    refused = put_lines(api, raw)
    assert refused.status == 400
    assert words in refused["details"][name]


def test_a_line_that_is_too_long_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_reading, "LONGEST_OBJECT", 10_000_000)
    document = lines_of(api)
    monkeypatch.setattr(state_reading, "LONGEST_OBJECT", len(document) + 10)
    assert put_lines(api, document).status == 200
    refused = put_lines(api, document + b" " * 20 + b"x" * len(document))
    assert refused.status == 400
    [(name, words)] = refused["details"].items()
    assert name == f"Line {len(document.splitlines()) + 1}"
    assert "which is the longest line" in words


def test_a_large_sandbox_and_a_large_object_are_refused_with_the_way_out(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.charge()
    document = api.call("GET", "/__admin/state").raw
    monkeypatch.setattr(state_document, "LONGEST_OBJECT", len(document))
    assert api.call("GET", "/__admin/state").raw == document
    assert api.call("PUT", "/__admin/state", raw=document).status == 200
    refused = api.call("PUT", "/__admin/state", raw=document + b" ")
    assert refused.status == 400
    assert f"Content-Type: {LINES}" in refused["details"]["Body"]
    monkeypatch.setattr(state_document, "LONGEST_OBJECT", len(document) - 1)
    refused = api.call("GET", "/__admin/state")
    assert refused.status == 400
    assert f"Accept: {LINES}" in refused["details"]["Accept"]


def test_a_document_of_version_1_is_read(api: Api) -> None:
    """It was written by a server of that version, with something of everything in it."""
    old = Path(__file__).with_name("state_version_1.json").read_bytes()
    assert api.call("PUT", "/__admin/state", raw=old).status == 200
    now = api.call("GET", "/__admin/state?secrets=true")
    assert now.raw == old.replace(b'"version":1,', b'"version":2,', 1).strip()


def test_a_large_document_of_version_1_is_read_as_one_line(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Path(__file__).with_name("state_version_1.json").read_bytes()
    whole = old.replace(b'"version":1,', b'"version":2,', 1).strip()
    monkeypatch.setattr(state_reading, "LONGEST_OBJECT", len(old) // 2)
    assert put_lines(api, old).status == 200
    monkeypatch.undo()
    assert api.call("GET", "/__admin/state?secrets=true", key="sk_two").raw == whole
    spoilt = old.replace(b'"amount":"30"', b'"amount":"-30"', 1)
    refused = put_lines(api, spoilt)
    assert refused.status == 400
    [(name, words)] = refused["details"].items()
    assert name == "Line 1"
    assert words.startswith("tables.charges.1.amount: ")


def test_a_long_document_is_sent_and_taken_in_parts(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockserver.web.control.state._PART", 5_000)
    for number in range(200):
        api.charge(reference=f"row-{number}")
    sent = sent_in_parts(api, "GET", "/__admin/state?secrets=true", [b""], LINES)
    document = b"".join(sent)
    assert len(document) > 100_000
    assert len(sent) > 10
    parts = [document[start : start + 999] for start in range(0, len(document), 999)]
    taken = json.loads(b"".join(sent_in_parts(api, "PUT", "/__admin/state", parts, LINES)))
    assert taken["objects"]["charges"] == 200
    assert lines_of(api) == document
    whole = api.call("GET", "/__admin/state?secrets=true").raw
    parts = [whole[start : start + 999] for start in range(0, len(whole), 999)]
    taken = json.loads(b"".join(sent_in_parts(api, "PUT", "/__admin/state", parts)))
    assert taken["objects"]["charges"] == 200
    blank = b"".join(sent_in_parts(api, "PUT", "/__admin/state", [b" ", b"\n"]))
    assert json.loads(blank) == api.call("PUT", "/__admin/state", raw=b"").body


def sent_in_parts(
    api: Api,
    method: str,
    target: str,
    parts: Sequence[bytes],
    media: str = "application/json",
) -> list[bytes]:
    """The parts of the answer to a request whose body comes in parts."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [
            (b"host", b"127.0.0.1"),
            (b"x-secretkey", (api.key or "").encode()),
            (b"accept", media.encode()),
            (b"content-type", media.encode()),
        ],
    }
    left, answered = list(parts), list[Any]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message: Any) -> None:
        answered.append(message)

    asyncio.run(api.app(scope, receive, send))
    return [message["body"] for message in answered[1:]]


def test_an_import_and_a_fork_begin_without_webhooks_and_messages_and_send_none_again(
    api: Api,
) -> None:
    told = {"url": "http://127.0.0.1:4111/__inbox/shop"}
    api.call("PUT", "/__admin/assumptions", {"charge.pending_settles_after": "1h"})
    account = {"bankCode": "001-002", "accountNumber": "123456", "accountName": "Ann"}
    api.call(
        "POST",
        "/charge/bank_account",
        {"amount": 5, "providerId": DUMMY, "bankPaymentInformation": account, "webhook": told},
    )
    assert len(api.call("GET", "/__admin/inbox/shop").body["messages"]) == 1
    document = api.call("GET", "/__admin/state").raw
    assert api.call("PUT", "/__admin/state", raw=document).status == 200
    assert api.call("POST", "/__admin/fork", {"to": "sk_copy"}).status == 201
    for key in ("sk_tests", "sk_copy"):
        assert api.call("GET", "/__admin/inbox/shop", key=key).body["messages"] == []
        assert api.call("GET", "/__admin/webhooks", key=key).body["webhooks"] == []
        api.call("POST", "/__admin/clock/advance", {"by": "1h"}, key=key)
        [webhook] = api.call("GET", "/__admin/webhooks", key=key).body["webhooks"]
        assert webhook["eventType"] == "transaction.status.changed"
    assert len(api.call("GET", "/__admin/inbox/shop").body["messages"]) == 1


def test_a_copy_counts_the_calls_of_an_operation_on() -> None:
    rule = (
        "{id: third, when: {op: vault.create, call: 3}, then: {transport: {at: receive, "
        "status: 503}}}"
    )
    api, other = Api(), Api()
    for _ in range(2):
        assert api.call("POST", "/vault", {"cardNumber": NUMBER}).status == 201
    document = api.call("GET", "/__admin/state?secrets=true").raw
    assert other.call("PUT", "/__admin/state", raw=document).status == 200
    scenario = f"version: 1\nname: third\nrules: [{rule}]"
    assert other.call("POST", "/__admin/scenarios", raw=scenario.encode()).status == 201
    assert [other.call("POST", "/vault", {"cardNumber": NUMBER}).status for _ in range(2)] == [
        503,
        201,
    ]
