"""The customer sees no answer for a fifth of a second and clicks on "Pay" again: the shop sends the
payment twice."""

from threading import Thread

from shop import book, main, pay


def click():
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


main(trade)
