"""As compares_wrong_field.py, but the shop compares the reference, which is its own number, and the
state."""

from shop import Lost, ask, book, main, pay


def known():
    _, said = ask("GET", "/charge", Reference="order-1")
    paid = ("SUCCESS", "PENDING", "Authorised")
    rows = [row for row in said["charges"] if row["reference"] == "order-1"]
    return next((row for row in rows if row["status"] in paid), None)


def trade():
    try:
        _, charge = pay("order-1", 20)
    except Lost:
        charge = known() or pay("order-1", 20)[1]
    is_paid = charge["status"] == "SUCCESS"
    book("order-1", paid=20 if is_paid else 0, state="paid" if is_paid else "unpaid")


main(trade)
