"""As captures_cancelled.py, but a cancelled order is never shipped, and its void is sent until the
charge is void."""

from shop import Lost, ask, book, main, pay


def trade():
    for order in ("order-1", "order-2"):
        book(order, state="unknown")
    held = {order: pay(order, 20, capture=False)[1]["chargeId"] for order in ("order-1", "order-2")}
    book("order-1", state="cancelled" if void(held["order-1"]) else "unknown")
    book("order-2", state="unknown")
    _, charge = ask("POST", f"/charge/{held['order-2']}", {})
    if charge.get("status") != "SUCCESS":
        return 3
    book("order-2", paid=20, state="shipped")


def void(charge):
    for _ in range(3):
        try:
            if ask("GET", f"/charge/{charge}")[1]["status"] == "AUTHORISE_CANCELLED":
                return True
            if ask("DELETE", f"/charge/{charge}/void")[0] == 200:
                return True
        except Lost:
            continue
    return False


main(trade)
