"""The plainest checkout there is: pay, raise what goes wrong, write the order down. When the answer
is lost, the exception is all that is left of the order."""

from shop import book, main, pay


def trade():
    status, charge = pay("order-1", 129)
    if status != 201 or charge["status"] != "SUCCESS":
        raise RuntimeError(charge.get("message") or charge["status"])
    book("order-1", paid=129, state="paid")


main(trade)
