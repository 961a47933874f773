"""A payment that is not answered ends the job with an error, and its order is in no books until
somebody has looked."""

import sys

from shop import Lost, book, main, pay


def trade():
    try:
        status, charge = pay("order-1", 20)
    except Lost:
        sys.exit("order-1: no answer. Please look whether it is paid.")
    is_paid = status == 201 and charge["status"] == "SUCCESS"
    book("order-1", state="paid" if is_paid else "unpaid", paid=20 if is_paid else 0)


main(trade)
