"""A worker takes an order, which no other can take then, before it takes its payment."""

from shop import FOLDER, book, main, pay


def trade():
    try:
        (FOLDER / "order-1.taken").touch(exist_ok=False)
    except FileExistsError:
        return
    status, charge = pay("order-1", 20)
    if status == 201 and charge["status"] == "SUCCESS":
        book("order-1", paid=20, state="paid")


main(trade)
