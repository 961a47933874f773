"""As believes_pending.py, but a webhook is a hint: the charge is read, whoever has signed it."""

from json import loads

from shop import ask, book, main, pay
from webhooks import wait_until_quiet, webhooks


def take(body, signature):
    charge = loads(body)["data"]
    _, known = ask("GET", f"/charge/{charge['chargeId']}")
    if known.get("status") == "SUCCESS" and known.get("reference") == "order-1":
        book("order-1", paid=20, state="paid")
    return 200


def trade():
    with webhooks(take) as webhook:
        book("order-1", state="pending")
        status, _ = pay("order-1", 20, webhook=webhook)
        if status != 201:
            book("order-1", state="failed")
        wait_until_quiet()


main(trade)
