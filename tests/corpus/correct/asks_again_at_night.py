"""A till that is told to come back later ends; the night asks the same at once, as it cannot know."""

import sys

sys.path[0] += "/.."
from nightly import square
from shop import Lost, ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    try:
        status, charge = pay("order-1", 20)
        if status != 201:
            return 3
        status, _ = ask("GET", "/charge", Reference="order-1")
    except Lost:
        return 3
    if status != 200 or charge["status"] != "SUCCESS":
        return 3
    book("order-1", paid=20, state="paid")
    return 0


def reconcile():
    book("order-1", **square("order-1", 20))


main(trade, reconcile)
