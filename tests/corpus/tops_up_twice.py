"""A wallet is topped up. The webhook looks whether the money was credited already, the answer does not."""

from json import loads
from time import sleep

from shop import book, books, is_signed, main, pay, webhooks


def credit():
    book("top-up-1", paid=20 + sum(row["paid"] for row in books()))


def take(body, signature):
    if not is_signed(body, signature):
        return 401
    # Webhooks wait in a queue.
    sleep(0.2)
    if loads(body)["data"]["status"] == "SUCCESS" and not books():
        credit()
    return 200


def trade():
    with webhooks(take) as webhook:
        _, charge = pay("top-up-1", 20, webhook=webhook)
        if charge["status"] == "SUCCESS":
            credit()
        sleep(0.7)


main(trade)
