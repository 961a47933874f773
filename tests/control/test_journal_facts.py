"""The journal keeps plain values, few of them, and words them when somebody looks: why rules did not
fire, also after a restart and under other rules."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from mockserver.engine.journal import JournalEntry
from mockserver.engine.line_reading import value_of
from mockserver.engine.lines import line_of
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario import values
from mockserver.scenario.decisions import MOST_FAILED
from tests.driving import CARD, Api
from tests.scenario.test_cookbook import story
from tests.store.twins import Kept

DECLINED = {"decline": "expired_card"}


def rule(name: str, **tests: object) -> dict[str, object]:
    return {"id": name, "when": {"op": "charge.create", **tests}, "then": DECLINED}


def searching(count: int) -> list[dict[str, object]]:
    """Rules that are asked, each about another field, and do not match."""
    return [
        rule(f"r{number}", **{f"request.metadata.k{number}": {"starts_with": "x"}})
        for number in range(count)
    ]


def put(api: Api, *rules: Mapping[str, object]) -> None:
    scenario = {"version": 1, "name": "s", "rules": list(rules)}
    assert api.call("PUT", "/__admin/scenarios", scenario, waits=True).status == 200


def provider_decision(api: Api, entry: int) -> Any:
    return api.get(f"/__admin/journal/{entry}")["decisions"][-1]


def lost(api: Api, entry: int) -> list[tuple[str, str]]:
    """What is said of rules that are not built in."""
    rows = provider_decision(api, entry)["lost"]
    return [(row["rule"], row["why"]) for row in rows if row["rule"][:1] in "rx"]


def sandbox_of(api: Api) -> Sandbox:
    (sandbox,) = api.app.world.sandboxes.in_memory.values()
    return sandbox


def parts_of(value: object) -> Iterator[object]:
    """A value and all that it holds."""
    yield value
    if isinstance(value, Mapping):
        inner: list[object] = [*value.keys(), *value.values()]
    elif isinstance(value, tuple):
        inner = [*value]
    elif is_dataclass(value):
        inner = [getattr(value, one.name) for one in fields(value) if one.init]
    else:
        inner = []
    for part in inner:
        yield from parts_of(part)


PLAIN = (str, int, bytes, Decimal, Enum, Mapping, tuple, list, type(None))


def entries_of_a_long_story() -> list[JournalEntry]:
    api = Api(scenario=None, skips=True)
    story(api)
    return list(sandbox_of(api).journal.entries)


def test_an_entry_holds_plain_values_alone() -> None:
    entries = entries_of_a_long_story()
    parts = [part for entry in entries for part in parts_of(entry)]
    assert len(entries) > 20
    assert [
        type(part) for part in parts if not isinstance(part, PLAIN) and not is_dataclass(part)
    ] == []
    assert [type(part) for part in parts if callable(part)] == []


def test_an_entry_is_written_and_read_by_its_types_alone() -> None:
    api = Api(scenario=None, skips=True)
    story(api)
    sandbox = sandbox_of(api)
    for entry in sandbox.journal.entries:
        assert value_of(JournalEntry, line_of(entry), sandbox.cards) == entry


def test_of_many_rules_that_are_asked_in_vain_the_first_are_named_and_the_others_counted() -> None:
    api = Api(scenario=None)
    put(api, *searching(25))
    api.charge(metadata={f"k{number}": "a" for number in range(25)})
    decision = provider_decision(api, 1)
    assert lost(api, 1) == [
        (f"r{number}", f"request.metadata.k{number}: wanted a text beginning with 'x', got 'a'")
        for number in range(MOST_FAILED)
    ]
    assert decision["more"] == 5


def test_nothing_is_counted_where_all_are_named() -> None:
    api = Api(scenario=None)
    put(api, *searching(MOST_FAILED))
    api.charge()
    assert len(lost(api, 1)) == MOST_FAILED
    assert "more" not in provider_decision(api, 1)


def test_the_limit_is_that_of_a_call_and_not_of_each_provider_that_is_tried() -> None:
    api = Api(scenario=None)
    soft = {
        "id": "soft",
        "when": {"op": "charge.create", "attempt": 1},
        "then": {"decline": "do_not_honour"},
    }
    put(api, *searching(15), soft)
    api.try_charge()
    decisions = sandbox_of(api).journal.entries[-1].decisions
    assert sum(len(decision.failed) for decision in decisions) <= MOST_FAILED


def test_rules_after_the_one_that_fired_are_not_named() -> None:
    api = Api(scenario=None)
    put(api, *searching(2), rule("fires"), *searching(4)[2:])
    api.try_charge()
    assert [name for name, _ in lost(api, 1)] == ["r0", "r1"]


def test_no_word_is_made_before_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    masked: list[str] = []
    plain = values.mask_start

    def counting(text: str, most: int) -> str:
        masked.append(text)
        return plain(text, most)

    api = Api(scenario=None)
    put(api, *searching(120))
    monkeypatch.setattr(values, "mask_start", counting)
    api.charge(metadata={f"k{number}": "4%20" * 400 + str(number) for number in range(120)})
    assert masked == []
    assert provider_decision(api, 1)["more"] == 120 - MOST_FAILED
    assert len(masked) >= MOST_FAILED


@pytest.mark.parametrize("value", ["4111 1111 1111 1111", "sk_secret", "4111%201111%201111%201111"])
def test_what_a_test_got_is_masked(value: str) -> None:
    api = Api(scenario=None)
    put(api, *searching(1))
    api.charge(metadata={"k0": value})
    ((_, why),) = lost(api, 1)
    assert "*" in why
    assert "sk_secret" not in why
    assert "1111 1111 1111" not in why


def named_twice() -> list[dict[str, object]]:
    """A rule that the index rules out, and one that is asked in vain."""
    return [rule("x", **{"request.reference": "no"}), *searching(1)]


WHY = [
    ("x", "request.reference: wanted 'no', got 'yes'"),
    ("r0", "request.metadata.k0: wanted a text beginning with 'x', got 'a'"),
]


def test_why_rules_did_not_fire_is_said_after_a_restart(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db", scenario=None)
    put(api, *named_twice())
    api.charge(reference="yes", metadata={"k0": "a"})
    assert lost(api, 1) == WHY
    api.restart()
    assert lost(api, 1) == WHY


def test_under_other_rules_only_those_are_named_that_were_asked() -> None:
    api = Api(scenario=None)
    put(api, *named_twice())
    api.charge(reference="yes", metadata={"k0": "a"})
    put(api, rule("other"))
    assert lost(api, 1) == WHY[1:]
    put(api, *named_twice())
    assert lost(api, 1) == WHY


def test_a_rule_that_fired_is_named_under_other_rules_with_what_came_before_it() -> None:
    api = Api(scenario=None)
    put(api, *searching(1), rule("fires"), *searching(2)[1:])
    assert api.try_charge(paymentInformation=CARD).status == 400
    put(api, rule("other"))
    decision = provider_decision(api, 1)
    assert (decision["rule"], decision["choice"]) == ("fires", 1)
    assert [name for name, _ in lost(api, 1)] == ["r0"]
