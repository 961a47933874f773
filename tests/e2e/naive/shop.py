"""The payment code of a naive shop. Each fault is planted, and bears the name of the finding that
it leads to."""

import json

import httpx

PROVIDER = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
TRIES = 3


class Shop:
    """Takes payments for orders. Do not copy from here."""

    def __init__(self, url, key, webhook_url=None, notes=None):
        # no-timeout: an answer that never comes is waited for without end.
        self.http = httpx.Client(
            base_url=url, headers={"x-secretkey": key}, timeout=None, trust_env=False
        )
        self.webhook = {"url": webhook_url} if webhook_url else None
        self.orders = {}
        self.notes = notes
        # two-workers: each reads this once, and neither waits for the other.
        self.done = json.loads(notes.read_text()) if notes and notes.exists() else {}

    def buy(self, order, amount, card, capture=True):
        """Try to take a payment; the order is then paid, reserved or declined."""
        if order in self.done:
            self.orders[order] = self.done[order]
            return "paid" if capture else "reserved"
        body = {"providerId": PROVIDER, "reference": order, "amount": amount, "capture": capture}
        body["paymentInformation"] = {"cardNumber": card, "expiryDate": "12/40", "ccv": "123"}
        if self.webhook:
            body["webhook"] = self.webhook
        for _ in range(TRIES):
            try:
                answer = self.http.post("/charge/card", json=body)
            except httpx.TransportError:
                # double-charge, blind-retry: sent again without a look whether the first was taken.
                continue
            if answer.is_success:
                # partial-approval-ignored: the amount of the answer is not compared.
                # challenge-ignored: PENDING_CHECKOUT is taken for paid.
                self.orders[order] = self._note(order, answer.json()["chargeId"])
                return "paid" if capture else "reserved"
            # hard-decline-retried, too-many-retries, retry-after-ignored: whatever was said, try
            # again at once.
        return "declined"

    def ship(self, order):
        """Capture what was reserved; says whether that worked."""
        # wrong-state: the charge is not read before.
        return self._again("POST", f"/charge/{self.orders[order]}", json={}).is_success

    def refund(self, order, amount):
        """Give back a part of what was paid."""
        # double-refund, blind-retry: sent again without a look at the refunds that there are.
        return self._once(
            f"refund {order}", "DELETE", f"/refund/{self.orders[order]}", params={"amount": amount}
        )

    def pay_out(self, rows):
        """Charge many stored cards at once."""
        body = {"count": rows.count("\n") - 1, "description": "subscribers", "batch": rows}
        # batch-sent-twice, blind-retry: nobody looks whether the first was accepted.
        return self._once("pay out", "POST", "/batch/transaction/payment_method", json=body)

    def note_card(self, order, amount, card):
        """Take a payment for somebody whose card shall be found again by its number."""
        body = {"providerId": PROVIDER, "amount": amount, "reference": order}
        body["paymentInformation"] = {"cardNumber": card, "expiryDate": "12/40", "ccv": "123"}
        # card-number-outside-its-field: metadata are shown and logged.
        body["metadata"] = {"card": card}
        # unknown-field: "capure" is misspelt.
        body["capure"] = False
        return self.http.post("/charge/card", json=body).is_success

    def share(self, total, people, card):
        """Take an equal share of a total from a card, without an order."""
        # no-reference: nobody can find this charge again.
        # amount-not-exact: a binary fraction has more digits than the currency.
        body = {"providerId": PROVIDER, "amount": total / people}
        body["paymentInformation"] = {"cardNumber": card, "expiryDate": "12/40", "ccv": "123"}
        if not self.http.post("/charge/card", json=body).is_success:
            self.http.post("/charge/card", json={**body, "amount": round(total / people, 2)})

    def show_in_page(self, order):
        """What the shop's page does: the browser asks, with the key of the server."""
        # secret-key-in-browser: the browser sends where it comes from.
        headers = {"origin": "https://shop.example", "sec-fetch-site": "cross-site"}
        return self.http.get(f"/charge/{self.orders[order]}", headers=headers).json()["status"]

    def await_payment(self, order):
        """Ask until something has changed."""
        # polled-hard: without a pause.
        for _ in range(12):
            if (
                self.http.get(f"/charge/{self.orders[order]}").json()["status"]
                != "PENDING_CHECKOUT"
            ):
                break

    def list_orders(self):
        """All payments."""
        # no-such-operation: the path is /charge.
        return self.http.get("/charges").json()

    def take(self, body, signature):
        """Take a webhook, as it came; the HTTP status to answer with."""
        # forged-webhook-accepted: the signature is not looked at.
        data = json.loads(body)["data"]
        # webhook-not-deduplicated: nobody remembers which webhooks were handled.
        # stale-webhook-believed: what the webhook says is not compared with the charge.
        if data["status"] in ("AUTHORISE", "Authorised"):
            self.http.post(f"/charge/{data['chargeId']}", json={})
        # webhook-lost: a status that is not known breaks the receiver.
        return 200 if data["status"] in ("AUTHORISE", "Authorised", "SUCCESS") else 500

    def _once(self, what, method, path, **more):
        return what in self.done or self._note(what, self._again(method, path, **more).is_success)

    def _note(self, what, value):
        # committed-late: a crash before this line, and it is done again.
        if self.notes:
            self.done[what] = value
            self.notes.write_text(json.dumps(self.done))
        return value

    def _again(self, method, path, **more):
        for _ in range(TRIES):
            try:
                return self.http.request(method, path, **more)
            except httpx.TransportError:
                continue
        raise RuntimeError(f"{method} {path} was never answered")


# authorisation-forgotten: there is no way to void what was reserved.
