"""What happens to objects on their own, as a scenario says (scenario language, ``later``)."""

import pytest

from tests.driving import DUMMY, Api, card, card_charge


def api_with(later: str, op: str = "charge.create", then: str = "") -> Api:
    return Api(
        scenario=f"version: 1\nname: s\nrules:\n  - "
        f"{{id: w, when: {{op: {op}}}, then: {{{then}later: [{later}]}}}}"
    )


def status(api: Api, charge_id: str) -> str:
    return api.get(f"/charge/{charge_id}")["status"]


def bank(api: Api) -> str:
    account = {"bankCode": "001-002", "accountNumber": "123456", "accountName": "Ann"}
    body = {"amount": 5, "providerId": DUMMY, "bankPaymentInformation": account}
    return api.post("/charge/bank_account", body)["chargeId"]


@pytest.mark.parametrize(
    ("later", "capture", "after", "refunded"),
    [
        ("{after: 2d, void: {}}", False, "AUTHORISE_CANCELLED", 0),
        ("{after: 2d, capture: {}}", False, "SUCCESS", 0),
        ("{after: 2d, capture: {amount: 12.50}}", False, "SUCCESS", 0),
        ("{after: 2d, refund: {amount: 5, comment: chargeback}}", True, "PARTIAL_REFUND", 5),
        ("{after: 2d, refund: {}}", True, "REFUND", 20),
        # What the state forbids by then does not happen.
        ("{after: 2d, void: {}}", True, "SUCCESS", 0),
        ("{after: 2d, refund: {amount: 500}}", True, "SUCCESS", 0),
        ("{after: 2d, settle: SUCCESS}", True, "SUCCESS", 0),
        ("{after: 2d, settle: FAILED}", False, "Authorised", 0),
        # A payment that its provider takes back.
        ("{after: 2d, settle: FAILED}", True, "FAILED", 0),
    ],
)
def test_a_charge_moves_on_its_own(later: str, capture: bool, after: str, refunded: int) -> None:
    api = api_with(later)
    charge = api.charge(capture=capture)
    api.advance("47h")
    assert status(api, charge["chargeId"]) == charge["status"]
    api.advance("1h")
    found = api.get(f"/charge/{charge['chargeId']}").body
    assert (found["status"], found["refundedAmount"]) == (after, refunded)
    if "12.50" in later:
        assert found["amount"] == 12.5
    if "chargeback" in later:
        assert found["refunds"][0]["comment"] == "chargeback"


def warnings(api: Api) -> list[str]:
    """What the journal tells a person, oldest first."""
    entries = api.get("/__admin/journal?limit=100")["entries"]
    return [
        text for entry in sorted(entries, key=lambda one: one["id"]) for text in entry["warnings"]
    ]


def test_what_cannot_happen_later_is_explained() -> None:
    api = api_with("{after: 2d, void: {}}")
    charge_id = api.charge()["chargeId"]
    assert warnings(api) == []
    api.advance("2d")
    (told,) = warnings(api)
    assert told.startswith(f"later: void of charge {charge_id} did not happen: ")
    assert "SUCCESS" in told


def test_a_later_about_nothing_is_explained() -> None:
    api = api_with("{after: 1h, set: {payto.status: ACTIVE}}")
    api.charge()
    assert warnings(api) == ["later: set will not happen, charge.create is about no payto"]


@pytest.mark.parametrize(("to", "after"), [("SUCCESS", "SUCCESS"), ("FAILED", "FAILED")])
def test_a_pending_charge_settles_when_the_scenario_says(to: str, after: str) -> None:
    api = api_with(f"{{after: 1h, settle: {to}}}")
    charge_id = bank(api)
    assert status(api, charge_id) == "PENDING"
    api.advance("1h")
    assert status(api, charge_id) == after
    api.advance("1w")
    assert status(api, charge_id) == after


def test_what_happens_later_is_reported_by_webhook() -> None:
    api = api_with("{after: 1h, refund: {}}")
    api.charge(webhook={"url": "http://127.0.0.1:4111/__inbox/shop"})
    api.advance("1h")
    told = [one["body"]["data"]["status"] for one in api.get("/__admin/inbox/shop")["messages"]]
    assert told == ["SUCCESS", "REFUND"]


def test_a_payer_who_abandons_a_challenge_leaves_it_to_expire() -> None:
    rule = "{id: w, then: {challenge: {payer: abandons}}}"
    api = Api(
        scenario=f"version: 1\nassumptions: {{charge.challenge_expires_after: 20m}}\nrules:\n  - "
        f"{rule}"
    )
    charge_id = api.charge()["chargeId"]
    api.advance("19m59s")
    assert status(api, charge_id) == "PENDING_CHECKOUT"
    api.advance("1s")
    assert status(api, charge_id) == "FAILED"


@pytest.mark.parametrize(("payer", "after"), [("passes", "SUCCESS"), ("fails", "FAILED")])
def test_the_payer_of_a_challenge_acts(payer: str, after: str) -> None:
    api = Api(
        scenario=f"version: 1\nname: s\nrules:\n  - "
        f"{{id: w, then: {{challenge: {{payer: {payer}, after: 10s}}}}}}"
    )
    charge_id = api.charge()["chargeId"]
    api.advance("9s")
    assert status(api, charge_id) == "PENDING_CHECKOUT"
    api.advance("1s")
    assert status(api, charge_id) == after


def test_objects_go_on_their_own() -> None:
    api = api_with(
        "{after: 1h, delete: {}}", op="[vault.create, payment_method.create, customer.create]"
    )
    item = api.post("/vault", {"cardNumber": "4111111111111111"})["vaultId"]
    method = api.method()
    customer = api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": card()})[
        "customerId"
    ]
    api.advance("59m")
    assert api.get(f"/vault/{item}").status == 200
    assert api.get(f"/payment_method/{method}")["dateRemoved"] is None
    api.advance("1m")
    assert api.get(f"/vault/{item}").status == 404
    assert api.get(f"/payment_method/{method}")["dateRemoved"] is not None
    assert api.get(f"/customer/{customer}")["dateRemoved"] is not None


def test_a_status_is_set() -> None:
    api = api_with("{after: 1d, set: {payto.status: SUSPENDED}}", op="charge.create")
    agreement = {
        "providerId": DUMMY,
        "payerName": "Ann",
        "description": "Membership",
        "maximumAmount": 100,
        "payerPayIdDetails": {"payId": "ann@example.com", "payIdType": "EMAIL"},
    }
    method = api.post("/payment_method/payto", agreement)["paymentMethodId"]
    assert (
        api.post("/charge/payment_method", {"paymentMethodId": method, "amount": 5}).status == 201
    )
    api.advance("1d")
    assert api.get(f"/payment_method/{method}")["payToStatus"] == "SUSPENDED"


def test_a_subscription_is_suspended_and_goes_on() -> None:
    api = api_with(
        "{after: 1h, set: {subscription.status: Suspended}}, {after: 2h, set: "
        "{subscription.status: Active}}",
        op="subscription.create",
    )
    method = api.method()
    body = {
        "paymentMethodId": method,
        "amount": 5,
        "currency": "AUD",
        "interval": "Month",
        "frequency": 1,
    }
    made = api.post("/subscription/payment_method", body)
    assert made.status == 201, made.raw
    seen = []
    for _ in range(2):
        api.advance("1h")
        seen.append(api.get(f"/subscription/{made['subscriptionId']}")["status"])
    assert seen == ["Suspended", "Active"]


def test_a_refused_operation_has_no_later() -> None:
    api = api_with("{after: 1h, refund: {}}")
    assert api.post("/charge/card", card_charge(currency="XXZ")).status == 400
    before = api.get("/__admin/clock")["pending"]
    assert before == 0


AGREEMENT = {
    "providerId": DUMMY,
    "payerName": "Ann",
    "description": "Membership",
    "maximumAmount": 100,
    "payerPayIdDetails": {"payId": "ann@example.com", "payIdType": "EMAIL"},
}


def test_a_status_to_which_no_way_leads_is_reported() -> None:
    api = api_with(
        "{after: 1h, set: {payto.status: DECLINED}}, {after: 2h, set: {payto.status: ACTIVE}}",
        op="payment_method.create",
    )
    api.post("/payment_method/payto", AGREEMENT)
    api.advance("3h")
    (told,) = warnings(api)
    assert told.startswith("payto ")
    assert told.endswith(" does not become ACTIVE: it is DECLINED by then")


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("INACTIVE", []),
        ("DELETED", []),
        ("ACTIVE", ["it is DELETED by then, and becomes ACTIVE no more"]),
    ],
)
def test_a_network_token_that_is_gone_is_reported(status: str, told: list[str]) -> None:
    later = (
        f"{{after: 1h, set: {{network_token.status: DELETED}}}}, "
        f"{{after: 2h, set: {{network_token.status: {status}}}}}"
    )
    api = api_with(
        later if status == "ACTIVE" else later.partition(", {")[0], op="payment_method.create"
    )
    api.post(
        "/payment_method/card",
        {"providerId": DUMMY, "paymentInformation": card(), "createNetworkToken": True},
    )
    api.advance("3h")
    assert [text.partition("did not happen: ")[2] for text in warnings(api)] == told


def test_what_is_gone_goes_no_second_time() -> None:
    api = api_with(
        "{after: 1h, delete: {}}, {after: 2h, delete: {}}", op="[vault.create, customer.create]"
    )
    api.post("/vault", {"cardNumber": "4111111111111111"})
    api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": card()})
    api.advance("3h")
    item, customer = warnings(api)
    assert (item.split()[3], customer.split()[3]) == ("vault", "customer")
    assert item.partition(" did not happen: ")[2].startswith("no vault item")
    assert "removed" in customer


@pytest.mark.parametrize(
    ("op", "later", "after"),
    [
        ("charge.refund", "refund: {}", "REFUND"),
        ("charge.capture", "capture: {}", "SUCCESS"),
        ("charge.void", "void: {}", "AUTHORISE_CANCELLED"),
    ],
)
def test_what_a_provider_declines_may_happen_later(op: str, later: str, after: str) -> None:
    api = api_with(f"{{after: 1h, {later}}}", op, then="decline: do_not_honour, ")
    before = api.charge(capture=op == "charge.refund")
    charge_id, path = (
        before["chargeId"],
        {"charge.refund": "/refund/{}", "charge.void": "/charge/{}/void"},
    )
    call = ("POST", "/charge/{}") if op == "charge.capture" else ("DELETE", path[op])
    assert api.call(call[0], call[1].format(charge_id)).status == 400
    api.advance("59m")
    assert status(api, charge_id) == before["status"]
    api.advance("1m")
    assert status(api, charge_id) == after


def test_what_is_refused_without_asking_the_provider_does_not_happen_later() -> None:
    api = api_with("{after: 1h, refund: {}}", "charge.refund", then="decline: do_not_honour, ")
    charge_id = api.charge()["chargeId"]
    assert api.delete(f"/refund/{charge_id}", amount=500).status == 400
    api.advance("2h")
    assert status(api, charge_id) == "SUCCESS"


@pytest.mark.parametrize(
    ("event", "after"), [("settles", "25h"), ("returns", "25h"), ("expires", "8d")]
)
def test_a_webhook_that_time_causes_is_matched_by_its_charge(event: str, after: str) -> None:
    test = "{op: webhook.deliver, state.charge.reference: mine}"
    rules = f"  - {{id: w, when: {test}, then: {{webhook: {{copies: 2}}}}}}\n"
    if event == "returns":
        rules += (
            "  - {id: r, when: {op: charge.create}, then: {later: [{after: 1h, settle: FAILED}]}}\n"
        )
    for reference, copies in (("mine", 2), ("other", 1)):
        api = Api(scenario=f"version: 1\nname: s\nrules:\n{rules}")
        api.post(
            "/webhook/subscription",
            {"type": "transaction", "url": "http://127.0.0.1:4111/__inbox/shop"},
        )
        if event == "expires":
            api.charge(capture=False, reference=reference)
        else:
            account = {"bankCode": "001-002", "accountNumber": "123456", "accountName": "Ann"}
            body = {
                "amount": 5,
                "providerId": DUMMY,
                "bankPaymentInformation": account,
                "reference": reference,
            }
            api.post("/charge/bank_account", body)
        first = len(api.get("/__admin/webhooks")["webhooks"])
        api.advance(after)
        assert (first, len(api.get("/__admin/webhooks")["webhooks"])) == (copies, 2 * copies)
