"""A bank debit takes a day. The shop ships at once, and never hears that it bounced."""

from shop import PROVIDER, ask, book, main

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
        book("order-1", paid=20, state="shipped")


main(trade)
