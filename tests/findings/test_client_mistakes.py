"""Every finding over HTTP: the mistake that raises it, and the near miss that does not."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any

import pytest

from mockserver.findings.misplaced_cards import is_clean
from mockserver.web.transport_faults import Cut
from tests.driving import DUMMY, PUBLIC, VISA, Api, Reply, card, card_charge

DEAD = "4000000000000002"
SOFT = "4000000000009995"
CHALLENGED = "4000000000003220"
ORDER = {"reference": "order-5"}


def scripted(*rules: str, **more: Any) -> Api:
    text = "".join(f"  - {{id: r{number}, {rule}}}\n" for number, rule in enumerate(rules))
    return Api(scenario=f"version: 1\nname: s\nrules:\n{text}", **more)


def lossy(op: str = "charge.create", at: str = "answer", fault: str = "reset: true") -> Api:
    """A sandbox that loses the first answer, or the first request, of an operation."""
    return scripted(
        f"when: {{op: {op}}}, limit: 1, then: {{transport: {{at: {at}, {fault}}}}}",
        waits="delay" in fault,
    )


def send(
    api: Api,
    method: str,
    path: str,
    body: object = None,
    *,
    headers: Mapping[str, str] | None = None,
    **query: object,
) -> Reply | None:
    """The answer, or None when the connection broke."""
    try:
        return api.call(method, path, body, query, headers=headers)
    except Cut:
        return None


def charge(api: Api, **fields: object) -> Reply | None:
    return send(api, "POST", "/charge/card", card_charge(**{**ORDER, **fields}))


def found(api: Api, **query: object) -> dict[str, dict[str, Any]]:
    reply = api.get("/__admin/findings", **query)
    assert reply.status == 200, reply.raw
    return {row["finding"]: row for row in reply["findings"]}


def finished(api: Api) -> dict[str, dict[str, Any]]:
    reply = api.post("/__admin/findings/finish")
    assert reply.status == 200, reply.raw
    return {row["finding"]: row for row in reply["findings"]}


def wallet(api: Api, wallet_name: str = "Google Pay", **fields: object) -> Reply | None:
    """A charge of a wallet as the client script sends it: its token says nothing of the payer."""
    token = {
        "paymentMethod": {"displayName": wallet_name, "type": wallet_name.lower().replace(" ", "")}
    }
    body = {"amount": 20, "providerId": DUMMY, "token": token, **fields}
    return send(api, "POST", "/charge/token/apple", body, headers=PUBLIC)


def checkout(api: Api, **fields: object) -> Reply | None:
    return send(api, "POST", "/charge/checkout", {"amount": 20, "providerType": "paypal", **fields})


Act = Callable[[Api], object]


def pays(**fields: object) -> Act:
    return lambda api: charge(api, **fields)


def pays_by_card(number: str = VISA, /, reference: str = "order-5", **details: object) -> Act:
    return pays(paymentInformation=card(number, **details), reference=reference)


def pays_by_wallet(data: str, **fields: object) -> Act:
    return lambda api: wallet(api, token={"paymentData": {"data": data}}, **fields)


def pays_at_checkout(**fields: object) -> Act:
    return lambda api: checkout(api, **fields)


def looks(**query: object) -> Act:
    return lambda api: send(api, "GET", "/charge", None, **{"Reference": "order-5", **query})


def asks(path: str, **headers: str) -> Act:
    return lambda api: api.call(
        "GET", path, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )


def waits(by: str) -> Act:
    return lambda api: api.advance(by)


def shares(api: Api) -> object:
    rows = [{"account": "acc_1", "amount": 5, "currency": "AUD", "reference": "t-1"}]
    return send(
        api, "POST", "/transfer", {"providerId": DUMMY, "groupReference": "g-1", "transfers": rows}
    )


TWICE, BLIND, DEAD_AGAIN = (
    ["double-charge", "blind-retry"],
    ["blind-retry"],
    ["hard-decline-retried"],
)
LOST_ANSWER = "when: {op: charge.create}, limit: 1, then: {transport: {at: answer, reset: true}}"
LOST_REQUEST = "when: {op: charge.create}, limit: 1, then: {transport: {at: receive, reset: true}}"
LOST_LIST = "when: {op: charge.search}, limit: 1, then: {transport: {at: answer, truncate: true}}"
LOST_TRANSFER = (
    "when: {op: transfer.create}, limit: 1, then: {transport: {at: answer, reset: true}}"
)
LOST_DECLINE = (
    "when: {op: charge.create}, limit: 1, then: {decline: insufficient_funds, "
    "transport: {at: answer, reset: true}}"
)
LOST_HARD_DECLINE = LOST_DECLINE.replace("insufficient_funds", "lost_card")
STOLEN = "when: {op: charge.create}, then: {decline: stolen_card}"
WRONG_CCV = "when: {op: charge.create}, limit: 1, then: {decline: wrong_ccv}"
DOWN = "when: {op: charge.create}, then: {provider_down: {}}"
IN_PART = "when: {op: charge.create, request.amount: {gt: 8}}, then: {partial_approve: 8}"
TOO_LARGE, NO_CURRENCY, NO_PAYTO, NO_3DS = (
    f"when: {{op: charge.create}}, limit: 1, then: {{decline: {name}}}"
    for name in (
        "amount_too_large",
        "currency_not_supported",
        "payto_not_active",
        "three_ds_failed",
    )
)
MASTERCARD = "5555555555554444"
STORIES: dict[str, tuple[Sequence[str], Sequence[Act], Sequence[str]]] = {
    # The rules of the sandbox, what the client does, what is found in the end.
    "looks after a lost answer": ([LOST_ANSWER], [pays(), looks()], []),
    "looks, and pays again all the same": ([LOST_ANSWER], [pays(), looks(), pays()], TWICE[:1]),
    "pays for another order": (
        [LOST_ANSWER],
        [pays(), pays(reference="order-6")],
        ["doubt-left-open"],
    ),
    "pays another amount": ([LOST_ANSWER], [pays(), pays(amount=21)], ["doubt-left-open"]),
    "pays in another currency": (
        [LOST_ANSWER],
        [pays(), pays(currency="USD")],
        ["doubt-left-open"],
    ),
    "pays by another card": (
        [LOST_ANSWER],
        [pays(), pays_by_card(MASTERCARD)],
        ["doubt-left-open"],
    ),
    "pays again within a day": ([LOST_ANSWER], [pays(), waits("23h 59m 59s"), pays()], TWICE),
    "pays again after a day": ([LOST_ANSWER], [pays(), waits("24h"), pays()], []),
    "pays again after a lost request": ([LOST_REQUEST], [pays(), pays()], BLIND),
    "looks after a lost request": ([LOST_REQUEST], [pays(), looks(), pays()], []),
    "does not get the list": ([LOST_ANSWER, LOST_LIST], [pays(), looks(), pays()], TWICE),
    "finds no paid charge where none is": (
        [LOST_DECLINE],
        [pays(), looks(Status="SUCCESS"), pays()],
        [],
    ),
    "looks for what has failed": ([LOST_ANSWER], [pays(), looks(Status="FAILED"), pays()], TWICE),
    "two payers have wallets": (
        [LOST_ANSWER],
        [pays_by_wallet("one"), pays_by_wallet("two")],
        ["no-reference", "doubt-left-open"],
    ),
    "one wallet pays twice": (
        [LOST_ANSWER],
        [pays_by_wallet("one", **ORDER), pays_by_wallet("one", **ORDER)],
        TWICE,
    ),
    "shares money twice": ([LOST_TRANSFER], [shares, shares], BLIND),
    "a checkout never arrived": ([LOST_REQUEST], [pays_at_checkout(**ORDER)] * 2, BLIND),
    "looks for a checkout": (
        [LOST_REQUEST],
        [pays_at_checkout(**ORDER), looks(), pays_at_checkout(**ORDER)],
        [],
    ),
    "a checkout without a reference": (
        [LOST_ANSWER],
        [pays_at_checkout()] * 2,
        ["no-reference", "doubt-left-open"],
    ),
    "takes another card after a decline": ([], [pays_by_card(DEAD), pays_by_card()], []),
    "takes a card that was renewed": (
        [],
        [pays_by_card(DEAD), pays_by_card(DEAD, expiryDate="11/41")],
        [],
    ),
    "takes a declined card for other orders": (
        [],
        [pays_by_card(DEAD, f"order-{n}") for n in range(3)],
        [],
    ),
    "takes it for one of them again": (
        [],
        [pays_by_card(DEAD, f"order-{n}") for n in (1, 2, 2)],
        DEAD_AGAIN,
    ),
    "takes a declined wallet again": ([STOLEN], [pays_by_wallet("one", **ORDER)] * 2, DEAD_AGAIN),
    "takes another wallet": (
        [STOLEN],
        [pays_by_wallet("one", **ORDER), pays_by_wallet("two", **ORDER)],
        [],
    ),
    "takes the wallet of one mail": (
        [STOLEN],
        [
            lambda api, mail=mail: wallet(api, email=mail, **ORDER)
            for mail in ("ann@example.test", "Ann@example.test")
        ],
        DEAD_AGAIN,
    ),
    "takes wallets of twenty mails": (
        [STOLEN],
        [
            lambda api, n=n: wallet(api, amount=n, email=f"{n}@example.test", **ORDER)
            for n in range(20, 40)
        ],
        [],
    ),
    "takes twenty wallets without a mail": (
        [STOLEN],
        [lambda api, n=n: wallet(api, amount=n, reference=f"order-{n}") for n in range(20, 40)],
        [],
    ),
    "did not hear of a decline": ([LOST_HARD_DECLINE], [pays(), pays()], BLIND),
    "corrects a wrong ccv": ([WRONG_CCV], [pays(), *[pays_by_card(ccv="124")] * 2], []),
    "sends a wrong ccv again": ([WRONG_CCV], [pays(), pays()], DEAD_AGAIN),
    "corrects a ccv that was right": ([STOLEN], [pays(), pays_by_card(ccv="124")], DEAD_AGAIN),
    "pays less after a large amount": ([TOO_LARGE], [pays(), pays(amount=5)], []),
    "pays less after a currency": ([NO_CURRENCY], [pays(), pays(amount=5)], []),
    "pays less after an agreement": ([NO_PAYTO], [pays(), pays(amount=5)], []),
    "pays less after a challenge": ([NO_3DS], [pays(), pays(amount=5)], []),
    "pays through an outage": ([DOWN], [pays()] * 16, []),
    "is refused twice": ([], [pays(amount=-1)] * 2, []),
    "tries a poor card fifteen times": ([], [pays_by_card(SOFT)] * 15, []),
    "tries a poor card sixteen times": ([], [pays_by_card(SOFT)] * 16, ["too-many-retries"]),
    "sends nobody to a challenge": ([], [pays_by_card(CHALLENGED)], ["challenge-ignored"]),
    "leaves an authorisation open": ([], [pays(capture=False)], ["authorisation-forgotten"]),
    "takes a part for the whole": ([IN_PART], [pays()], ["partial-approval-ignored"]),
    "pays the rest in parts": (
        [IN_PART],
        [
            pays(amount=rest, reference=f"order-5{number}")
            for rest, number in ((20, ""), (12, "-2"), (4, "-3"))
        ],
        [],
    ),
    "sends a float": ([], [pays(amount=30.299999999999997)], ["amount-not-exact"]),
    "sends more digits than the currency has": ([], [pays(amount="10.005")], ["amount-not-exact"]),
    "sends an exact amount": ([], [pays(amount="30.30")], []),
    "searches by a part of a card number": ([], [asks("/charge?CardNumber=41111111")], []),
    "searches by a card number": (
        [],
        [asks("/charge?CardNumber=4111111111111111")],
        ["card-number-outside-its-field"],
    ),
    "is a page of the sandbox": ([], [asks("/charge", origin="http://127.0.0.1")], []),
    "is a page of the same origin": (
        [],
        [asks("/charge", sec_fetch_mode="cors", sec_fetch_site="same-origin")],
        [],
    ),
    "is a server in Node": ([], [asks("/charge", sec_fetch_mode="cors", user_agent="node")], []),
    "asks for what browsers ask for": (
        [],
        [
            asks(path)
            for path in ("/favicon.ico", "/apple-touch-icon.png", "/robots.txt", "/.well-known/x")
        ],
        [],
    ),
    "has numbers in references": (
        [],
        [
            pays(reference=reference)
            # The check digit of the last is right, and no card that begins like this is so long.
            for reference in (
                *(
                    "1732237337123",
                    "order-41111111111111111",
                    "4111111111111112",
                    "a4111111111111111",
                ),
                *("20310301-1000", "41111111111114"),
            )
        ],
        [],
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_client(name: str) -> None:
    rules, acts, names = STORIES[name]
    api = scripted(*rules) if rules else Api()
    for act in acts:
        act(api)
    assert list(finished(api)) == names


@pytest.mark.parametrize(
    ("amount", "names"),
    [(None, []), (20, []), (5, ["doubt-left-open"])],
    ids=["the whole", "as much as there was", "a part"],
)
def test_a_payment_in_doubt_that_is_given_back_needs_no_look(
    amount: int | None, names: list[str]
) -> None:
    api = lossy("charge.capture")
    path = api.charge(capture=False, **ORDER)["chargeId"]
    assert send(api, "POST", f"/charge/{path}/capture") is None
    query = {} if amount is None else {"amount": amount}
    assert send(api, "DELETE", f"/refund/{path}", **query) is not None
    assert list(finished(api)) == names


@pytest.mark.parametrize(
    ("between", "amount", "names"),
    [(False, 5, ["double-refund", "blind-retry"]), (True, 5, []), (False, 6, [])],
    ids=["blindly", "after a look", "of another amount"],
)
def test_a_refund_is_repeated(between: bool, amount: int, names: list[str]) -> None:
    api = lossy("charge.refund")
    path = api.charge(**ORDER)["chargeId"]
    assert send(api, "DELETE", f"/refund/{path}", amount=5) is None
    if between:
        api.get(f"/charge/{path}")
    send(api, "DELETE", f"/refund/{path}", amount=amount)
    assert list(found(api)) == names


@pytest.mark.parametrize(
    ("comment", "names"),
    [
        ("plate", []),
        ("cup", ["double-refund", "blind-retry"]),
        ("", ["double-refund", "blind-retry"]),
    ],
    ids=["of another item", "of the same", "of none"],
)
def test_refunds_with_different_comments_are_two(comment: str, names: list[str]) -> None:
    api = lossy("charge.refund")
    path = api.charge(**ORDER)["chargeId"]
    assert send(api, "DELETE", f"/refund/{path}", amount=5, comment="cup") is None
    query = {"comment": comment} if comment else {}
    send(api, "DELETE", f"/refund/{path}", amount=5, **query)
    assert list(found(api)) == names


@pytest.mark.parametrize(
    ("reference", "names"), [("bill-1", ["hard-decline-retried"]), ("bill-2", [])]
)
def test_an_account_that_was_refused_for_good_is_debited(reference: str, names: list[str]) -> None:
    api = Api(
        scenario="version: 1\nrules: [{id: a, when: {op: charge.create, call: 1}, "
        "then: {decline: account_closed}}]"
    )
    account = {"bankCode": "062-000", "accountNumber": "12345678", "accountName": "Ann"}
    body = {"providerId": DUMMY, "amount": 20, "bankPaymentInformation": account}
    api.call("POST", "/charge/bank_account", body | {"reference": "bill-1"})
    api.call("POST", "/charge/bank_account", body | {"reference": reference})
    assert list(found(api)) == names


def test_a_blind_retry_after_a_lost_answer_charges_twice() -> None:
    api = lossy()
    assert charge(api) is None
    second = charge(api)
    assert second is not None
    assert second.status == 201
    rows = found(api)
    assert list(rows) == ["double-charge", "blind-retry"]
    double = rows["double-charge"]
    first_id = api.get("/charge", Reference="order-5")["charges"][1]["chargeId"]
    assert double["severity"] == "error"
    assert double["about"] == {"charge": first_id}
    assert [line["entry"] for line in double["evidence"]] == [1, 2]
    assert [line["line"] for line in double["evidence"]] == [
        f"charge.create 20 AUD order-5 {first_id}: the connection was reset",
        f"charge.create 20 AUD order-5 {second['chargeId']}: answered, the charge is SUCCESS",
    ]
    assert double["count"] == 1
    assert rows["blind-retry"]["severity"] == "warning"


def test_findings_are_listed_since_the_raises_that_are_known() -> None:
    api = lossy()
    charge(api)
    charge(api)
    known = api.get("/__admin/findings")["raised"]
    assert list(found(api, raised=known)) == []
    charge(api, reference="order-6", amout=1)
    assert list(found(api, raised=known)) == ["unknown-field"]
    charge(api, reference="order-7", amout=1)
    assert found(api, raised=known + 1)["unknown-field"]["count"] == 2
    assert api.get("/__admin/findings", raised="x").status == 400


def test_a_first_charge_that_was_refunded_before_is_no_double_charge() -> None:
    api = lossy()
    charge(api)
    first = api.get("/charge", Reference="order-5")["charges"][0]["chargeId"]
    api.delete(f"/refund/{first}")
    charge(api)
    assert found(api) == {}


@pytest.mark.parametrize(
    ("fault", "is_in_doubt"),
    [
        ("truncate: true", True),
        ("garbage: true", True),
        ("malformed_json: true", True),
        ("close_after: 30", True),
        ("status: 502, body: '<html>Bad Gateway</html>'", True),
        ("status: 500", True),
        ("status: 502", True),
        ("status: 504, body: {code: 37}", True),
        ("status: 503", False),
        ("status: 400", False),
        ("status: 429, retry_after: 1", False),
        ("delay: 1ms", False),
    ],
)
def test_what_leaves_a_client_in_doubt(fault: str, is_in_doubt: bool) -> None:
    api = lossy(fault=fault)
    charge(api)
    charge(api)
    assert ("blind-retry" in found(api)) is is_in_doubt


@pytest.mark.parametrize(
    ("rule", "sought", "is_look"),
    [
        ("transport: {at: answer, delay: 1ms}", "order-5", True),
        ("transport: {at: receive, status: 503}", "order-5", False),
        ("approve: {}", "order-6", False),
        ("approve: {}", "order-5&Limit=-1", False),
    ],
    ids=["slow", "failed", "another", "refused"],
)
def test_a_search_counts_when_its_answer_is_whole_and_about_the_charge(
    rule: str, sought: str, is_look: bool
) -> None:
    api = scripted(
        "when: {op: charge.create}, limit: 1, then: {transport: {at: receive, reset: true}}",
        *([f"when: {{op: charge.search}}, then: {{{rule}}}"] if "approve" not in rule else []),
        waits="delay" in rule,
    )
    charge(api)
    send(api, "GET", f"/charge?Reference={sought}")
    charge(api)
    assert list(found(api)) == ([] if is_look else ["blind-retry"])


def test_a_card_charged_again_by_another_way_pays_twice() -> None:
    api = lossy()
    method = api.method()
    charge(api)
    send(api, "POST", "/charge/payment_method", {"amount": 20, "paymentMethodId": method, **ORDER})
    assert list(found(api)) == ["double-charge", "blind-retry"]


def test_the_end_of_a_story_is_forgotten_by_the_next() -> None:
    api = lossy()
    charge(api)
    charge(api, reference="order-6", paymentInformation=card(DEAD))
    assert list(finished(api)) == ["doubt-left-open"]
    api.advance("1s")
    charge(api)
    charge(api, reference="order-7", paymentInformation=card(DEAD))
    assert list(finished(api)) == ["doubt-left-open"]


def test_three_blind_tries_are_one_finding_with_a_count() -> None:
    api = scripted(
        "when: {op: charge.create}, limit: 2, then: {transport: {at: answer, reset: true}}"
    )
    for _ in range(3):
        charge(api)
    rows = found(api)
    assert rows["double-charge"]["count"] == 2
    assert [line["entry"] for line in rows["double-charge"]["evidence"]] == [1, 2, 3]


LATE = (
    "when: {op: charge.refund}, limit: 1, "
    "then: {pending: {settle: FAILED, after: 1h}, transport: {at: answer, reset: true}}"
)


@pytest.mark.parametrize("shown", ["at_once", "when_settled"])
def test_a_refund_that_is_repeated_after_it_has_failed_is_given_once(shown: str) -> None:
    for pause, raised in (("1h", ["blind-retry"]), ("59m", ["double-refund", "blind-retry"])):
        api = scripted(LATE, assumptions={"charge.pending_refund": shown})
        charge_id = api.charge(**ORDER)["chargeId"]
        assert send(api, "DELETE", f"/refund/{charge_id}", amount=5) is None
        api.advance(pause)
        assert send(api, "DELETE", f"/refund/{charge_id}", amount=5) is not None
        assert list(found(api)) == raised


def test_a_capture_repeated_blindly_is_a_warning_and_no_wrong_state() -> None:
    api = lossy("charge.capture")
    charge_id = api.charge(capture=False, **ORDER)["chargeId"]
    send(api, "POST", f"/charge/{charge_id}", {})
    again = send(api, "POST", f"/charge/{charge_id}", {})
    assert again is not None
    assert again["code"] == 54
    assert list(found(api)) == ["blind-retry"]


def test_a_card_declined_for_good_is_charged_again(api: Api) -> None:
    for _ in range(2):
        charge(api, paymentInformation=card(DEAD))
    row = found(api, finding="hard-decline-retried")["hard-decline-retried"]
    assert (row["severity"], row["about"]) == ("error", {"card": "4000********0002"})
    assert [line["entry"] for line in row["evidence"]] == [1, 2]


def test_an_authorisation_that_expires_was_forgotten(api: Api) -> None:
    charge_id = api.charge(capture=False, **ORDER)["chargeId"]
    api.advance("7d")
    row = found(api, finding="authorisation-forgotten")["authorisation-forgotten"]
    assert row["about"] == {"charge": charge_id}
    assert [line["entry"] for line in row["evidence"]] == [1, None]
    assert found(api, since=1) == {}
    assert row["last"] == "2031-03-08T00:00:00.0000000Z"
    assert finished(api)["authorisation-forgotten"]["count"] == 1


def test_an_authorisation_that_the_scenario_made_is_not_the_clients() -> None:
    body = (
        "{amount: 20, providerId: "
        + DUMMY
        + ", capture: false, paymentInformation: {cardNumber: '4111111111111111', "
    )
    setup = (
        f"setup:\n  - {{call: POST /charge/card, body: {body}expiryDate: 12/40, ccv: '123'}}}}}}\n"
    )
    api = Api(scenario=f"version: 1\nname: s\n{setup}")
    assert api.get("/charge")["count"] == 1
    api.advance("8d")
    assert finished(api) == {}


@pytest.mark.parametrize("end", ["capture", "void"])
def test_an_authorisation_that_was_ended_is_not_forgotten(api: Api, end: str) -> None:
    charge_id = api.charge(capture=False, **ORDER)["chargeId"]
    if end == "capture":
        api.post(f"/charge/{charge_id}", {})
    else:
        api.delete(f"/charge/{charge_id}/void")
    api.advance("8d")
    assert finished(api) == {}


@pytest.mark.parametrize(
    ("after", "names"), [("0s", ["authorisation-forgotten"]), ("7d", ["authorisation-forgotten"])]
)
def test_an_authorisation_that_the_payer_confirmed_was_forgotten(
    api: Api, after: str, names: list[str]
) -> None:
    reply = charge(api, paymentInformation=card(CHALLENGED), capture=False)
    assert reply is not None
    page = reply["threeDsRedirectUrl"].partition(":4111")[2]
    for _ in range(2):
        api.get(page)
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert api.send("POST", page, b"result=pass", form).status == 303
    api.advance(after)
    rows = finished(api)
    assert list(rows) == names
    assert rows[names[0]]["evidence"][0]["entry"] == 1


@pytest.mark.parametrize(
    ("method", "path", "names"),
    [
        ("DELETE", "/refund/{}", ["challenge-ignored", "wrong-state"]),
        ("POST", "/charge/{}", ["challenge-ignored", "wrong-state"]),
        ("DELETE", "/charge/{}/void", ["wrong-state"]),
    ],
)
def test_a_move_of_a_charge_that_waits_for_its_challenge(
    api: Api, method: str, path: str, names: list[str]
) -> None:
    reply = charge(api, paymentInformation=card(CHALLENGED))
    assert reply is not None
    api.call(method, path.format(reply["chargeId"]), {} if method == "POST" else None)
    rows = found(api)
    assert list(rows) == names
    assert rows["wrong-state"]["evidence"][0]["line"].endswith(": refused with code 54")


def test_a_payer_who_came_to_the_page_was_sent_there(api: Api) -> None:
    reply = charge(api, paymentInformation=card(CHALLENGED))
    assert reply is not None
    assert api.get(f"/3ds/{reply['chargeId']}").status == 200
    assert finished(api) == {}


def test_a_capture_of_a_paid_charge_does_not_fit_its_state(api: Api) -> None:
    charge_id = api.charge(**ORDER)["chargeId"]
    api.post(f"/charge/{charge_id}", {})
    row = found(api)["wrong-state"]
    assert row["about"] == {"charge": charge_id, "operation": "charge.capture"}


@pytest.mark.parametrize(
    ("end", "is_over"),
    [
        ("refund", True),
        ("rest", True),
        ("declined", False),
        ("in doubt", False),
        ("another", False),
    ],
)
def test_a_partial_approval_was_undone_or_completed(end: str, is_over: bool) -> None:
    api = scripted(
        "when: {op: charge.create}, limit: 1, then: {partial_approve: 5.00}",
        "when: {op: charge.create, request.email: {exists: true}}, "
        "then: {decline: expired_card, transport: {at: answer, reset: true}}",
    )
    reply = charge(api)
    assert reply is not None
    if end == "refund":
        api.delete(f"/refund/{reply['chargeId']}")
    elif end == "another":
        other = api.charge(amount=30, reference="order-6")["chargeId"]
        api.delete(f"/refund/{other}", amount=15)
    else:
        paying = {"rest": "5555555555554444", "declined": DEAD, "in doubt": "5555555555554444"}[end]
        more = {"email": "ann@example.com"} if end == "in doubt" else {}
        charge(api, amount=15, paymentInformation=card(paying), **more)
    assert list(finished(api)) == ([] if is_over else ["partial-approval-ignored"])


@pytest.mark.parametrize(
    ("later", "names"), [("void", []), ("capture", ["partial-approval-ignored"])]
)
def test_a_partial_approval_that_the_provider_cancelled_is_over(
    later: str, names: list[str]
) -> None:
    rule = f"limit: 1, then: {{partial_approve: 5, later: [{{after: 1h, {later}: {{}}}}]}}"
    api = scripted(f"when: {{op: charge.create}}, {rule}")
    charge(api, capture=False)
    api.advance("1h")
    assert list(finished(api)) == names


def test_evidence_shows_no_object_that_stands_where_a_text_should(api: Api) -> None:
    hidden = {"ccv": "987", "expiryDate": "11/39"}
    for name in ("amount", "currency", "reference"):
        charge(api, colour="red", **{name: hidden})
    lines = [row["line"] for row in found(api)["unknown-field"]["evidence"]]
    assert len(lines) == 3
    assert not any(secret in line for line in lines for secret in hidden.values())


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"reference": "4111111111111111"}, "reference"),
        ({"metadata": {"note": "card 4111 1111 1111 1111"}}, "metadata.note"),
        ({"metadata": {"4111111111111111": "paid"}}, "metadata.4111********1111"),
        ({"metadata": {"cardNumber": "4111111111111111"}}, "metadata.cardNumber"),
        ({"metadata": {"note": "4 111 111 111 111 111"}}, "metadata.note"),
        ({"metadata": {"notes": ["none", "4222222222222"]}}, "metadata.notes"),
        ({"descriptor": "378282246310005"}, "descriptor"),
    ],
)
@pytest.mark.parametrize(
    "source", [{"providerId": DUMMY, "paymentInformation": card()}, {"paymentMethodId": "4"}]
)
def test_a_card_number_outside_its_field(
    api: Api, fields: dict[str, object], place: str, source: dict[str, object]
) -> None:
    path = "/charge/payment_method" if "paymentMethodId" in source else "/charge/card"
    # What comes before the card's own field is not taken for it.
    api.post(path, {**fields, "amount": 20, **source})
    rows = api.get("/__admin/findings")
    row = next(row for row in rows["findings"] if row["finding"] == "card-number-outside-its-field")
    assert row["about"] == {"operation": "charge.create", "field": place}
    assert b"4111111111111111" not in rows.raw.replace(b" ", b"")
    assert b"378282246310005" not in rows.raw


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "fields"),
    [
        ("GET", "/customer/4111111111111111", None, {}, ["path or query"]),
        ("GET", "/charge?Reference=4111+1111+1111+1111", None, {}, ["reference", "path or query"]),
        ("GET", "/charge?Reference=%34111111111111111", None, {}, ["reference", "path or query"]),
        ("GET", "/charge?Reference=1732237337123", None, {}, []),
        ("GET", "/charge", None, {"x-order": "4222222222222"}, ["header x-order"]),
        # Headers that carry keys are for nobody's eyes anyway.
        *(
            ("GET", "/charge", None, {name: "order=1; 4222222222222"}, [])
            for name in ("cookie", "authorization", "x-admin-token", "x-publickey")
        ),
        (
            "GET",
            "/charge/4222222222222",
            None,
            {"cookie": "4222222222222", "x-trace": "1"},
            ["path or query"],
        ),
        ("POST", "/charge/token", {"token": "4111111111111111", "amount": 5}, {}, ["token"]),
        (
            "POST",
            "/transfer",
            {"transfers": [{"reference": "4111111111111111"}]},
            {},
            ["transfers.reference"],
        ),
        ("POST", "/charge/card", {"amount": "4" * 5_000}, {}, []),
    ],
)
def test_a_card_number_wherever_it_is(
    api: Api, method: str, path: str, body: object, headers: dict[str, str], fields: list[str]
) -> None:
    api.call(method, path, body, headers=headers)
    rows = api.get("/__admin/findings", finding="card-number-outside-its-field")["findings"]
    assert [row["about"]["field"] for row in rows] == fields


@pytest.mark.parametrize("secret", ["4111111111111111", "sk_live_abcdef123456"])
def test_a_secret_in_a_path_is_not_what_a_finding_is_about(secret: str) -> None:
    lost = "when: {op: charge.refund}, limit: 1, then: {transport: {at: answer, reset: true}}"
    api = scripted(lost, clock="real")
    for _ in range(11):
        api.get(f"/charge/{secret}")
    for _ in range(2):
        send(api, "DELETE", f"/refund/{secret}", amount=5)
    rows = api.get("/__admin/findings")
    assert {"polled-hard", "blind-retry"} <= {row["finding"] for row in rows["findings"]}
    assert secret.encode() not in rows.raw


def test_evidence_is_masked_before_it_is_cut(api: Api) -> None:
    charge(api, reference="a long reference of thirty si 4111111111111111")
    reply = api.get("/__admin/findings")
    assert reply["count"] == 1
    assert b"41111" not in reply.raw


@pytest.mark.parametrize(
    "headers", [{"origin": "https://shop.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_browser_with_the_secret_key(api: Api, headers: dict[str, str]) -> None:
    api.call("GET", "/charge", headers=headers)
    (row,) = found(api, finding="secret-key-in-browser").values()
    assert row["evidence"][0]["line"] == "charge.search: sent by a browser with the secret key"
    assert api.get("/__admin/findings")["count"] == 1


def test_a_field_that_nobody_reads(api: Api) -> None:
    charge(api, refrence="x")
    row = found(api)["unknown-field"]
    assert row["about"] == {"operation": "charge.create", "field": "refrence"}
    assert row["evidence"][0]["line"].endswith(": unknown field refrence, nearest reference")
    charge(api, zzz="x")
    assert "unknown field zzz" in [
        row["evidence"][0]["line"][-17:] for row in api.get("/__admin/findings")["findings"]
    ]


def test_of_many_fields_that_nobody_reads_the_first_are_reported(api: Api) -> None:
    charge(api, **{f"field{number}": 1 for number in range(500)})
    assert api.get("/__admin/findings")["count"] == 20


def test_a_charge_without_a_reference(api: Api) -> None:
    charge(api, reference=None, paymentInformation=card(SOFT))
    assert found(api) == {}
    charge(api, reference=None)
    reply = charge(api, reference="")
    assert reply is not None
    api.delete(f"/refund/{reply['chargeId']}")
    row = found(api)["no-reference"]
    assert (row["severity"], row["count"]) == ("note", 2)


def test_evidence_of_many_repeats_is_the_oldest_and_the_newest(api: Api) -> None:
    for number in range(12):
        api.advance("1s")
        known = api.get("/__admin/findings")["raised"]
        charge(api, reference=None, **({"amout": 1} if number else {}))
        assert set(found(api, raised=known)) == {
            "no-reference",
            *(["unknown-field"] if number else []),
        }
    rows = found(api)
    numbers = {name: [line["entry"] for line in row["evidence"]] for name, row in rows.items()}
    # Of a mere habit the first are enough.
    assert numbers == {"no-reference": [*range(2, 21, 2)], "unknown-field": [*range(4, 21, 2), 24]}
    assert [(row["id"], row["count"]) for row in rows.values()] == [
        ("finding-1", 12),
        ("finding-2", 11),
    ]
    assert {row["last"][17:19] for row in rows.values()} == {"12"}
    known = api.get("/__admin/findings")["raised"]
    charge(api, reference=None)
    assert list(found(api, raised=known)) == ["no-reference"]
    assert (
        list(found(api, finding="unknown-field"))
        == list(found(api, severity="warning"))
        == ["unknown-field"]
    )
    api.delete("/__admin/findings")
    charge(api, reference=None)
    assert found(api)["no-reference"]["id"] == "finding-3"


def test_one_object_read_over_ten_times_in_a_second() -> None:
    api = Api(clock="real")
    charge_id = api.charge(**ORDER)["chargeId"]
    for _ in range(10):
        api.get(f"/charge/{charge_id}")
    assert found(api) == {}
    api.get(f"/charge/{charge_id}")
    assert found(api)["polled-hard"]["about"] == {"charge": charge_id}


def test_reads_are_not_counted_while_the_clock_stands() -> None:
    api = Api(clock="manual")
    charge_id = api.charge(**ORDER)["chargeId"]
    for _ in range(20):
        api.get(f"/charge/{charge_id}")
    assert found(api) == {}


def test_many_objects_may_be_read_in_a_second() -> None:
    api = Api(clock="real")
    for number in range(12):
        api.get(f"/charge/{api.charge(reference=f'order-{number}')['chargeId']}")
    assert found(api) == {}


@pytest.mark.parametrize(
    ("method", "path", "near"),
    [
        ("GET", "/chrge", "/charge"),
        ("PATCH", "/charge", "GET, HEAD /charge"),
        ("GET", "/zzz", None),
    ],
)
def test_a_path_or_verb_that_does_not_exist(
    api: Api, method: str, path: str, near: str | None
) -> None:
    api.call(method, path)
    row = found(api)["no-such-operation"]
    assert row["about"] == {"request": f"{method} {path}"}
    assert row["evidence"][0]["entry"] == 1
    assert (f"nearest {near}" in row["evidence"][0]["line"]) is (near is not None)


def test_a_card_is_in_its_field_in_whatever_order_fields_come() -> None:
    card = {"cardNumber": "4111111111111111", "expiryDate": "12/40"}
    turned = dict(reversed(card.items()))
    clean: dict[str, Any] = {"amount": 5, "metadata": {"shop": "a"}, "providerId": "p"}
    for fields in permutations([*clean.items(), ("paymentInformation", card)]):
        assert is_clean(json.dumps(dict(fields)).encode(), "/charge/card", {})
        assert is_clean(
            json.dumps({**dict(fields), "paymentInformation": turned}).encode(), "/charge/card", {}
        )
    for name in ("cardNumber", "paymentInformation", "shop"):
        for place in ("metadata", "new"):
            spoilt = {
                **clean,
                "paymentInformation": {"expiryDate": "12/40"},
                place: {name: card["cardNumber"]},
            }
            for fields in permutations(spoilt.items()):
                if place == "metadata" or name != "cardNumber":
                    assert not is_clean(json.dumps(dict(fields)).encode(), "/charge/card", {})
                assert not is_clean(
                    json.dumps({**dict(fields), "paymentInformation": card}).encode(), "/", {}
                )


@pytest.mark.parametrize("pay", [wallet, checkout])
def test_a_payment_without_a_card_is_known_by_its_reference(
    pay: Callable[..., Reply | None],
) -> None:
    for second, names in (
        (ORDER, ["double-charge", "blind-retry"]),
        ({"reference": "order-6"}, []),
        ({**ORDER, "amount": 21}, []),
    ):
        api = lossy()
        pay(api, **ORDER)
        pay(api, **second)
        assert list(found(api)) == names


@pytest.mark.parametrize(
    ("first", "second"), [("receive", "answer"), ("answer", "receive"), ("receive", "receive")]
)
def test_a_retry_with_a_new_token_of_the_card_is_blind(first: str, second: str) -> None:
    def pay(number: str = VISA) -> None:
        made = api.call(
            "POST", "/token/card", {"providerId": DUMMY, "paymentInformation": card(number)}
        )
        send(api, "POST", "/charge/token", {"amount": 20, "token": made["tokenId"], **ORDER})

    rules = [
        f"when: {{op: charge.create, call: {call}}}, then: {{transport: {{at: {at}, reset: true}}}}"
        for call, at in enumerate((first, second), 1)
    ]
    for number, names in ((VISA, ["blind-retry"]), ("5555555555554444", [])):
        api = scripted(*rules)
        pay()
        pay(number)
        assert list(found(api)) == names


@pytest.mark.parametrize("status", [502, 504])
def test_an_error_after_a_payment_does_not_say_that_it_may_be_repeated(status: int) -> None:
    for at, may_retry in (("receive", True), ("answer", False)):
        api = lossy(at=at, fault=f"status: {status}")
        first = charge(api)
        assert first is not None
        assert first["isRetryable"] is may_retry
        charge(api)
        assert list(found(api)) == ([] if may_retry else ["double-charge", "blind-retry"])


@pytest.mark.parametrize("fields", [{"reference": None}, {"reference": "order-1"}])
def test_a_card_that_is_entered_again_without_another_reference_is_judged(
    api: Api, fields: dict[str, object]
) -> None:
    for _ in range(2):
        charge(api, paymentInformation=card(DEAD), **fields)
    assert "hard-decline-retried" in found(api)


@pytest.mark.parametrize("kind", ["payment_method", "customer"])
def test_a_stored_card_is_judged_whatever_the_reference(kind: str) -> None:
    api = scripted("when: {op: charge.create}, then: {decline: stolen_card}")
    made = api.post(f"/{kind}/card", {"providerId": DUMMY, "paymentInformation": card()})
    field = "paymentMethodId" if kind == "payment_method" else "customerId"
    for reference in ("order-1", "order-2"):
        send(
            api,
            "POST",
            f"/charge/{kind}",
            {"amount": 20, field: made[field], "reference": reference},
        )
    assert list(found(api)) == ["hard-decline-retried"]


@pytest.mark.parametrize(
    ("makes_anew", "references", "is_judged"),
    [
        pytest.param(
            True, ("order-1", "order-2"), False, id="another-payer-may-have-the-same-test-card"
        ),
        pytest.param(True, ("order-1", "order-1"), True, id="the-same-order"),
        pytest.param(True, (None, "order-2"), True, id="nothing-tells-the-orders-apart"),
        pytest.param(False, ("order-1", "order-2"), True, id="the-same-token"),
    ],
)
def test_a_card_of_a_new_token_was_entered_anew(
    makes_anew: bool, references: tuple[str | None, str], is_judged: bool
) -> None:
    api = Api(
        scenario="{version: 1, assumptions: {token.uses: 2}, rules: "
        "[{id: stolen, when: {op: charge.create}, then: {decline: stolen_card}}]}"
    )
    token = ""
    for reference in references:
        if makes_anew or not token:
            body = {"providerId": DUMMY, "paymentInformation": card()}
            token = api.post("/token/card", body)["tokenId"]
        send(api, "POST", "/charge/token", {"amount": 20, "token": token, "reference": reference})
    assert ("hard-decline-retried" in found(api)) is is_judged


SLOW_CAPTURE = (
    "when: {op: [charge.capture, charge.void]}, limit: 1, "
    "then: {transport: {at: receive, delay: 8d, virtual: true}}"
)
TOO_LATE = {"authorisation-forgotten", "wrong-state"}


def hold(api: Api) -> str:
    reply = charge(api, capture=False)
    assert reply is not None
    assert reply["status"] == "Authorised"
    return str(reply["chargeId"])


@pytest.mark.parametrize("is_rule", [True, False], ids=["by a rule", "by the client"])
@pytest.mark.parametrize("op", ["capture", "void"])
def test_a_hold_that_lapses_while_a_rule_holds_its_capture_up_is_not_forgotten(
    op: str, is_rule: bool
) -> None:
    api = scripted(SLOW_CAPTURE) if is_rule else Api()
    first, second = hold(api), hold(api)
    if not is_rule:
        api.advance("8d")
    refused = (
        api.post(f"/charge/{first}") if op == "capture" else api.delete(f"/charge/{first}/void")
    )
    # The other one lapsed with it, and nobody has told the client.
    also_refused = api.post(f"/charge/{second}")
    assert (refused.status, also_refused.status) == (409, 409)
    assert set(finished(api)) == (set() if is_rule else TOO_LATE)


def test_who_has_read_that_a_hold_has_lapsed_has_its_state_wrong() -> None:
    api = scripted(SLOW_CAPTURE)
    first, second = hold(api), hold(api)
    api.post(f"/charge/{first}")
    assert api.get(f"/charge/{second}")["status"] == "AUTHORISE_CANCELLED"
    assert api.post(f"/charge/{second}").status == 409
    assert set(finished(api)) == {"wrong-state"}
