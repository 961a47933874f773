"""As cents_lost.py, but the last item is refunded with all that is left."""

from shop import ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", "100.00")
    if charge.get("status") != "SUCCESS":
        return 3
    for amount in ("33.33", "33.33", "33.34"):
        status, _ = ask("DELETE", f"/refund/{charge['chargeId']}", amount=amount)
        if status != 200:
            return 3
    book("order-1", paid="100.00", refunded="100.00", state="refunded")


main(trade)
