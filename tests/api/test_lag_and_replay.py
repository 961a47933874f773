"""Reads that lag behind the writes, and answers that are given again (scenario language,
Outcomes)."""

import gc
from weakref import ref

import pytest

from mockserver.engine import past
from tests.driving import DUMMY, Api, Reply, card, card_charge, problem_of
from tests.few_rows import look_at_few_rows
from tests.findings.test_client_mistakes import finished, found
from tests.scenario.telling import fault, one

PAID = card_charge(reference="order-1")


def api_with(*rules: str, **more: str) -> Api:
    text = "".join(f"  - {{id: r{number}, {rule}}}\n" for number, rule in enumerate(rules))
    return Api(scenario=f"version: 1\nname: s\n{more.get('head', '')}rules:\n{text}")


def lagging(op: str = "'charge.*'", lag: str = "15s") -> Api:
    return api_with(f"when: {{op: {op}}}, then: {{lag: {lag}}}")


def charged(api: Api, **more: object) -> str:
    return str(api.post("/charge/card", {**PAID, **more})["chargeId"])


def status(api: Api, charge_id: str) -> str | int:
    reply = api.get(f"/charge/{charge_id}")
    return str(reply["status"]) if reply.status == 200 else reply.status


def test_a_new_charge_is_read_after_the_lag_and_not_an_instant_before() -> None:
    api = lagging()
    charge_id = charged(api)
    missing = api.get(f"/charge/{charge_id}")
    genuine = Api().get(f"/charge/{charge_id}")
    assert (problem_of(missing), missing.body) == ((404, 84), genuine.body)
    api.advance("14999ms")
    assert status(api, charge_id) == 404
    api.advance("1ms")
    assert status(api, charge_id) == "SUCCESS"


def test_before_the_last_change_it_shows_what_was_there_until_then_however_long_ago_that_is() -> (
    None
):
    api = lagging(op="charge.get", lag="last_move")
    charge_id = charged(api, capture=False)
    assert status(api, charge_id) == 404
    api.post(f"/charge/{charge_id}")
    api.advance("1h")
    assert status(api, charge_id) == "Authorised"


def test_each_of_several_changes_is_seen_when_its_time_comes() -> None:
    api = lagging(lag="10s")
    charge_id = charged(api, capture=False)
    api.advance("5s")
    api.post(f"/charge/{charge_id}")
    api.advance("5s")
    api.delete(f"/refund/{charge_id}")
    seen = []
    for _ in range(4):
        seen.append(status(api, charge_id))
        api.advance("5s")
    assert seen == ["Authorised", "SUCCESS", "REFUND", "REFUND"]


def test_a_sandbox_whose_reads_lag_is_freed_without_the_garbage_collector() -> None:
    api = lagging()
    charged(api)
    api.get("/charge")
    gone = (
        ref(api.app.world.sandboxes.open("sk_tests", 0)),
        ref(api.app.world.sandboxes.open("sk_tests", 0).past),
    )
    gc.disable()
    try:
        api.post("/__admin/reset")
        assert [one() for one in gone] == [None, None]
    finally:
        gc.enable()
    assert status(api, charged(api)) == 404


@pytest.mark.usefixtures("every_pause")
def test_a_long_list_that_lags_learns_while_others_are_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    look_at_few_rows(monkeypatch, 3)
    api = api_with("when: {op: charge.search, request.cardholder: Ann Example}, then: {lag: 10s}")
    for amount in range(1, 21):
        charged(api, amount=amount)
    api.advance("60s")
    then = api.call("GET", "/charge?SortBy=amount&Limit=7&Cardholder=Ann+Example", waits=True).body
    for amount in range(21, 31):
        charged(api, amount=amount)
    listing = api.calling("GET", "/charge?SortBy=amount&Limit=7&Cardholder=Ann+Example")
    rests = 0
    while True:
        try:
            listing.send(None)
        except StopIteration as end:
            seen = end.value.body
            break
        rests += 1
        charged(api, amount=30 + rests)
    assert rests > 2
    assert seen == then
    assert api.call("GET", "/charge?SortBy=amount&Limit=7", waits=True).body["count"] == 30 + rests


def test_a_search_lags_by_every_index_and_in_its_count() -> None:
    api = lagging("charge.search")
    old = charged(api)
    api.advance("15s")
    new = charged(api)
    api.delete(f"/refund/{old}")
    assert [row["chargeId"] for row in api.get("/charge")["charges"]] == [old]
    assert api.get("/charge", Reference="order-1")["count"] == 1
    assert (
        api.get("/charge", Status="SUCCESS")["count"],
        api.get("/charge", Status="REFUND")["count"],
    ) == (1, 0)
    assert (status(api, new), status(api, old)) == ("SUCCESS", "REFUND")
    api.advance("15s")
    assert [row["chargeId"] for row in api.get("/charge")["charges"]] == [new, old]
    assert (
        api.get("/charge", Status="SUCCESS")["count"],
        api.get("/charge", Status="REFUND")["count"],
    ) == (1, 1)


def test_looking_back_changes_nothing() -> None:
    plain, api = Api(), lagging()
    for one_ in (plain, api):
        for number in range(5):
            charge_id = charged(one_, reference=f"o-{number}", capture=number % 2 == 0)
            if one_ is api:
                api.get("/charge")
                api.get(f"/charge/{charge_id}")
    documents = []
    for one_ in (plain, api):
        one_.advance("1m")
        documents.append(one_.get("/charge").body)
    assert documents[0] == documents[1]


def test_set_up_has_always_been_there() -> None:
    head = f"""setup:
  - {{id: ann, call: "POST /customer/card", body: {{providerId: {DUMMY}, firstName: Ann,
     paymentInformation: {{cardNumber: "4111111111111111", expiryDate: "12/40"}}}}}}
"""
    api = api_with("when: {op: 'customer.*'}, then: {lag: 1h}", head=head)
    assert api.get("/customer")["count"] == 1
    api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": card()})
    assert api.get("/customer")["count"] == 1


def test_a_lag_put_in_force_later_counts_from_then(api: Api) -> None:
    charge_id = charged(api)
    rules = {
        "version": 1,
        "rules": [{"id": "r", "when": {"op": "charge.get"}, "then": {"lag": "15s"}}],
    }
    assert api.put("/__admin/scenarios", rules).status == 200
    assert status(api, charge_id) == "SUCCESS"
    api.delete(f"/refund/{charge_id}")
    assert status(api, charge_id) == "SUCCESS"
    api.advance("15s")
    assert status(api, charge_id) == "REFUND"


def test_an_imported_state_is_seen_at_once_and_lags_from_then() -> None:
    source, api = lagging(), Api()
    charge_id = charged(source)
    assert api.put("/__admin/state", source.get("/__admin/state").body).status == 200
    assert status(api, charge_id) == "SUCCESS"
    api.delete(f"/refund/{charge_id}")
    assert status(api, charge_id) == "SUCCESS"


def test_a_fork_tells_the_same_story() -> None:
    api = lagging()
    charge_id = charged(api)
    assert status(api, charge_id) == 404
    forked = api.post("/__admin/fork", {"at": 2, "to": "sk_fork"})
    assert forked.status in (200, 201), forked.raw


def test_too_many_changes_are_seen_early_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "MOST_CHANGES", 3)
    api = lagging("charge.search")
    for number in range(5):
        charged(api, reference=f"o-{number}")
    assert 0 < api.get("/charge")["count"] < 5
    told = [entry["warnings"] for entry in api.get("/__admin/journal")["entries"]]
    assert (
        sum("only the newest 3 changes can be hidden from reads" in str(one_) for one_ in told) == 1
    )


def replaying(key: str = "[request.reference]", op: str = "charge.create") -> Api:
    return api_with(f"when: {{op: {op}}}, key: {key}, then: {{replay: true}}")


def pay(api: Api, **more: object) -> Reply:
    return api.post("/charge/card", {**PAID, **more})


def test_the_first_answer_of_a_key_is_given_again_byte_for_byte() -> None:
    api = replaying()
    first = pay(api)
    api.advance("2d")
    again = pay(api, amount=99, paymentInformation=card("5555555555554444"))
    assert (again.status, again.raw) == (first.status, first.raw)
    assert pay(api, reference="order-2")["chargeId"] != first["chargeId"]
    assert api.get("/charge")["count"] == 2
    entries = api.get("/__admin/journal")["entries"]
    assert any(
        "first answer of its key" in str(entry["warnings"]) and not entry["events"]
        for entry in entries
    )


def test_what_was_declined_is_declined_again_and_what_was_refused_is_tried() -> None:
    api = replaying()
    assert problem_of(pay(api, amount=-1)) == (400, 90)
    declined = pay(api, paymentInformation=card("4000000000000002"))
    assert pay(api).raw == declined.raw
    assert api.get("/charge")["count"] == 1


def test_calls_without_the_key_are_not_the_same() -> None:
    api = replaying()
    body = card_charge()
    assert api.post("/charge/card", body)["chargeId"] != api.post("/charge/card", body)["chargeId"]


def test_a_replay_is_no_double_charge_of_the_client() -> None:
    api = replaying()
    first, again = pay(api), pay(api)
    assert first.raw == again.raw
    assert not {"double-charge", "blind-retry"} & found(api).keys()


@pytest.mark.parametrize("secrets", ["true", "false"])
def test_an_order_id_is_known_in_a_copy_too(secrets: str) -> None:
    api, imported = replaying(), Api()
    first = pay(api)
    assert (
        imported.put("/__admin/state", api.get(f"/__admin/state?secrets={secrets}").body).status
        == 200
    )
    assert api.post("/__admin/fork", {"to": "sk_fork"}).status == 201
    forked = api.call("POST", "/charge/card", PAID, key="sk_fork")
    assert [forked.raw, pay(imported).raw] == [first.raw] * 2
    assert [
        api.call("GET", "/charge", key="sk_fork").body["count"],
        imported.get("/charge")["count"],
    ] == [1, 1]
    assert pay(imported, reference="order-2").status == 201
    document = api.get("/__admin/state").body
    (name,) = document["records"]["replays"]
    document["records"]["replays"][name]["status"] = 99
    assert problem_of(imported.put("/__admin/state", document)) == (400, 90)


def test_what_nobody_replays_is_not_written() -> None:
    assert "replays" not in Api().get("/__admin/state").body["records"]


LOST = "when: {op: charge.create}, limit: 1, then: {transport: {at: answer, reset: true}}"


@pytest.mark.parametrize("lag", [True, False])
def test_who_looked_and_was_shown_the_past_is_not_blamed(lag: bool) -> None:
    api = api_with(LOST, *(["when: {op: charge.search}, then: {lag: 1m}"] if lag else []))
    with pytest.raises(ConnectionError):
        pay(api)
    assert api.get("/charge", Reference="order-1")["count"] == (0 if lag else 1)
    pay(api)
    assert ("double-charge" in found(api)) is not lag


@pytest.mark.parametrize("lag", [True, False])
def test_a_move_that_rests_on_the_past_is_no_wrong_state_of_the_client(lag: bool) -> None:
    api = lagging("charge.get") if lag else Api()
    charge_id = charged(api, capture=False)
    api.advance("1m")
    api.delete(f"/charge/{charge_id}/void")
    assert status(api, charge_id) == ("Authorised" if lag else "AUTHORISE_CANCELLED")
    assert api.post(f"/charge/{charge_id}").status == 409
    assert ("wrong-state" in finished(api)) is not lag


REFUSED = [
    (
        "{op: charge.create}",
        "then: {lag: 15s}",
        "lag means nothing in charge.create; it fits batch.get, batch.search",
    ),
    ("{op: charge.get}", "then: {lag: 0s}", "got '0s', wanted a duration above 0 and at most 1d"),
    ("{op: charge.get}", "then: {lag: 2d}", "got '2d', wanted a duration above 0 and at most 1d"),
    ("{op: charge.get}", "then: {lag: 15}", "wanted a duration with its unit"),
    ("{op: charge.get}", "then: {lags: 15s}", "unknown key 'lags' - did you mean 'lag'?"),
    (
        "{op: charge.get}",
        "key: [header.x-order]\n    then: {replay: true}",
        "replay means nothing in charge.get",
    ),
    (
        "{op: charge.create}",
        "then: {replay: true}",
        "replay needs a key that says which calls are the same",
    ),
    (
        "{op: charge.create}",
        "key: [request.reference]\n    then: {replay: true, decline: lost_card}",
        "replay answers before a provider is asked",
    ),
    (
        "{op: webhook.deliver}",
        "key: [request.id]\n    then: {replay: true}",
        "a delivery takes only webhook outcomes",
    ),
    ("{op: charge.create}", "key: [request.reference]\n    then: {replay: 2}", "wanted {} or true"),
]


@pytest.mark.parametrize(
    ("when", "what", "words"), REFUSED, ids=[f"{row[0]} {row[1]}" for row in REFUSED]
)
def test_a_lag_or_a_replay_that_makes_no_sense_is_refused(when: str, what: str, words: str) -> None:
    assert words in fault(one(when, what))
