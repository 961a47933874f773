"""What a scenario, a setting and a mark make of findings."""

import pytest

from tests.driving import Api, card_charge, problem_of

HEAD = "version: 1\nname: s\n"


def found(api: Api, **query: object) -> list[str]:
    return [row["finding"] for row in api.get("/__admin/findings", **query)["findings"]]


def put(api: Api, text: str) -> int:
    return api.send(
        "PUT", "/__admin/scenarios", text.encode(), {"content-type": "application/yaml"}
    ).status


def test_a_scenario_allows_what_it_is_about() -> None:
    api = Api(scenario=HEAD + "findings: {allow: [no-reference]}")
    api.charge()
    assert found(api) == []


def test_a_scenario_sets_a_limit_of_a_used_sandbox() -> None:
    api = Api(clock="real")
    api.charge(reference="order-1")
    assert put(api, HEAD + "findings: {poll_limit: 1, allow: [no-reference]}") == 200
    charge_id = api.charge()["chargeId"]
    for _ in range(2):
        api.get(f"/charge/{charge_id}")
    assert found(api) == ["polled-hard"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("findings: {allow: [double-charg]}", "did you mean 'double-charge'?"),
        ("findings: {retry_limt: 3}", "did you mean 'retry_limit'?"),
        ("findings: {retry_limit: -1}", "wanted a whole number from 0 to 1000"),
        ("findings: {timeout: soon}", "line 3, column 12"),
    ],
)
def test_a_bad_policy_is_refused_with_its_place(api: Api, text: str, words: str) -> None:
    reply = api.send(
        "PUT", "/__admin/scenarios", (HEAD + text).encode(), {"content-type": "application/yaml"}
    )
    assert problem_of(reply)[0] == 400
    assert words in reply.raw.decode()


def test_nothing_is_judged_when_findings_are_off() -> None:
    api = Api(findings="off")
    api.charge()
    for method, path in (("GET", ""), ("POST", "/finish"), ("DELETE", "")):
        reply = api.call(method, f"/__admin/findings{path}")
        assert problem_of(reply) == (400, 90)
        assert "--findings off" in reply["details"]["Findings"]


def test_a_mark_parts_one_story_from_the_next(api: Api) -> None:
    api.charge()
    assert api.post("/__admin/marks", {"name": "checkout"}).status == 201
    assert found(api) == ["no-reference"]
    assert found(api, since="checkout") == []
    api.charge()
    assert found(api, since="checkout") == ["no-reference"]
    assert found(api, since=2) == []
    assert api.get("/__admin/timeline", since="checkout")["lines"][0][0] == 2
    assert api.get("/__admin/journal", since="checkout")["count"] == 1
    verified = api.call(
        "POST",
        "/__admin/verify",
        {"requests": [{"op": "charge.create", "count": 1}]},
        {"since": "checkout"},
    )
    assert verified.status == 200


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ({"since": "chekout"}, "Since", "did you mean 'checkout'?"),
        ({"severity": "eror"}, "Severity", "did you mean 'error'?, allowed: note, warning, error"),
        ({"finding": "blind-retrie"}, "Finding", "did you mean 'blind-retry'?"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(
    api: Api, query: dict[str, str], field: str, words: str
) -> None:
    api.post("/__admin/marks", {"name": "checkout"})
    reply = api.get("/__admin/findings", **query)
    assert problem_of(reply) == (400, 90)
    assert words in reply["details"][field]


@pytest.mark.parametrize("name", ["", "12", 7, None, "x" * 101])
def test_a_mark_needs_a_name(name: object) -> None:
    assert problem_of(Api().post("/__admin/marks", {"name": name})) == (400, 90)


@pytest.mark.parametrize(("least", "status"), [("none", 409), ("warning", 200), ("error", 200)])
def test_verification_takes_findings(api: Api, least: str, status: int) -> None:
    api.charge()
    reply = api.post("/__admin/verify", {"findings": least})
    assert reply.status == status
    assert [row["finding"] for row in reply["findings"]] == (
        ["no-reference"] if status == 409 else []
    )


def test_findings_are_forgotten_and_judged_anew(api: Api) -> None:
    api.charge()
    assert api.delete("/__admin/findings")["cleared"] == 1
    assert found(api) == []
    api.post("/charge/card", card_charge())
    assert found(api) == ["no-reference"]


def test_the_same_requests_give_the_same_findings() -> None:
    pages = []
    for _ in range(2):
        api = Api(scenario=HEAD + "rules: []")
        api.charge(metadata={"note": "4111111111111111"})
        api.charge(refrence="x")
        pages.append(api.get("/__admin/findings").raw)
    assert pages[0] == pages[1]
    assert b"4111111111111111" not in pages[0]


@pytest.mark.parametrize("begin", ["reset", "scenario"])
def test_a_mark_outlives_a_sandbox_that_begins_anew(api: Api, begin: str) -> None:
    api.post("/__admin/marks", {"name": "checkout"})
    if begin == "reset":
        api.charge()
        api.post("/__admin/reset")
    else:
        assert put(api, HEAD + "rules: []") == 200
    assert found(api, since="checkout") == []
    api.charge()
    assert found(api, since="checkout") == ["no-reference"]
