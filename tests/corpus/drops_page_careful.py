"""As drops_page.py, but a page that does not come is asked for again; without it nothing is charged."""

from shop import Lost, ask, book, main, pay

ORDERS = ["order-1", "order-2", "order-3", "order-4"]


def trade():
    for order in ORDERS:
        pay(order, 20)
    paid = {charge["reference"] for skip in (0, 2) for charge in page(skip)}
    for order in ORDERS:
        if order not in paid:
            pay(order, 20)
        book(order, paid=20, state="paid")


def page(skip):
    for number in range(3):
        try:
            return ask("GET", "/charge", Status="SUCCESS", limit=2, skip=skip)[1]["charges"]
        except Lost:
            if number == 2:
                raise


main(trade)
