"""After a lost answer the shop lists the payments of its order, compares a field that is not its
own, and charges again."""

from shop import Lost, ask, book, main, pay


def known():
    _, said = ask("GET", "/charge", Reference="order-1")
    # The id of the provider is none of the shop's order numbers.
    return next((row for row in said["charges"] if row["providerChargeId"] == "order-1"), None)


def trade():
    try:
        _, charge = pay("order-1", 20)
    except Lost:
        charge = known() or pay("order-1", 20)[1]
    is_paid = charge["status"] == "SUCCESS"
    book("order-1", paid=20 if is_paid else 0, state="paid" if is_paid else "unpaid")


main(trade)
