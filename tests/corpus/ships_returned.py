"""A bank debit has settled when the shop ships. A day later it is returned, and nobody looks any
more."""

from shop import PROVIDER, ask, book, look, main

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


main(trade)
