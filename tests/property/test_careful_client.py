"""A careful client that knows nothing of the scenario is never blamed: random operations under
every shipped scenario raise nothing above a note (findings document, The catalogue), and its books
never differ from the sandbox's.

Careful means: it gives each charge a reference of its own, looks after an answer that it did not
get whole, reads before it moves money of a charge, reads the results of batches, stops at a final
decline, counts the others, sends payers to their challenge, charges or gives back what a partial
approval leaves, ends every authorisation and acts on no webhook unread. It writes down each charge
as an answer shows it, and before its books are read it looks again at those that may have moved.
"""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mockserver.domain.cards import passes_luhn
from mockserver.web.transport_faults import Cut
from tests.depth import tries
from tests.driving import DUMMY, SHIPPED, Api, Reply, card

LIVED_UNDER = [path for path in SHIPPED if path.stem != "sample-shop"]
"""The scenarios but for one whose set-up takes payments of its own, which stand in no book of the
client."""
OPERATIONS = tries(40, -(-100_000 // len(LIVED_UNDER)))
"""Of each client."""
CLOSINGS = 3
"""How often the books of a client are read before the end."""
TEST_CARDS = (
    "4000000000000002",
    "4000000000009995",
    "4000000000000127",
    "4000000000003220",
    "4000000000000341",
)
# References that some scenarios wait for. The client uses them under all.
WORDS = (
    *(
        "no-money",
        "no-reason",
        "stolen",
        "expired",
        "wrong-code",
        "fraud",
        "own-words",
        "half",
        "ten-bytes",
        "broken",
    ),
    *("drops", "before", "after", "silence", "late"),
)
STATUSES = ("SUCCESS", "FAILED", "Authorised", "PENDING", "PENDING_CHECKOUT")
CLAIMS = {
    **dict.fromkeys(("SUCCESS", "PARTIAL_REFUND"), "paid"),
    **dict.fromkeys(("FAILED", "AUTHORISE_CANCELLED"), "failed"),
    "REFUND": "refunded",
    "Authorised": "held",
    "PENDING": "pending",
    "PENDING_CHECKOUT": "unpaid",
}
"""What the books say of a charge, by its status."""
FINAL = ("FAILED", "AUTHORISE_CANCELLED", "REFUND")
TRIES = 4
MOST_DECLINES = 10
WAITS = ("30s", "5m", "1h")


class Lost(Exception):
    """The answer did not come whole, or says what the client does not understand: nobody knows what
    has happened."""


@dataclass
class Answer:
    """An answer that came whole."""

    status: int
    body: Any

    @property
    def is_done(self) -> bool:
        return self.status < 300

    @property
    def may_try_again(self) -> bool:
        return bool(self.body.get("isRetryable"))


@dataclass
class Payer:
    """A customer's card, how often it was declined, and whether it was for good."""

    number: str
    method: str | None = None
    declines: int = 0
    is_dead: bool = False

    @property
    def may_pay(self) -> bool:
        """Whether the client charges again."""
        return not self.is_dead and self.declines < MOST_DECLINES

    def declined(self, charges: Sequence[Mapping[str, Any]], before: int) -> None:
        """Count the declined charges of an order that were found by looking; ``before`` were of
        other orders."""
        self.declines = max(self.declines, before + len(charges))
        if not all(
            attempt["isRetryable"] for charge in charges for attempt in charge["failedAttempts"]
        ):
            self.is_dead = True


@dataclass
class Client:
    """One careful client of one sandbox. ``made`` counts its calls."""

    api: Api
    chance: Random
    made: int = 0
    orders: int = 0
    paid: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    payers: list[Payer] = field(default_factory=list)
    words: list[str] = field(default_factory=lambda: list(WORDS))
    book: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, body: object = None, **query: object) -> Answer:
        """One call. Raises ``Lost`` when its answer does not come whole."""
        self.made += 1
        try:
            reply = self.api.call(method, path, body, query)
            answer = Answer(reply.status, json.loads(reply.raw))
        except (Cut, ValueError):
            raise Lost from None
        if "content-encoding" in reply.headers or (
            answer.status >= 500 and "code" not in answer.body
        ):
            raise Lost
        if method == "POST" and "chargeId" in answer.body and not is_understood(answer.body):
            raise Lost
        if answer.is_done:
            self.book |= {
                one["chargeId"]: one
                for one in answer.body.get("charges", [answer.body])
                if "chargeId" in one
            }
        return answer

    def look(self, path: str, **query: object) -> Answer:
        """Read until the answer comes whole."""
        for _ in range(100):
            try:
                answer = self.ask("GET", path, **query)
            except Lost:
                self.wait("1m")
                continue
            if answer.is_done:
                return answer
            self.wait("1m")
        raise AssertionError(f"{path} cannot be read")

    def wait(self, by: str) -> None:
        self.api.advance(by)

    def reference(self) -> str:
        self.orders += 1
        if self.words and self.chance.random() < 0.1:
            return self.words.pop(self.chance.randrange(len(self.words)))
        return f"order {self.orders}"

    def amount(self) -> str:
        return f"{self.chance.choice((5, 49, 80, 150, 6000))}.{self.chance.randrange(100):02}"

    def payer(self) -> Payer:
        """Somebody whose card is not known to be refused, often one who was here before."""
        known = [payer for payer in self.payers if payer.may_pay]
        if known and self.chance.random() < 0.7:
            return self.chance.choice(known)
        taken = {payer.number for payer in self.payers}
        if self.chance.random() < 0.1 and (
            left := [number for number in TEST_CARDS if number not in taken]
        ):
            payer = Payer(self.chance.choice(left))
        else:
            payer = Payer(self.card_number())
        self.payers.append(payer)
        return payer

    def card_number(self) -> str:
        """A card that no one else has."""
        head = f"45{self.chance.randrange(10**13):013}"
        return next(head + str(digit) for digit in range(10) if passes_luhn(head + str(digit)))

    def charge(
        self, payer: Payer, amount: str, *, capture: bool = True, **more: object
    ) -> dict[str, Any] | None:
        """The charge, or None when the payer did not pay."""
        order = {
            "amount": amount,
            "currency": "AUD",
            "reference": self.reference(),
            "capture": capture,
            **more,
        }
        path, body = self.way(payer)
        before = payer.declines
        for _ in range(TRIES):
            try:
                answer = self.ask("POST", path, {**order, **body})
            except Lost:
                found = self.look("/charge", Reference=order["reference"]).body["charges"]
                if made := [one for one in found if one["status"] != "FAILED"]:
                    return self.seen(made[0], payer, amount)
                payer.declined(found, before)
            else:
                if answer.is_done:
                    return self.seen(answer.body, payer, amount)
                payer.declines += 1
                payer.is_dead = not answer.may_try_again
            if not payer.may_pay:
                return None
            self.wait(self.chance.choice(WAITS))
        return None

    def way(self, payer: Payer) -> tuple[str, dict[str, object]]:
        """One of the ways to a card."""
        details = {"providerId": DUMMY, "paymentInformation": card(payer.number)}
        if self.chance.random() < 0.5:
            return "/charge/card", details
        if payer.method is None:
            try:
                stored = self.ask("POST", "/payment_method/card", details)
            except Lost:
                return "/charge/card", details
            if not stored.is_done:
                return "/charge/card", details
            payer.method = stored.body["paymentMethodId"]
        return "/charge/payment_method", {"paymentMethodId": payer.method}

    def visit(self, charge: Mapping[str, Any]) -> str:
        """Send the payer to the page of a challenge; its path."""
        self.made += 1
        path: str = charge["threeDsRedirectUrl"].partition(":4111")[2]
        assert browsed(lambda: self.api.get(path)).status == 200
        return path

    def seen(self, charge: dict[str, Any], payer: Payer, amount: str) -> dict[str, Any] | None:
        """Take note of a charge: where it stands, and whether all of it was approved. None when it
        was given back."""
        if charge["status"] == "PENDING_CHECKOUT":
            path = self.visit(charge)
            if self.chance.random() < 0.7:
                result = self.chance.choice(("pass", "fail", "cancel"))
                self.made += 1
                form = {"content-type": "application/x-www-form-urlencoded"}
                answer = browsed(
                    lambda: self.api.send("POST", path, f"result={result}".encode(), form)
                )
                assert answer.status == 303
            charge = self.look(f"/charge/{charge['chargeId']}").body
        if charge["status"] == "PENDING_CHECKOUT":
            self.waiting.append(charge["chargeId"])
        if charge["status"] == "Authorised":
            self.open.append(charge["chargeId"])
        if charge["status"] == "SUCCESS":
            self.paid.append(charge["chargeId"])
        missing = round(float(amount) * 100) - round(charge["amount"] * 100)
        if missing > 0 and charge["status"] in ("SUCCESS", "Authorised"):
            rest = (
                self.charge(payer, f"{missing / 100:.2f}") if self.chance.random() < 0.5 else None
            )
            if rest is None:
                self.undo(charge["chargeId"])
                return None
        return charge

    def move(
        self,
        charge_id: str,
        wanted: Callable[[Mapping[str, Any]], bool],
        *call: object,
        **query: object,
    ) -> None:
        """Move money of a charge, as long as what is read of it says that this is wanted."""
        for _ in range(TRIES):
            if not wanted(self.look(f"/charge/{charge_id}").body):
                return
            try:
                method, path, *body = call
                answer = self.ask(str(method), str(path), *body, **query)
            except Lost:
                continue
            if answer.is_done or not answer.may_try_again:
                return
            self.wait("1m")

    def undo(self, charge_id: str) -> None:
        """Give back all of a charge."""
        for _ in range(20):
            status = self.look(f"/charge/{charge_id}").body["status"]
            if status == "Authorised":
                self.move(charge_id, is_open, "DELETE", f"/charge/{charge_id}/void")
            elif status in ("SUCCESS", "PARTIAL_REFUND"):
                self.move(charge_id, is_paid, "DELETE", f"/refund/{charge_id}")
            else:
                return
            self.wait("1m")

    def pay(self) -> None:
        self.charge(self.payer(), self.amount())

    def pay_and_hear(self) -> None:
        key = self.api.key.removeprefix("sk_") if self.api.key else ""
        url = f"http://127.0.0.1:4111/__inbox/shop?publicKey=pk_{key}"
        self.charge(self.payer(), self.amount(), webhook={"url": url})

    def authorise(self) -> None:
        self.charge(self.payer(), self.amount(), capture=False)

    def end_authorisation(self) -> None:
        """Capture or void it, whatever it takes."""
        if not self.open:
            return
        charge_id = self.open.pop(self.chance.randrange(len(self.open)))
        body = self.chance.choice(({}, {"amount": "1.00"}))
        is_wanted = self.chance.random() < 0.7
        for _ in range(20):
            if is_wanted:
                self.move(charge_id, is_open, "POST", f"/charge/{charge_id}", body)
            else:
                self.move(charge_id, is_open, "DELETE", f"/charge/{charge_id}/void")
            if not is_open(self.look(f"/charge/{charge_id}").body):
                return
            self.wait("5m")

    def end_all(self) -> None:
        """End what is open, and what payers authorise within five minutes."""
        if self.waiting:
            self.wait("5m")
        for charge_id in self.waiting:
            if is_open(self.look(f"/charge/{charge_id}").body):
                self.open.append(charge_id)
        self.waiting.clear()
        while self.open:
            self.end_authorisation()

    def refund(self) -> None:
        if not self.paid:
            return
        charge_id = self.chance.choice(self.paid)
        before = self.look(f"/charge/{charge_id}").body
        part = f"{self.chance.randrange(1, 300) / 100:.2f}"
        if before["amount"] - before["refundedAmount"] < float(part):
            self.paid.remove(charge_id)
            return

        def is_wanted(charge: Mapping[str, Any]) -> bool:
            return is_paid(charge) and charge["refundedAmount"] == before["refundedAmount"]

        self.move(charge_id, is_wanted, "DELETE", f"/refund/{charge_id}", None, amount=part)

    def read(self) -> None:
        if self.paid:
            self.look(f"/charge/{self.chance.choice(self.paid)}")
        self.look("/charge", Limit=3)

    def debit(self) -> None:
        """Charge a bank account, or hear why not."""
        account = {
            "bankCode": "123456",
            "accountNumber": f"{self.chance.randrange(10**8):08}",
            "accountName": "Ann Example",
        }
        body = {"providerId": DUMMY, "amount": self.amount(), "reference": self.reference()}
        try:
            made = self.ask(
                "POST", "/charge/bank_account", {**body, "bankPaymentInformation": account}
            )
        except Lost:
            self.look("/charge", Reference=body["reference"])
            return
        if made.is_done and made.body["status"] == "PENDING_CHECKOUT":
            self.visit(made.body)
            self.waiting.append(made.body["chargeId"])
        elif made.is_done and made.body["amount"] < float(body["amount"]):
            self.undo(made.body["chargeId"])

    def use_token(self) -> None:
        """Charge a token once; after a lost answer it stays with a look."""
        payer = self.payer()
        try:
            stored = self.ask(
                "POST",
                "/token/card",
                {"providerId": DUMMY, "paymentInformation": card(payer.number)},
            )
        except Lost:
            return
        if not stored.is_done:
            return
        order = {
            "amount": self.amount(),
            "reference": self.reference(),
            "token": stored.body["tokenId"],
        }
        try:
            answer = self.ask("POST", "/charge/token", order)
        except Lost:
            found = self.look("/charge", Reference=order["reference"]).body["charges"]
            if found and found[0]["status"] != "FAILED":
                self.seen(found[0], payer, str(order["amount"]))
            else:
                payer.declined(found, payer.declines)
            return
        if answer.is_done:
            self.seen(answer.body, payer, str(order["amount"]))
        else:
            payer.declines += 1
            payer.is_dead = not answer.may_try_again

    def batch(self) -> None:
        """Send a batch; after a lost answer look for it."""
        payers = [payer for payer in self.payers if payer.method and payer.may_pay][:3]
        if not payers:
            return
        name = self.reference()
        lines = [
            f"{payer.method},{self.amount()},AUD,{name} {place}"
            for place, payer in enumerate(payers)
        ]
        rows = "\n".join(["PaymentMethodId,Amount,Currency,Reference", *lines, ""])
        for _ in range(TRIES):
            try:
                made = self.ask(
                    "POST",
                    "/batch/transaction/payment_method",
                    {"count": len(payers), "description": name, "batch": rows},
                )
            except Lost:
                found = self.look("/batch", Description=name).body["batches"]
                if found:
                    return self.results(found[0]["batchId"], name, payers)
            else:
                if made.is_done:
                    self.results(made.body["batchId"], name, payers)
                return

    def results(self, batch_id: str, name: str, payers: Sequence[Payer]) -> None:
        """Read what became of the rows of a batch; who stands in it no more is not charged
        again."""
        self.wait("1m")
        self.look(f"/batch/{batch_id}/status")
        text = self.look(f"/batch/{batch_id}").body["results"]
        rows = {row["PaymentMethodId"]: row for row in csv.DictReader(StringIO(text))}
        for place, payer in enumerate(payers):
            # A search may not show it yet.
            for _ in range(TRIES):
                if self.look("/charge", Reference=f"{name} {place}").body["charges"]:
                    break
                self.wait("1m")
            row = rows.get(payer.method or "")
            if row is None or row["Status"] == "FAILED":
                payer.declines += 1
                payer.is_dead = row is None or row["IsRetryable"] != "true"

    def let_time_pass(self) -> None:
        """Wait a little, or long once nothing is left open."""
        if self.chance.random() < 0.3:
            self.end_all()
            self.wait(self.chance.choice(("2d", "8d")))
        else:
            self.wait(self.chance.choice(WAITS))

    def close_books(self) -> None:
        """Have the books compared with the sandbox's."""
        self.wait("1m")
        for charge_id, charge in list(self.book.items()):
            if charge.get("status") not in FINAL:
                self.look(f"/charge/{charge_id}")
        rows = [row_of(*one) for one in self.book.items()]
        found = self.api.post("/__admin/books/compare", {"rows": rows})
        self.wrong += [f"{row['finding']} {row['evidence']}" for row in found["findings"]]

    def live(self, operations: int) -> None:
        """Act at random until so many calls were made, then end what is open."""
        acts = (
            [self.pay] * 8
            + [self.authorise, self.end_authorisation, self.refund] * 4
            + [self.read] * 3
        )
        acts += [self.pay_and_hear, self.use_token, self.debit, self.batch, self.let_time_pass]
        closing = operations / CLOSINGS
        while self.made < operations:
            self.chance.choice(acts)()
            if self.made > closing:
                self.close_books()
                closing = self.made + operations / CLOSINGS
        self.end_all()
        self.close_books()


def browsed(ask: Callable[[], Reply]) -> Reply:
    """What a page answers; a browser whose connection is reset asks once more."""
    try:
        return ask()
    except Cut:
        return ask()


def row_of(charge_id: str, charge: Mapping[str, Any]) -> dict[str, Any]:
    """What the books say of a charge; of one that cannot be understood, that they do not know."""
    if not is_understood(charge) and charge.get("status") not in CLAIMS:
        return {"charge": charge_id, "state": "unknown"}
    state = CLAIMS[charge["status"]]
    paid = charge["amount"] if state in ("paid", "refunded") else 0
    row = {"reference": charge["reference"], "currency": charge["currency"], "state": state}
    return row | {"paid": paid, "refunded": charge["refundedAmount"]}


def is_understood(charge: Mapping[str, Any]) -> bool:
    return "amount" in charge and charge.get("status", "SUCCESS") in STATUSES


def is_open(charge: Mapping[str, Any]) -> bool:
    return bool(charge["status"] == "Authorised")


def is_paid(charge: Mapping[str, Any]) -> bool:
    return charge["status"] in ("SUCCESS", "PARTIAL_REFUND")


def blamed(scenario: Path, operations: int) -> list[str]:
    """What a careful client is blamed for under a scenario; notes are habits, and do not count."""
    name = scenario.stem
    text = None if name == "test-values" else scenario.read_text("utf-8")
    api = Api(f"sk_{name}", waits=True, skips=True, scenario=text)
    client = Client(api, Random(name))
    client.live(operations)
    rows = api.post("/__admin/findings/finish")["findings"]
    return client.wrong + [
        f"{row['finding']} {row['about']} {row['evidence']}"
        for row in rows
        if row["severity"] != "note"
    ]


@pytest.mark.parametrize("scenario", LIVED_UNDER, ids=lambda path: path.stem)
def test_a_careful_client_is_not_blamed(scenario: Path) -> None:
    assert blamed(scenario, OPERATIONS) == []
