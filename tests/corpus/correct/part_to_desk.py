"""A payment of which the issuer approves a part is left to the desk, which asks the customer how the
rest is to be paid."""

import sys

sys.path[0] += "/.."
from shop import Lost, book, main, pay


def trade():
    book("order-1", state="unknown")
    try:
        status, charge = pay("order-1", 20)
    except Lost:
        return 3
    if status != 201:
        book("order-1", state="failed")
    elif charge["status"] == "SUCCESS" and charge["amount"] == 20:
        book("order-1", paid=20, state="paid")
    return 0


main(trade)
