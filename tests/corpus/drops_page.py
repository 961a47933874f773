"""After a crash the shop reads in the service's list what is paid. A page that does not come is
left out, and its orders are charged again."""

from shop import HOLDING, Lost, ask, book, main, pay

ORDERS = ["order-1", "order-2", "order-3", "order-4"]


def trade():
    for order in ORDERS:
        book(order, state="unknown")
    for order in ORDERS:
        if pay(order, 20)[0] != 201:
            return 1
    # Here the crash: what is paid stands only in the service's list.
    found = {}
    for skip in (0, 2):
        try:
            _, page = ask("GET", "/charge", limit=2, skip=skip)
        except Lost:
            continue
        found |= {
            charge["reference"]: charge for charge in page["charges"] if charge["status"] in HOLDING
        }
    for order in ORDERS:
        charge = found.get(order) or pay(order, 20)[1]
        if charge["status"] == "SUCCESS":
            book(order, paid=20, state="paid")


main(trade)
