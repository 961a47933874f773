"""As pays_blindly.py, but an order of which nothing is known is not paid: a later run may know
more."""

from shop import Lost, book, look, main, pay


def trade():
    book("order-1", state="unknown")
    for _ in range(2):
        try:
            if look("order-1") is None:
                pay("order-1", 20)
            break
        except Lost:
            continue
    try:
        if (charge := look("order-1")) is not None and charge["status"] == "SUCCESS":
            book("order-1", paid=20, state="paid")
    except Lost:
        pass


main(trade)
