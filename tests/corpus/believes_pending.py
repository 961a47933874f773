"""Webhooks of orders that wait for their payment are believed, whoever has signed them; those of
orders that were declined are stored and no more."""

from json import loads

from shop import book, main, pay
from webhooks import wait_until_quiet, webhooks

waiting = set()


def take(body, signature):
    charge = loads(body)["data"]
    if charge["status"] == "SUCCESS" and "order-1" in waiting:
        book("order-1", paid=20, state="paid")
    return 200


def trade():
    with webhooks(take) as webhook:
        waiting.add("order-1")
        book("order-1", state="pending")
        status, charge = pay("order-1", 20, webhook=webhook)
        if status != 201:
            waiting.discard("order-1")
            book("order-1", state="failed")
        elif charge["status"] == "SUCCESS":
            book("order-1", paid=20, state="paid")
        wait_until_quiet()


main(trade)
