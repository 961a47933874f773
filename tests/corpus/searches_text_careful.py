"""As searches_text.py, but a webhook is parsed."""

from json import loads

from shop import book, main, pay
from webhooks import is_signed, wait_until_quiet, webhooks


def take(body, signature):
    if not is_signed(body, signature):
        return 401
    charge = loads(body)["data"]
    if charge["status"] == "SUCCESS" and charge["reference"] == "order-1":
        book("order-1", paid=20, state="paid")
    return 200


def trade():
    book("order-1", state="unpaid")
    with webhooks(take) as webhook:
        pay("order-1", 20, webhook=webhook)
        wait_until_quiet()


main(trade)
