"""As drops_page.py, but a page that does not come is asked for again; without it nothing is
charged."""

from shop import HOLDING, Lost, ask, book, main, pay

ORDERS = ["order-1", "order-2", "order-3", "order-4"]


def trade():
    for order in ORDERS:
        book(order, state="unknown")
    for order in ORDERS:
        if pay(order, 20)[0] != 201:
            return 1
    # Here the crash: what is paid stands only in the service's list.
    charges = [charge for skip in (0, 2) for charge in page(skip)]
    found = {charge["reference"]: charge for charge in charges if charge["status"] in HOLDING}
    for order in ORDERS:
        charge = found.get(order) or pay(order, 20)[1]
        if charge["status"] == "SUCCESS":
            book(order, paid=20, state="paid")


def page(skip):
    for number in range(3):
        try:
            return ask("GET", "/charge", limit=2, skip=skip)[1]["charges"]
        except Lost:
            if number == 2:
                raise


main(trade)
