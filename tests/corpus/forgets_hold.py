"""A hold whose capture is refused is forgotten, and the order is paid anew: the customer misses the
money twice."""

from shop import ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", 20, capture=False)
    _, done = ask("POST", f"/charge/{charge['chargeId']}", {})
    if done.get("status") != "SUCCESS":
        _, done = pay("order-1", 20)
    is_paid = done.get("status") == "SUCCESS"
    book("order-1", **({"paid": 20, "state": "paid"} if is_paid else {"state": "unknown"}))
    return 0 if is_paid else 3


main(trade)
