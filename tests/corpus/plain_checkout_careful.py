"""As plain_checkout.py, but the order is written down before it is paid: as one of which nobody
knows the end yet. Then the exception may come."""

from shop import book, main, pay


def trade():
    book("order-1", state="unknown")
    status, charge = pay("order-1", 129)
    if status != 201 or charge["status"] != "SUCCESS":
        raise RuntimeError(charge.get("message") or charge["status"])
    book("order-1", paid=129, state="paid")


main(trade)
