"""Which failures count as met, and how many there are."""

import pytest
import yaml

from mockserver.explore.failure_coverage import SURVIVED, TRIED, UNSAFE, Coverage, met
from mockserver.scenario.file_model import read_model
from mockserver.scenario.outcome import OutcomeMap

MET = [
    ("charge.create", "decline: insufficient_funds", ["declined_soft"]),
    ("charge.create", "decline: stolen_card", ["declined_hard"]),
    ("charge.create", "provider_timeout: {}", ["provider_down"]),
    ("charge.create", "approve: {}", []),
    ("charge.create", "transport: {at: answer, hang: true}", ["too_slow"]),
    ("charge.create", "transport: {at: answer, delay: 100ms}", []),
    ("charge.create", "transport: {at: answer, status: 504, body: late}", ["error_after"]),
    ("charge.create", "transport: {at: receive, status: 404}", []),
    ("charge.search", "transport: {at: receive, status: 500}", ["page_lost"]),
    ("charge.create", "transport: {at: receive, status: 500}", []),
    ("charge.create", "webhook: {copies: 3, delay: 1h}", ["webhook_twice", "webhook_late"]),
    ("charge.create", "webhook: {signature: stale}", ["webhook_forged"]),
    ("charge.create", "webhook: {receiver: [500]}", []),
    ("batch.create", "batch: {rows: [{at: [1], decline: lost_card}]}", ["row_failed"]),
    ("batch.create", "batch: {rows: [{at: [9], decline: lost_card}]}", []),
    ("charge.get", "lag: 15s", ["lagging_read"]),
    ("subscription.renew", "approve: {copies: 2}", ["renewal_twice"]),
]


@pytest.mark.parametrize(("op", "text", "names"), MET, ids=[f"{op} {text}" for op, text, _ in MET])
def test_what_does_the_same_as_a_failure_of_the_table_is_that_failure(
    op: str, text: str, names: list[str]
) -> None:
    assert list(met(op, read_model(OutcomeMap, yaml.safe_load(text)).outcome)) == names


def test_only_what_struck_is_covered_and_the_worst_of_it_is_shown() -> None:
    first = Coverage.of(
        ["charge.get"],
        [("charge.get", "lost_answer", UNSAFE), ("charge.get", "lost_answer", TRIED)],
    )
    both = first + Coverage.of(["charge.void"], [("charge.get", "lost_answer", SURVIVED)])
    struck, there = both.covered, both.failures
    assert (struck, there) == (1, len(both.rows["charge.get"]) + len(both.rows["charge.void"]))
    assert both.states == {("charge.get", "lost_answer"): UNSAFE}
    assert both.words == f"failures covered: 1 of {there}, {100 // there} %"
    assert Coverage.read(both.shown()) == both
    assert not any("crash_before" in names for names in both.rows.values())
