"""Money properties: whatever is asked for, nothing is lost, nothing is made, nothing is rounded."""

import csv
from decimal import Decimal
from io import StringIO
from json import loads
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.domain.money import CURRENCIES, Currency
from tests.depth import tries
from tests.driving import VISA, Api, card_charge

CENTS = st.integers(min_value=1, max_value=100_000)
SLOW = settings(max_examples=tries(25, 250))


def money(cents: int) -> str:
    return f"{Decimal(cents) / 100:.2f}"


def money_of(cents: int) -> Decimal:
    return Decimal(cents) / 100


def exact(raw: bytes) -> dict[str, Any]:
    return loads(raw, parse_float=Decimal, parse_int=Decimal)


def cents(value: object) -> int:
    assert isinstance(value, Decimal)
    assert value == value.quantize(Decimal("0.01"))
    return int(value * 100)


@SLOW
@given(authorised=CENTS, captured=CENTS)
def test_a_capture_takes_what_is_asked_and_never_more_than_authorised(
    authorised: int, captured: int
) -> None:
    api = Api()
    charge_id = api.charge(amount=money(authorised), capture=False)["chargeId"]
    reply = api.post(f"/charge/{charge_id}", {"amount": money(captured)})
    after = exact(api.get(f"/charge/{charge_id}").raw)
    assert cents(after["authorisationAmount"]) == authorised
    if captured <= authorised:
        assert (reply.status, cents(after["amount"]), after["status"]) == (200, captured, "SUCCESS")
    else:
        assert (reply["code"], cents(after["amount"]), after["status"]) == (
            77,
            authorised,
            "Authorised",
        )


@SLOW
@given(
    authorised=CENTS,
    captured=CENTS,
    waits=st.integers(1, 20 * 24),
    late=st.integers(1, 20 * 24),
    settles=st.booleans(),
    by=st.sampled_from(("card", "token", "payment_method")),
)
def test_a_pending_hold_takes_nothing_before_it_is_authorised_and_captured(
    authorised: int, captured: int, waits: int, late: int, settles: bool, by: str
) -> None:
    then = f"pending: {{settle: {'SUCCESS' if settles else 'FAILED'}, after: {waits}h}}"
    api = Api(
        scenario=f"version: 1\nrules: "
        f"[{{id: slow, when: {{op: charge.create}}, then: {{{then}}}}}]\n"
    )
    source = {
        "card": lambda: card_charge(),
        "token": lambda: {"token": api.post("/token/card", card_charge())["tokenId"]},
        "payment_method": lambda: {"paymentMethodId": api.method()},
    }[by]()
    made = api.post(
        f"/charge/{by}",
        {**source, "amount": money(authorised), "currency": "AUD", "capture": False},
    )
    charge_id = made["chargeId"]
    assert (made["status"], made["authorisationAmount"]) == ("PENDING", None)
    api.advance(f"{late}h")
    is_open = settles and waits <= late < waits + 7 * 24
    reply = api.post(f"/charge/{charge_id}", {"amount": money(captured)})
    if not is_open:
        assert (reply.status, reply["code"]) == (409, 54)
    else:
        assert reply.status == (200 if captured <= authorised else 400)
    api.advance("60d")
    after = exact(api.get(f"/charge/{charge_id}").raw)
    is_taken = is_open and captured <= authorised
    ends = "SUCCESS" if is_taken else "AUTHORISE_CANCELLED" if settles else "FAILED"
    assert after["status"] == ends
    totals = exact(api.get("/__admin/books").raw)["totals"]["AUD"]
    assert (totals["captured"], totals["held"], totals["pending"]) == (
        money_of(captured) if is_taken else 0,
        0,
        0,
    )


@SLOW
@given(paid=CENTS, asked=st.lists(CENTS | st.none(), max_size=8))
def test_refunds_add_up_and_never_pass_the_amount(paid: int, asked: list[int | None]) -> None:
    api = Api()
    charge_id = api.charge(amount=money(paid))["chargeId"]
    given_back = 0
    for wish in asked:
        query = {} if wish is None else {"amount": money(wish)}
        reply = api.delete(f"/refund/{charge_id}", **query)
        left = paid - given_back
        if left == 0:
            assert (reply.status, reply["code"]) == (409, 54)
        elif wish is not None and wish > left:
            assert (reply.status, reply["code"]) == (400, 76)
        else:
            given_back += left if wish is None else wish
            assert reply.status == 200
        after = exact(api.get(f"/charge/{charge_id}").raw)
        assert cents(after["refundedAmount"]) == given_back
        refunds = after["refunds"]
        assert isinstance(refunds, list)
        assert sum(cents(refund["amount"]) for refund in refunds) == given_back
        assert after["status"] == (
            "SUCCESS" if not given_back else "REFUND" if given_back == paid else "PARTIAL_REFUND"
        )
        assert cents(after["amount"]) == paid


@SLOW
@given(whole=st.integers(0, 10**15 - 1), cent=st.integers(0, 99))
def test_every_amount_comes_back_digit_by_digit(whole: int, cent: int) -> None:
    amount = Decimal(whole * 100 + cent) / 100
    api = Api()
    reply = api.post("/charge/card", _body(f"{amount:.2f}"))
    if amount < Decimal("0.01"):
        assert reply["code"] == 90
        return
    shown = reply.raw.split(b'"amount":')[1].split(b",")[0].decode()
    assert Decimal(shown) == amount
    assert shown == (f"{amount:.2f}".rstrip("0").rstrip("."))


@SLOW
@given(
    whole=st.integers(0, 10**15 - 1),
    fraction=st.sampled_from(["", "0", "5", "00", "05", "50", "99"]),
)
def test_every_amount_goes_out_in_a_webhook_as_it_came(whole: int, fraction: str) -> None:
    amount = f"{whole}.{fraction}" if fraction else str(whole)
    api = Api()
    hook = {"webhook": {"url": "http://127.0.0.1:4111/__inbox/shop"}}
    reply = api.post("/charge/card", card_charge(amount=amount, **hook))
    if not Decimal(amount):
        assert reply["code"] == 90
        return
    document = api.get("/__admin/state").body
    assert api.put("/__admin/state", document).status == 200
    api.delete(f"/refund/{reply['chargeId']}")
    # As they are sent: the log of deliveries masks an amount whose digits are those of a card.
    for webhook in api.app.world.sandboxes.open("sk_tests", 0).deliveries:
        sent = webhook.content.body.partition(b'"data":{')[2]
        assert sent.partition(b'"amount":')[2].partition(b",")[0].decode() == amount


@SLOW
@given(
    asked=st.integers(1, 10**6),
    approved=st.decimals("0.0001", 10**6, places=4),
    money=st.sampled_from([CURRENCIES[code] for code in ("JPY", "AUD", "KWD")]),
)
def test_a_partial_approval_has_the_digits_of_the_currency(
    asked: int, approved: Decimal, money: Currency
) -> None:
    rule = f"{{id: part, when: {{op: charge.create}}, then: {{partial_approve: {approved}}}}}"
    api = Api(scenario=f"version: 1\nrules: [{rule}]\n")
    amount = asked * money.unit
    charge = exact(
        api.post("/charge/card", card_charge(amount=str(amount), currency=money.code)).raw
    )
    taken = charge["amount"]
    assert taken == taken.quantize(money.unit)
    assert money.unit <= taken <= amount
    assert taken == amount or approved - money.unit < taken <= max(approved, money.unit)
    refunded = exact(api.delete(f"/refund/{charge['chargeId']}").raw)
    assert (refunded["status"], refunded["refundedAmount"]) == ("REFUND", taken)
    document = api.get("/__admin/state").body
    assert api.put("/__admin/state", document).status == 200


@settings(max_examples=tries(15, 150))
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(("paid", "declined", "challenged", "unknown")), CENTS), min_size=1
    )
)
def test_rows_counts_and_charges_of_a_batch_tell_one_story(rows: list[tuple[str, int]]) -> None:
    api = Api()
    numbers = {"paid": VISA, "declined": "4000000000000341", "challenged": "4000000000003220"}
    methods = {"unknown": "nobody"}
    for kind, number in numbers.items():
        methods[kind] = api.method(number)
    batch_id = api.batch(
        *(
            f"{methods[kind]},{money(amount)},AUD,{place}"
            for place, (kind, amount) in enumerate(rows)
        )
    )
    api.advance("1h")
    told = api.get(f"/batch/{batch_id}").body
    results = list(csv.DictReader(StringIO(told["results"])))
    charges = {
        one["reference"]: one
        for one in exact(api.get("/charge", BatchId=batch_id, limit=1000).raw)["charges"]
    }
    for place, (kind, amount) in enumerate(rows):
        row, charge = results[place], charges.get(str(place))
        assert row["Status"] == ("SUCCESS" if kind == "paid" else "FAILED")
        assert (charge is None) == (kind == "unknown")
        if charge is not None:
            assert (charge["status"], cents(charge["amount"])) == (row["Status"], amount)
        assert row["TransactionId"] == (
            charge["chargeId"] if charge is not None and kind == "paid" else ""
        )
    paid = sum(row["Status"] == "SUCCESS" for row in results)
    assert (told["success"], told["failure"]) == (paid, len(rows) - paid)


def _body(amount: str) -> dict[str, object]:
    return card_charge(amount=amount)
