"""What an editor of scenarios asks for: checks without loading, dry runs on the journal, texts, the
schema."""

import json

import pytest

from mockserver.domain.reading import snake
from mockserver.engine import dry_run
from mockserver.scenario.operations import OPERATIONS
from tests.driving import Api, Reply
from tests.scenario.telling import faults

YAML = {"content-type": "application/yaml"}
TWO = """version: 1
name: two
rules:
  - id: large
    when: {op: charge.create, request.amount: {gt: 100}, request.currency: USD}
    then: {decline: insufficient_funds}
  - id: once
    when: {op: charge.create, request.reference: a}
    limit: 1
    then: {decline: insufficient_funds}
"""


def send(api: Api, path: str, text: str = "") -> Reply:
    return api.call("POST", path, raw=text.encode(), headers=YAML)


def test_a_text_is_checked_without_being_loaded(api: Api) -> None:
    told = send(api, "/__admin/scenarios/check", TWO)
    assert (told.status, told.body) == (
        200,
        {"valid": True, "problems": [], "warnings": [], "name": "two", "rules": 2},
    )
    assert [one["name"] for one in api.call("GET", "/__admin/scenarios").body["scenarios"]] == [
        "test-values"
    ]


def test_two_faults_at_one_place_are_both_told(api: Api) -> None:
    reply = send(api, "/__admin/scenarios", "version: 1\nexamples: [{id: a}]\n")
    assert reply.status == 400
    told = reply["details"]["line 2, column 12"]
    assert told == "examples[0]: 'name' is missing; examples[0]: 'calls' is missing"


def test_a_rule_that_another_shields_is_warned_of(api: Api) -> None:
    more = "  - {id: slow, when: {op: vault.get}, then: {transport: {at: answer, delay: 1s}}}\n"
    more += "  - {id: down, when: {op: vault.get}, then: {transport: {at: receive, status: 503}}}\n"
    told = send(api, "/__admin/scenarios/check", TWO + more).body
    assert told["valid"] is True
    assert told["warnings"] == [
        {
            "line": 12,
            "rule": "down",
            "message": "rule 'down' never fires: rule 'slow' (line 11) decides first",
        }
    ]


def test_a_dry_run_counts_reads_by_their_object(api: Api) -> None:
    ids = [api.charge()["chargeId"] for _ in range(2)]
    for charge_id in (ids[0], ids[1], ids[0]):
        api.get(f"/charge/{charge_id}")
    rule = (
        "version: 1\nrules:\n  - {id: r, when: {op: charge.get, nth: 2}, then: {transport: "
        "{at: receive, status: 503}}}"
    )
    (told,) = send(api, "/__admin/scenarios/dry-run", rule)["rules"]
    assert (told["concerned"], told["fired"], told["entries"]) == (3, 1, [5])


def test_of_many_near_misses_the_nearest_and_newest_are_reported(api: Api) -> None:
    for number in range(8):
        api.charge(reference=f"order-{number}", amount=150 if number < 2 else 20)
    large, _ = send(api, "/__admin/scenarios/dry-run", TWO)["rules"]
    assert [(miss["entry"], len(miss["mismatches"])) for miss in large["near"]] == [
        (2, 1),
        (1, 1),
        (8, 2),
        (7, 2),
        (6, 2),
    ]


def test_others_are_answered_while_a_long_text_is_checked(api: Api) -> None:
    rules = [
        {"id": f"r{number}", "when": {"op": "charge.create"}, "then": {"approve": {}}}
        for number in range(400)
    ]
    text = {"version": 1, "name": "long", "rules": rules}
    told = api.race(("POST", "/__admin/scenarios/check", text), ("GET", "/info/providers", None))
    assert [(place, reply.status) for place, reply in told] == [(1, 200), (0, 200)]
    assert told[1][1].body["rules"] == 400
    assert len(told[1][1].body["warnings"]) == 399


def test_every_fault_has_its_line(api: Api) -> None:
    told = send(
        api, "/__admin/scenarios/check", TWO.replace("gt:", "gtt:").replace("limit", "limmit")
    ).body
    assert told["valid"] is False
    assert [(one["line"], one["column"]) for one in told["problems"]] == [(5, 31), (9, 5)]
    assert "did you mean 'gt'?" in told["problems"][0]["message"]
    assert (
        send(api, "/__admin/scenarios/check", "version: 1\nrules: [").body["problems"][0]["line"]
        >= 2
    )


@pytest.mark.parametrize("path", ["/__admin/scenarios/check", "/__admin/scenarios/dry-run"])
def test_bytes_that_are_no_text_are_refused(api: Api, path: str) -> None:
    assert api.call("POST", path, raw=b"\xff\xfe", headers=YAML).status == 400


def test_a_dry_run_says_on_what_each_rule_would_have_fired_and_what_came_near(api: Api) -> None:
    for amount, reference in ((50, "a"), (150, "b"), (70, "a")):
        api.try_charge(amount=amount, reference=reference, currency="AUD")
    told = send(api, "/__admin/scenarios/dry-run", TWO).body
    large, once = told["rules"]
    assert told["entries"] == 3
    assert (large["fired"], large["concerned"], large["entries"]) == (0, 3, [])
    assert large["near"][0] == {
        "entry": 2, "op": "charge.create", "mismatches": ["request.currency: wanted 'USD', got " "'AUD'"],
    }  # fmt: skip
    assert [len(miss["mismatches"]) for miss in large["near"]] == [1, 2, 2]
    assert (once["fired"], once["entries"]) == (1, [1])
    assert once["near"][0] == {"entry": 3, "op": "charge.create", "mismatches": []}


def test_a_dry_run_changes_nothing_and_without_a_text_asks_the_rules_in_force(api: Api) -> None:
    api.try_charge(number="4000000000009995")
    before = api.call("GET", "/__admin/rules").body, api.call("GET", "/__admin/timeline").body
    told = send(api, "/__admin/scenarios/dry-run").body
    fired = {rule["id"]: rule["entries"] for rule in told["rules"] if rule["fired"]}
    assert fired == {"card-insufficient-funds": [1]}
    assert all(rule["builtIn"] for rule in told["rules"])
    assert (
        api.call("GET", "/__admin/rules").body,
        api.call("GET", "/__admin/timeline").body,
    ) == before


def test_a_dry_run_of_a_bad_text_is_refused(api: Api) -> None:
    told = send(api, "/__admin/scenarios/dry-run", "version: 1\nrulez: []\n")
    assert told.status == 400
    assert list(told.body["details"]) == ["line 2, column 1"]


def test_what_was_loaded_can_be_opened_again_comments_and_all(api: Api) -> None:
    text = "# why\n" + TWO
    assert send(api, "/__admin/scenarios", text).status == 201
    told = api.call("GET", "/__admin/scenarios/texts/two").body
    assert told == {"name": "two", "text": text, "masked": False, "builtIn": False}
    missing = api.call("GET", "/__admin/scenarios/texts/tow")
    assert missing.status == 404
    assert "did you mean 'two'?" in missing.body["details"]["Name"]


def test_a_scenario_that_came_with_an_import_is_opened_as_json(api: Api) -> None:
    send(api, "/__admin/scenarios", TWO)
    document = api.call("GET", "/__admin/state").body
    api = Api("sk_elsewhere")
    api.call("PUT", "/__admin/state", document)
    assert '"id": "large"' in api.call("GET", "/__admin/scenarios/texts/two").body["text"]


def test_card_numbers_of_a_scenario_are_masked_for_those_without_the_key(api: Api) -> None:
    send(api, "/__admin/scenarios", TWO + "# card 4111111111111111\n")
    public = {"x-publickey": "pk_tests"}
    told = api.call("GET", "/__admin/scenarios/texts/two", key=None, headers=public).body
    assert (told["masked"], "4111111111111111" in told["text"]) == (True, False)


def test_shipped_scenarios_and_the_schema_are_there(api: Api) -> None:
    shipped = api.call("GET", "/__admin/scenarios/shipped").body["scenarios"]
    assert len(shipped) > 10
    for one in shipped:
        assert one["name"]
        assert one["description"]
        assert "version: 1" in one["text"]
    assert api.call("GET", "/__admin/scenarios/schema").body["properties"]["rules"]


def test_rules_may_name_what_the_list_of_operations_says(api: Api) -> None:
    long: object = {"above": "1d"}
    values = {"clock": {"days": ["mon"]}, "age": long, "idle": long, "source": "card"}
    values |= dict.fromkeys(("nth", "attempt", "in_flight", "call", "batch.row"), 2)
    rows, refused = api.get("/__admin/operations")["operations"], []
    assert [row["op"] for row in rows] == list(OPERATIONS)
    for row in rows:
        then = {"decline": "lost_card"} if row["asksProvider"] else {"as_usual": {}}
        then = {"webhook": {"copies": 2}} if row["op"] == "webhook.deliver" else then
        for member in (*row["request"], *row["state"], *row["also"]):
            name = member.replace("<name>", "x-run")
            test = values.get(name, {"exists": True})
            if name == "overlaps":
                test = snake(row["state"][0].removeprefix("state."))
            test = {"card": {name[5:]: test}} if name.startswith("card.") else {name: test}
            rule = {"id": "r", "when": {"op": row["op"], **test}, "then": then}
            refused += faults(json.dumps({"version": 1, "rules": [rule]}))
    assert refused == []
    refund, deliver = (
        next(row for row in rows if row["op"] == op) for op in ("charge.refund", "webhook.deliver")
    )
    assert "DELETE /refund/{charge_id}" in refund["calls"]
    assert refund["state"] == ["state.charge"]
    assert "customer.removed" in deliver["events"]
    assert "in_flight" not in deliver["also"]


def test_a_dry_run_of_very_many_rules_is_refused_and_of_many_looks_at_the_newest_entries(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry_run, "MOST_RULES", 2)
    monkeypatch.setattr(dry_run, "_MOST_TRIALS", 6)
    for reference in "abcd":
        api.charge(reference=reference)
    told = send(api, "/__admin/scenarios/dry-run", TWO)
    assert told["entries"] == max(one["concerned"] for one in told["rules"]) == 3
    told = send(
        api, "/__admin/scenarios/dry-run", f"{TWO}  - {{id: third, then: {{approve: {{}}}}}}\n"
    )
    assert told.status == 400
    assert "got 3 rules, wanted at most 2" in told["details"]["Rules"]


@pytest.mark.parametrize(("method", "status"), [("PUT", 200), ("POST", 201)])
def test_what_is_put_in_force_is_warned_of_as_by_a_check(
    api: Api, method: str, status: int
) -> None:
    shielded = (
        TWO + "  - {id: never, when: {op: charge.create, request.reference: a}, limit: 1, then: "
        "{approve: {}}}\n"
    )
    for text in (TWO, shielded.replace("    limit: 1\n", "")):
        told = api.call(method, "/__admin/scenarios", raw=text.encode(), headers=YAML)
        assert (told.status, told["warnings"]) == (
            status,
            send(api, "/__admin/scenarios/check", text)["warnings"],
        )
    assert [one["rule"] for one in told["warnings"]] == ["never"]


def test_a_shipped_scenario_is_set_by_its_name(api: Api) -> None:
    told = api.put("/__admin/scenarios", {"shipped": "three-ds-passed"})
    assert (told.status, told["scenarios"][0]["name"], told["warnings"]) == (
        200,
        "three-ds-passed",
        [],
    )
    assert api.charge(amount=100)["status"] == "PENDING_CHECKOUT"
    refused = api.put("/__admin/scenarios", {"shipped": "three-ds-pased"})
    assert (refused.status, "did you mean 'three-ds-passed'?" in refused["details"]["Shipped"]) == (
        400,
        True,
    )
    assert api.put("/__admin/scenarios", {"shipped": "three-ds-passed", "version": 1}).status == 400


def test_one_of_several_scenarios_is_removed_by_its_name(api: Api) -> None:
    for name in ("one", "two"):
        assert send(api, "/__admin/scenarios", f"version: 1\nname: {name}\n").status == 201
    refused = api.delete("/__admin/scenarios", name="three")
    assert (refused.status, list(refused["details"])) == (400, ["Name"])
    left = api.delete("/__admin/scenarios", name="one")
    assert [scenario["name"] for scenario in left["scenarios"]] == ["two", "test-values"]
