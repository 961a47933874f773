"""Two items of one price come back, and no refund says which of them it is for. One that is not
answered is left to a person, and the next item is refunded all the same."""

import sys

sys.path[0] += "/.."
from shop import Lost, ask, book, main, pay


def give_back(charge):
    """How a refund ended: made, refused or unknown."""
    try:
        status, _ = ask("DELETE", f"/refund/{charge}", amount=5)
    except Lost:
        return "unknown"
    return "made" if status == 200 else "refused"


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", 20)
    if charge.get("status") != "SUCCESS":
        return 3
    ends = [give_back(charge["chargeId"]) for _ in range(2)]
    if "unknown" in ends:
        return 3
    book("order-1", paid=20, refunded=5 * ends.count("made"), state="paid")
    return 0


main(trade)
