"""One state has one spelling, that of the API under the profile in force, wherever a state is told;
every spelling of it is understood."""

import re

import pytest

from tests.driving import Api

PROFILES = [("documented", "Authorised"), ("sdk", "AUTHORISE")]
SPELLINGS = ["Authorised", "AUTHORISE", "AUTHORISED", "authorise"]
RULES = """
version: 1
rules:
  - id: late
    when: {op: charge.capture, state.charge.status: %s}
    then: {decline: expired_card}
"""


def shop_of(profile: str) -> Api:
    return Api(profile=profile, findings="off")


def wait(api: Api, status: object) -> dict[str, object]:
    body = {"for": {"charge": {"status": status}}, "timeout": "1ms"}
    return api.call("POST", "/__admin/wait", body, waits=True).body


def authorise(api: Api) -> dict[str, str]:
    api.call("PUT", "/__admin/assumptions", {"provider.latency": "0"})
    return api.try_charge(30, capture=False).body


def put(api: Api, scenario: str) -> None:
    reply = api.call(
        "PUT",
        "/__admin/scenarios",
        raw=scenario.encode(),
        headers={"content-type": "application/yaml"},
    )
    assert reply.status == 200, reply.raw


@pytest.mark.parametrize(("profile", "word"), PROFILES)
def test_a_state_is_reported_in_one_spelling(profile: str, word: str) -> None:
    api = shop_of(profile)
    held = authorise(api)
    [event] = api.call("GET", "/__admin/journal").body["entries"][-1]["events"]
    [line] = api.call("GET", "/__admin/timeline").body["lines"]
    [row] = api.call("GET", "/__admin/objects?kind=charge").body["objects"]
    [order] = api.call("GET", "/__admin/books").body["orders"]
    law = api.call("GET", "/__admin/states").body["charge"]
    assert {
        held["status"],
        event["after"],
        line[9][0].removeprefix("charge "),
        row["state"],
        order["charges"][0]["status"],
        api.call("GET", f"/__admin/objects/charge/{held['chargeId']}").body["state"],
        law["begins"]["authorised"],
        *re.findall("got '(.*?)'", str(wait(api, "SUCCESS")["why"])),
    } == {word}
    assert law["moves"][word] == {
        "captured": "SUCCESS",
        "pending": "PENDING",
        "voided": "AUTHORISE_CANCELLED",
        "expired": "AUTHORISE_CANCELLED",
    }
    api.call("POST", f"/charge/{held['chargeId']}", {})
    assert api.call("GET", "/__admin/journal").body["entries"][-1]["events"][0]["before"] == word
    refused = api.call("DELETE", f"/charge/{held['chargeId']}/void").body
    assert refused["details"]["Status"] == f"got a charge in SUCCESS, allowed in {word} only"


@pytest.mark.parametrize(("profile", "word"), PROFILES)
def test_every_spelling_is_understood(profile: str, word: str) -> None:
    api = shop_of(profile)
    authorise(api)
    for spelling in SPELLINGS:
        assert api.call("GET", f"/charge?Status={spelling}").body["count"] == 1
        assert wait(api, spelling)["held"]
        assert wait(api, {"in": [spelling, "SUCCESS"]})["held"]
        assert not wait(api, {"ne": spelling})["held"]
    assert wait(api, {"matches": word})["held"]


@pytest.mark.parametrize(("profile", "word"), PROFILES)
@pytest.mark.parametrize(
    "wanted", [*SPELLINGS, "{ne: SUCCESS}", "{in: [Authorised, PENDING]}", "{starts_with: WORD}"]
)
def test_a_rule_reads_states_as_the_api_spells_them(profile: str, word: str, wanted: str) -> None:
    api = shop_of(profile)
    held = authorise(api)
    text = RULES % wanted.replace("WORD", word)
    put(api, text)
    assert api.call("POST", f"/charge/{held['chargeId']}", {}).status == 400
    [decision] = [
        one
        for one in api.call("GET", "/__admin/journal").body["entries"][-1]["decisions"]
        if one["stage"] == "provider"
    ]
    assert decision["rule"] == "late"


def test_a_rule_that_lost_says_so_in_the_words_of_its_author_and_of_the_api() -> None:
    api = shop_of("documented")
    held = authorise(api)
    text = RULES % "{ne: AUTHORISED}"
    put(api, text)
    assert api.call("POST", f"/charge/{held['chargeId']}", {}).status == 200
    decisions = api.call("GET", "/__admin/journal").body["entries"][-1]["decisions"]
    [lost] = [lost for decision in decisions for lost in decision["lost"] if lost["rule"] == "late"]
    assert lost["why"] == "state.charge.status: wanted anything but 'AUTHORISED', got 'Authorised'"


@pytest.mark.parametrize(
    ("field", "word", "status"),
    [("state", "ACTIVE", 503), ("status", "ACTIVE", 503), ("status", "REMOVED", 200)],
)
def test_rules_read_how_an_object_stands_by_either_name(field: str, word: str, status: int) -> None:
    when = f"{{op: payment_method.get, state.paymentMethod.{field}: {word}}}"
    api = Api(
        scenario=f"version: 1\nrules: "
        f"[{{id: r, when: {when}, then: {{transport: {{at: receive, status: 503}}}}}}]"
    )
    assert api.get(f"/payment_method/{api.method()}").status == status
