"""As tops_up_twice.py, but a charge is credited once, whoever reports it first."""

from json import loads
from threading import Lock
from time import sleep

from shop import book, books, main, pay
from webhooks import is_signed, wait_until_quiet, webhooks

crediting = Lock()


def credit():
    with crediting:
        if books()[0]["paid"] == 0:
            book("top-up-1", paid=20)


def take(body, signature):
    if not is_signed(body, signature):
        return 401
    # Webhooks wait in a queue.
    sleep(0.2)
    if loads(body)["data"]["status"] == "SUCCESS":
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
