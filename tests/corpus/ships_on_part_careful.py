"""As ships_on_part.py, but the shop reads the amount too, and a payment that is too small is given
back."""

from shop import ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    status, charge = pay("order-1", 20)
    if status == 201 and charge["status"] == "SUCCESS" and charge["amount"] == 20:
        book("order-1", paid=20, state="shipped")
    elif status == 201:
        ask("DELETE", f"/charge/{charge['chargeId']}")
        book("order-1", state="unpaid")


main(trade)
