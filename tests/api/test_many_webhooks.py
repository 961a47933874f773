"""Webhooks of a step that has very many receivers, or tells very much: bounded, so that nobody else
waits for them."""

from typing import Any

import pytest

from mockserver.domain.clock import DAY, MINUTE
from mockserver.domain.delivery import Try
from mockserver.engine import batches, deliveries, due
from mockserver.engine.sandbox import Sandbox
from tests.driving import CARD, DUMMY, NOW, Api

INBOX = "http://127.0.0.1:4111/__inbox/shop"
WARNING = "a step sends 5 webhooks at most: what it causes beyond these is not sent"
METHOD = {"providerId": DUMMY, "paymentInformation": CARD}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "MOST_OF_STEP", 5)


def subscribed(count: int, types: object = None, **settings: Any) -> Api:
    api = Api(**settings)
    for number in range(count):
        assert (
            api.post("/webhook/subscription", {"url": f"{INBOX}{number}", "types": types}).status
            == 201
        )
    return api


def log_of(api: Api) -> Any:
    return api.get("/__admin/webhooks").body


def sandbox_of(api: Api) -> Sandbox:
    return api.app.world.sandboxes.open(api.key, NOW)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("receivers", "warnings"), [(5, []), (6, [WARNING])])
def test_a_step_tells_the_oldest_of_very_many_receivers_and_warns(
    receivers: int, warnings: list[str]
) -> None:
    api = subscribed(receivers)
    charge = api.charge()
    log = log_of(api)
    assert (log["count"], log["refused"]) == (5, 0)
    assert {one["url"] for one in log["webhooks"]} == {f"{INBOX}{number}" for number in range(5)}
    assert {one["subject"] for one in log["webhooks"]} == {charge["chargeId"]}
    assert api.get("/__admin/journal", limit=1)["entries"][0]["warnings"] == warnings
    api.charge()
    assert log_of(api)["count"] == 10
    assert api.get("/__admin/journal", limit=1)["entries"][0]["warnings"] == warnings


@pytest.mark.usefixtures("few")
def test_all_that_a_step_tells_counts_together() -> None:
    api = subscribed(1)
    owner = api.post("/customer/card", {**METHOD, "firstName": "Ann"})["customerId"]
    for _ in range(7):
        assert api.post(f"/customer/{owner}/payment_method/card", METHOD).status == 201
    before = log_of(api)["count"]
    assert api.delete(f"/customer/{owner}").status == 200
    assert log_of(api)["count"] == before + 5


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("receivers", "warnings"), [(1, []), (2, [WARNING])])
def test_copies_count_as_webhooks_do(receivers: int, warnings: list[str]) -> None:
    copies = 5 if receivers == 1 else 3
    twice = f"{{id: twice, when: {{op: webhook.deliver}}, then: {{webhook: {{copies: {copies}}}}}}}"
    api = subscribed(receivers, scenario=f"version: 1\nname: s\nrules: [{twice}]")
    api.charge()
    assert log_of(api)["count"] == 5
    assert api.get("/__admin/journal", limit=1)["entries"][0]["warnings"] == warnings


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("receivers", "is_cut"), [(5, False), (6, True)])
def test_data_of_the_callers_own_goes_to_as_many(receivers: int, is_cut: bool) -> None:
    told = (
        subscribed(receivers)
        .post("/__admin/events", {"type": "Transaction", "data": {"own": 1}})
        .body
    )
    assert (len(told["webhooks"]), "hint" in told) == (5, is_cut)


def test_what_finds_no_room_is_counted_and_makes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.engine.delivery_log.MOST_UNDER_WAY", 3)
    api = subscribed(8)
    charge = api.charge()
    log = log_of(api)
    assert (log["count"], log["refused"]) == (3, 5)
    assert {one["subject"] for one in log["webhooks"]} == {charge["chargeId"]}


def test_a_fork_at_an_entry_counts_webhooks_for_which_there_was_room_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mockserver.engine.delivery_log.MOST_UNDER_WAY", 3)
    rule = "{id: late, when: {op: webhook.deliver}, then: {webhook: {copies: 2}}}"
    api = Api(scenario=f"version: 1\nname: s\nrules: [{rule}]", waits=True)
    assert (
        api.post("/webhook/subscription", {"url": "http://127.0.0.1:9/never-called"}).status == 201
    )
    sandbox = sandbox_of(api)
    for _ in range(6):
        api.charge()
        for one in sandbox.deliveries:
            deliveries.report(sandbox, one, Try(sandbox.now, 200))
    last = api.get("/__admin/journal", limit=1)["entries"][0]["id"]
    assert api.post("/__admin/fork", {"to": "sk_fork", "at": last}).status == 201
    fork = api.app.world.sandboxes.open("sk_fork", NOW)
    assert (fork.ids.counters["webhook"], fork.director.tallies.rules["late"].hits) == (6, 6)
    assert fork.ids.counters == sandbox.ids.counters


def test_a_thousand_receivers_get_the_words_that_one_would_get() -> None:
    alone, many = subscribed(1), subscribed(4)
    told = []
    for api in (alone, many):
        owner = api.post("/customer/card", {**METHOD, "firstName": "Ann"})["customerId"]
        charge = api.charge(amount=20.5, reference="r", customerId=owner)
        api.delete(f"/charge/{charge['chargeId']}")
        api.delete(f"/customer/{owner}")
        told.append([one["body"] for one in log_of(api)["webhooks"]])
    ids = [body["meta"].pop("messageId") for one in told for body in one]
    assert len(set(ids)) >= 4 * len(told[0])
    assert told[1] == [body for body in told[0] for _ in range(4)]


def planned(sandbox: Sandbox, until: int) -> list[int]:
    """How many webhooks each slice of the work until then plans."""
    found, counters = [], sandbox.ids.counters
    while sandbox.now < until:
        before = counters.get("webhook", 0)
        due.run_slice(sandbox, until)
        found.append(counters.get("webhook", 0) - before)
    return found


def test_due_work_that_tells_many_is_done_in_short_slices() -> None:
    api = subscribed(40)
    method = api.method()
    plan = {
        "paymentMethodId": method,
        "amount": 1,
        "currency": "AUD",
        "interval": "Day",
        "frequency": 1,
    }
    for _ in range(20):
        assert (
            api.post(
                "/subscription/payment_method", {**plan, "startDate": "2031-03-09T00:00:00Z"}
            ).status
            == 201
        )
    slices = planned(sandbox_of(api), NOW + 8 * DAY + MINUTE)
    assert sum(slices) >= 20 * 40
    assert max(slices) <= due.SLICE + 2 * 40


def test_rows_of_a_batch_that_tell_many_are_taken_in_short_slices() -> None:
    late = "{id: late, when: {op: webhook.deliver}, then: {webhook: {delay: 2h}}}"
    api = subscribed(40, ["Transaction"], scenario=f"version: 1\nname: s\nrules: [{late}]")
    api.put("/__admin/clock", {"mode": "manual"})
    method = api.method()
    api.batch(*(f"{method},1,AUD,r{number}" for number in range(60)))
    slices = planned(sandbox_of(api), NOW + 60 * MINUTE)
    assert sum(slices) == 60 * 40
    assert max(slices) <= batches.ROWS_OF_STEP // batches.ROWS_OF_WEBHOOK + 40
