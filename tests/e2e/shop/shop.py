"""The payment code of a small, careful shop: what the tests beside it test. It knows a base URL and
a key, nothing more. Amounts are texts or whole numbers, so that no binary fraction ever stands in
for money."""

import hashlib
import hmac
import json
import ssl
import time
from base64 import b64encode
from collections import Counter
from decimal import Decimal

import httpx

PROVIDER = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
TRIES = 3
MOST_DECLINES = 10
# Reading the certificates of all authorities takes longer than many payments: once for all shops.
TLS = ssl.create_default_context()
WORDS = {
    "SUCCESS": "paid",
    "Authorised": "reserved",
    "PENDING": "waiting",
    "PENDING_CHECKOUT": "waiting",
}
BOOKED = {
    "SUCCESS": "paid",
    "PARTIAL_REFUND": "partially_refunded",
    "REFUND": "refunded",
    "Authorised": "held",
    "AUTHORISE_CANCELLED": "cancelled",
    "FAILED": "failed",
}
TAKEN = {"SUCCESS", "PARTIAL_REFUND", "REFUND"}


class Lost(Exception):
    """The answer did not come whole: nobody knows what has happened."""


class Ledger:
    """What is written down before and after money moves, by name; ``before`` is what an earlier run
    has left. The file is whole at any time; without one all is forgotten in the end."""

    def __init__(self, file=None):
        self.file = file
        self.before = json.loads(file.read_text()) if file and file.exists() else {}
        self.rows = dict(self.before)

    def note(self, name, value):
        """Write down a value."""
        self.rows[name] = value
        if self.file:
            fresh = self.file.with_suffix(".new")
            fresh.write_text(json.dumps(self.rows, default=str))
            fresh.replace(self.file)

    def books(self):
        """What the shop believes of each order."""
        return [row for row in self.rows.values() if isinstance(row, dict)]


class Shop:
    """Takes payments for orders and keeps what it knows about them. ``wait`` is given seconds. With
    the ``ledger`` of a run that has ended in the middle it goes on where that was."""

    def __init__(
        self,
        url,
        key,
        webhook_url=None,
        webhook_key="mockserver-webhook-key",
        wait=time.sleep,
        provider=PROVIDER,
        ledger=None,
    ):
        # A provider that hangs must not take the shop with it.
        self.http = httpx.Client(
            base_url=url, headers={"x-secretkey": key}, timeout=2, trust_env=False, verify=TLS
        )
        self.webhook = {"url": webhook_url, "authorization": "Bearer shop"} if webhook_url else None
        self.webhook_key = webhook_key.encode()
        self.wait = wait
        self.provider = provider
        self.ledger = ledger or Ledger()
        self.orders = {}
        self.declines = Counter()
        self.handled, self.news = set(), []

    def buy(self, order, amount, card, capture=True):
        """Try to take a payment; the order is then paid, reserved, waiting for its payer, or
        declined."""
        body = {
            "providerId": self.provider,
            "reference": order,
            "amount": amount,
            "capture": capture,
        }
        body["paymentInformation"] = {"cardNumber": card, "expiryDate": "12/40", "ccv": "123"}
        if self.webhook:
            body["webhook"] = self.webhook
        if word := self._resume(order, amount):
            return word
        # Before any money moves: who comes after a crash asks first.
        self.ledger.note(order, {"reference": order, "state": "unknown"})
        holder = hashlib.sha256(card.encode()).hexdigest()
        for number in range(TRIES):
            if self.declines[holder] >= MOST_DECLINES:
                break
            try:
                answer = self._ask("POST", "/charge/card", json=body)
            except Lost:
                # Perhaps the money was taken: look before trying again.
                if found := self._find(order):
                    return self._book(order, found, amount)
                self.wait(2**number)
                continue
            if answer.is_success:
                return self._book(order, read(answer), amount)
            if not read(answer).get("isRetryable"):
                # The card's issuer said no for good: this card is not tried again.
                self.declines[holder] = MOST_DECLINES
                break
            self.declines[holder] += 1
            self.wait(pause(answer, number))
        return "declined"

    def payer_page(self, order):
        """Where to send the payer of an order whose bank wants to ask first; None when it does
        not."""
        return self.orders[order].get("threeDsRedirectUrl")

    def ship(self, order):
        """Capture what was reserved; says whether that worked."""
        return self._move(order, {"Authorised"}, "POST", "/charge/{}", json={}) in TAKEN

    def cancel(self, order):
        """Give back what was reserved or paid; says whether nothing is held any more."""
        if self.look(order)["status"] == "Authorised":
            return (
                self._move(order, {"Authorised"}, "DELETE", "/charge/{}/void")
                == "AUTHORISE_CANCELLED"
            )
        return self._move(order, {"SUCCESS", "PARTIAL_REFUND"}, "DELETE", "/refund/{}") == "REFUND"

    def refund(self, order, amount):
        """Give back a part of what was paid; says whether that worked."""
        plan = f"{order} refund {amount}"
        wanted = Decimal(
            self.ledger.before.get(plan) or self.look(order)["refundedAmount"] + Decimal(amount)
        )
        self.ledger.note(plan, wanted)
        for number in range(TRIES):
            # After a lost answer the charge itself says whether the refund was made.
            if self.look(order)["refundedAmount"] >= wanted:
                return True
            try:
                answer = self._ask(
                    "DELETE", f"/refund/{self._id(order)}", params={"amount": amount}
                )
            except Lost:
                continue
            if not answer.is_success:
                self.wait(pause(answer, number))
        return self.look(order)["refundedAmount"] >= wanted

    def look(self, order):
        """The charge of an order as it now is."""
        return self._keep(order, self._read(f"/charge/{self._id(order)}"))

    def take(self, body, signature):
        """Take a webhook, as it came; the HTTP status to answer with. It is handled afterwards, by
        ``catch_up``."""
        wanted = b64encode(hmac.new(self.webhook_key, body, hashlib.sha256).digest()).decode()
        if not hmac.compare_digest(wanted, signature or ""):
            return 401
        try:
            message = json.loads(body)
        except ValueError:
            return 400
        if message["meta"]["messageId"] not in self.handled:
            self.handled.add(message["meta"]["messageId"])
            self.news.append(message["data"].get("reference"))
        return 200

    def catch_up(self):
        """Handle the webhooks that came: read what they are about, as what they say may be old."""
        while self.news:
            order = self.news.pop()
            if order in self.orders:
                self.look(order)

    def _book(self, order, charge, amount):
        """Keep a charge. A part of the amount is no payment: it is given back. An answer that lacks
        something, or says what nobody knows, is read again."""
        if "amount" not in charge or charge.get("status") not in (*WORDS, "FAILED"):
            charge = self._read(f"/charge/{charge['chargeId']}")
        self._keep(order, charge)
        if charge["amount"] < Decimal(amount) and charge["status"] in ("SUCCESS", "Authorised"):
            self.cancel(order)
            return "declined"
        return WORDS.get(charge["status"], "declined")

    def _resume(self, order, amount):
        """What an earlier run has made of an order; None when it has made nothing."""
        row = self.ledger.before.get(order)
        if row is not None and "charge" in row:
            self.orders[order] = {"chargeId": row["charge"]}
            return row["word"]
        found = self._find(order) if row is not None else None
        return self._book(order, found, amount) if found else None

    def _keep(self, order, charge):
        """Keep a charge, and what the shop then believes."""
        self.orders[order] = charge
        status = charge["status"]
        row = {
            "reference": order,
            "charge": charge["chargeId"],
            "state": BOOKED.get(status, "unknown"),
        }
        row["word"] = self.ledger.rows.get(order, {}).get("word") or WORDS.get(status, "declined")
        if status in TAKEN:
            row |= {"paid": str(charge["amount"]), "refunded": str(charge["refundedAmount"])}
        self.ledger.note(order, row)
        return charge

    def _move(self, order, states, method, path, **more):
        """Move the money of an order while it is in one of some states; the state in which it is
        then."""
        for number in range(TRIES):
            if self.look(order)["status"] not in states:
                break
            try:
                answer = self._ask(method, path.format(self._id(order)), **more)
            except Lost:
                continue
            if not answer.is_success:
                self.wait(pause(answer, number))
        return self.look(order)["status"]

    def _find(self, order):
        """The charge of an order that holds money or may come to, if there is one."""
        found = self._read("/charge", params={"Reference": order})["charges"]
        return next((charge for charge in found if charge["status"] in WORDS), None)

    def _id(self, order):
        return self.orders[order]["chargeId"]

    def _read(self, path, **more):
        """Ask until the answer comes whole: reading is safe."""
        number = 0
        while True:
            try:
                answer = self._ask("GET", path, **more)
                if answer.is_success:
                    return read(answer)
                self.wait(pause(answer, number))
            except Lost:
                self.wait(2**number)
            number = min(number + 1, 6)

    def _ask(self, method, path, **more):
        """One call. Raises ``Lost`` when its answer is cut, unreadable, missing or not the
        service's own."""
        try:
            answer = self.http.request(method, path, **more)
            if answer.status_code >= 500 and "code" not in read(answer):
                raise Lost
            read(answer)
        except (httpx.RequestError, ValueError):
            raise Lost from None
        return answer


def read(answer):
    """The JSON of an answer, its numbers exact."""
    return answer.json(parse_float=Decimal)


def pause(answer, number):
    """Seconds to wait before a call is sent again: as told, else twice as long each time."""
    return int(answer.headers.get("retry-after", 2**number))
