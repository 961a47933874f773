"""After a crash the service is asked about the order before it is paid."""

from shop import book, books, look, main, pay


def trade():
    if not books():
        if look("order-1") is None:
            pay("order-1", 20)
        if look("order-1") is not None:
            book("order-1", paid=20, state="paid")


main(trade)
