"""Two bills are debited from one account, entered for each of them; the first may be refused for
good. Which account a customer has is for the customer to say, bill by bill."""

import sys

sys.path[0] += "/.."
from shop import PROVIDER, Lost, ask, book, main

ACCOUNT = {"bankCode": "062-000", "accountNumber": "12345678", "accountName": "Ann Example"}


def debit(bill, amount):
    body = {"providerId": PROVIDER, "reference": bill, "amount": amount}
    try:
        status, _ = ask("POST", "/charge/bank_account", body | {"bankPaymentInformation": ACCOUNT})
    except Lost:
        return "unknown"
    return "pending" if status == 201 else "failed"


def trade():
    for bill, amount in (("bill-1", 70), ("bill-2", 25.5)):
        book(bill, state="unknown")
        book(bill, state=debit(bill, amount))


main(trade)
