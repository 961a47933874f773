"""Two items come back, one after the other. A refund that was not answered is taken for made when
the charge shows any refund: the one of the first item."""

from shop import Lost, ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", 20)
    if charge.get("status") != "SUCCESS":
        return 3
    path, given = charge["chargeId"], 0
    for amount in (5, 15):
        try:
            status, _ = ask("DELETE", f"/refund/{path}", amount=amount)
            has_given = status == 200
        except Lost:
            has_given = ask("GET", f"/charge/{path}")[1]["refundedAmount"] > 0
        given += amount * has_given
    book("order-1", paid=20, refunded=given)


main(trade)
