"""As drops_refund.py, but a refund stays on the list until the charge shows it; what cannot be given
back in three tries is owed."""

from contextlib import suppress

from shop import Lost, ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", 20)
    if charge.get("status") != "SUCCESS":
        return 3
    path = charge["chargeId"]
    for _ in range(3):
        with suppress(Lost):
            ask("DELETE", f"/refund/{path}", amount=5)
        _, charge = ask("GET", f"/charge/{path}")
        if charge["refundedAmount"] == 5:
            book("order-1", paid=20, refunded=5, state="paid")
            return 0
    book("order-1", state="refund-owed")
    return 0


main(trade)
