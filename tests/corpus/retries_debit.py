"""A bank account that was closed is debited three times for the same bill."""

from shop import Lost, ask, book, main

ACCOUNT = {"bankCode": "062-000", "accountNumber": "12345678", "accountName": "Ann Example"}
PROVIDER = "a26c371f-94f6-40da-add2-28ec8e9da8ed"


def trade():
    book("bill-1", state="unknown")
    body = {"providerId": PROVIDER, "amount": 20, "bankPaymentInformation": ACCOUNT}
    for _ in range(3):
        try:
            status, _ = ask("POST", "/charge/bank_account", body | {"reference": "bill-1"})
        except Lost:
            return 3
        if status == 201:
            book("bill-1", state="pending")
            return 0
    book("bill-1", state="failed")
    return 0


main(trade)
