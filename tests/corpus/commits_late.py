"""The order is written down once its payment is answered: after a crash in between it is paid
again."""

from shop import book, books, main, pay


def trade():
    if not books():
        status, charge = pay("order-1", 20)
        if status == 201 and charge["status"] == "SUCCESS":
            book("order-1", paid=20, state="paid")


main(trade)
