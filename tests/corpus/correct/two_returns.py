"""Two items of one price come back. The first is refunded when the payment's webhook is heard, the
second by the shop's desk; a webhook that comes again is known and does nothing."""

import sys
from json import loads
from threading import Event

sys.path[0] += "/.."
from shop import Lost, ask, book, main, pay
from webhooks import is_signed, wait_until_quiet, webhooks

seen, known, refunded = Event(), set(), []


def give_back(charge):
    before = len(refunded)
    try:
        is_made = ask("DELETE", f"/refund/{charge}", amount=5)[0] == 200
    except Lost:
        _, said = ask("GET", f"/charge/{charge}")
        is_made = len(said["refunds"]) > before
    if is_made:
        refunded.append(charge)
    return is_made


def take(body, signature):
    if not is_signed(body, signature):
        return 401
    charge = loads(body)["data"]
    is_new = charge["chargeId"] not in known
    known.add(charge["chargeId"])
    if is_new and charge["status"] == "SUCCESS":
        give_back(charge["chargeId"])
    seen.set()
    return 200


def trade():
    book("order-1", state="unknown")
    with webhooks(take) as webhook:
        try:
            _, charge = pay("order-1", 20, webhook=webhook)
        except Lost:
            return 3
        if charge["status"] != "SUCCESS" or not seen.wait(5):
            return 3
        wait_until_quiet()
        give_back(charge["chargeId"])
        wait_until_quiet(3)
        book("order-1", paid=20, refunded=5 * len(refunded))


main(trade)
