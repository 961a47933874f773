"""A shop that writes down what is paid, and tells its desk of all else in words: exit code 1."""

import sys

sys.path[0] += "/.."
from shop import Lost, book, main, pay


def trade():
    try:
        status, charge = pay("order-1", 20)
    except Lost:
        sys.exit("order-1: no answer, the desk looks")
    if status != 201 or charge["status"] != "SUCCESS":
        sys.exit("order-1: not paid yet, the desk looks")
    book("order-1", paid=20, state="paid")


main(trade)
