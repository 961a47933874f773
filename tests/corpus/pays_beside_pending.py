"""A payment that is pending counts as failed: another card pays for the order beside it."""

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
    book("order-1", state="unpaid")
    return 1


main(trade)
