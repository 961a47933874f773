"""As forgets_hold.py, but the order is paid anew when its hold is void; while a capture is pending
it stays held."""

from shop import Lost, ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", 20, capture=False)
    book("order-1", state="held")
    _, done = ask("POST", f"/charge/{charge['chargeId']}", {})
    if done.get("status") == "PENDING":
        return 0
    if done.get("status") != "SUCCESS":
        if not void(charge["chargeId"]):
            return 3
        book("order-1", state="unknown")
        _, done = pay("order-1", 20)
    is_paid = done.get("status") == "SUCCESS"
    book("order-1", **({"paid": 20, "state": "paid"} if is_paid else {"state": "unknown"}))
    return 0 if is_paid else 3


def void(charge):
    for _ in range(3):
        try:
            if ask("DELETE", f"/charge/{charge}/void")[0] == 200:
                return True
            if ask("GET", f"/charge/{charge}")[1]["status"] == "AUTHORISE_CANCELLED":
                return True
        except Lost:
            continue
    return False


main(trade)
