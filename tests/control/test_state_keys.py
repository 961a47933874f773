"""A rule that counts for each key may have counted half a million: nobody waits until all are written or read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from mockserver.domain import cooperative
from mockserver.engine import importing, snapshot
from mockserver.engine.codec import Form, form
from mockserver.scenario.director import KEYS
from tests.driving import Api

SCENARIO = """
version: 1
rules:
  - id: once
    when: {op: charge.create}
    key: [request.reference]
    limit: {times: 1, per: key}
    then: {decline: insufficient_funds}
"""
TARGETS = ["/__admin/state", "/__admin/state?secrets=true"]
KEY = "card 4111111111111111, 17"


@pytest.fixture
def counted() -> Api:
    api = Api(scenario=SCENARIO, waits=True)
    for number in Random(1).sample(range(30), 30):
        api.try_charge(reference=f"card 4111111111111111, {number:02}")
    return api


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many counters are written or read in one go; four are many."""
    found, plain = list[int](), form(KEYS)

    def seen(keys: Mapping[str, Any]) -> Mapping[str, Any]:
        found.append(len(keys))
        return keys

    noting = Form(
        lambda keys, secrets: plain.write(seen(keys), secrets), lambda keys, cards: plain.read(seen(keys), cards)
    )
    monkeypatch.setattr(cooperative, "MANY", 4)
    for module in (snapshot, importing):
        monkeypatch.setattr(module, "form", lambda kind: noting if kind == KEYS else form(kind))
    return found


def test_they_are_written_and_read_as_they_are_at_once(counted: Api, request: pytest.FixtureRequest) -> None:
    plain = [counted.get(target).raw for target in TARGETS]
    lengths: list[int] = request.getfixturevalue("lengths")
    assert [counted.get(target).raw for target in TARGETS] == plain
    assert len(lengths) == 2 * 8
    for target, text in reversed(list(zip(TARGETS, plain, strict=True))):
        assert counted.call("PUT", "/__admin/state", raw=text).status == 200
        assert counted.get(target).raw == text
    assert len(lengths) == 6 * 8
    assert max(lengths) == 4


def test_those_of_a_rule_whose_name_is_masked_are_written_under_it(request: pytest.FixtureRequest) -> None:
    api = Api(scenario=SCENARIO.replace("once", "card-4111111111111111"), waits=True)
    for number in range(6):
        api.try_charge(reference=str(number))
    plain = [api.get(target).raw for target in TARGETS]
    request.getfixturevalue("lengths")
    assert [api.get(target).raw for target in TARGETS] == plain
    (tally,) = json.loads(plain[0])["rules"]["rules"].values()
    assert len(tally["keys"]) == 6


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize(("times", "place"), [([1, -1], ".1"), ([1], ""), ("no", "")])
def test_a_faulty_one_is_refused_with_its_place(counted: Api, times: object, place: str) -> None:
    document = json.loads(counted.get(TARGETS[1]).raw)
    document["rules"]["rules"]["once"]["keys"][KEY] = times
    refused = counted.put("/__admin/state", document)
    assert refused.status == 400
    (field,) = refused["details"]
    assert field.startswith("Rules.rules.once.keys.card ")
    assert field.endswith(f", 17{place}")
