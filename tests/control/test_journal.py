"""The journal through ``/__admin/journal``: complete, filtered, bounded and free of secrets."""

import asyncio
import json
from time import process_time
from urllib.parse import quote

import pytest

from mockserver.domain.masking import mask_digits, mask_text
from tests.depth import tries
from tests.driving import CARD, DUMMY, Api, batch_of, card_charge

VISA = "4111111111111111"


def entries(api: Api, query: str = "") -> list[dict[str, object]]:
    reply = api.call("GET", f"/__admin/journal{query}")
    assert reply.status == 200, reply.raw
    return reply.body["entries"]


def test_an_entry_explains_a_charge(api: Api) -> None:
    charge_id = api.try_charge(reference="r-1", colour="red").body["chargeId"]
    [entry] = entries(api)
    assert (entry["id"], entry["op"], entry["status"]) == (1, "charge.create", 201)
    assert entry["at"] == "2031-03-01T00:00:00.0000000Z"
    assert entry["answer"]["chargeId"] == charge_id
    assert entry["request"]["body"]["reference"] == "r-1"
    assert entry["events"] == [
        {
            "subject": "charge",
            "id": charge_id,
            "what": "paid",
            "before": None,
            "after": "SUCCESS",
            "at": "2031-03-01T00:00:00.0000000Z",
        }
    ]
    assert entry["ignored"] == ["colour"]
    assert "response.created_status" in entry["assumptions"]
    assert [decision["stage"] for decision in entry["decisions"]] == ["arrival", "provider"]


def test_a_decision_names_the_outcome_of_a_sequence_or_a_chance_by_its_place(api: Api) -> None:
    twice = {
        "id": "twice",
        "when": {"op": "charge.create"},
        "sequence": [{"approve": {}}, {"decline": "lost_card"}],
    }
    rule = {**twice, "key": ["op"], "at_end": "fail"}
    assert (
        api.call("PUT", "/__admin/scenarios", {"version": 1, "name": "s", "rules": [rule]}).status
        == 200
    )
    for _ in range(3):
        api.try_charge()
    asked = [entry["decisions"][-1] for entry in entries(api)]
    assert [(decision["rule"], decision["choice"]) for decision in asked] == [
        ("twice", 1),
        ("twice", 2),
        ("twice", None),
    ]


def test_a_refusal_and_a_malformed_body_are_entries_too(api: Api) -> None:
    api.call("GET", "/charge/nothing")
    api.call("POST", "/charge/card", raw=b'{"amount": ')
    assert [(entry["op"], entry["status"]) for entry in entries(api)] == [
        ("charge.get", 404),
        ("charge.create", 400),
    ]


def test_a_refusal_names_the_assumption_of_its_status(api: Api) -> None:
    charge_id = api.try_charge().body["chargeId"]
    api.call("GET", "/charge/nothing")
    api.call("POST", f"/charge/{charge_id}")
    api.call("POST", "/charge/card", {})
    named = [entry["assumptions"] for entry in entries(api)[1:]]
    statuses = [{key for key in keys if key.startswith("error.")} for keys in named]
    assert statuses == [{"error.not_found"}, {"error.wrong_state"}, set()]


def test_an_entry_names_the_assumptions_that_its_words_follow(api: Api) -> None:
    api.try_charge(capture=False, firstName="Ann")
    item = api.call("POST", "/vault", {"cardNumber": VISA, "ccv": "123"}).body["vaultId"]
    api.call("GET", f"/vault/{item}")
    bank = {"bankCode": "123-456", "accountNumber": "12345678", "accountName": "Ann"}
    api.call(
        "POST",
        "/payment_method/bank_account",
        {"providerId": DUMMY, "bankPaymentInformation": bank},
    )
    api.call("GET", "/charge")
    api.call("GET", "/version")
    charge, vaulted, seen, account, listed, version = (
        set(entry["assumptions"]) for entry in entries(api)
    )
    words = {
        "card.masking",
        "card.iin_digits",
        "charge.status.authorised",
        "charge.customer_summary",
    }
    assert words <= charge
    assert words <= listed
    assert "card.masking" in vaulted
    assert "vault.get_shows" not in vaulted
    assert "vault.get_shows" in seen
    assert "bank_account.masking" in account
    assert not words & version


def test_due_work_that_changes_something_is_an_entry(api: Api) -> None:
    charge_id = api.try_charge(capture=False).body["chargeId"]
    api.call("POST", "/__admin/clock/advance", {"by": "8d"})
    entry = entries(api)[-2]
    assert (entry["op"], entry["request"], entry["status"]) == (
        "clock.authorisation_expiry",
        None,
        None,
    )
    assert entry["events"][0]["id"] == charge_id
    assert entry["at"] == "2031-03-08T00:00:00.0000000Z"


def test_a_move_of_the_clock_is_an_entry_after_all_that_came_due_on_the_way(api: Api) -> None:
    account = {"bankCode": "001-002", "accountNumber": "123456", "accountName": "Ann"}
    body = {"amount": 5, "providerId": DUMMY, "bankPaymentInformation": account}
    charge_id = api.call("POST", "/charge/bank_account", body).body["chargeId"]
    paid = {"for": {"charge": {"id": charge_id, "status": "SUCCESS"}}, "advance": True}
    api.call("POST", "/__admin/clock/advance", {"by": "1h"})
    api.call("PUT", "/__admin/clock", {"mode": "fast", "now": "2031-03-01T02:00:00Z"})
    api.call("POST", "/__admin/wait", paid, waits=True)
    api.call("POST", "/__admin/wait", paid)
    told = [(entry["op"], entry["at"][8:16], entry["status"]) for entry in entries(api)]
    assert told == [
        ("charge.create", "01T00:00", 201),
        ("clock.advance", "01T01:00", 200),
        ("clock.set", "01T02:00", 200),
        ("clock.settlement", "02T00:00", None),
        ("clock.advance", "02T00:00", 200),
    ]
    moved = entries(api, "?op=clock.advance")[-1]
    assert (moved["request"]["method"], moved["request"]["path"]) == ("POST", "/__admin/wait")
    assert moved["request"]["body"] == paid
    assert (moved["answer"]["held"], moved["answer"]["ran"]) == (True, 1)


def test_a_row_of_a_batch_that_a_rule_decides_is_one_entry(api: Api) -> None:
    method = api.method()
    rule = {"id": "each", "when": {"op": "batch.row"}, "then": {"decline": "lost_card"}}
    assert (
        api.call("PUT", "/__admin/scenarios", {"version": 1, "name": "s", "rules": [rule]}).status
        == 200
    )
    api.batch(*(f"{method},{row},AUD,r{row}" for row in range(1, 6)))
    for _ in range(120):
        api.call("POST", "/__admin/clock/advance", {"by": "1ms"})
    rows = entries(api, "?op=batch.row")
    assert [row["decisions"][0]["rule"] for row in rows] == ["each"] * 5
    expected = {"op": "batch.row", "count": {"exactly": 5}}
    assert api.call("POST", "/__admin/verify", {"requests": [expected]}).status == 200


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("?op=charge.get", [2]),
        ("?op=charge.*", [1, 2, 3]),
        ("?op=*.get", [2]),
        ("?op=clock.*", []),
        ("?op=charge.*&status=4xx", [2]),
        ("?status=404", [2]),
        ("?status=2xx", [1, 3]),
        ("?method=get", [2]),
        ("?path=/charge/nothing", [2]),
        ("?after=1", [2, 3]),
        ("?after=1&limit=1", [2]),
        ("?limit=1", [3]),
        ("?rule=no-such-rule", []),
        ("?after=99", []),
    ],
)
def test_filters(api: Api, query: str, ids: list[int]) -> None:
    api.try_charge()
    api.call("GET", "/charge/nothing")
    api.try_charge()
    assert [entry["id"] for entry in entries(api, query)] == ids


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=1001", "limit=ten", "after=-1", "statsu=200", "status=ok", "status=4"],
)
def test_a_senseless_filter_is_refused(api: Api, query: str) -> None:
    reply = api.call("GET", f"/__admin/journal?{query}")
    assert reply.status == 400
    assert reply.body["details"]


def test_an_operation_that_nothing_can_be_is_refused(api: Api) -> None:
    refused = api.call("GET", "/__admin/journal?op=charge.creat")
    told = (
        "got 'charge.creat', wanted the name of an operation or a glob - did you mean "
        "'charge.create'?"
    )
    assert (refused.status, refused.body["details"]) == (400, {"Op": told})
    assert api.call("GET", "/__admin/journal?op=" + "*a" * 5_000 + "b").status == 400


def test_one_entry_by_its_number(api: Api) -> None:
    api.try_charge()
    assert api.call("GET", "/__admin/journal/1").body == entries(api)[0]
    missing = api.call("GET", "/__admin/journal/2")
    assert (missing.status, missing.body["details"]) == (
        404,
        {"Id": "got '2', kept entries: 1 to 1"},
    )
    assert api.call("GET", "/__admin/journal/x").status == 404


def test_the_bound_pushes_the_oldest_out() -> None:
    api = Api(journal_limit=2)
    for _ in range(5):
        api.try_charge()
    reply = api.call("GET", "/__admin/journal").body
    assert (reply["last"], reply["dropped"], [entry["id"] for entry in reply["entries"]]) == (
        5,
        3,
        [4, 5],
    )
    assert api.call("GET", "/__admin/journal/3").status == 404
    assert api.call("GET", "/__admin/journal/4").status == 200


def test_no_journal_at_all() -> None:
    api = Api(journal_limit=0)
    api.try_charge()
    assert api.call("GET", "/__admin/journal").body == {
        "count": 0,
        "last": 1,
        "dropped": 1,
        "entries": [],
    }


def test_a_reset_begins_a_new_journal(api: Api) -> None:
    api.try_charge()
    api.call("POST", "/__admin/reset")
    assert entries(api) == []


def test_an_entry_shows_neither_card_number_nor_ccv_nor_key(api: Api) -> None:
    number, ccv = "4539578763621486", "9371"
    api.call(
        "POST",
        f"/charge/card?CARDNUMBER={number}&cvv={ccv}",
        {
            "amount": 1,
            "Ccv": ccv,
            "reference": f"for {number}",
            "metadata": {number: "4539 5787 6362 1486", "n": int(number)},
            "paymentInformation": {"CARDNUMBER": number, "cCv": int(ccv), "expiryDate": "12/40"},
        },
    )
    api.call("POST", "/charge/card", raw=b'{"cardNumber": "4539578763621486", "ccv": "9371"')
    for twice in ('"ccv":"9371"', "ccv=9371&x=1", r"{\"ccv\": 9371}"):
        api.call(
            "POST", f"/charge/card?next={quote(twice)}", {"amount": 1, "paymentInformation": twice}
        )
        api.call("POST", "/charge/card", raw=json.dumps(twice).encode(), headers={"referer": twice})
    api.call("GET", f"/charge/{number}")
    api.post(
        "/charge/card", card_charge(webhook={"url": f"https://shop.example/{number}?cvv={ccv}"})
    )
    calls = ("/__admin/journal", "/__admin/webhooks", "/__admin/report")
    text = "".join(api.call("GET", call).raw.decode() for call in calls)
    assert number not in text
    assert ccv not in text
    assert "4539 5787" not in text
    assert "sk_tests" not in text
    assert "4539********1486" in text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (VISA, "4111********1111"),
        ("4111 1111 1111 1111", "4111********1111"),
        ("4111-1111-1111-1111", "4111********1111"),
        (f"card {VISA}.", "card 4111********1111."),
        (f"2 {VISA}", "2 4111********1111"),
        (f"{VISA} 99 {VISA}", "4111********1111 99 4111********1111"),
        (VISA + "0" * 8, "*" * 24),
        ("4111.1111.1111.1111", "4111********1111"),
        ("4111_1111_1111_1111", "4111********1111"),
        ("4111/1111/1111/1111", "4111********1111"),
        ("4111+1111+1111+1111", "4111********1111"),
        ("4111\u22121111\u22121111\u22121111", "4111********1111"),
        ("4111 - 1111 - 1111 - 1111", "4111********1111"),
        ("4111\u00a01111\u202f1111\u20091111", "4111********1111"),
        ("4111\u20111111\u00ad1111\u200b1111", "4111********1111"),
        ("4111\uff0e1111\u00b71111\u30001111", "4111********1111"),
        ("\uff14" + "\uff11" * 15, "4111********1111"),
        ("\u0664" + "\u0661" * 15, "4111********1111"),
        ("\u2460 \u00e9 " + "4\ufe0f\u20e31" + "1" * 14, "\u2460 \u00e9 4111********1111"),
        ("B4111111111111111^ANN", "B4111********1111^ANN"),
        ("1 2 3 4111 1111 1111 1111 4 5", "1 2 3 4111********1111 4 5"),
        ("3782 822463 10005", "3782*******0005"),
        (VISA + "1240123", "*" * 23),
        ("00" + VISA + "00", "*" * 20),
        ("0" * 24, "0" * 24),
        ("0" * 31 + "1", "0" * 31 + "1"),
        ("12345678901234567890", "12345678901234567890"),
        ("1700000000000", "1700000000000"),
        ("1234567890128", "1234567890128"),
        ("9999999999999995", "9999999999999995"),
        ("at sk_live_1/x, task_id", "at sk_***/x, task_id"),
        ("4111111111111112", "4111111111111112"),
        ("order 1234", "order 1234"),
        ("0e4a411111111111111141b7c2d3e4f5", "0e4a411111111111111141b7c2d3e4f5"),
        ("a26c371f-94f6-40da-add2-28ec8e9da8ed", "a26c371f-94f6-40da-add2-28ec8e9da8ed"),
    ],
)
def test_card_numbers_in_any_text(text: str, masked: str) -> None:
    assert mask_text(text) == masked


def test_masking_takes_time_in_proportion() -> None:
    assert mask_text("1 " * 100_000).startswith("1 1 ")
    assert "4111111111111111" not in mask_text(f"{VISA} " * 20_000)


@pytest.mark.parametrize("card", [VISA, "4111 1111 1111 1111", " ".join(VISA)])
def test_no_number_escapes_where_a_text_has_too_much_to_look_at(card: str) -> None:
    for before in range(4_900, 5_010, 3):
        told = mask_text("1 " * (before // 2) + card + " 1" * 100).replace(" ", "")
        assert VISA[:10] not in told, before
    assert told.endswith("*" * 20)


@pytest.mark.parametrize(
    "unit", ["1 ", "6 ", "66 ", "1" * 11 + "x", "6", "6" * 39 + "x", "\uff16.", "1 x", f"{VISA}-"]
)
@pytest.mark.parametrize("place", ["reference", "unknown", "metadata"])
def test_what_is_kept_is_shown_in_bounded_time_and_size(api: Api, unit: str, place: str) -> None:
    text = unit * (tries(500_000, 1_000_000) // len(unit))
    api.try_charge(**{place: {"a": text, text: "b"} if place == "metadata" else text})
    before = process_time()
    for path in ("/__admin/journal", "/__admin/timeline"):
        assert len(api.call("GET", path).raw) < 450_000
    assert VISA not in api.call("GET", "/__admin/state").raw.decode()
    assert process_time() - before < 3


def test_of_a_body_with_very_many_values_the_first_are_shown(api: Api) -> None:
    body = batch_of(*(f'"m{number}",1,AUD,"a \\ b"' for number in range(8_000)))
    api.call("POST", "/batch/transaction/payment_method", body, waits=True)
    api.call(
        "POST", "/charge/card", raw=b'{"x": "\\\\", "y": "\\"", "z": [' + b"1," * 21_000 + b"1]}"
    )
    first, second = entries(api)
    assert {**first["request"]["body"], "batch": ""} == {**body, "batch": ""}
    assert second["request"]["body"]["z"][-2:] == [1, "... 1006 more"]


def test_of_a_long_body_the_beginning_is_shown(api: Api) -> None:
    api.try_charge(
        reference="x" * 30_000, metadata={f"n{number}": "y" * 500 for number in range(1_000)}
    )
    api.call("POST", "/charge/card", raw=b'{"amount": 12, "x": [' + b"1," * 100_000 + b"1")
    first, second = entries(api)
    assert first["request"]["body"]["reference"] == "x" * 20_000 + "... (30000 characters)"
    assert first["request"]["body"]["metadata"]["n0"] == "y" * 500
    assert first["request"]["body"]["metadata"]["..."] == "843 more"
    assert second["request"]["body"].startswith('{"amount": **, "x": [*,*,')
    assert second["request"]["body"].endswith("... (200022 bytes)")


@pytest.mark.usefixtures("every_pause")
def test_others_have_their_turn_while_entries_are_shown(api: Api) -> None:
    for _ in range(3):
        api.try_charge(metadata={"a": "6 " * 10_000, "b": "6" * 5_000})
    order: list[str] = []

    async def one(target: str) -> None:
        await api.calling("GET", target)
        order.append(target)

    async def all_at_once() -> None:
        await asyncio.gather(one("/__admin/journal"), one("/__admin/state"), one("/charge"))

    asyncio.run(all_at_once())
    assert order[0] == "/charge"


def test_masking_twice_is_masking_once() -> None:
    once = mask_text(f"{VISA} and 378282246310005")
    assert mask_text(once) == once
    assert mask_digits("a1b22") == "a*b**"


@pytest.mark.parametrize(
    ("method", "target", "status", "told"),
    [
        (
            "POST",
            "/charge/card/leastcost",
            404,
            "no such route - did you mean '/charge/card/least_cost'?",
        ),
        ("GET", "/charges", 404, "no such route - did you mean '/charge'?"),
        (
            "GET",
            "/v1/charge/0a0d7367be3e52431db9c8b4d0b72e61",
            404,
            "did you mean '/charge/{charge_id}'?",
        ),
        (
            "GET",
            "/customers/42/payment_method",
            404,
            "did you mean '/customer/{customer_id}/payment_method'?",
        ),
        ("GET", "/elsewhere/entirely", 404, "no such route"),
        ("GET", "/" + "x" * 300, 404, "no such route"),
        (
            "GET",
            "/",
            404,
            "no such route; /__admin is the control page, `mockserver routes` prints all paths",
        ),
        ("PATCH", "/charge/card", 405, "got PATCH, allowed: POST"),
    ],
)
def test_what_no_route_takes_is_an_entry_that_names_the_nearest_path(
    api: Api, method: str, target: str, status: int, told: str
) -> None:
    body = {"amount": 5, "paymentInformation": CARD}
    refused = api.call(method, f"{target}?Reference=a", body)
    assert refused.status == status
    [words] = refused.body["details"].values()
    assert words.endswith(told)
    [entry] = api.call("GET", "/__admin/journal").body["entries"]
    assert (entry["op"], entry["status"], entry["answer"]["details"]) == (
        "none",
        status,
        refused.body["details"],
    )
    asked = entry["request"]
    assert (asked["method"], asked["path"], asked["query"]) == (method, target, {"Reference": "a"})
    if target != "/":
        assert asked["body"]["paymentInformation"]["cardNumber"] == "4111********1111"
    [line] = api.call("GET", "/__admin/timeline").body["lines"]
    assert line[2:6] == [method, target, "none", status]
    assert api.call("GET", "/__admin/journal?op=none").body["count"] == 1
    assert api.call("POST", "/__admin/fork", {"to": "sk_copy", "at": 1}).status == 201


def test_what_no_route_takes_is_nobodys_entry_without_a_key_that_opens_a_sandbox(api: Api) -> None:
    for headers in ({}, {"x-secretkey": "invalid"}, {"x-publickey": "nobody"}):
        assert api.call("GET", "/charges", key=None, headers=headers).status == 404
    assert api.call("GET", "/__admin/clocks").status == 404
    assert api.call("GET", "/charges", key=None, headers={"x-publickey": "pk_tests"}).status == 404
    assert [
        entry["request"]["path"] for entry in api.call("GET", "/__admin/journal").body["entries"]
    ] == ["/charges"]
    assert len(api.call("GET", "/__admin/sandboxes").body["sandboxes"]) == 1


def test_a_card_number_is_masked_in_a_path_that_is_encoded_twice(api: Api) -> None:
    answers = [api.call("GET", f"/charge/{path}") for path in ("%2534" + VISA[1:], "50%25")]
    shown = [
        entry["request"]["path"]
        for entry in (api.get(f"/__admin/journal/{number}").body for number in (1, 2))
    ]
    assert (
        shown
        == ["/charge/4111********1111", "/charge/50%"]
        == [answer["resource"] for answer in answers]
    )


@pytest.mark.parametrize(
    "sign", [",", ";", ":", "|", "'", '"', "    ", ", ", '","', "%2C", "%252C"]
)
def test_a_card_number_is_masked_whatever_parts_it(api: Api, sign: str) -> None:
    grouped, single = sign.join(["4111", "1111", "1111", "1111"]), sign.join(VISA)
    api.charge(reference="order-1", metadata={"a": grouped, "b": f"paid with {single}, thanks"})
    api.get("/charge", reference=grouped)
    shown = "".join(shown_texts(api))
    assert VISA not in "".join(filter(str.isdigit, shown))
    assert grouped not in shown
    assert single not in shown
    # Findings accuse somebody, so they see fewer numbers than masks do.
    assert bool(api.get("/__admin/findings")["findings"]) == (not sign.strip())


def shown_texts(api: Api) -> list[str]:
    """Requests of the journal, as they are shown."""
    return [str(entry["request"]) for entry in api.get("/__admin/journal")["entries"]]


@pytest.mark.parametrize(
    "parts",
    [
        [int(digit) for digit in VISA],
        list(VISA),
        ["4111", "1111", "1111", "1111"],
        [4111, 1111, 1111, 1111],
    ],
)
def test_a_card_number_in_a_list_is_masked(api: Api, parts: list[object]) -> None:
    api.post(
        "/charge/card",
        {
            **card_charge(),
            "colours": ["red", *parts, None],
            "sizes": [1, 2, 3],
            "note": "1, 2, 3; 4:5",
        },
    )
    shown = " ".join(shown_texts(api))
    assert "'colours': ['red', '*" in shown
    assert "'sizes': [1, 2, 3]" in shown
    assert "1, 2, 3; 4:5" in shown
