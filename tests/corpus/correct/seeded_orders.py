"""The shop's database has orders of before: the sandbox has never seen them, and they are the same
in each run."""

import sys

sys.path[0] += "/.."
from shop import Lost, book, look, main, pay


def trade():
    book("order-90", paid="35.00", state="paid")
    book("order-91", paid="12.50", refunded="12.50", state="refunded")
    book("order-92", state="cancelled")
    book("order-93", state="unknown")
    try:
        _, charge = pay("order-93", 20)
    except Lost:
        charge = look("order-93") or {}
    if charge.get("status", "FAILED") not in ("SUCCESS", "FAILED"):
        return 3
    book(
        "order-93",
        **(
            {"paid": 20, "state": "paid"}
            if charge.get("status") == "SUCCESS"
            else {"state": "failed"}
        ),
    )


main(trade)
