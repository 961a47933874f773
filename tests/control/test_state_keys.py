"""A rule that counts for each key may have counted half a million: nobody waits until all are
written or read."""

import json
from random import Random

import pytest

from mockserver.engine import state_document
from mockserver.web.control.call import LINES
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


def test_they_are_written_and_read(counted: Api) -> None:
    plain = [counted.get(target).raw for target in TARGETS]
    for target, text in reversed(list(zip(TARGETS, plain, strict=True))):
        assert counted.call("PUT", "/__admin/state", raw=text).status == 200
        assert counted.get(target).raw == text


@pytest.mark.parametrize("many", [0, 1, 30])
def test_many_are_lines_of_their_own(
    counted: Api, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_document, "MOST_OF_A_LINE", 20)
    document = json.loads(counted.get(TARGETS[1]).raw)
    keys = document["rules"]["rules"]["once"]["keys"]
    document["rules"]["rules"]["once"]["keys"] = dict(list(keys.items())[:many])
    assert counted.put("/__admin/state", document).status == 200
    lines = counted.call("GET", TARGETS[1], headers={"accept": LINES}).raw
    rows = map(json.loads, lines.splitlines())
    lots = [len(row["keys"]) for row in rows if row.get("part") == "rule_keys"]
    assert lots == {0: [], 1: [1], 30: [20, 10]}[many]
    taken = counted.call("PUT", TARGETS[0], raw=lines, headers={"content-type": LINES})
    assert taken.status == 200
    assert counted.call("GET", TARGETS[1], headers={"accept": LINES}).raw == lines


def test_those_of_a_rule_whose_name_is_masked_are_written_under_it() -> None:
    api = Api(scenario=SCENARIO.replace("once", "card-4111111111111111"), waits=True)
    for number in range(6):
        api.try_charge(reference=str(number))
    (tally,) = json.loads(api.get(TARGETS[0]).raw)["rules"]["rules"].values()
    assert len(tally["keys"]) == 6


@pytest.mark.parametrize(("times", "place"), [([1, -1], ".1"), ([1], ""), ("no", "")])
def test_a_faulty_one_is_refused_with_its_place(counted: Api, times: object, place: str) -> None:
    document = json.loads(counted.get(TARGETS[1]).raw)
    document["rules"]["rules"]["once"]["keys"][KEY] = times
    refused = counted.put("/__admin/state", document)
    assert refused.status == 400
    (field,) = refused["details"]
    assert field.startswith("Rules.rules.once.keys.card ")
    assert field.endswith(f", 17{place}")
