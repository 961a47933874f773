"""A shop that takes half of an order as a deposit and the other half as its balance: two equal
payments of one reference. When one of them is not answered, it looks what has come. What it cannot
explain in the end it tells a person."""

import sys

sys.path[0] += "/.."
from shop import HOLDING, Lost, ask, book, main, pay

HALF = 50


def taken():
    """What the customer has paid for the order."""
    _, said = ask("GET", "/charge", Reference="order-1")
    return sum(row["amount"] for row in said["charges"] if row["status"] in HOLDING)


def takes_half(wanted):
    """Take one half; whether so much has come then."""
    for _ in range(3):
        try:
            status, charge = pay("order-1", HALF)
            return status == 201 and charge["status"] == "SUCCESS"
        except Lost:
            if taken() >= wanted:
                return True
    return False


def trade():
    book("order-1", state="unknown")
    is_paid = takes_half(HALF) and takes_half(2 * HALF)
    if not is_paid or taken() != 2 * HALF:
        return 3
    book("order-1", paid=2 * HALF)
    return 0


main(trade)
