"""A wallet is topped up. The webhook looks whether the money was credited already, the answer does
not."""

from json import loads
from time import sleep

from shop import book, books, main, pay
from webhooks import is_signed, wait_until_quiet, webhooks


def credit():
    [row] = books()
    book("top-up-1", paid=row["paid"] + 20)


def take(body, signature):
    if not is_signed(body, signature):
        return 401
    # Webhooks wait in a queue.
    sleep(0.2)
    if loads(body)["data"]["status"] == "SUCCESS" and books()[0]["paid"] == 0:
        credit()
    return 200


def trade():
    book("top-up-1", paid=0, state="unknown")
    with webhooks(take) as webhook:
        _, charge = pay("top-up-1", 20, webhook=webhook)
        if charge.get("status") == "SUCCESS":
            credit()
        wait_until_quiet()


main(trade)
