"""Three equal items of one order come back. Each is refunded with a third, and a cent of the
customer's is kept."""

from shop import ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", "100.00")
    if charge.get("status") != "SUCCESS":
        return 3
    for _ in range(3):
        status, _ = ask("DELETE", f"/refund/{charge['chargeId']}", amount=f"{100 / 3:.2f}")
        if status != 200:
            return 3
    book("order-1", paid="100.00", refunded="100.00", state="refunded")


main(trade)
