"""After a crash the shop reads in the service's list what is paid. A page that does not come is left out, and its
orders are charged again."""

from shop import Lost, ask, book, main, pay

ORDERS = ["order-1", "order-2", "order-3", "order-4"]


def trade():
    for order in ORDERS:
        pay(order, 20)
    paid = set()
    for skip in (0, 2):
        try:
            _, page = ask("GET", "/charge", Status="SUCCESS", limit=2, skip=skip)
        except Lost:
            continue
        paid.update(charge["reference"] for charge in page["charges"])
    for order in ORDERS:
        if order not in paid:
            pay(order, 20)
        book(order, paid=20, state="paid")


main(trade)
