"""Scenarios of many rules: they are read and put in order aside, and nothing is lost by that."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import pytest
from click.testing import CliRunner

from mockserver.cli import main
from mockserver.domain.errors import MOST_FAULTS
from mockserver.scenario.problems import MOST_BYTES, MOST_RULES
from mockserver.web import directory
from tests.driving import Api, Reply
from tests.served import Process, serve


def rules_of(name: str, count: int = 120) -> bytes:
    rules = [
        {"id": f"{name}-{number}", "when": {"op": "charge.create", "request.reference": f"{name}-{number}"},
         "then": {"decline": "expired_card"}}
        for number in range(count)
    ]  # fmt: skip
    return json.dumps({"version": 1, "name": name, "rules": rules}).encode()


def names(api: Api) -> list[str]:
    return [one["name"] for one in api.call("GET", "/__admin/scenarios").body["scenarios"]]


def test_others_are_answered_while_a_long_scenario_is_read(api: Api) -> None:
    order: list[str] = []

    async def run(name: str, method: str, path: str, raw: bytes) -> Reply:
        reply = await api.calling(method, path, raw=raw)
        order.append(name)
        return reply

    async def both() -> list[Reply]:
        return await asyncio.gather(
            run("long", "PUT", "/__admin/scenarios", rules_of("long", 600)),
            run("other", "GET", "/charge", b""),
        )

    put, _ = asyncio.run(both())
    assert order == ["other", "long"]
    assert next((one["name"], one["rules"]) for one in put.body["scenarios"]) == ("long", 600)
    assert api.try_charge(reference="long-599").status == 400
    listed = api.call("GET", "/__admin/rules", waits=True).body["rules"]
    assert [one["id"] for one in listed if one["hits"]] == ["long-599"]


def test_scenarios_that_are_added_at_once_are_all_in_force(api: Api) -> None:
    async def add_all() -> list[Reply]:
        adding = (
            api.calling("POST", "/__admin/scenarios", raw=rules_of(name))
            for name in ("a", "b", "c")
        )
        return await asyncio.gather(*adding)

    assert [reply.status for reply in asyncio.run(add_all())] == [201, 201, 201]
    assert sorted(names(api)) == ["a", "b", "c", "test-values"]
    assert {api.try_charge(reference=f"{name}-0").status for name in ("a", "b", "c")} == {400}


def test_more_rules_than_a_sandbox_may_have_are_refused(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory, "MOST_RULES", 5)
    assert api.call("POST", "/__admin/scenarios", raw=rules_of("a", 5)).status == 201
    refused = api.call("POST", "/__admin/scenarios", raw=rules_of("b", 1))
    assert refused.body["details"] == {
        "Rules": "got 6 rules in all scenarios, wanted at most 5 in a sandbox"
    }
    assert names(api) == ["a", "test-values"]


def test_a_fault_of_a_long_text_is_named_and_nothing_changes(api: Api) -> None:
    refused = api.call(
        "PUT",
        "/__admin/scenarios",
        raw=rules_of("long").replace(b"expired_card", b"expird"),
        waits=True,
    )
    assert refused.status == 400
    assert "expired_card" in str(refused.body["details"])
    assert names(api) == ["test-values"]


UNKNOWN = {f"key{number}": 1 for number in range(1_000)}
LONG = {"version": 1, **{f"key{number}": 1 for number in range(25_000)}}
"""What takes time to refuse."""

CALL = {"call": "GET /info"}
RULE = {"id": "r", "then": {"approve": {}}}
MANY = range(1_000)
FLOODS = {
    "keys of the file": {"version": 1, **UNKNOWN},
    "keys of when": {"version": 1, "rules": [{**RULE, "when": UNKNOWN}]},
    "keys of a rule": {"version": 1, "rules": [{**RULE, **UNKNOWN}]},
    "keys of an outcome": {"version": 1, "rules": [{"id": "r", "then": UNKNOWN}]},
    "assumptions": {"version": 1, "assumptions": UNKNOWN},
    "keys of calls": {"version": 1, "setup": [{**CALL, "cal": 1, "bodi": 2} for _ in MANY]},
    "rules": {"version": 1, "rules": [{"id": f"r{number}", "thn": {}} for number in MANY]},
    "headers": {"version": 1, "setup": [{**CALL, "headers": {"a": [], "b": []}} for _ in MANY]},
    "sentences about money": {"version": 1, "money": ["net"] * 1_000},
    "tests of columns": {
        "version": 1,
        "rules": [
            {
                "id": "r",
                "when": {"op": "batch.create"},
                "then": {"batch": {"rows": [{"at": ["x"] * 9_000, "stall": {}}]}},
            }
        ],
    },
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_at_most_a_hundred_faults_are_told(api: Api, flood: dict[str, object]) -> None:
    text = json.dumps(flood).encode()
    checked = api.call("POST", "/__admin/scenarios/check", raw=text, waits=True)
    problems = [problem["message"] for problem in checked["problems"]]
    assert len(problems) == MOST_FAULTS + 1
    assert problems.count(f"more faults follow, of which at most {MOST_FAULTS} are told") == 1
    assert len(checked.raw) < 60_000
    refused = api.call("PUT", "/__admin/scenarios", raw=text, waits=True)
    assert refused.status == 400
    assert names(api) == ["test-values"]


def test_a_hundred_faults_are_all_told(api: Api) -> None:
    keys = {f"key{number}": 1 for number in range(MOST_FAULTS)}
    checked = api.call("POST", "/__admin/scenarios/check", {"version": 1, **keys}, waits=True)
    assert len(checked["problems"]) == MOST_FAULTS
    assert {problem["message"].partition(",")[0] for problem in checked["problems"]} == {
        f"unknown key '{name}'" for name in keys
    }


def test_an_expectation_of_a_hundred_and_more_faults_is_refused(api: Api) -> None:
    where = {f"key{number}": 1 for number in range(500)}
    refused = api.post("/__admin/verify", {"requests": [{"op": "charge.create", "where": where}]})
    assert refused.status == 400
    assert len(refused["details"]) <= MOST_FAULTS


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 400)])
def test_a_scenario_has_a_thousand_rules(api: Api, more: int, status: int) -> None:
    put = api.call("PUT", "/__admin/scenarios", raw=rules_of("many", MOST_RULES + more), waits=True)
    assert put.status == status
    if more:
        assert "got 1001 rules, wanted at most 1000" in str(put.body["details"])
        assert names(api) == ["test-values"]


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 413)])
def test_a_scenario_that_is_sent_has_two_megabytes(api: Api, more: int, status: int) -> None:
    text = b"version: 1\n#"
    text += b"x" * (MOST_BYTES + more - len(text))
    assert api.call("PUT", "/__admin/scenarios", raw=text, waits=True).status == status


@pytest.mark.parametrize(("more", "code"), [(0, 0), (1, 2)])
def test_a_scenario_file_has_two_megabytes(tmp_path: Path, more: int, code: int) -> None:
    text = "version: 1\n#"
    path = tmp_path / "long.yaml"
    path.write_text(text + "x" * (MOST_BYTES + more - len(text)))
    checked = CliRunner().invoke(main, ["check", str(path)])
    assert checked.exit_code == code, checked.output
    assert ("it has over 2 MB, wanted at most that" in checked.output) is bool(more)


def test_others_are_answered_while_a_scenario_of_unknown_keys_is_refused(api: Api) -> None:
    order: list[str] = []

    async def flood() -> None:
        text = json.dumps(LONG).encode()
        refused = await api.calling("PUT", "/__admin/scenarios", raw=text)
        order.append(f"refused {refused.status}")

    async def others() -> None:
        for _ in range(20):
            order.append(f"other {(await api.calling('GET', '/charge')).status}")

    async def both() -> None:
        await asyncio.gather(flood(), others())

    asyncio.run(both())
    assert order == [*["other 200"] * 20, "refused 400"]


@pytest.mark.slow
def test_nobody_else_waits_a_tenth_of_a_second_for_a_refusal() -> None:
    server = serve()
    try:
        # A busy machine keeps others waiting too: one quick round out of many is enough.
        assert any(_longest_wait(server) < 0.1 for _ in range(20))
    finally:
        server.stop()


def _longest_wait(server: Process) -> float:
    """The longest of another client's calls while a scenario of unknown keys is refused."""
    longest = 0.0
    with ThreadPoolExecutor(1) as aside:
        put = aside.submit(server.call, "PUT", "/__admin/scenarios", LONG, "sk_a")
        while not put.done():
            begun = perf_counter()
            server.call("GET", "/charge", key="sk_b")
            longest = max(longest, perf_counter() - begun)
        assert put.result()[0] == 400
    return longest


def patterns(*texts: str) -> bytes:
    """A scenario with a rule for each of some patterns."""
    rules = [
        {"id": f"rule-{number}", "when": {"op": "charge.create", "request.reference": {"matches": text}},
         "then": {"decline": "expired_card"}}
        for number, text in enumerate(texts)
    ]  # fmt: skip
    return json.dumps({"version": 1, "name": "patterns", "rules": rules}, indent=1).encode()


LETTERS = r"\p{L}" * 38


def test_patterns_that_take_long_together_are_refused_where_they_begin_to(api: Api) -> None:
    text = patterns(*(f"{LETTERS}{number}" for number in range(100, 200)))
    refused = api.call("PUT", "/__admin/scenarios", raw=text, waits=True)
    assert (refused.status, refused["code"]) == (400, 90)
    place, words = next(iter(refused["details"].items()))
    line = int(place.removeprefix("line ").partition(",")[0])
    assert "request.reference" in text.decode().splitlines()[line - 1]
    assert words.startswith(
        "rules[11].when.request.reference: the patterns before this one are as large as all"
    )
    assert names(api) == ["test-values"]


def test_many_long_patterns_of_letters_are_taken(api: Api) -> None:
    text = patterns(*(f"order-[0-9]{{1,12}}(?:{'x' * 160})?-{number}" for number in range(200)))
    assert api.call("PUT", "/__admin/scenarios", raw=text, waits=True).status == 200
    assert api.try_charge(reference="order-7-199").status == 400
    assert api.try_charge(reference="order-7-200").status == 201


def test_one_pattern_that_is_too_large_is_refused_and_a_name_of_any_letters_is_not(
    api: Api,
) -> None:
    large = api.call("PUT", "/__admin/scenarios", raw=patterns(r"(\p{L}\p{N}){1,400}"))
    assert "too large a regular expression: repeat less in it" in str(large["details"])
    assert api.call("PUT", "/__admin/scenarios", raw=patterns(r"[\p{L} '-]{1,50}")).status == 200


def test_the_patterns_of_a_wait_are_bounded_too(api: Api) -> None:
    tests = {"reference": {"matches": r"(\p{L}\p{N}){1,400}"}}
    refused = api.call("POST", "/__admin/wait", {"for": {"charge": tests}, "timeout": "0s"})
    assert refused.status == 400
    assert "too large a regular expression" in str(refused["details"])


@pytest.mark.parametrize(
    ("method", "path", "raw"),
    [("PUT", "/__admin/scenarios", patterns("a.*")), ("GET", "/openapi.json", b"")],
)
def test_in_a_served_application_others_are_answered_while_something_is_made_for_the_first_time(
    api: Api, method: str, path: str, raw: bytes
) -> None:
    order: list[str] = []

    async def run(name: str, *call: str, raw: bytes = b"") -> None:
        assert (await api.calling(*call, raw=raw)).status == 200
        order.append(name)

    async def story() -> None:
        async with api.app.lifespan():
            await asyncio.gather(
                run("first", method, path, raw=raw), run("other", "GET", "/charge")
            )

    asyncio.run(story())
    assert order == ["other", "first"]
