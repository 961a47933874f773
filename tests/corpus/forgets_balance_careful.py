"""As forgets_balance.py, but a balance that was not answered is looked for."""

from shop import HOLDING, Lost, ask, book, main, pay


def taken():
    """What the customer has paid for the order."""
    _, said = ask("GET", "/charge", Reference="order-1")
    return sum(row["amount"] for row in said["charges"] if row["status"] in HOLDING)


def trade():
    book("order-1", state="unknown")
    _, deposit = pay("order-1", 50)
    if deposit.get("status") != "SUCCESS":
        return 3
    book("order-1", paid=50, state="pending")
    try:
        _, balance = pay("order-1", 150)
        is_paid = balance.get("status") == "SUCCESS"
    except Lost:
        is_paid = taken() == 200
    if not is_paid:
        return 3
    book("order-1", paid=200, state="paid")
    return 0


main(trade)
