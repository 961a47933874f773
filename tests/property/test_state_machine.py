"""Random operations against the whole application and, beside it, a small model written from the
documents alone.

Whatever the model says must be what the application answers; a refused operation leaves the
exported state byte-equal. Sources: service document, States and transitions; What the service does,
6-10; assumptions ``charge.*``, ``vault.*``.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from mockserver.commands.books import FORMS
from tests.depth import tries
from tests.driving import CARD, DUMMY, Api, Reply

MINUTE, HOUR, DAY = 60, 3_600, 86_400
CARDS = ("4111111111111111", "5555555555554444", "378282246310005")
DECLINED = {"4000000000000002": 905, "4000000000009995": 15, "4000000000000127": 6}

POSTING = re.compile(r"  ([A-Z]\S*)  (-?[\d.]+) AUD")

amounts = st.integers(1, 100_000).map(lambda cents: Decimal(cents) / 100)
wishes = st.one_of(st.none(), st.integers(-500, 120_000).map(lambda cents: Decimal(cents) / 100))
moments = st.sampled_from([1, 4 * MINUTE, 5 * MINUTE, HOUR, DAY, 3 * DAY, 7 * DAY])


@dataclass
class Payment:
    """A charge as the documents describe it."""

    amount: Decimal
    status: str
    ends: int | None = None
    becomes: str = "SUCCESS"
    authorised: Decimal | None = None
    refunded: Decimal = Decimal(0)
    refunds: list[Decimal] = field(default_factory=list)
    is_hold_asked: bool = False

    def pass_time(self, now: int) -> None:
        """What has come due by now."""
        while self.ends is not None and self.ends <= now:
            if self.status == "Authorised":
                self.status, self.ends = "AUTHORISE_CANCELLED", None
                continue
            self.status = self.becomes
            self.ends = self.ends + 7 * DAY if self.status == "Authorised" else None
            if self.status == "Authorised":
                self.authorised = self.amount


@dataclass
class Kept:
    """A vault item as the documents describe it."""

    number: str
    ccv: str | None
    expires: int | None
    forgets: int


def ccv_of(number: str) -> str:
    return "1234" if number.startswith("37") else "123"


class Payments(RuleBasedStateMachine):
    """One sandbox and its model. Time is in whole seconds since the start."""

    charges = Bundle("charges")
    items = Bundle("items")
    methods = Bundle("methods")

    @initialize()
    def open(self) -> None:
        self.api = Api()
        self.now = 0
        self.payments: dict[str, Payment] = {}
        self.kept: dict[str, Kept] = {}
        self.cards: dict[str, str] = {}
        self.api.call("GET", "/charge")

    def call(self, method: str, target: str, body: object = None) -> Reply:
        """A call; when it is refused and stores nothing, nothing may have changed."""
        before = self.everything_but_calls()
        reply = self.api.call(method, target, body)
        assert reply.status < 500, reply.raw
        if reply.status >= 400 and "ChargeId" not in (reply.body["details"] or {}):
            assert self.everything_but_calls() == before, (method, target, body)
        return reply

    def everything_but_calls(self) -> Any:
        """The state of the sandbox; refused calls are counted too."""
        state = self.api.call("GET", "/__admin/state?secrets=true").body
        del state["rules"]["calls"]
        return state

    def paid_with(self, number: str) -> None:
        for item in self.kept.values():
            if item.number == number:
                item.ccv = None

    def remember(self, reply: Reply, payment: Payment) -> Any:
        if reply.status == 201:
            charge_id = reply.body["chargeId"]
            if payment.authorised is None and not payment.is_hold_asked:
                payment.authorised = payment.amount
        else:
            charge_id = reply.body["details"]["ChargeId"]
        self.payments[charge_id] = payment
        return charge_id

    @rule(
        target=charges,
        amount=amounts,
        capture=st.booleans(),
        number=st.sampled_from([*CARDS, *DECLINED]),
    )
    def charge_a_card(self, amount: Decimal, capture: bool, number: str) -> Any:
        card = {**CARD, "cardNumber": number, "ccv": ccv_of(number)}
        body = {
            "amount": str(amount),
            "providerId": DUMMY,
            "capture": capture,
            "paymentInformation": card,
        }
        reply = self.call("POST", "/charge/card", body)
        if number in DECLINED:
            assert (reply.status, reply.body["code"]) == (400, DECLINED[number])
            return self.remember(reply, Payment(amount, "FAILED"))
        assert reply.status == 201
        self.paid_with(number)
        if capture:
            return self.remember(reply, Payment(amount, "SUCCESS"))
        return self.remember(reply, Payment(amount, "Authorised", self.now + 7 * DAY))

    @rule(target=charges, amount=amounts)
    def charge_a_bank_account(self, amount: Decimal) -> Any:
        account = {"bankCode": "123456", "accountNumber": "12345678", "accountName": "Ann Example"}
        body = {"amount": str(amount), "providerId": DUMMY, "bankPaymentInformation": account}
        reply = self.call("POST", "/charge/bank_account", body)
        assert reply.status == 201, reply.raw
        return self.remember(reply, Payment(amount, "PENDING", self.now + DAY))

    @rule(
        target=charges,
        amount=amounts,
        capture=st.booleans(),
        fails=st.booleans(),
        number=st.sampled_from(CARDS),
    )
    def charge_a_card_whose_provider_answers_later(
        self, amount: Decimal, capture: bool, fails: bool, number: str
    ) -> Any:
        card = {**CARD, "cardNumber": number, "ccv": ccv_of(number)}
        body = {
            "amount": str(amount),
            "providerId": DUMMY,
            "capture": capture,
            "paymentInformation": card,
        }
        body["metadata"] = {"mock": "pending_failed" if fails else "pending"}
        reply = self.call("POST", "/charge/card", body)
        assert (reply.status, reply.body["status"]) == (201, "PENDING")
        self.paid_with(number)
        becomes = "FAILED" if fails else "SUCCESS" if capture else "Authorised"
        return self.remember(
            reply, Payment(amount, "PENDING", self.now + DAY, becomes, is_hold_asked=not capture)
        )

    @rule(target=charges, method=methods, amount=amounts)
    def charge_a_method(self, method: str, amount: Decimal) -> Any:
        reply = self.call(
            "POST", "/charge/payment_method", {"amount": str(amount), "paymentMethodId": method}
        )
        assert reply.status == 201
        self.paid_with(self.cards[method])
        return self.remember(reply, Payment(amount, "SUCCESS"))

    @rule(charge=charges, wish=wishes)
    def capture(self, charge: str, wish: Decimal | None) -> None:
        payment = self.payments[charge]
        reply = self.call(
            "POST", f"/charge/{charge}", {} if wish is None else {"amount": str(wish)}
        )
        if payment.status != "Authorised":
            assert (reply.status, reply.body["code"]) == (409, 54)
        elif wish is not None and wish <= 0:
            assert (reply.status, reply.body["code"]) == (400, 74)
        elif wish is not None and wish > payment.amount:
            assert (reply.status, reply.body["code"]) == (400, 77)
        else:
            assert reply.status == 200
            payment.amount = payment.amount if wish is None else wish
            payment.status, payment.ends = "SUCCESS", None

    @rule(charge=charges)
    def void(self, charge: str) -> None:
        payment = self.payments[charge]
        reply = self.call("DELETE", f"/charge/{charge}/void")
        if payment.status != "Authorised":
            assert (reply.status, reply.body["code"]) == (409, 54)
        else:
            assert (reply.status, reply.body["voidDate"] is not None) == (200, True)
            payment.status, payment.ends = "AUTHORISE_CANCELLED", None

    @rule(charge=charges, wish=wishes)
    def refund(self, charge: str, wish: Decimal | None) -> None:
        payment = self.payments[charge]
        reply = self.call(
            "DELETE", f"/refund/{charge}" + ("" if wish is None else f"?amount={wish}")
        )
        left = payment.amount - payment.refunded
        if payment.status not in ("SUCCESS", "PARTIAL_REFUND"):
            assert (reply.status, reply.body["code"]) == (409, 54)
        elif wish is not None and wish <= 0:
            assert (reply.status, reply.body["code"]) == (400, 74)
        elif wish is not None and wish > left:
            assert (reply.status, reply.body["code"]) == (400, 76)
        else:
            assert reply.status == 200
            given = left if wish is None else wish
            payment.refunded += given
            payment.refunds.append(given)
            payment.status = "REFUND" if given == left else "PARTIAL_REFUND"

    @rule(number=st.sampled_from(CARDS), amount=st.sampled_from(["0", "-1", "1.005", "x", None]))
    def charge_a_wrong_amount(self, number: str, amount: str | None) -> None:
        card = {**CARD, "cardNumber": number, "ccv": ccv_of(number)}
        reply = self.call(
            "POST",
            "/charge/card",
            {"amount": amount, "providerId": DUMMY, "paymentInformation": card},
        )
        assert reply.status == 400

    @rule(
        target=items,
        number=st.sampled_from(CARDS),
        with_ccv=st.booleans(),
        seconds=st.one_of(st.none(), st.integers(1, 2 * DAY)),
    )
    def vault_a_card(self, number: str, with_ccv: bool, seconds: int | None) -> Any:
        ccv = ccv_of(number) if with_ccv else None
        reply = self.call(
            "POST", "/vault", {"cardNumber": number, "ccv": ccv, "expireSeconds": seconds}
        )
        assert (reply.status, reply.body["hasCvv"]) == (201, with_ccv)
        ends = None if seconds is None else self.now + seconds
        self.kept[reply.body["vaultId"]] = Kept(number, ccv, ends, self.now + 5 * MINUTE)
        return reply.body["vaultId"]

    @rule(seconds=st.integers(-5, 5), both=st.booleans())
    def vault_with_a_wrong_expiry(self, seconds: int, both: bool) -> None:
        body: dict[str, object] = {"cardNumber": CARDS[0], "expireSeconds": min(seconds, 0)}
        if both:
            body |= {"expireSeconds": 5, "expireDate": "2040-01-01T00:00:00Z"}
        reply = self.call("POST", "/vault", body)
        assert (reply.status, reply.body["code"]) == (400, 82 if both else 83)

    @rule(item=items)
    def delete_from_the_vault(self, item: str) -> None:
        reply = self.call("DELETE", f"/vault/{item}")
        assert reply.status == (200 if item in self.kept else 404)
        self.kept.pop(item, None)

    @rule(target=methods, number=st.sampled_from(CARDS))
    def store_a_method(self, number: str) -> Any:
        card = {**CARD, "cardNumber": number, "ccv": ccv_of(number)}
        body = {"providerId": DUMMY, "paymentInformation": card, "vaultCard": True}
        reply = self.call("POST", "/payment_method/card", body)
        assert reply.status == 201
        self.cards[reply.body["paymentMethodId"]] = number
        self.kept[reply.body["vaultId"]] = Kept(number, ccv_of(number), None, self.now + 5 * MINUTE)
        return multiple(reply.body["paymentMethodId"])

    @rule(seconds=moments)
    def time_passes(self, seconds: int) -> None:
        assert self.call("POST", "/__admin/clock/advance", {"by": f"{seconds}s"}).status == 200
        self.now += seconds
        for payment in self.payments.values():
            payment.pass_time(self.now)
        self.kept = {
            key: item
            for key, item in self.kept.items()
            if item.expires is None or item.expires > self.now
        }
        for item in self.kept.values():
            if item.forgets <= self.now:
                item.ccv = None

    @rule()
    def nothing_has_that_name(self) -> None:
        for method, path, code in (
            ("POST", "/charge/none", 84),
            ("DELETE", "/refund/none", 84),
            ("DELETE", "/charge/none/void", 84),
            ("GET", "/vault/none", 62),
        ):
            reply = self.call(method, path, {} if method == "POST" else None)
            assert (reply.status, reply.body["code"]) == (404, code)

    @rule()
    def an_export_imports_as_itself(self) -> None:
        before = self.api.call("GET", "/__admin/state?secrets=true").raw
        assert self.api.call("PUT", "/__admin/state", raw=before).status == 200
        assert self.api.call("GET", "/__admin/state?secrets=true").raw == before

    @invariant()
    def every_charge_is_as_the_model_says(self) -> None:
        for charge_id, payment in getattr(self, "payments", {}).items():
            body = self.api.call("GET", f"/charge/{charge_id}").body
            assert (body["status"], exact(body["amount"])) == (payment.status, payment.amount)
            assert exact(body["refundedAmount"]) == payment.refunded <= payment.amount
            assert [exact(refund["amount"]) for refund in body["refunds"]] == payment.refunds
            if payment.authorised is not None:
                assert exact(body["authorisationAmount"]) == payment.authorised
            if payment.is_hold_asked and payment.authorised is None:
                assert body["authorisationAmount"] is None

    @invariant()
    def every_vault_item_is_as_the_model_says(self) -> None:
        for vault_id, item in getattr(self, "kept", {}).items():
            body = self.api.call("GET", f"/vault/{vault_id}").body
            assert (body["cardNumber"], body["ccv"]) == (item.number, item.ccv)

    @invariant()
    def the_books_are_the_sum_of_all_charges_and_balanced(self) -> None:
        payments = list(getattr(self, "payments", {}).values())
        if not payments:
            return
        books = json.loads(
            self.api.call("GET", "/__admin/books?limit=1000").raw, parse_float=Decimal
        )
        held = sum(one.amount for one in payments if one.status == "Authorised")
        taken = [one for one in payments if one.status in ("SUCCESS", "PARTIAL_REFUND", "REFUND")]
        captured, refunded = sum(one.amount for one in taken), sum(one.refunded for one in taken)
        pending = sum(one.amount for one in payments if one.status == "PENDING")
        wanted = {
            "held": held,
            "captured": captured,
            "refunded": refunded,
            "net": captured - refunded,
        }
        wanted["pending"] = pending
        for sums in (
            books["totals"]["AUD"],
            *([sum_of(books["orders"])] if books["next"] is None else []),
        ):
            assert {name: sums[name] for name in wanted} == wanted
        accounts = Counter[str]()
        for line in FORMS["beancount"](books):
            if (posting := POSTING.fullmatch(line)) is not None:
                accounts[posting[1]] += Decimal(posting[2])  # type: ignore[assignment]
        assert sum(accounts.values()) == 0
        assert (
            sum(
                amount for name, amount in accounts.items() if name.startswith("Assets:Receivable:")
            )
            == wanted["net"]
        )
        assert (accounts["Assets:Held"], accounts["Income:Customers"]) == (held, -wanted["net"])

    @invariant()
    def searches_find_what_is_there(self) -> None:
        payments = getattr(self, "payments", {})
        for status in {payment.status for payment in payments.values()}:
            wanted = sum(payment.status == status for payment in payments.values())
            assert self.api.call("GET", f"/charge?status={status}").body["count"] == wanted


def sum_of(orders: Iterable[Mapping[str, Any]]) -> Mapping[str, Decimal]:
    sums = Counter[str]()
    for order in orders:
        for name in ("held", "captured", "refunded", "net", "pending"):
            sums[name] += order[name]
    return sums  # type: ignore[return-value]


def exact(number: float) -> Decimal:
    return Decimal(str(number))


TestPayments = pytest.mark.slow(Payments.TestCase)
TestPayments.settings = settings(
    max_examples=tries(12, 100),
    stateful_step_count=30,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
