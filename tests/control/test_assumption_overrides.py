"""The assumption table of one sandbox: read, overridden, reset."""

import re
from typing import Any

import pytest

from mockserver.assumptions import ROWS
from mockserver.engine.sandbox import sandbox_id_of
from mockserver.web.control.call import ControlRoute
from mockserver.web.control.routes import CONTROL_ROUTES
from tests.driving import Api


def rows(api: Api, key: str = "sk_tests") -> dict[str, Any]:
    return {
        row["key"]: row
        for row in api.call("GET", "/__admin/assumptions", key=key).body["assumptions"]
    }


def test_the_table_is_complete(api: Api) -> None:
    table = rows(api)
    assert list(table) == list(ROWS)
    assert table["response.created_status"] == {
        "key": "response.created_status",
        "question": ROWS["response.created_status"].question,
        "value": 201,
        "overridden": False,
        "allowed": ROWS["response.created_status"].kind.allowed,
        "documented": 201,
        "sdk": 200,
        "evidence": ROWS["response.created_status"].evidence,
    }


def test_an_override_counts_in_its_sandbox_alone(api: Api) -> None:
    reply = api.call("PUT", "/__admin/assumptions", {"response.created_status": 200})
    assert reply.status == 200
    assert api.try_charge().status == 200
    assert rows(api)["response.created_status"]["overridden"] is True
    assert rows(api, "sk_other")["response.created_status"]["value"] == 201
    api.call("PUT", "/__admin/assumptions", {"response.created_status": None})
    assert api.try_charge().status == 201


def test_a_row_of_null_follows_the_profile_again(api: Api) -> None:
    api.call("PUT", "/__admin/assumptions", {"response.created_status": 200})
    api.call("PUT", "/__admin/assumptions", {"response.created_status": None})
    assert rows(api)["response.created_status"]["overridden"] is False
    api.call("PUT", "/__admin/assumptions", {"profile": "sdk"})
    assert rows(api)["response.created_status"]["value"] == 200
    api.call(
        "PUT", "/__admin/assumptions", {"response.created_status": None, "profile": "documented"}
    )
    assert rows(api)["response.created_status"]["value"] == 201


def test_a_row_of_null_counts_before_a_scenario(api: Api) -> None:
    text = b'{"version": 1, "name": "s", "assumptions": {"response.created_status": 200}}'
    api.call("PUT", "/__admin/scenarios", raw=text)
    assert api.try_charge().status == 200
    api.call("PUT", "/__admin/assumptions", {"response.created_status": None})
    assert api.try_charge().status == 201


def test_the_profile_of_a_sandbox(api: Api) -> None:
    assert (
        api.call("PUT", "/__admin/assumptions", {"profile": "sdk", "provider.latency": "0s"}).body[
            "profile"
        ]
        == "sdk"
    )
    assert api.try_charge(capture=False).body["status"] == "AUTHORISE"
    assert api.call("GET", "/__admin/assumptions", key="sk_other").body["profile"] == "documented"


def test_all_faults_are_reported_at_once_and_nothing_changes(api: Api) -> None:
    reply = api.call(
        "PUT",
        "/__admin/assumptions",
        {
            "response.created_status": 500,
            "vault.ccv_dely": "1s",
            "profile": "loud",
            "vault.ccv_delay": "1s",
        },
    )
    assert reply.status == 400
    assert set(reply.body["details"]) == {"response.created_status", "vault.ccv_dely", "Profile"}
    assert "vault.ccv_delay" in reply.body["details"]["vault.ccv_dely"]
    assert not any(row["overridden"] for row in rows(api).values())


def test_a_reset_keeps_overrides_unless_the_scenario_goes_too(api: Api) -> None:
    api.call("PUT", "/__admin/assumptions", {"profile": "sdk", "vault.ccv_delay": "1s"})
    api.call("POST", "/__admin/reset")
    assert rows(api)["vault.ccv_delay"]["value"] == "1s"
    api.call("POST", "/__admin/reset?scenario=true")
    assert rows(api)["vault.ccv_delay"]["value"] == "5m"
    assert api.call("GET", "/__admin/assumptions").body["profile"] == "documented"


def test_a_scenario_put_in_force_keeps_overrides(api: Api) -> None:
    api.call("PUT", "/__admin/assumptions", {"vault.ccv_delay": "1s"})
    api.try_charge()
    text = b'{"version": 1, "name": "s", "assumptions": {"token.uses": 3}}'
    assert api.call("PUT", "/__admin/scenarios", raw=text).status == 200
    assert (rows(api)["vault.ccv_delay"]["value"], rows(api)["token.uses"]["value"]) == ("1s", 3)


def test_sandboxes_are_listed_with_masked_keys(api: Api) -> None:
    api.try_charge()
    [listed] = api.call("GET", "/__admin/sandboxes", key=None).body["sandboxes"]
    assert listed["objects"]["charges"] == 1
    assert listed["scenarios"] == ["test-values"]
    assert "tests" not in str(listed), "of sk_X and pk_X each tells the other"
    assert (listed["publicKey"][:6], listed["requests"]) == ("pk_***", 1)


def test_who_has_a_key_is_reported_the_public_key_and_who_has_an_id_is_not(api: Api) -> None:
    api.try_charge()
    listed = api.call("GET", "/__admin/sandboxes", key=None).body["sandboxes"]
    named = {"x-sandbox": listed[0]["id"]}
    assert api.call("GET", "/__admin/sandbox").body["publicKey"] == "pk_tests"
    by_public_key = api.call(
        "GET", "/__admin/sandbox", key=None, headers={"x-publickey": "pk_tests"}
    )
    assert by_public_key.body["publicKey"] == "pk_tests"
    assert api.call("GET", "/__admin/sandbox", key=None, headers=named).body == listed[0]
    state = api.call("GET", "/__admin/state", key=None, headers=named)
    imported = api.call("PUT", "/__admin/state", raw=state.raw, key=None, headers=named)
    assert imported.body["publicKey"] == listed[0]["publicKey"]
    assert api.call("PUT", "/__admin/state", raw=state.raw).body["publicKey"] == "pk_tests"


def test_an_id_names_an_open_sandbox_and_opens_none(api: Api) -> None:
    api.try_charge()
    sandbox_id = api.call("GET", "/__admin/sandbox").body["id"]
    named = {"x-sandbox": sandbox_id}
    assert (
        api.call("GET", "/__admin/objects", key=None, headers=named).body["counts"]["charge"] == 1
    )
    assert api.call("GET", "/charge", key=None, headers=named).status == 401, (
        "the payments API knows keys alone"
    )
    reply = api.call("GET", "/__admin/state?secrets=true", key=None, headers=named)
    assert (reply.status, reply.body["code"]) == (401, 40)
    unknown = api.call("GET", "/__admin/clock", key=None, headers={"x-sandbox": "0" * 16})
    assert (unknown.status, set(unknown.body["details"])) == (404, {"XSandbox"})
    assert (
        api.call("POST", "/__admin/fork", {"to": "sk_mine"}, key=None, headers=named).status == 401
    )
    assert api.call("POST", "/__admin/reset", key=None, headers=named).body == {"reset": 1}
    assert (
        api.call("GET", "/__admin/objects", key=None, headers=named).body["counts"]["charge"] == 0
    )


CHANGES = [row for row in CONTROL_ROUTES if row.keyed and row.method != "GET"]


@pytest.mark.parametrize("row", CHANGES, ids=[f"{row.method} {row.path}" for row in CHANGES])
def test_a_public_key_changes_nothing(api: Api, row: ControlRoute) -> None:
    api.try_charge()
    before = api.call("GET", "/__admin/state").raw
    bodies = {"/__admin/events": {"type": "transaction"}, "/__admin/wait": {"for": {"charge": {}}}}
    path = re.sub(r"\{\w+\}", "0", row.path)
    reply = api.call(
        row.method, path, bodies.get(path, {}), key=None, headers={"x-publickey": "pk_tests"}
    )
    assert (reply.status, reply.body["code"]) == (401, 40)
    assert "x-secretkey" in str(reply.body["details"])
    assert api.call("GET", "/__admin/state").raw == before


def test_the_sandbox_that_was_used_last_is_listed_first(api: Api) -> None:
    def listed() -> list[str]:
        sandboxes = api.call("GET", "/__admin/sandboxes", key=None).body["sandboxes"]
        return [
            next(key for key in keys if sandbox["id"] == sandbox_id_of(key))
            for sandbox in sandboxes
        ]

    keys = ("sk_old", "sk_mid", "sk_new", "sk_only_set_up")
    for key in keys[:3]:
        api.call("GET", "/charge", key=key)
    api.call("PUT", "/__admin/assumptions", {}, key="sk_only_set_up")
    assert listed() == ["sk_new", "sk_mid", "sk_old", "sk_only_set_up"]
    api.call("GET", "/charge", key="sk_old")
    api.call("POST", "/__admin/clock/advance", {"by": "1h"}, key="sk_mid")
    assert listed() == ["sk_mid", "sk_old", "sk_new", "sk_only_set_up"]
    api.call("POST", "/__admin/reset", key="sk_mid")
    assert listed()[0] == "sk_old"


@pytest.mark.parametrize(
    ("key", "shown"), [("sk_tests", "sk_***"), ("sk_1", "s***"), ("s1", "***"), ("x", "***")]
)
def test_a_masked_key_shows_less_than_half_of_the_key(key: str, shown: str) -> None:
    api = Api(key)
    api.try_charge()
    [listed] = api.call("GET", "/__admin/sandboxes", key=None).body["sandboxes"]
    assert listed["key"].startswith(shown)
    assert len(listed["key"]) == len(shown) + 6


def test_of_many_unknown_assumptions_the_first_are_reported() -> None:
    refused = Api().call(
        "PUT", "/__admin/assumptions", {f"charge.creat{number}": "x" for number in range(300)}
    )
    assert (refused.status, len(refused["details"])) == (400, 100)
