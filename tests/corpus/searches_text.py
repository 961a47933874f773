"""A webhook is searched for the words of a payment, so another spelling of them is not seen."""

from shop import book, main, pay
from webhooks import is_signed, wait_until_quiet, webhooks


def take(body, signature):
    if not is_signed(body, signature):
        return 401
    if b'"status":"SUCCESS"' in body and b'"reference":"order-1"' in body:
        book("order-1", paid=20, state="paid")
    return 200


def trade():
    book("order-1", state="unpaid")
    with webhooks(take) as webhook:
        pay("order-1", 20, webhook=webhook)
        wait_until_quiet()


main(trade)
