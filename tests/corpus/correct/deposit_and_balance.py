"""A shop that takes half of an order as a deposit and the other half as its balance: two equal
payments of one reference. When one of them is not answered, it looks how many have been made."""

import sys

sys.path[0] += "/.."
from shop import HOLDING, Lost, ask, book, main, pay


def taken():
    _, said = ask("GET", "/charge", Reference="order-1")
    return sum(row["status"] in HOLDING for row in said["charges"])


def half(number):
    """Take one half; whether it is there now."""
    for _ in range(3):
        try:
            status, charge = pay("order-1", 50)
            return status == 201 and charge["status"] == "SUCCESS"
        except Lost:
            if taken() >= number:
                return True
    return False


def trade():
    book("order-1", state="unknown")
    paid = 0
    for number in (1, 2):
        if not half(number):
            break
        paid += 50
    if paid:
        book("order-1", paid=paid)
    return 0 if paid == 100 else 3


main(trade)
