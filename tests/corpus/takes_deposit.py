"""A deposit and a balance are paid under one reference. When the balance is not answered, any
payment of the order is taken for it: the deposit."""

from shop import Lost, book, look, main, pay


def paid(amount):
    """What the shop counts as paid of one part of the price."""
    try:
        status, charge = pay("order-1", amount)
    except Lost:
        return amount if look("order-1") else 0
    return amount if status == 201 and charge["status"] == "SUCCESS" else 0


def trade():
    book("order-1", state="unknown")
    deposit = paid(50)
    balance = paid(150) if deposit else 0
    book("order-1", paid=deposit + balance)
    return 0 if balance else 3


main(trade)
