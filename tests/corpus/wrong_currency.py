"""The order is in New Zealand dollars. The second try leaves the currency out, and is in those of
the provider."""

from shop import Lost, book, look, main, pay


def trade():
    book("order-1", state="unknown")
    try:
        _, charge = pay("order-1", 20, currency="NZD")
    except Lost:
        charge = look("order-1")
        if charge is None:
            _, charge = pay("order-1", 20)
    if charge.get("status") == "SUCCESS":
        book("order-1", paid=20, currency="NZD", state="paid")


main(trade)
