"""A refund is struck off the list before it is asked for. One that does not go through is made by
nobody, and the books never say that it is owed."""

from shop import Lost, ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", 20)
    if charge.get("status") != "SUCCESS":
        return 3
    path = charge["chargeId"]
    returned = [5]
    while returned:
        amount = returned.pop()
        try:
            ask("DELETE", f"/refund/{path}", amount=amount)
        except Lost:
            continue
    _, charge = ask("GET", f"/charge/{path}")
    book("order-1", paid=20, refunded=charge["refundedAmount"], state="paid")
    return 0


main(trade)
