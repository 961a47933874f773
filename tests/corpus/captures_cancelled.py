"""A customer cancels. When the void fails the order stays among those that are shipped, and is
captured."""

from shop import Lost, ask, book, books, main, pay


def trade():
    held = {order: pay(order, 20, capture=False)[1]["chargeId"] for order in ("order-1", "order-2")}
    for order in held:
        book(order, state="held")
    try:
        status, _ = ask("DELETE", f"/charge/{held['order-1']}/void")
        if status == 200:
            book("order-1", state="cancelled")
    except Lost:
        print("the cancellation of order-1 failed")
    for row in books():
        if row["state"] == "held":
            book(row["reference"], state="unknown")
            _, charge = ask("POST", f"/charge/{held[row['reference']]}", {})
            if charge.get("status") == "SUCCESS":
                book(row["reference"], paid=20, state="shipped")


main(trade)
