"""As double_click.py, but one payment of an order at a time: the second click waits, and finds the
order paid."""

from threading import Lock, Thread

from shop import book, books, main, pay

paying = Lock()


def click():
    with paying:
        if books():
            return
        book("order-1", state="unknown")
        status, charge = pay("order-1", 20)
        if status == 201 and charge["status"] == "SUCCESS":
            book("order-1", paid=20, state="paid")


def trade():
    first = Thread(target=click)
    first.start()
    first.join(0.2)
    if first.is_alive():
        click()
    first.join()
    return 0 if books()[0]["state"] == "paid" else 3


main(trade)
