"""As takes_deposit.py, but a payment of another amount is not the one that was sent."""

from shop import HOLDING, Lost, ask, book, main, pay


def paid(amount):
    """What the shop counts as paid of one part of the price."""
    try:
        status, charge = pay("order-1", amount)
    except Lost:
        _, said = ask("GET", "/charge", Reference="order-1")
        found = [row for row in said["charges"] if row["status"] in HOLDING]
        return amount if amount in [row["amount"] for row in found] else 0
    return amount if status == 201 and charge["status"] == "SUCCESS" else 0


def trade():
    book("order-1", state="unknown")
    deposit = paid(50)
    balance = paid(150) if deposit else 0
    book("order-1", paid=deposit + balance)
    return 0 if balance else 3


main(trade)
