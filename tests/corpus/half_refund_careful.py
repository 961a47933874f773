"""As half_refund.py, but the books have the amount that the charge shows."""

from contextlib import suppress

from shop import Lost, ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", 20)
    if charge.get("status") != "SUCCESS":
        return 3
    path, wanted, given = charge["chargeId"], 0, 0
    for amount in (5, 15):
        wanted += amount
        given = refund(path, amount, wanted)
    book("order-1", paid=20, refunded=given)
    return 0 if given == wanted else 3


def refund(path, amount, wanted):
    """Refund until the charge shows what is wanted; what it shows in the end."""
    for _ in range(3):
        with suppress(Lost):
            ask("DELETE", f"/refund/{path}", amount=amount)
        given = ask("GET", f"/charge/{path}")[1]["refundedAmount"]
        if given >= wanted:
            break
    return given


main(trade)
