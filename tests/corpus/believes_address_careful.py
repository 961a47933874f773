"""As believes_address.py, but a webhook must name the order."""

from json import loads
from threading import Event

from shop import book, main, pay
from webhooks import is_signed, wait_until_quiet, webhooks

has_booked_answer = Event()


def take(body, signature):
    if not is_signed(body, signature):
        return 401
    charge = loads(body)["data"]
    if charge["status"] == "SUCCESS" and charge["reference"] == "order-1":
        # What the answer says is written first, whichever comes first.
        has_booked_answer.wait(5)
        book("order-1", paid=20, state="paid")
    return 200


def trade():
    book("order-1", state="unknown")
    with webhooks(take) as webhook:
        _, charge = pay("order-1", 20, webhook=webhook)
        book("order-1", state="unpaid" if charge.get("status") == "FAILED" else "unknown")
        has_booked_answer.set()
        wait_until_quiet()


main(trade)
