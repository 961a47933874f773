"""Money that moves late: captures and refunds that their provider answers later, payments that it
takes back.

Assumptions ``charge.pending_refund``, ``charge.pending_hold``, ``charge.pending_capture``,
``charge.returned``.
"""

from typing import Any

import pytest

from mockserver.scenario.problems import ScenarioRefused
from tests.api.test_charge_variants import BANK, VARIANTS, charged, sources
from tests.driving import DUMMY, Api, card, problem_of

REFUND_FAILS = (
    "{id: r, when: {op: charge.refund}, limit: 1, then: {pending: {settle: FAILED, after: 3d}}}"
)
WHEN_SETTLED = "assumptions: {charge.pending_refund: when_settled}\n"


def told(*rules: str, head: str = "") -> Api:
    lines = "".join(f"  - {rule}\n" for rule in rules)
    return Api(scenario=f"version: 1\nname: s\n{head}rules:\n{lines}")


def read(api: Api, charge_id: str, *names: str) -> list[Any]:
    found = api.get(f"/charge/{charge_id}").body
    return [found[name] for name in names]


def settled(api: Api) -> list[tuple[str, float]]:
    """The days that were settled with money, and how much."""
    rows = api.get("/settlements", startDate="2031-03-01").body
    return sorted((row["settlementDate"][:10], row["amount"]) for row in rows)


def moved(api: Api) -> Api:
    """The same story in another sandbox, read from the document of the first."""
    document = api.get("/__admin/state").body
    other = Api(key="sk_other")
    put = other.put("/__admin/state", document)
    assert put.status == 200, put.raw
    return other


def test_a_refund_that_fails_is_taken_back() -> None:
    api = told(REFUND_FAILS)
    charge_id = api.charge()["chargeId"]
    assert api.delete(f"/refund/{charge_id}", comment="sorry")["status"] == "REFUND"
    assert problem_of(api.delete(f"/refund/{charge_id}")) == (409, 54)
    for sandbox in (moved(api), api):
        sandbox.advance("3d")
        assert read(sandbox, charge_id, "status", "refundedAmount", "refunds") == ["SUCCESS", 0, []]
        again = sandbox.delete(f"/refund/{charge_id}").body
        assert (again["status"], len(again["refunds"])) == ("REFUND", 1)


def test_one_of_several_refunds_fails() -> None:
    api = told(REFUND_FAILS)
    charge_id = api.charge()["chargeId"]
    for amount in (5, 5, 10):
        api.delete(f"/refund/{charge_id}", amount=amount)
    assert read(api, charge_id, "status", "refundedAmount") == ["REFUND", 20]
    api.advance("3d")
    status, given, refunds = read(api, charge_id, "status", "refundedAmount", "refunds")
    assert (status, given, [refund["amount"] for refund in refunds]) == (
        "PARTIAL_REFUND",
        15,
        [5, 10],
    )


def test_of_two_refunds_that_are_answered_at_once_the_right_one_fails() -> None:
    steps = "[{pending: {settle: SUCCESS, after: 3d}}, {pending: {settle: FAILED, after: 3d}}]"
    api = told(f"{{id: r, when: {{op: charge.refund}}, sequence: {steps}}}")
    charge_id = api.charge()["chargeId"]
    for amount in (5, 6):
        api.delete(f"/refund/{charge_id}", amount=amount)
    api.advance("3d")
    assert [refund["amount"] for refund in read(api, charge_id, "refunds")[0]] == [5]


@pytest.mark.parametrize(
    ("ends", "amount", "after"), [("FAILED", 0, "SUCCESS"), ("SUCCESS", 15, "PARTIAL_REFUND")]
)
def test_a_refund_is_shown_when_it_has_settled_and_reserved_before(
    ends: str, amount: int, after: str
) -> None:
    rule = f"{{id: r, when: {{op: charge.refund}}, limit: 1, then: {{pending: {{settle: {ends}, after: 3d}}}}}}"
    api = told(rule, head=WHEN_SETTLED)
    charge_id = api.charge()["chargeId"]
    assert api.delete(f"/refund/{charge_id}", amount=15)["status"] == "SUCCESS"
    assert problem_of(api.delete(f"/refund/{charge_id}", amount=6)) == (400, 76)
    for sandbox in (moved(api), api):
        sandbox.advance("3d")
        assert read(sandbox, charge_id, "status", "refundedAmount") == [after, amount]
    rest = api.delete(f"/refund/{charge_id}").body
    assert (rest["status"], [refund["amount"] for refund in rest["refunds"]]) == (
        "REFUND",
        [15, 5] if amount else [20],
    )


def test_a_reserved_refund_of_a_payment_that_is_taken_back_does_not_happen() -> None:
    taken_back = "{id: c, when: {op: charge.create}, then: {later: [{after: 1d, settle: FAILED}]}}"
    api = told(REFUND_FAILS.replace("FAILED", "SUCCESS"), taken_back, head=WHEN_SETTLED)
    charge_id = api.charge()["chargeId"]
    api.delete(f"/refund/{charge_id}")
    api.advance("4d")
    assert read(api, charge_id, "status", "refundedAmount") == ["FAILED", 0]
    entries = api.get("/__admin/journal", limit=100)["entries"]
    assert any(
        "a pending refund of charge" in text for entry in entries for text in entry["warnings"]
    )


def test_a_refund_is_settled_on_the_day_on_which_its_provider_answers() -> None:
    api = told(REFUND_FAILS.replace("FAILED", "SUCCESS"))
    api.delete(f"/refund/{api.charge()['chargeId']}", amount=8)
    api.advance("3d")
    assert settled(api) == [("2031-03-02", 20)]
    api.advance("2d")
    assert settled(api) == [("2031-03-02", 20), ("2031-03-05", -8)]


def test_a_refund_that_fails_is_never_settled() -> None:
    api = told(REFUND_FAILS)
    api.delete(f"/refund/{api.charge()['chargeId']}", amount=8)
    api.advance("9d")
    assert settled(api) == [("2031-03-02", 20)]


def test_a_payment_that_is_taken_back_leaves_on_that_day() -> None:
    api = told("{id: c, when: {op: charge.create}, then: {later: [{after: 14d, settle: FAILED}]}}")
    charge_id = api.charge()["chargeId"]
    api.advance("14d")
    assert read(api, charge_id, "status", "successDate") == [
        "FAILED",
        "2031-03-01T00:00:00.0000000Z",
    ]
    api.advance("2d")
    for sandbox in (api, moved(api)):
        assert settled(sandbox) == [("2031-03-02", 20), ("2031-03-16", -20)]


@pytest.mark.parametrize(("amount", "status"), [(1, "PARTIAL_REFUND"), (20, "REFUND")])
def test_a_payment_of_which_some_was_refunded_is_not_taken_back_and_the_journal_says_so(
    amount: int, status: str
) -> None:
    api = told("{id: c, when: {op: charge.create}, then: {later: [{after: 14d, settle: FAILED}]}}")
    charge_id = api.charge()["chargeId"]
    api.delete(f"/refund/{charge_id}", amount=amount)
    api.advance("14d")
    assert read(api, charge_id, "status") == [status]
    (warning,) = [
        text for entry in api.get("/__admin/journal")["entries"] for text in entry["warnings"]
    ]
    assert warning.startswith(f"later: settle of charge {charge_id} did not happen: ")
    assert status in warning


@pytest.mark.parametrize(
    ("ends", "after", "day"), [("SUCCESS", "SUCCESS", "2031-03-02"), ("FAILED", "FAILED", None)]
)
def test_a_capture_that_is_answered_later(ends: str, after: str, day: str | None) -> None:
    api = told(
        f"{{id: r, when: {{op: charge.capture}}, then: {{pending: {{settle: {ends}, after: 1d}}}}}}"
    )
    charge_id = api.charge(capture=False)["chargeId"]
    waits = api.post(f"/charge/{charge_id}", {"amount": 15}).body
    assert (waits["status"], waits["amount"], waits["successDate"]) == ("PENDING", 15, None)
    for again in (api.post(f"/charge/{charge_id}"), api.delete(f"/charge/{charge_id}/void")):
        assert problem_of(again) == (409, 54)
    api.advance("1d")
    status, amount, succeeded = read(api, charge_id, "status", "amount", "successDate")
    assert (status, amount, succeeded and succeeded[:10]) == (after, 15, day)
    api.advance("30d")
    assert read(api, charge_id, "status") == [after]


HOLD_SETTLES = "{id: r, when: {op: charge.create}, then: {pending: {after: 1d}}}"
HOLD_FAILS = "{id: r, when: {op: charge.create}, then: {pending: {settle: FAILED, after: 1d}}}"
INBOX = {"webhook": {"url": "http://127.0.0.1/__inbox/shop"}}


@pytest.mark.parametrize("variant", [*VARIANTS, "card", "payment_method", "bank_account"])
def test_a_hold_that_is_answered_later_is_a_hold(variant: str) -> None:
    api = told(HOLD_SETTLES)
    bodies_of = sources(api) | {
        "card": {"providerId": DUMMY, "paymentInformation": card()},
        "payment_method": {"paymentMethodId": api.method()},
        "bank_account": {"providerId": DUMMY, "bankPaymentInformation": BANK},
    }
    made = charged(api, variant, {"amount": "20", "capture": False, **bodies_of[variant]}).body
    charge_id = made["chargeId"]
    assert (made["status"], made["authorisationAmount"], made["successDate"]) == (
        "PENDING",
        None,
        None,
    )
    for sandbox in (moved(api), api):
        sandbox.advance("1d")
        names = ("status", "amount", "authorisationAmount", "successDate", "voidDate")
        assert read(sandbox, charge_id, *names) == ["Authorised", 20, 20, None, None]
        captured = sandbox.post(f"/charge/{charge_id}", {"amount": 15}).body
        assert (captured["status"], captured["amount"], captured["authorisationAmount"]) == (
            "SUCCESS",
            15,
            20,
        )
        assert captured["successDate"][:10] == "2031-03-02"


def test_a_hold_that_fails_while_it_is_pending() -> None:
    api = told(HOLD_FAILS)
    charge_id = api.charge(capture=False)["chargeId"]
    api.advance("1d")
    assert read(api, charge_id, "status", "authorisationAmount", "successDate") == [
        "FAILED",
        None,
        None,
    ]
    assert problem_of(api.post(f"/charge/{charge_id}")) == (409, 54)
    assert api.get("/__admin/books")["totals"]["AUD"]["held"] == 0
    api.advance("30d")
    assert read(api, charge_id, "status") == ["FAILED"]


def test_a_hold_cannot_be_captured_voided_or_refunded_while_it_is_pending_and_voided_after_that() -> (
    None
):
    api = told(HOLD_SETTLES)
    charge_id = api.charge(capture=False)["chargeId"]
    before = api.get(f"/charge/{charge_id}").body
    calls = (
        ("POST", f"/charge/{charge_id}"),
        ("DELETE", f"/charge/{charge_id}/void"),
        ("DELETE", f"/charge/{charge_id}"),
    )
    for method, path in calls:
        assert problem_of(api.call(method, path)) == (409, 54)
    assert api.get(f"/charge/{charge_id}").body == before
    api.advance("1d")
    voided = api.delete(f"/charge/{charge_id}/void").body
    assert (voided["status"], voided["voidDate"][:10]) == ("AUTHORISE_CANCELLED", "2031-03-02")


def test_a_hold_lapses_a_week_after_its_provider_has_authorised_it() -> None:
    api = told(HOLD_SETTLES)
    charge_id = api.charge(capture=False)["chargeId"]
    api.advance("7d")
    assert read(api, charge_id, "status") == ["Authorised"]
    for sandbox in (moved(api), api):
        sandbox.advance("1d")
        assert read(sandbox, charge_id, "status", "voidDate") == [
            "AUTHORISE_CANCELLED",
            "2031-03-09T00:00:00.0000000Z",
        ]


def test_a_hold_that_was_pending_is_captured_in_parts() -> None:
    api = told(HOLD_SETTLES, head="assumptions: {charge.capture_amount: several}\n")
    charge_id = api.charge(capture=False)["chargeId"]
    api.advance("1d")
    for amount in (5, 7):
        api.post(f"/charge/{charge_id}", {"amount": amount})
    totals = api.get("/__admin/books")["totals"]["AUD"]
    assert (totals["captured"], totals["held"]) == (12, 8)


def test_a_hold_and_then_its_capture_are_pending() -> None:
    slow = "{id: c, when: {op: charge.capture}, then: {pending: {after: 1d}}}"
    api = told(HOLD_SETTLES, slow)
    charge_id = api.charge(capture=False)["chargeId"]
    api.advance("1d")
    assert api.post(f"/charge/{charge_id}", {"amount": 15})["status"] == "PENDING"
    for sandbox in (moved(api), api):
        sandbox.advance("1d")
        assert read(sandbox, charge_id, "status", "amount", "authorisationAmount") == [
            "SUCCESS",
            15,
            20,
        ]


@pytest.mark.parametrize(("settle", "after"), [("SUCCESS", "Authorised"), ("FAILED", "FAILED")])
def test_a_passed_challenge_can_leave_a_hold_pending(settle: str, after: str) -> None:
    asks = "{id: c, when: {op: charge.create}, then: {challenge: {payer: passes, after: 1m}}}"
    slow = f"{{id: p, when: {{op: charge.challenge}}, then: {{pending: {{settle: {settle}, after: 1d}}}}}}"
    api = told(asks, slow)
    charge_id = api.charge(capture=False)["chargeId"]
    api.advance("1m")
    assert read(api, charge_id, "status", "authorisationAmount", "threeDsVerified") == [
        "PENDING",
        None,
        True,
    ]
    api.advance("1d")
    assert read(api, charge_id, "status", "successDate") == [after, None]


@pytest.mark.parametrize(("settle", "after"), [("SUCCESS", "Authorised"), ("FAILED", "FAILED")])
def test_a_pending_hold_that_a_rule_or_a_tester_settles(settle: str, after: str) -> None:
    api = told(
        f"{{id: r, when: {{op: charge.create}}, then: {{pending: {{}}, later: [{{after: 1h, settle: {settle}}}]}}}}"
    )
    by_rule, by_hand = (api.charge(capture=False)["chargeId"] for _ in range(2))
    assert api.post(f"/__admin/objects/charge/{by_hand}", {"settle": settle}).status == 200
    assert read(api, by_hand, "status") == [after]
    api.advance("30d")
    lapsed = "AUTHORISE_CANCELLED" if after == "Authorised" else after
    assert [read(api, one, "status") for one in (by_rule, by_hand)] == [[lapsed], [lapsed]]


def test_a_later_expiry_is_of_the_hold_that_was_pending_and_not_of_its_token() -> None:
    api = told(
        "{id: r, when: {op: charge.create}, then: {pending: {after: 1h}, later: [{after: 2h, "
        "expire: {}}]}}"
    )
    made = api.post("/charge/token", {"amount": 20, "capture": False, **sources(api)["token"]})
    api.advance("2h")
    assert read(api, made["chargeId"], "status") == ["AUTHORISE_CANCELLED"]


def test_webhooks_tell_how_a_pending_hold_goes_on() -> None:
    api = told(HOLD_SETTLES)
    charge_id = api.charge(capture=False, **INBOX)["chargeId"]
    api.advance("1d")
    api.post(f"/charge/{charge_id}")
    data = [body["data"] for body in bodies(api)]
    told_of = {one["status"]: one.get("authorisationAmount") for one in data}
    assert told_of == {"PENDING": None, "Authorised": 20, "SUCCESS": 20}
    entries = api.get("/__admin/journal", limit=100)["entries"]
    events = [event for entry in entries for event in entry["events"]]
    moves = [(one["what"], one["after"]) for one in events if one["id"] == charge_id]
    assert moves == [("pending", "PENDING"), ("authorised", "Authorised"), ("captured", "SUCCESS")]


def test_a_stale_webhook_of_an_authorised_hold_tells_of_a_pending_one() -> None:
    api = told(HOLD_SETTLES, "{id: s, when: {op: webhook.deliver}, then: {webhook: {stale: true}}}")
    api.charge(capture=False, **INBOX)
    api.advance("1d")
    data = bodies(api)[0]["data"]
    assert (data["status"], data.get("authorisationAmount")) == ("PENDING", None)


def test_the_books_call_a_hold_pending_and_then_held() -> None:
    api = told(HOLD_SETTLES)
    charge_id = api.charge(capture=False, reference="order-1")["chargeId"]
    row = {"reference": "order-1", "state": "held"}
    wanted = [
        ({"pending": 20, "held": 0, "captured": 0}, True),
        ({"pending": 0, "held": 20, "captured": 0}, True),
    ]
    wanted += [({"pending": 0, "held": 0, "captured": 20}, False)]
    for figures, agrees in wanted:
        totals = api.get("/__admin/books")["totals"]["AUD"]
        assert {name: totals[name] for name in figures} == figures
        found = api.post("/__admin/books/compare", {"rows": [row]}).body
        assert (found["findings"] == []) == agrees
        api.advance("1d") if figures["pending"] else api.post(f"/charge/{charge_id}")


def test_the_story_of_a_pending_hold_says_when_the_books_parted() -> None:
    api = told(HOLD_SETTLES)
    charge_id = api.charge(capture=False, reference="order-1")["chargeId"]
    api.advance("1d")
    api.post(f"/charge/{charge_id}", {"amount": 15})
    row = {"reference": "order-1", "state": "cancelled"}
    (finding,) = api.post("/__admin/books/compare", {"rows": [row]})["findings"]
    assert finding["finding"] == "charged-but-unpaid"
    lines = [one["line"] for one in finding["evidence"]]
    assert any("they agreed until journal" in line and "charge.create" in line for line in lines), (
        lines
    )


def test_a_pending_hold_that_is_forgotten_is_reported() -> None:
    api = told(HOLD_SETTLES)
    charge_id = api.charge(capture=False)["chargeId"]
    api.advance("9d")
    (finding,) = api.get("/__admin/findings", severity="warning")["findings"]
    assert (finding["finding"], finding["about"]["charge"]) == (
        "authorisation-forgotten",
        charge_id,
    )
    assert finding["evidence"][0]["line"] == f"{charge_id}: authorised by its provider"


@pytest.mark.parametrize(
    "op", ["charge.void", "charge.get", "customer.create", "payment_method.create"]
)
def test_only_money_can_be_pending(op: str) -> None:
    rule = {"id": "r", "when": {"op": op}, "then": {"pending": {}}}
    refused = Api().put("/__admin/scenarios", {"version": 1, "rules": [rule]})
    assert problem_of(refused) == (400, 90)
    words = next(iter(refused["details"].values()))
    assert "pending" in words
    assert "charge.refund" in words


def test_webhooks_tell_of_a_refund_that_failed() -> None:
    api = told(REFUND_FAILS)
    url = {"webhook": {"url": "http://127.0.0.1/__inbox/shop"}}
    charge_id = api.charge(**url)["chargeId"]
    api.delete(f"/refund/{charge_id}")
    api.advance("3d")
    told_of = [one["body"]["data"]["status"] for one in api.get("/__admin/webhooks")["webhooks"]]
    assert sorted(told_of) == ["REFUND", "SUCCESS", "SUCCESS"]


DISPUTE = (
    "{after: 1d, emit: {event: charge.dispute.created, data: {disputeReason: fraudulent, "
    "amount: 12.50}}}"
)


def dispute(*, rules: str = "", op: str = "charge.create") -> Api:
    return told(
        f"{{id: d, when: {{op: {op}}}, then: {{later: [{DISPUTE}]}}}}", *([rules] if rules else [])
    )


def bodies(api: Api) -> list[dict[str, Any]]:
    return [one["body"] for one in api.get("/__admin/webhooks")["webhooks"]]


def test_a_webhook_of_the_files_own_words_goes_to_all_who_are_reported_of_the_charge() -> None:
    api = dispute()
    url = "http://127.0.0.1/__inbox/{}".format
    api.post("/webhook/subscription", {"types": ["Transaction"], "url": url("all")})
    api.post("/webhook/subscription", {"types": ["Customer"], "url": url("customers")})
    charge_id = api.charge(webhook={"url": url("own")})["chargeId"]
    for sandbox in (api, moved(api)):
        sandbox.advance("1d")
        told_of = [
            body
            for body in bodies(sandbox)
            if body["meta"]["eventType"] == "charge.dispute.created"
        ]
        assert len(told_of) == 2
        for body in told_of:
            assert body["meta"]["type"] == "transaction"
            names = ("chargeId", "status", "amount", "disputeReason")
            assert [body["data"][name] for name in names] == [
                charge_id,
                "SUCCESS",
                12.5,
                "fraudulent",
            ]
    assert read(api, charge_id, "status", "amount") == ["SUCCESS", 20]


def test_a_rule_for_deliveries_says_how_such_a_webhook_goes() -> None:
    twice = (
        "{id: w, when: {op: webhook.deliver, request.eventType: charge.dispute.created}, "
        "then: {webhook: {copies: 2}}}"
    )
    api = dispute(rules=twice)
    api.charge(webhook={"url": "http://127.0.0.1/__inbox/own"})
    api.advance("1d")
    assert [body["meta"]["eventType"] for body in bodies(api)].count("charge.dispute.created") == 2


def test_nobody_is_reported_where_nobody_asked() -> None:
    api = dispute()
    api.charge()
    api.advance("1d")
    assert bodies(api) == []


@pytest.mark.parametrize(
    ("later", "words"),
    [
        ("{after: 1d, emit: {}}", "'event' is missing"),
        ("{after: 1d, emit: {event: dispute}}", "got 'dispute', wanted words joined by dots"),
        (
            "{after: 1d, emit: {event: charge.dispute.created, dta: {}}}",
            "unknown key 'dta' - did you mean 'data'?",
        ),
        (
            "{after: 1d, emit: {event: charge.dispute.created}, void: {}}",
            "got void and emit, wanted exactly one of",
        ),
        ("{after: 1d, set: {card.expiryDate: 12/2040}}", "got '12/2040', wanted MM/YY"),
        ("{after: 1d, set: {card.expiryDate: 13/40}}", "got '13/40', wanted MM/YY"),
        ("{after: 1d, set: {card.expiry: 12/40}}", "did you mean 'card.expiryDate'?"),
    ],
)
def test_a_later_that_makes_no_sense(later: str, words: str) -> None:
    with pytest.raises(ScenarioRefused) as refused:
        told(f"{{id: d, when: {{op: charge.create}}, then: {{later: [{later}]}}}}")
    assert words in str(refused.value)
    assert str(refused.value).startswith("given.yaml:4:")


@pytest.mark.parametrize(
    ("op", "later", "words"),
    [
        ("customer.get", DISPUTE, "later: emit means nothing in customer.get; it fits"),
        (
            "charge.refund",
            "{after: 1d, set: {card.expiryDate: 12/40}}",
            "set card.expiryDate means nothing in charge.refund",
        ),
    ],
)
def test_a_later_where_it_means_nothing(op: str, later: str, words: str) -> None:
    with pytest.raises(ScenarioRefused, match=r"rules\[0\].when.op") as refused:
        told(f"{{id: d, when: {{op: {op}}}, then: {{later: [{later}]}}}}")
    assert words in str(refused.value)


def stored(api: Api, **fields: object) -> str:
    body = {"providerId": DUMMY, "paymentInformation": card(expiryDate="04/31"), **fields}
    return api.post("/payment_method/card", body)["paymentMethodId"]


def updating(op: str, expiry: str) -> Api:
    return told(
        f"{{id: u, when: {{op: {op}}}, then: {{later: [{{after: 10d, set: {{card.expiryDate: {expiry}}}}}]}}}}"
    )


@pytest.mark.parametrize("op", ["payment_method.create", "charge.create"])
def test_an_account_updater(op: str) -> None:
    api = updating(op, "12/40")
    api.post(
        "/webhook/subscription", {"types": ["PaymentMethod"], "url": "http://127.0.0.1/__inbox/own"}
    )
    method = stored(api)
    api.post("/charge/payment_method", {"paymentMethodId": method, "amount": 5})
    for sandbox in (moved(api), api):
        sandbox.advance("10d")
        assert sandbox.get(f"/payment_method/{method}")["card"]["expiryDate"] == "12/40"
    assert "paymentMethod.updated" in [body["meta"]["eventType"] for body in bodies(api)]


def test_an_update_that_is_none_by_then_is_reported() -> None:
    api = updating("payment_method.create", "02/31")
    method = stored(api)
    removed = stored(api)
    api.delete(f"/payment_method/{removed}")
    api.charge()
    api.advance("10d")
    assert api.get(f"/payment_method/{method}")["card"]["expiryDate"] == "04/31"
    entries = api.get("/__admin/journal", limit=100)["entries"]
    warnings = [text for entry in entries for text in entry["warnings"]]
    assert sum("later: set of payment_method" in text for text in warnings) == 2
