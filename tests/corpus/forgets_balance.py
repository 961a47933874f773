"""The deposit of an order is paid. A balance that is not answered is booked as pending, and nobody
asks how it ended."""

from shop import Lost, book, main, pay


def trade():
    book("order-1", state="unknown")
    _, deposit = pay("order-1", 50)
    if deposit.get("status") != "SUCCESS":
        return 3
    book("order-1", paid=50, state="pending")
    try:
        _, balance = pay("order-1", 150)
    except Lost:
        return 0
    if balance.get("status") != "SUCCESS":
        return 3
    book("order-1", paid=200, state="paid")
    return 0


main(trade)
