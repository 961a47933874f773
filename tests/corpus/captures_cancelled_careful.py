"""As captures_cancelled.py, but a cancelled order is never shipped, and its void is sent until the charge is void."""

from shop import Lost, ask, book, main, pay


def trade():
    held = {order: pay(order, 20, capture=False)[1]["chargeId"] for order in ("order-1", "order-2")}
    for order in held:
        book(order, state="held")
    book("order-1", state="cancelled" if void(held["order-1"]) else "unknown")
    status, _ = ask("POST", f"/charge/{held['order-2']}", {})
    book("order-2", **({"paid": 20, "state": "shipped"} if status == 200 else {"state": "unknown"}))


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
