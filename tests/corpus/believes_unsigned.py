"""A webhook with a wrong signature is refused; one without any is believed."""

from json import loads
from time import sleep

from shop import book, main, pay
from webhooks import is_signed, webhooks


def take(body, signature):
    if signature and not is_signed(body, signature):
        return 401
    if loads(body)["data"]["status"] == "SUCCESS":
        book("order-1", paid=20, state="paid")
    return 200


def trade():
    with webhooks(take) as webhook:
        book("order-1", state="pending")
        pay("order-1", 20, webhook=webhook)
        sleep(0.5)


main(trade)
