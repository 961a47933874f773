"""As refunds_item_again.py, but the charge is read before a refund is sent again."""

from shop import Lost, ask, book, main, pay


def give_back(charge, item):
    for _ in range(3):
        try:
            return ask("DELETE", f"/refund/{charge}", amount=5, comment=item)[0] == 200
        except Lost:
            _, said = ask("GET", f"/charge/{charge}")
            if item in [refund["comment"] for refund in said["refunds"]]:
                return True
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
