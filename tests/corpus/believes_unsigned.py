"""A webhook with a wrong signature is refused; one without any is believed."""

from json import loads
from threading import Event

from shop import book, main, pay
from webhooks import is_signed, wait_until_quiet, webhooks

has_come = Event()


def take(body, signature):
    has_come.set()
    if signature and not is_signed(body, signature):
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


main(trade)
