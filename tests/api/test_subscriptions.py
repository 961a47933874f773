"""Subscriptions over HTTP, renewed by the clock (published facts, 1.1 rows 63-68, 2.11, 10)."""

from typing import Any

import pytest

from tests.driving import DUMMY, Api, card, problem_of, without

FIELDS = [
    "subscriptionId", "paymentMethodId", "amount", "currency", "interval", "frequency", "createdDate", "startDate",
    "endAfter", "retry", "webhook", "status", "metadata",
]  # fmt: skip
NOW = "2031-03-01T00:00:00.0000000Z"
DECLINE_ALWAYS = """
version: 1
rules:
  - id: no-renewals
    when: {op: subscription.renew}
    then: {decline: insufficient_funds}
"""


def body(api: Api, **fields: object) -> dict[str, object]:
    return {
        "paymentMethodId": api.method(),
        "amount": 10,
        "currency": "AUD",
        "interval": "Month",
        **fields,
    }


def renewing(outcomes: str) -> Api:
    """An application in which renewals go as a rule says."""
    return Api(
        scenario=f"version: 1\nrules:\n  - "
        f"{{id: renewals, when: {{op: subscription.renew}}, {outcomes}}}\n"
    )


def subscribe(api: Api, **fields: object) -> Any:
    reply = api.post("/subscription/payment_method", body(api, **fields))
    assert reply.status == 201, reply.raw
    return reply.body


def path_of(row: Any) -> str:
    return f"/subscription/{row['subscriptionId']}"


def status(api: Api, row: Any) -> str:
    return api.get(path_of(row))["status"]


def payments(api: Api, row: Any) -> list[tuple[str, str]]:
    """Day and status of every charge of a subscription, the oldest first."""
    found = api.get("/charge", SubscriptionId=row["subscriptionId"], limit=1000)["charges"]
    return [(charge["dateAdded"][:10], charge["status"]) for charge in reversed(found)]


def days(api: Api, row: Any) -> list[str]:
    return [day for day, _ in payments(api, row)]


def test_a_subscription_shows_every_published_field(api: Api) -> None:
    fields = {
        "endAfter": {"count": 12, "amount": "120.00", "date": "2032-03-01T00:00:00Z"},
        "retry": {"maximum": 3, "interval": "Day", "frequency": 2},
        "webhook": {"url": "https://example.com/webhook", "authorization": "secret"},
        "metadata": {"plan": "gold"},
    }
    made = subscribe(api, frequency=2, **fields)
    assert list(made) == FIELDS
    assert (made["amount"], made["currency"], made["interval"], made["frequency"]) == (
        10,
        "AUD",
        "Month",
        2,
    )
    assert (made["createdDate"], made["startDate"], made["status"]) == (NOW, NOW, "Active")
    assert made["endAfter"] == {"count": 12, "amount": 120, "date": "2032-03-01T00:00:00.0000000Z"}
    assert {name: made[name] for name in ("retry", "webhook", "metadata")} == without(
        fields, "endAfter"
    )
    assert api.get(path_of(made)).body == made


def test_a_subscription_needs_a_method_an_amount_and_an_interval(api: Api) -> None:
    given = {
        "PaymentMethodId": api.method(),
        "Amount": "10.50",
        "Interval": "week",
        "EndAfter": {"Count": 0},
    }
    made = api.post("/subscription/payment_method", given).body
    assert (made["amount"], made["currency"], made["interval"], made["frequency"]) == (
        10.5,
        "AUD",
        "Week",
        1,
    )
    assert made["endAfter"] is made["retry"] is made["webhook"] is made["metadata"] is None


def currency_rows(api: Api, op: str) -> list[str]:
    """The assumptions on currency that the journal names for the only call of an operation."""
    [entry] = [row for row in api.get("/__admin/journal")["entries"] if row["op"] == op]
    return [key for key in entry["assumptions"] if "currency" in key]


def test_a_subscription_that_names_no_currency_rests_on_an_assumption(api: Api) -> None:
    subscribe(api, currency=None)
    assert currency_rows(api, "subscription.create") == ["currency.default"]


def test_a_subscription_that_names_its_currency_rests_on_no_assumption(api: Api) -> None:
    row = subscribe(api, currency="NZD")
    assert api.put(path_of(row), {"amount": 20}).status == 200
    assert currency_rows(api, "subscription.create") == []
    assert currency_rows(api, "subscription.update") == []


@pytest.mark.parametrize(
    ("field", "value", "code", "place"),
    [
        ("paymentMethodId", "nothing", 56, "PaymentMethodId"),
        ("paymentMethodId", "", 90, "PaymentMethodId"),
        ("amount", 0, 74, "Amount"),
        ("amount", "1.001", 2, "Amount"),
        ("amount", None, 90, "Amount"),
        ("currency", "QQQ", 29, "Currency"),
        ("interval", "Fortnight", 90, "Interval"),
        ("interval", None, 90, "Interval"),
        ("frequency", 0, 90, "Frequency"),
        ("frequency", 1001, 90, "Frequency"),
        ("startDate", "soon", 90, "StartDate"),
        ("endAfter", {"count": -1}, 90, "EndAfter.Count"),
        ("endAfter", {"amount": -1}, 90, "EndAfter.Amount"),
        ("endAfter", {"date": "2031-02-28"}, 90, "EndAfter.Date"),
        ("retry", {"maximum": -1}, 90, "Retry.Maximum"),
        ("retry", {"maximum": 1, "interval": "Week"}, 90, "Retry.Interval"),
        ("retry", {"maximum": 1, "frequency": 0}, 90, "Retry.Frequency"),
        ("webhook", {"authorization": "x"}, 90, "Webhook.Url"),
    ],
)
def test_a_subscription_with_a_bad_field_is_refused(
    shared: Api, field: str, value: object, code: int, place: str
) -> None:
    reply = shared.post("/subscription/payment_method", body(shared, **{field: value}))
    assert (problem_of(reply), list(reply["details"])) == ((400, code), [place])
    assert shared.get("/subscription")["count"] == 0


def test_nulls_inside_objects_are_absent(api: Api) -> None:
    made = subscribe(
        api,
        endAfter={"count": None, "amount": None, "date": None},
        retry={"maximum": 1, "interval": None, "frequency": None},
    )
    assert (made["endAfter"], made["retry"]) == (
        None,
        {"maximum": 1, "interval": "Day", "frequency": 1},
    )


def test_a_removed_provider_suspends_too(api: Api) -> None:
    made = subscribe(api)
    api.delete(f"/provider/{DUMMY}")
    api.advance("31d")
    assert (status(api, made), days(api, made)) == ("Suspended", ["2031-03-01"])


def test_twelve_renewals_in_one_advance_of_a_year_are_exact(api: Api) -> None:
    made = subscribe(api, amount="9.95")
    api.advance("366d")
    first_days = [f"2031-{month:02}-01" for month in range(3, 13)] + [
        "2032-01-01",
        "2032-02-01",
        "2032-03-01",
    ]
    assert days(api, made) == first_days
    charges = api.get("/charge", SubscriptionId=made["subscriptionId"])["charges"]
    assert {charge["dateAdded"][10:] for charge in charges} == {"T00:00:00.0000000Z"}
    assert {(charge["amount"], charge["status"], charge["initiator"]) for charge in charges} == {
        (9.95, "SUCCESS", "MERCHANT")
    }
    assert {charge["subscriptionId"] for charge in charges} == {made["subscriptionId"]}
    assert {charge["paymentInformation"]["paymentMethodId"] for charge in charges} == {
        made["paymentMethodId"]
    }


def test_a_year_at_once_and_day_by_day_make_the_same_payments() -> None:
    at_once, by_days = Api(), Api()
    first, second = subscribe(at_once, interval="Week"), subscribe(by_days, interval="Week")
    at_once.advance("60d")
    for _ in range(60):
        by_days.advance("1d")
    query = {"SubscriptionId": first["subscriptionId"]}
    assert first == second
    assert at_once.get("/charge", **query).raw == by_days.get("/charge", **query).raw


@pytest.mark.parametrize(
    ("interval", "frequency", "start", "wanted"),
    [
        ("Day", 1, None, ["2031-03-01", "2031-03-02", "2031-03-03"]),
        ("Week", 2, None, ["2031-03-01", "2031-03-15", "2031-03-29"]),
        ("Month", 1, "2031-08-31T00:00:00Z", ["2031-08-31", "2031-09-30", "2031-10-31"]),
        (3, 1, "2032-02-29", ["2032-02-29", "2033-02-28", "2034-02-28"]),
        ("Day", 10, 1930435200000, ["2031-03-05", "2031-03-15", "2031-03-25"]),
    ],
)
def test_payments_fall_on_the_calendar(
    api: Api, interval: object, frequency: int, start: object, wanted: list[str]
) -> None:
    made = subscribe(
        api, interval=interval, frequency=frequency, startDate=start, endAfter={"count": 3}
    )
    api.advance("1200d")
    assert days(api, made) == wanted
    assert status(api, made) == "Complete"


def test_nothing_is_paid_before_the_start(api: Api) -> None:
    made = subscribe(api, startDate="2031-04-01")
    api.advance("30d")
    assert days(api, made) == []
    api.advance("1d")
    assert days(api, made) == ["2031-04-01"]


def test_a_start_in_the_past_counts_from_now_or_is_refused(api: Api) -> None:
    made = subscribe(api, startDate="2030-01-15", interval="Day", endAfter={"count": 2})
    api.advance("5d")
    assert (made["startDate"][:10], days(api, made)) == ("2030-01-15", ["2031-03-01", "2031-03-02"])
    strict = Api(assumptions={"subscription.past_start": "refuse"})
    reply = strict.post("/subscription/payment_method", body(strict, startDate="2030-01-15"))
    assert (problem_of(reply), list(reply["details"])) == ((400, 90), ["StartDate"])


@pytest.mark.parametrize(
    ("end", "count"),
    [
        ({"count": 3}, 3),
        ({"amount": 25}, 3),
        ({"amount": 30}, 3),
        ({"date": "2031-03-04"}, 4),
        ({"date": NOW}, 1),
    ],
)
def test_what_ends_a_subscription(api: Api, end: dict[str, object], count: int) -> None:
    made = subscribe(api, interval="Day", endAfter=end)
    api.advance("30d")
    assert (len(days(api, made)), status(api, made)) == (count, "Complete")


def test_a_declined_renewal_is_retried_then_suspended() -> None:
    api = Api(scenario=DECLINE_ALWAYS)
    made = subscribe(api, retry={"maximum": 2, "interval": "Day", "frequency": 3})
    api.advance("6d")
    assert payments(api, made) == [
        ("2031-03-01", "FAILED"),
        ("2031-03-04", "FAILED"),
        ("2031-03-07", "FAILED"),
    ]
    assert status(api, made) == "Suspended"
    api.advance("90d")
    assert len(payments(api, made)) == 3


def test_retries_by_the_hour_and_without_a_policy_none() -> None:
    api = Api(scenario=DECLINE_ALWAYS)
    hourly = subscribe(api, retry={"maximum": 1, "interval": "Hour", "frequency": 5})
    never = subscribe(api)
    api.advance("4h")
    assert (len(payments(api, hourly)), status(api, hourly), status(api, never)) == (
        1,
        "Active",
        "Suspended",
    )
    api.advance("1h")
    assert (len(payments(api, hourly)), status(api, hourly), len(payments(api, never))) == (
        2,
        "Suspended",
        1,
    )


def test_a_retry_that_succeeds_keeps_the_calendar() -> None:
    declined = "{decline: insufficient_funds}"
    api = renewing(f"sequence: [{{approve: {{}}}}, {declined}, {declined}, {{approve: {{}}}}]")
    made = subscribe(api, retry={"maximum": 2, "interval": "Day"}, endAfter={"count": 3})
    api.advance("100d")
    assert payments(api, made) == [
        ("2031-03-01", "SUCCESS"), ("2031-04-01", "FAILED"), ("2031-04-02", "FAILED"), ("2031-04-03", "SUCCESS"),
        ("2031-05-01", "SUCCESS"),
    ]  # fmt: skip
    assert status(api, made) == "Complete"


def test_a_pending_renewal_that_bounces_is_retried_and_does_not_count() -> None:
    api = renewing(
        "sequence: [{pending: {after: 2d, settle: FAILED}}, {pending: {after: 2d, settle: "
        "SUCCESS}}]"
    )
    made = subscribe(api, retry={"maximum": 1, "interval": "Day"}, endAfter={"count": 1})
    api.advance("3d")
    assert payments(api, made) == [("2031-03-01", "FAILED"), ("2031-03-04", "PENDING")]
    assert status(api, made) == "Active"
    api.advance("2d")
    assert payments(api, made)[-1] == ("2031-03-04", "SUCCESS")
    assert status(api, made) == "Complete"
    api.advance("60d")
    assert len(payments(api, made)) == 2


def test_payments_under_way_count_towards_the_amount_that_ends() -> None:
    api = renewing("then: {pending: {after: 5d, settle: SUCCESS}}")
    made = subscribe(api, interval="Day", endAfter={"amount": 20})
    api.advance("4d")
    assert (len(payments(api, made)), status(api, made)) == (2, "Active")
    api.advance("30d")
    assert (len(payments(api, made)), status(api, made)) == (2, "Complete")


def test_a_bounced_payment_does_not_move_the_calendar() -> None:
    api = renewing("sequence: [{pending: {after: 2d, settle: FAILED}}, {approve: {}}]")
    made = subscribe(api, retry={"maximum": 1, "interval": "Day"})
    api.advance("45d")
    assert payments(api, made) == [
        ("2031-03-01", "FAILED"),
        ("2031-03-04", "SUCCESS"),
        ("2031-04-01", "SUCCESS"),
    ]


def test_payments_that_always_bounce_are_retried_no_more_than_told() -> None:
    api = renewing("then: {pending: {after: 1h, settle: FAILED}}")
    made = subscribe(api, retry={"maximum": 2, "interval": "Day"})
    api.advance("200d")
    assert (len(payments(api, made)), status(api, made)) == (3, "Suspended")


def test_retries_begin_anew_with_each_payment() -> None:
    api = renewing(
        "sequence: [" + ", ".join(["{decline: insufficient_funds}", "{approve: {}}"] * 2) + "]"
    )
    made = subscribe(api, retry={"maximum": 1, "interval": "Day"})
    api.advance("40d")
    assert days(api, made) == ["2031-03-01", "2031-03-02", "2031-04-01", "2031-04-02"]
    assert status(api, made) == "Active"


def test_a_pause_between_two_payments_changes_nothing(api: Api) -> None:
    made = subscribe(api)
    api.advance("1d")
    for word in ("Suspended", "Active"):
        api.put(path_of(made) + "/status", {"status": word})
    api.advance("31d")
    assert days(api, made) == ["2031-03-01", "2031-04-01"]


def test_a_test_card_declines_renewals_too(api: Api) -> None:
    made = subscribe(api, paymentMethodId=api.method("4000000000000341"))
    api.advance("1d")
    assert (payments(api, made), status(api, made)) == ([("2031-03-01", "FAILED")], "Suspended")


def test_metadata_can_script_a_renewal(api: Api) -> None:
    made = subscribe(api, metadata={"mock": "insufficient_funds"})
    api.advance("1d")
    assert status(api, made) == "Suspended"


def test_a_removed_payment_method_suspends(api: Api) -> None:
    made = subscribe(api)
    api.advance("1d")
    assert api.delete(f"/payment_method/{made['paymentMethodId']}").status == 200
    assert status(api, made) == "Active"
    api.advance("31d")
    assert (status(api, made), days(api, made)) == ("Suspended", ["2031-03-01"])
    resumed = api.put(path_of(made) + "/status", {"status": "Active"})
    assert problem_of(resumed) == (400, 73)
    again = api.post(
        "/subscription/payment_method", body(api, paymentMethodId=made["paymentMethodId"])
    )
    assert problem_of(again) == (400, 73)


def test_a_removed_payment_method_can_suspend_at_once() -> None:
    api = Api(assumptions={"subscription.method_removed": "at_once"})
    made, other = subscribe(api), subscribe(api)
    cancelled = subscribe(api, paymentMethodId=made["paymentMethodId"])
    api.delete(path_of(cancelled))
    api.delete(f"/payment_method/{made['paymentMethodId']}")
    assert [status(api, row) for row in (made, other, cancelled)] == [
        "Suspended",
        "Active",
        "Cancelled",
    ]
    api.advance("31d")
    assert (days(api, made), status(api, other)) == (["2031-03-01"], "Active")


def test_a_removed_customer_can_suspend_at_once() -> None:
    api = Api(assumptions={"subscription.method_removed": "at_once"})
    customer = api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": card()}).body
    made = subscribe(api, paymentMethodId=customer["defaultPaymentMethod"]["paymentMethodId"])
    api.delete(f"/customer/{customer['customerId']}")
    assert status(api, made) == "Suspended"


def test_suspending_and_resuming_skips_what_was_missed(api: Api) -> None:
    made = subscribe(api)
    api.advance("1d")
    assert api.put(path_of(made) + "/status", {"Status": 3})["status"] == "Suspended"
    api.advance("75d")
    assert days(api, made) == ["2031-03-01"]
    assert api.put(path_of(made) + "/status", {"status": "active"})["status"] == "Active"
    api.advance("30d")
    assert days(api, made) == ["2031-03-01", "2031-06-01"]


def test_missed_payments_can_be_made_up_for() -> None:
    api = Api(assumptions={"subscription.missed_payments": "make_up"})
    made = subscribe(api)
    api.advance("1d")
    api.put(path_of(made) + "/status", {"status": "Suspended"})
    api.advance("75d")
    api.put(path_of(made) + "/status", {"status": "Active"})
    api.advance("30d")
    assert days(api, made) == ["2031-03-01", "2031-05-16", "2031-05-16", "2031-06-01"]


@pytest.mark.parametrize(
    ("given", "shown"), [(0, "Complete"), ("1", "Active"), ("cancelled", "Cancelled")]
)
def test_status_by_name_or_index(api: Api, given: object, shown: str) -> None:
    assert api.put(path_of(subscribe(api)) + "/status", {"status": given})["status"] == shown


def test_a_bad_status_of_a_subscription_is_refused(api: Api) -> None:
    made = subscribe(api)
    for given in ("Paused", 4, None):
        assert problem_of(api.put(path_of(made) + "/status", {"status": given})) == (400, 90)
    assert status(api, made) == "Active"


def test_a_cancelled_subscription_is_over(api: Api) -> None:
    made = subscribe(api)
    cancelled = api.delete(path_of(made))
    assert (cancelled.status, cancelled.body) == (200, {**made, "status": "Cancelled"})
    api.advance("90d")
    assert days(api, made) == ["2031-03-01"]
    assert problem_of(api.delete(path_of(made))) == (409, 108)
    assert problem_of(api.put(path_of(made), {"amount": 5})) == (409, 108)
    assert problem_of(api.put(path_of(made) + "/status", {"status": "Active"})) == (409, 108)
    assert api.get(path_of(made)).body == cancelled.body


def test_an_update_replaces_end_retry_and_webhook_and_keeps_the_rest(api: Api) -> None:
    made = subscribe(api, endAfter={"count": 3}, retry={"maximum": 1}, webhook={"url": "https://a.test"},
                     metadata={"a": "b"})  # fmt: skip
    nulls = dict.fromkeys(
        ("amount", "currency", "interval", "frequency", "endAfter", "retry", "webhook", "metadata")
    )
    changed = api.put(path_of(made), nulls).body
    assert changed == {**made, "endAfter": None, "retry": None, "webhook": None}
    given = {
        "Amount": 20.0,
        "Currency": "nzd",
        "EndAfter": {"Count": 2},
        "Retry": {"Maximum": 2, "Interval": 0},
    }
    again = api.put(path_of(made), given).body
    assert (again["amount"], again["currency"], again["endAfter"]["count"]) == (20, "NZD", 2)
    assert again["retry"] == {"maximum": 2, "interval": "Hour", "frequency": 1}
    api.advance("90d")
    charges = api.get("/charge", SubscriptionId=made["subscriptionId"])["charges"]
    assert [(charge["amount"], charge["currency"]) for charge in charges] == [
        (20, "NZD"),
        (10, "AUD"),
    ]
    assert status(api, made) == "Complete"


def test_an_update_to_another_interval_counts_from_the_last_payment(api: Api) -> None:
    made = subscribe(api)
    api.advance("33d")
    api.put(path_of(made), {"interval": "Week", "frequency": 1})
    api.advance("12d")
    assert days(api, made) == ["2031-03-01", "2031-04-01", "2031-04-08", "2031-04-15"]


def test_an_end_that_has_been_reached_completes_at_once(api: Api) -> None:
    made = subscribe(api, interval="Day")
    api.advance("3d")
    assert len(days(api, made)) == 4
    assert api.put(path_of(made), {"endAfter": {"count": 2}})["status"] == "Complete"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"amount": 0}, 74),
        ({"currency": "QQQ"}, 29),
        ({"frequency": 0}, 90),
        ({"interval": "x"}, 90),
    ],
)
def test_a_bad_update_of_a_subscription_is_refused_and_changes_nothing(
    api: Api, given: dict[str, object], code: int
) -> None:
    made = subscribe(api, endAfter={"count": 3})
    assert problem_of(api.put(path_of(made), given)) == (400, code)
    assert api.get(path_of(made)).body == made


def test_unknown_subscriptions_are_not_found(api: Api) -> None:
    for call in (api.get, api.delete):
        assert problem_of(call("/subscription/nothing")) == (404, 104)
    assert problem_of(api.put("/subscription/nothing", {})) == (404, 104)
    assert problem_of(api.put("/subscription/nothing/status", {"status": "Active"})) == (404, 104)
    assert problem_of(Api(profile="sdk").get("/subscription/nothing")) == (400, 104)


def test_subscriptions_are_found_by_every_parameter(api: Api) -> None:
    rows = [subscribe(api, amount=amount, currency=code, startDate="2032-01-01")
            for amount, code in ((10, "NZD"), (20, "AUD"), (30, "AUD"))]  # fmt: skip
    api.delete(path_of(rows[1]))
    ids = [row["subscriptionId"] for row in rows]

    def found(**query: object) -> list[str]:
        return [row["subscriptionId"] for row in api.get("/subscription", **query)["subscriptions"]]

    assert found() == ids[::-1]
    assert found(amountGreaterThan="10", AmountLessThan="30") == [ids[1]]
    assert found(currency="aud") == [ids[2], ids[1]]
    assert found(status="Cancelled") == found(Status="2") == [ids[1]]
    assert found(currency="AUD", status="active") == [ids[2]]
    assert found(addedAfter="2031-03-01T00:00:01Z") == []
    assert found(SortBy="Currency", sortOrder="asc")[-1] == ids[0]
    page = api.get("/subscription", limit=1, skip=1).body
    assert list(page) == ["limit", "skip", "count", "subscriptions"]
    assert (page["limit"], page["skip"], page["count"]) == (1, 1, 3)
    assert problem_of(api.get("/subscription", status="Paused")) == (400, 90)
    assert problem_of(api.get("/subscription", sortBy="colour")) == (400, 90)


DECLINE = (
    "{{id: declined, when: {{op: subscription.renew}}, limit: {times}, then: {{decline: "
    "{reason}}}}}"
)


def assuming(times: int = 0, reason: str = "insufficient_funds", **rows: str) -> Api:
    """A sandbox with assumptions about subscriptions, whose first ``times`` payments are
    declined."""
    rule = DECLINE.format(times=times, reason=reason) if times else ""
    assumptions = {f"subscription.{name}": value for name, value in rows.items()}
    return Api(assumptions=assumptions, scenario=f"version: 1\nrules: [{rule}]\n")


@pytest.mark.parametrize(
    ("value", "ends", "paid"),
    [
        ("suspend", "Suspended", []),
        ("cancel", "Cancelled", []),
        ("next_payment", "Active", ["2031-04-01", "2031-05-01"]),
    ],
)
def test_what_follows_when_no_tries_are_left(value: str, ends: str, paid: list[str]) -> None:
    api = assuming(times=2, retries_exhausted=value)
    made = subscribe(api, retry={"maximum": 1, "interval": "Day"})
    api.advance("62d")
    assert payments(api, made) == [
        ("2031-03-01", "FAILED"),
        ("2031-03-02", "FAILED"),
        *((day, "SUCCESS") for day in paid),
    ]
    assert status(api, made) == ends


@pytest.mark.parametrize(
    ("reason", "value", "tries"),
    [("lost_card", "retry", 3), ("lost_card", "final", 1), ("insufficient_funds", "final", 3)],
)
def test_whether_a_decline_that_is_not_retryable_is_tried_again(
    reason: str, value: str, tries: int
) -> None:
    api = assuming(times=9, reason=reason, hard_declines=value)
    made = subscribe(api, retry={"maximum": 2, "interval": "Hour"})
    api.advance("1d")
    assert (len(payments(api, made)), status(api, made)) == (tries, "Suspended")


@pytest.mark.parametrize(
    ("value", "amounts"), [("whole", [10, 10, 10]), ("rest", [10, 10, 5.02]), ("before", [10, 10])]
)
def test_how_an_end_by_amount_is_reached(value: str, amounts: list[float]) -> None:
    api = assuming(end_amount=value)
    made = subscribe(api, interval="Day", endAfter={"amount": 25.02})
    api.advance("30d")
    found = api.get("/charge", SubscriptionId=made["subscriptionId"])["charges"]
    assert [charge["amount"] for charge in found[::-1]] == amounts
    assert status(api, made) == "Complete"


@pytest.mark.parametrize(
    ("currency", "total", "amounts"),
    [("AUD", 10.005, [10]), ("AUD", 13.337, [10, 3.33]), ("JPY", 15.5, [10, 5])],
)
def test_a_rest_is_cut_to_what_the_currency_has(
    currency: str, total: float, amounts: list[float]
) -> None:
    api = assuming(end_amount="rest")
    made = subscribe(api, interval="Day", currency=currency, endAfter={"amount": total})
    api.advance("30d")
    found = api.get("/charge", SubscriptionId=made["subscriptionId"])["charges"]
    assert [charge["amount"] for charge in found[::-1]] == amounts
    assert status(api, made) == "Complete"


@pytest.mark.parametrize(
    ("value", "interval", "start", "expected"),
    [
        ("from_now", "Month", "2031-01-20", ["2031-03-01", "2031-04-01"]),
        ("from_start", "Month", "2031-01-20", ["2031-03-01", "2031-03-20", "2031-04-20"]),
        ("from_start", "Month", "2031-01-01", ["2031-03-01", "2031-04-01"]),
        ("from_start", "Year", "0001-06-15", ["2031-03-01"]),
    ],
)
def test_when_payments_are_due_whose_start_has_passed(
    value: str, interval: str, start: str, expected: list[str]
) -> None:
    api = assuming(past_start_dates=value)
    made = subscribe(api, interval=interval, startDate=start)
    api.advance("55d")
    assert days(api, made) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({}, ["2031-03-01", "2031-06-01"]),
        ({"owed_payment": "collect"}, ["2031-03-01", "2031-05-16", "2031-06-01"]),
        (
            {"owed_payment": "collect", "missed_payments": "make_up"},
            ["2031-03-01", *["2031-05-16"] * 3, "2031-06-01"],
        ),
    ],
)
def test_a_payment_that_was_owed_when_a_subscription_was_suspended(
    rows: dict[str, str], expected: list[str]
) -> None:
    api = assuming(times=1, **rows)
    made = subscribe(api, retry={"maximum": 1, "interval": "Day", "frequency": 5})
    api.advance("1d")
    api.put(path_of(made) + "/status", {"status": "Suspended"})
    api.advance("75d")
    api.put(path_of(made) + "/status", {"status": "Active"})
    api.advance("30d")
    assert days(api, made) == expected


CHALLENGED = (
    "version: 1\nrules:\n  - {id: c, when: {op: subscription.renew}, then: {challenge: {}}}"
)


@pytest.mark.parametrize(("assumed", "told"), [("payment_fails", "FAILED"), ("charged", "SUCCESS")])
def test_a_payment_that_asks_for_3d_secure_waits_for_nobody(assumed: str, told: str) -> None:
    api = Api(scenario=CHALLENGED, assumptions={"subscription.three_ds": assumed})
    row = subscribe(api)
    api.advance("1s")
    (charge,) = api.get("/charge", SubscriptionId=row["subscriptionId"])["charges"]
    assert (charge["status"], charge["threeDsRedirectUrl"]) == (told, None)
    assert [attempt["errorCode"] for attempt in charge["failedAttempts"]] == (
        ["113"] if told == "FAILED" else []
    )
    assert status(api, row) == ("Suspended" if told == "FAILED" else "Active")


@pytest.mark.parametrize(
    ("interval", "fields", "told"),
    [
        ("Month", {}, ["01-31", "02-28", "03-28", "04-28"]),
        ("Month", {"frequency": 3}, ["01-31", "04-30", "07-30", "10-30"]),
        ("Week", {}, ["01-31", "02-07", "02-14", "02-21"]),
    ],
)
def test_days_after_the_28th_walk_with_the_months_as_assumed(
    interval: str, fields: dict[str, object], told: list[str]
) -> None:
    api = Api(clock="2031-01-31T10:00:00Z", assumptions={"subscription.month_end": "walk"})
    row = subscribe(api, interval=interval, **fields)
    api.advance("300d")
    assert [day[5:] for day in days(api, row)][:4] == told


def test_a_payment_that_is_taken_back_is_a_payment_no_longer() -> None:
    taken_back = (
        "{id: t, when: {op: subscription.renew}, limit: 1, then: {later: [{after: 14d, "
        "settle: FAILED}]}}"
    )
    api = Api(scenario=f"version: 1\nrules:\n  - {taken_back}")
    retry = {"maximum": 2, "interval": "Day", "frequency": 1}
    row = subscribe(api, retry=retry, endAfter={"count": 2})
    api.advance("14d")
    assert payments(api, row) == [("2031-03-01", "FAILED")]
    api.advance("1d")
    assert payments(api, row) == [("2031-03-01", "FAILED"), ("2031-03-16", "SUCCESS")]
    api.advance("60d")
    assert (len(payments(api, row)), status(api, row)) == (3, "Complete")
