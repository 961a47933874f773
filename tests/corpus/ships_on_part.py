"""The issuer approves a part of the amount. The shop looks at the status alone, and ships."""

from shop import book, main, pay


def trade():
    book("order-1", state="unknown")
    status, charge = pay("order-1", 20)
    if status == 201 and charge["status"] == "SUCCESS":
        book("order-1", paid=20, state="shipped")


main(trade)
