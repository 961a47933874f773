"""Each run pays for another order, as a test suite does that is run again and again on one
account."""

import sys
from uuid import uuid4

sys.path[0] += "/.."
from shop import Lost, book, look, main, pay


def trade():
    order = f"order-{uuid4().hex[:12]}"
    book(order, state="unknown")
    for _ in range(3):
        try:
            charge = look(order) or pay(order, 20)[1]
        except Lost:
            continue
        is_paid = charge.get("status") == "SUCCESS"
        book(order, **({"paid": 20, "state": "paid"} if is_paid else {"state": "failed"}))
        return 0 if is_paid else 1
    return 3


main(trade)
