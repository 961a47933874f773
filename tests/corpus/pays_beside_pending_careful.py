"""As pays_beside_pending.py, but another card is asked for only where nothing can come of the first;
the night books what has settled."""

from nightly import square
from shop import CARD, Lost, book, main, pay

OTHER = CARD | {"cardNumber": "5555555555554444"}


def trade():
    for card in (CARD, OTHER):
        try:
            status, charge = pay("order-1", 20, card)
        except Lost:
            book("order-1", state="unknown")
            return 3
        if status == 201 and charge["status"] == "SUCCESS":
            book("order-1", paid=20, state="paid")
            return 0
        if status == 201 and charge["status"] in ("PENDING", "PENDING_CHECKOUT"):
            book("order-1", state="pending")
            return 0
    book("order-1", state="unpaid")
    return 1


def reconcile():
    book("order-1", **square("order-1", 20))


main(trade, reconcile)
