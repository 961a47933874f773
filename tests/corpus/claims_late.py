"""A worker looks whether another has taken the order, asks the service, and only then takes it: two
that begin at once both do."""

from shop import FOLDER, book, look, main, pay


def trade():
    taken = FOLDER / "order-1.taken"
    if taken.exists() or look("order-1") is not None:
        return
    taken.touch()
    status, charge = pay("order-1", 20)
    if status == 201 and charge["status"] == "SUCCESS":
        book("order-1", paid=20, state="paid")


main(trade)
