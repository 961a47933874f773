"""As looks_too_early.py, but what was answered is not sent again, and what was not answered is
looked for twice."""

from time import sleep

from shop import Lost, book, look, main, pay


def found():
    for _ in range(2):
        if charge := look("order-1"):
            return charge
        sleep(0.1)
    return None


def trade():
    book("order-1", state="unknown")
    try:
        _, charge = pay("order-1", 20)
    except Lost:
        charge = found()
    if charge is None:
        return 3
    if charge["chargeId"] == (found() or charge)["chargeId"]:
        book("order-1", paid=20, state="paid")
    return 0


main(trade)
