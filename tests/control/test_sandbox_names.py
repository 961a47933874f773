"""Names of sandboxes: given with the key, shown wherever a sandbox is, kept over a reset."""

import pytest

from tests.driving import Api


def names(api: Api) -> list[str | None]:
    return [
        row["name"] for row in api.call("GET", "/__admin/sandboxes", key=None).body["sandboxes"]
    ]


def test_a_name_opens_the_sandbox_and_is_shown(api: Api) -> None:
    made = api.call(
        "POST", "/__admin/sandboxes", {"key": "sk_ours", "name": "Checkout tests"}, key=None
    )
    assert made.status == 201
    assert made.body["name"] == "Checkout tests"
    assert made.body["publicKey"] == "pk_ours"
    assert "sk_ours" not in made.raw.decode()
    assert names(api) == ["Checkout tests"]
    assert api.call("GET", "/__admin/sandbox", key="sk_ours").body["name"] == "Checkout tests"


def test_a_sandbox_without_a_name_has_none(api: Api) -> None:
    api.try_charge()
    assert api.call("GET", "/__admin/sandbox").body["name"] is None


def test_a_name_is_changed_and_kept_over_reset_and_import(api: Api) -> None:
    api.try_charge()
    for name in ("Nightly", "  Nightly run "):
        assert (
            api.call("POST", "/__admin/sandboxes", {"key": api.key, "name": name}, key=None).status
            == 201
        )
    assert api.call("GET", "/__admin/sandbox").body["requests"] == 1
    document = api.call("GET", "/__admin/state?secrets=true").body
    assert api.call("POST", "/__admin/reset?scenario=true").status == 200
    assert names(api) == ["Nightly run"]
    assert api.call("PUT", "/__admin/state", document).status == 200
    assert names(api) == ["Nightly run"]


@pytest.mark.parametrize(
    "name", [None, 5, "", "   ", "x" * 101, "a\nb", "4111111111111111", "shop sk_ours"]
)
def test_a_bad_name_is_refused_and_opens_nothing(api: Api, name: object) -> None:
    refused = api.call("POST", "/__admin/sandboxes", {"key": "sk_ours", "name": name}, key=None)
    assert refused.status == 400
    assert list(refused.body["details"]) == ["Name"]
    assert names(api) == []


@pytest.mark.parametrize(
    "key", [None, 5, "", " sk_a", "sk_\n", "sk_ä", "invalid-key", "sk_live_1", "x" * 257]
)
def test_a_bad_key_is_refused(api: Api, key: object) -> None:
    refused = api.call("POST", "/__admin/sandboxes", {"key": key, "name": "Ours"}, key=None)
    assert refused.status == 400
    assert list(refused.body["details"]) == ["Key"]
    assert names(api) == []


def test_every_fault_is_reported_at_once_and_fields_are_known(api: Api) -> None:
    assert list(api.call("POST", "/__admin/sandboxes", {}, key=None).body["details"]) == [
        "Key",
        "Name",
    ]
    refused = api.call("POST", "/__admin/sandboxes", {"key": "sk_a", "nam": "Ours"}, key=None)
    assert "name" in refused.body["details"]["Nam"]


def test_a_closed_list_of_keys_stays_closed() -> None:
    api = Api(keys=("sk_only",))
    refused = api.call("POST", "/__admin/sandboxes", {"key": "sk_other", "name": "Ours"}, key=None)
    assert refused.status == 400
    assert "--keys" in refused.body["details"]["Key"]
