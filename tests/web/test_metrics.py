"""``GET /metrics``: what has happened is counted, nothing secret is shown, and it is guarded as the
control API is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mockserver.engine.counts import MOST_RULES, OTHER, Counts
from mockserver.web.control.metrics import METRICS
from tests.driving import Api

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana.json"

STORMY = """
version: 1
name: stormy
rules:
  - id: storm
    when: {op: charge.create}
    then: {transport: {at: receive, status: 503}}
"""
BROKEN = {
    "version": 1,
    "name": "s",
    "rules": [
        {
            "id": "broken",
            "when": {"op": "charge.create"},
            "then": {"transport": {"at": "receive", "status": 503}},
        }
    ],
}


@pytest.fixture
def api() -> Api:
    """A caller of an application that has counted nothing yet."""
    return Api()


def samples(api: Api, **headers: str) -> dict[str, float]:
    """Every sample of the server by its name and the values of its labels."""
    reply = api.call("GET", "/metrics", key=None, headers=headers)
    assert (reply.status, reply.headers["content-type"]) == (
        200,
        "text/plain; version=0.0.4; charset=utf-8",
    )
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(reply.raw.decode())
        for sample in family.samples
    }


def test_requests_are_counted_by_operation_and_status(api: Api) -> None:
    api.try_charge()
    api.try_charge()
    api.call("GET", "/charge/unknown")
    api.call("GET", "/charge", key="sk_live_1")
    api.call("GET", "/no/such/path")
    api.call("GET", "/__admin/clock")
    api.call("GET", "/charge", headers={"host": "evil.example.com"})
    found = samples(api)
    counted = {
        name.partition(" ")[2]: count for name, count in found.items() if "requests_total" in name
    }
    assert counted == {
        "charge.create 201": 2,
        "charge.get 404": 1,
        "charge.search 401": 1,
        "none 404": 1,
        "control 200": 1,
        "refused 403": 1,
    }
    assert samples(api) == found, "asking is not counted"


def test_the_histogram_counts_each_request_up_to_its_duration() -> None:
    now = iter(range(0, 10**12, 3_000))
    api = Api(real_clock=lambda: next(now))
    api.try_charge()
    found = samples(api)
    buckets = [
        count
        for name, count in found.items()
        if name.startswith("mockserver_request_seconds_bucket")
    ]
    assert buckets == sorted(buckets)
    assert (buckets[0], buckets[-1]) == (0, 1)
    assert found["mockserver_request_seconds_count charge.create"] == 1
    assert found["mockserver_request_seconds_sum charge.create"] > 0.003


def test_sandboxes_and_objects_are_counted(api: Api) -> None:
    api.try_charge()
    api.call("GET", "/charge", key="sk_other")
    found = samples(api)
    assert (found["mockserver_sandboxes"], found["mockserver_objects charges"]) == (2, 1)
    assert found["mockserver_objects transfers"] == 0


def test_a_rule_of_the_servers_files_counts_by_its_id() -> None:
    api = Api(scenario=STORMY)
    api.try_charge()
    assert samples(api)["mockserver_rules_fired_total storm"] == 1


def test_a_rule_of_a_sandbox_counts_without_its_id_and_its_fault_by_kind(api: Api) -> None:
    assert api.call("PUT", "/__admin/scenarios", BROKEN).status == 200
    assert api.try_charge().status == 503
    found = samples(api)
    assert found["mockserver_rules_fired_total other"] == 1
    assert found["mockserver_faults_total status"] == 1
    assert found["mockserver_requests_total charge.create 503"] == 1
    assert not any("broken" in name for name in found)


def test_no_more_rules_than_the_bound_count_by_id_and_none_that_holds_a_card_number() -> None:
    counts = Counts()
    counts.name([f"rule-{number}" for number in range(MOST_RULES + 1)])
    counts.rules["rule-0"] += 2
    assert f"rule-{MOST_RULES}" not in counts._named
    counts.name(["card-4111111111111111", "a\nb", "x" * 101])
    assert (counts.rules, counts._named) == ({OTHER: 2}, frozenset())


def test_webhooks_are_counted_by_what_they_are_after_a_try(api: Api) -> None:
    for name in ("shop", "ledger"):
        api.post(
            "/webhook/subscription",
            {"url": f"http://127.0.0.1:4111/__inbox/{name}", "types": ["Transaction"]},
        )
    api.try_charge()
    api.advance("1s")
    assert samples(api)["mockserver_webhook_tries_total delivered"] == 2


def test_dropped_journal_entries_are_counted() -> None:
    api = Api(journal_limit=2)
    for _ in range(5):
        api.call("GET", "/charge")
    assert samples(api)["mockserver_journal_dropped_total limit"] == 3


def test_it_is_guarded_as_the_control_api_is() -> None:
    api = Api(admin_token="let-me-in")
    for path in ("/metrics", "//metrics", "/metrics/"):
        assert api.call("GET", path, key=None).status == 401
    assert api.call("GET", "/metrics", key=None, headers={"host": "evil.example.com"}).status == 403
    assert samples(api, **{"x-admin-token": "let-me-in"})
    assert samples(api, authorization="Bearer let-me-in")


def test_no_key_and_no_card_number_is_shown() -> None:
    api = Api()
    api.try_charge()
    api.call("GET", "/charge/4111111111111111", key="sk_secret_of_ours")
    text = api.call("GET", "/metrics", key=None).raw.decode()
    assert "sk_" not in text
    assert re.search(r"\d{12,}", text) is None


def test_each_metric_of_the_table_is_shown() -> None:
    text = Api().call("GET", "/metrics", key=None).raw.decode()
    assert re.findall(r"^# TYPE (\S+)", text, re.MULTILINE) == [row.name for row in METRICS]


def queries(part: Any) -> list[str]:
    """Every query of a dashboard."""
    if isinstance(part, list):
        return [query for one in part for query in queries(one)]
    if not isinstance(part, dict):
        return []
    own = [
        value
        for name, value in part.items()
        if name in ("expr", "query") and isinstance(value, str)
    ]
    return own + [query for one in part.values() for query in queries(one)]


def test_the_dashboard_asks_for_metrics_and_labels_that_exist_and_for_each_metric() -> None:
    labels = {row.name: {*row.labels, "instance", "le"} for row in METRICS}
    asked = set()
    for query in queries(json.loads(DASHBOARD.read_text("utf-8"))):
        for found in re.findall(r"mockserver_\w+", query):
            name = found.removesuffix("_bucket") if found.endswith("_bucket") else found
            assert name in labels, query
            asked.add(name)
            for by in re.findall(r"by \((\w+)\)", query):
                assert by in labels[name], query
    assert asked == set(labels)
