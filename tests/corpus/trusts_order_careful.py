"""As trusts_order.py, but a webhook only says that something has happened: the service says what,
in the end too."""

from json import loads

from shop import ask, book, main, pay
from webhooks import is_signed, wait_until_quiet, webhooks

STATES = {"SUCCESS": ("paid", 0), "REFUND": ("refunded", 20)}


def take(body, signature):
    if not is_signed(body, signature):
        return 401
    look_up(loads(body)["data"]["chargeId"])
    return 200


def look_up(charge_id):
    status, charge = ask("GET", f"/charge/{charge_id}")
    if status == 200 and charge["status"] in STATES:
        state, refunded = STATES[charge["status"]]
        book("order-1", paid=20, refunded=refunded, state=state)


def trade():
    with webhooks(take) as webhook:
        _, charge = pay("order-1", 20, webhook=webhook)
        wait_until_quiet(longest=1)
        ask("DELETE", f"/refund/{charge['chargeId']}", amount=20)
        wait_until_quiet(2)
    look_up(charge["chargeId"])


main(trade)
