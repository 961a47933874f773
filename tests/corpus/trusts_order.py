"""Webhooks are taken in the order in which they come: the last one says how the order stands."""

from json import loads

from shop import ask, book, main, pay
from webhooks import is_signed, wait_until_quiet, webhooks

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
        wait_until_quiet(longest=1)
        ask("DELETE", f"/refund/{charge['chargeId']}", amount=20)
        wait_until_quiet(2)


main(trade)
