"""Who will not wait for a pending payment may pay with another card: the night gives back whichever
settles beside it."""

import sys

sys.path[0] += "/.."
from nightly import square
from shop import CARD, Lost, book, main, pay

CARDS = CARD, CARD | {"cardNumber": "5555555555554444"}


def trade():
    book("order-1", state="unknown")
    for card in CARDS:
        try:
            status, charge = pay("order-1", 20, card)
        except Lost:
            return 3
        if status == 201 and charge["status"] == "SUCCESS":
            book("order-1", paid=20, state="paid")
            return 0
    return 3


def reconcile():
    book("order-1", **square("order-1", 20))


main(trade, reconcile)
