"""A pre-order holds its money and is pending until it is dispatched: nothing of that is overdue."""

import sys

sys.path[0] += "/.."
from shop import Lost, book, look, main, pay


def trade():
    book("order-1", state="unknown")
    try:
        status, charge = pay("order-1", 20, capture=False)
    except Lost:
        charge, status = look("order-1"), 201
    if status == 201 and charge and charge["status"] == "Authorised":
        book("order-1", state="pending")
        return 0
    return 3


main(trade)
