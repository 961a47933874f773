"""The shipped library: every file is complete, and every story it tells comes true against the
whole sandbox."""

import asyncio
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from mockserver.adapters.scenario_files import load, read_file, read_text
from mockserver.adapters.strict_yaml import read, scenario_text
from mockserver.commands.scenario_check import check
from mockserver.domain.cards import TEST_CARDS, read_number
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Director, Ruleset
from mockserver.scenario.provider_outcome import CATALOGUE, Challenge, Decline
from mockserver.scenario.scenario import ExampleMap, Scenario
from mockserver.scenario.shadowed_rules import warnings
from tests.driving import Api
from tests.rows import at_row
from tests.scenario.telling import NOW, open_app
from tests.served import CARD, PROVIDER, serve

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "scenarios").glob("*.yaml"))
TEST_VALUES = ROOT / "scenarios" / "test-values.yaml"
SCHEMA = json.loads((ROOT / "scenarios" / "scenario.schema.json").read_text("utf-8"))
STORIES = """
declines-by-reason soft-decline-then-success provider-outage-with-failover provider-flapping slow-provider
charged-but-unanswered unreachable-before-acting rate-limited gateway-5xx-storm truncated-answers garbage-answers
webhook-early webhook-twice webhook-out-of-order webhook-late webhook-never webhook-bad-signature webhook-receiver-down
batch-with-failed-rows batch-that-stalls batch-that-fails batch-results-cut-short vault-item-expires
ccv-gone-before-switch authorisation-lapses partial-captures-and-refunds bank-charge-bounces three-ds-passed
three-ds-failed three-ds-abandoned payto-pending-then-active payto-declined token-expired token-used-twice chaos
test-values
"""
OF_THE_SERVER = {
    path.stem
    for path in FILES
    if path.stem.startswith(("certificate-", "connection-", "handshake-", "tls-"))
}
"""Files that no sandbox can be given alone."""


@cache
def the(path: Path) -> Scenario:
    builtin = path.stem == "test-values"
    # The server reads its own without the stories that they tell.
    scenario = replace(read_file(path), builtin=builtin)
    return scenario


EXAMPLES = [
    pytest.param(path, number, id=f"{path.stem}-{number}")
    for path in FILES
    for number in range(len(the(path).said.examples))
]


@pytest.mark.parametrize(("path", "number"), EXAMPLES)
def test_an_example_of_a_shipped_scenario_comes_true(path: Path, number: int) -> None:
    scenario = the(path)
    example = scenario.said.examples[number]
    behind = [] if scenario.builtin else [the(TEST_VALUES)]
    reports = asyncio.run(check(one_example(scenario, example), behind, open_app))
    assert [str(report) for report in reports if report.failure] == []


@cache
def validator() -> Any:
    return jsonschema_rs.validator_for(SCHEMA)


def plain(path: Path) -> object:
    """The data of a file as JSON knows them."""
    return json.loads(json.dumps(read(path.read_text("utf-8"), path.name)[0], default=float))


@pytest.mark.slow
def test_every_file_is_served_for_real() -> None:
    server = serve("--scenario", "ready-made-tokens")
    try:
        status, tokens = server.call("GET", "/token")
        assert (status, tokens["count"]) == (200, 10)
        bodies = (
            {"providerId": PROVIDER, "paymentInformation": CARD},
            {"token": tokens["tokens"][0]["tokenId"], "amount": 5},
        )
        calls = zip(("/payment_method/card", "/charge/token"), bodies, strict=True)
        assert [server.call("POST", target, body)[0] for target, body in calls] == [201, 201]
        for path in FILES:
            key = f"sk_{path.stem}"
            if path.stem in OF_THE_SERVER:
                put = server.call("PUT", "/__admin/scenarios", plain(path), key)
                assert (put[0], put[1]["code"]) == (400, 90)
                continue
            put = server.call("PUT", "/__admin/scenarios", plain(path), key)
            assert (path.stem, put[0]) == (path.stem, 200), put
            assert (path.stem, server.call("GET", "/customer", key=key)[0]) == (path.stem, 200)
    finally:
        server.stop()


def one_example(scenario: Scenario, example: ExampleMap) -> Scenario:
    return replace(scenario, said=replace(scenario.said, examples=[example]))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_scenario_is_complete(path: Path) -> None:
    scenario = the(path)
    text = path.read_text("utf-8")
    assert text.startswith(
        "# yaml-language-server: $schema=scenario.schema.json\nversion: 1\nname: "
    )
    assert scenario.name == path.stem
    assert scenario.said.description
    assert scenario.said.examples
    assert path == TEST_VALUES or untold(scenario) == []
    assert [str(error) for error in validator().iter_errors(plain(path))] == [], (
        "editors accept what is taken"
    )
    assert [str(one) for one in warnings(scenario)] == []
    source = the(path).source
    assert read_text(scenario_text(source), str(path)).source == source
    if path.stem != "connection-reset":
        api = Api(scenario=[path.stem])
        assert [
            api.call("GET", "/charge/search-me", key=key).status for key in ("sk_a", "sk_b", "sk_a")
        ] == [404] * 3


def untold(scenario: Scenario) -> list[str]:
    """What a rule of a file waits for and its description does not say."""
    looked_at = [
        words
        for rule in scenario.rules
        for test in rule.when.tests
        if test.path.partition(".")[0] in ("request", "provider", "card", "state")
        for _, words in test.operators
    ]
    wanted = [
        words.split("'")[1] if "'" in words else words.rpartition(" ")[2] for words in looked_at
    ]
    return [
        word
        for word in wanted
        if word not in scenario.said.description and word not in ("true", "false")
    ]


def test_all_stories_are_there() -> None:
    assert set(STORIES.split()) - {path.stem for path in FILES} == set()
    assert len(FILES) >= 30


@pytest.fixture(scope="module")
def built_in() -> Ruleset:
    return Ruleset([the(TEST_VALUES)])


def test_every_refusal_of_the_test_values_is_the_published_one(built_in: Ruleset) -> None:
    director = Director(built_in, 1, "sandbox")
    approved = {"visa", "visa_2", "mastercard", "amex", "discover", "jcb", "diners"}
    said = {}
    for name, number in TEST_CARDS.items():
        asked = Attempt("charge.create", NOW, card=read_number(number, "salt"))
        said[name] = director.decide(Stage.PROVIDER, asked).outcome.provider
    assert {name for name, outcome in said.items() if outcome is None} == approved | {
        "invalid_number"
    }
    assert isinstance(said["three_ds_challenge"], Challenge)
    later = said["declined_after_storing"]
    assert isinstance(later, Decline)
    assert later.error_code == 905
    for name in (
        said.keys() - approved - {"three_ds_challenge", "declined_after_storing", "invalid_number"}
    ):
        assert said[name] == CATALOGUE[name].provider


def test_metadata_can_name_every_outcome(built_in: Ruleset) -> None:
    for name in CATALOGUE:
        with at_row(name):
            director = Director(built_in, 1, "sandbox")
            asked = Attempt("charge.create", NOW, request={"metadata": {"Mock": name}})
            assert (
                director.decide(Stage.PROVIDER, asked).outcome.provider == CATALOGUE[name].provider
            )


@pytest.mark.parametrize(
    "rule",
    [
        {"id": "a", "then": {"aprove": {}}},
        {"id": "a", "then": {"decline": "insuficient_funds"}},
        {"id": "a", "when": {"requst.amount": 5}, "then": {"approve": {}}},
        {"id": "a", "when": {"op": "charge.creat"}, "then": {"approve": {}}},
        {"id": "a", "then": {"transport": {"reset": {}}}},
        {"then": {"approve": {}}},
    ],
)
def test_editors_refuse_what_the_sandbox_refuses(rule: dict[str, object]) -> None:
    good = {"version": 1, "rules": [{"id": "a", "then": {"approve": {}}}]}
    assert validator().is_valid(good)
    assert not validator().is_valid({"version": 1, "rules": [rule]})


def test_the_test_values_mean_the_same_without_the_models_of_the_language() -> None:
    (started,), checked = load([], test_values=True), read_file(TEST_VALUES)
    assert started.rules == checked.rules
    said = replace(checked.said, rules=[], examples=[])
    assert replace(started, builtin=False) == replace(checked, said=said)
