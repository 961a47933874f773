"""As claims_late.py, but a worker takes the order first, which no other can do then."""

import sys

from shop import FOLDER, book, look, main, pay


def trade():
    try:
        (FOLDER / "order-1.taken").touch(exist_ok=False)
    except FileExistsError:
        sys.exit("another worker is at it")
    if look("order-1") is not None:
        return
    status, charge = pay("order-1", 20)
    if status == 201 and charge["status"] == "SUCCESS":
        book("order-1", paid=20, state="paid")


main(trade)
