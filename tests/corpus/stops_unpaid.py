"""A payment that is not answered ends the job with an error, and its order stays booked as
unpaid."""

import sys

from shop import Lost, book, main, pay


def trade():
    book("order-1", state="unpaid")
    try:
        status, charge = pay("order-1", 20)
    except Lost:
        sys.exit("order-1: no answer")
    if status == 201 and charge["status"] == "SUCCESS":
        book("order-1", paid=20, state="paid")


main(trade)
