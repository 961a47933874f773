"""Webhooks are taken in the order in which they come: the last one says how the order stands."""

from json import loads
from time import sleep

from shop import ask, book, main, pay
from webhooks import is_signed, webhooks

STATES = {"SUCCESS": ("paid", 0), "REFUND": ("refunded", 20)}


def take(body, signature):
    if not is_signed(body, signature):
        return 401
    state, refunded = STATES.get(loads(body)["data"]["status"], ("unknown", 0))
    book("order-1", paid=20, refunded=refunded, state=state)
    return 200


def trade():
    with webhooks(take) as webhook:
        _, charge = pay("order-1", 20, webhook=webhook)
        sleep(0.2)
        ask("DELETE", f"/refund/{charge['chargeId']}", amount=20)
        sleep(0.5)


main(trade)
