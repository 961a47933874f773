"""Two items of one price come back, each refunded with a comment of its own. A refund that is not
answered is sent again, and the customer gets it twice."""

from shop import Lost, ask, book, main, pay


def give_back(charge, item):
    for _ in range(3):
        try:
            return ask("DELETE", f"/refund/{charge}", amount=5, comment=item)[0] == 200
        except Lost:
            continue
    return False


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", 20)
    if charge.get("status") != "SUCCESS":
        return 3
    made = [give_back(charge["chargeId"], item) for item in ("cup", "plate")]
    book("order-1", paid=20, refunded=5 * sum(made))
    return 0


main(trade)
