"""As falls_back.py, but before the second provider is asked the shop looks whether the first one
took the money."""

from shop import PROVIDER, Lost, ask, book, look, main, pay


def trade():
    _, backup = ask("POST", "/provider", {"type": "dummy", "name": "Backup", "currency": "AUD"})
    book("order-1", state="unknown")
    for provider in (PROVIDER, backup["providerId"]):
        try:
            status, charge = pay("order-1", 20, provider=provider)
        except Lost:
            status, charge = 201, look("order-1") or {"status": "FAILED"}
        if status == 201 and charge["status"] != "FAILED":
            is_paid = charge["status"] == "SUCCESS"
            book("order-1", **({"paid": 20, "state": "paid"} if is_paid else {"state": "pending"}))
            return 0 if is_paid else 3
        if not charge.get("isRetryable", True):
            break
    book("order-1", state="unpaid")
    return 1


main(trade)
