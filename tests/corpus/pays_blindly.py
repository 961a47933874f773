"""After a lost payment the service is asked about the order; when that fails too, the order is paid
again."""

from shop import Lost, book, look, main, pay


def known():
    try:
        return look("order-1")
    except Lost:
        return None


def trade():
    for _ in range(2):
        if known() is None:
            try:
                pay("order-1", 20)
                break
            except Lost:
                continue
    charge = known()
    book("order-1", **({"paid": 20, "state": "paid"} if charge else {"state": "unknown"}))


main(trade)
