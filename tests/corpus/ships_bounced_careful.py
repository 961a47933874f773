"""As ships_bounced.py, but the shop ships when the debit has settled: a job of the next night
asks."""

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
    status, _ = ask("POST", "/charge/bank_account", debit)
    if status == 201:
        book("order-1", state="pending")


def reconcile():
    for row in books():
        charge = look(row["reference"])
        if charge is None:
            book(row["reference"], state="failed")
        elif charge["status"] == "SUCCESS":
            book(row["reference"], paid=20, state="shipped")


main(trade, reconcile)
