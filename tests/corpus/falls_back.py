"""When a payment through the first provider is not answered, it is taken through the second one."""

from shop import PROVIDER, Lost, ask, book, main, pay


def trade():
    _, backup = ask("POST", "/provider", {"type": "dummy", "name": "Backup", "currency": "AUD"})
    for provider in (PROVIDER, backup["providerId"]):
        try:
            status, charge = pay("order-1", 20, provider=provider)
        except Lost:
            continue
        if status == 201 and charge["status"] == "SUCCESS":
            book("order-1", paid=20, state="paid")
            return 0
        if not charge.get("isRetryable", True):
            break
    book("order-1", state="unpaid")
    return 1


main(trade)
