"""Money properties: whatever is asked for, nothing is lost, nothing is made, nothing is rounded."""

from __future__ import annotations

from decimal import Decimal
from json import loads

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.driving import Api

CENTS = st.integers(min_value=1, max_value=100_000)
SLOW = settings(max_examples=60, deadline=None)


def money(cents: int) -> str:
    return f"{Decimal(cents) / 100:.2f}"


def exact(raw: bytes) -> dict[str, object]:
    body: dict[str, object] = loads(raw, parse_float=Decimal, parse_int=Decimal)
    return body


def cents(value: object) -> int:
    assert isinstance(value, Decimal)
    assert value == value.quantize(Decimal("0.01"))
    return int(value * 100)


@SLOW
@given(authorised=CENTS, captured=CENTS)
def test_a_capture_takes_what_is_asked_and_never_more_than_authorised(authorised: int, captured: int) -> None:
    api = Api()
    charge_id = api.charge(amount=money(authorised), capture=False)["chargeId"]
    reply = api.post(f"/charge/{charge_id}", {"amount": money(captured)})
    after = exact(api.get(f"/charge/{charge_id}").raw)
    assert cents(after["authorisationAmount"]) == authorised
    if captured <= authorised:
        assert (reply.status, cents(after["amount"]), after["status"]) == (200, captured, "SUCCESS")
    else:
        assert (reply["code"], cents(after["amount"]), after["status"]) == (77, authorised, "Authorised")


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


def _body(amount: str) -> dict[str, object]:
    from tests.driving import card_charge

    return card_charge(amount=amount)
