"""As believes_unsigned.py, but every webhook must be signed; what none reports is looked up."""

from json import loads
from threading import Event

from shop import book, books, look, main, pay
from webhooks import is_signed, wait_until_quiet, webhooks

has_come = Event()


def take(body, signature):
    has_come.set()
    if not is_signed(body, signature):
        return 401
    if loads(body)["data"]["status"] == "SUCCESS":
        book("order-1", paid=20, state="paid")
    return 200


def trade():
    with webhooks(take) as webhook:
        book("order-1", state="pending")
        pay("order-1", 20, webhook=webhook)
        # A busy machine sends the first one late; a second follows at once.
        has_come.wait(5)
        wait_until_quiet()
    [row] = books()
    if row["state"] == "pending" and (look("order-1") or {}).get("status") == "SUCCESS":
        book("order-1", paid=20, state="paid")


main(trade)
