"""A deposit, then a balance that the payer may have to confirm: the order is pending until it is
paid whole."""

import sys

sys.path[0] += "/.."
from shop import Lost, book, main, pay


def takes(amount):
    """How a payment ended: paid, pending, failed or unknown."""
    try:
        status, charge = pay("order-1", amount)
    except Lost:
        return "unknown"
    if status != 201:
        return "failed"
    return "paid" if charge["status"] == "SUCCESS" else "pending"


def trade():
    book("order-1", state="unknown")
    deposit = takes(50)
    if deposit != "paid":
        book("order-1", paid=0, state=deposit)
        return 3 if deposit == "unknown" else 0
    balance = takes(150)
    if balance == "failed":
        book("order-1", paid=50, state="paid")
        return 0
    book("order-1", paid=200 if balance == "paid" else 50, state=balance)
    return 3 if balance == "unknown" else 0


main(trade)
