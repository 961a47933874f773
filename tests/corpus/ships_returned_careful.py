"""As ships_returned.py, but a job of every night asks again, and writes off what was returned."""

from shop import PROVIDER, ask, book, books, look, main

ACCOUNT = {"bankCode": "123-456", "accountNumber": "12345678", "accountName": "Ada Byron"}


def trade():
    debit = {
        "providerId": PROVIDER,
        "reference": "order-1",
        "amount": 20,
        "bankPaymentInformation": ACCOUNT,
    }
    book("order-1", state="unknown")
    ask("POST", "/charge/bank_account", debit)
    ask("POST", "/__admin/clock/advance", {"by": "25h"})
    if look("order-1")["status"] == "SUCCESS":
        book("order-1", paid=20, state="shipped")


def reconcile():
    for row in books():
        if look(row["reference"]) is None:
            book(row["reference"], state="failed")


main(trade, reconcile)
