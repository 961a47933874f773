"""As shares_twice.py, but a share whose answer is lost is looked up before it is sent again."""

from shop import PROVIDER, Lost, ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", 20)
    book("order-1", paid=20, state="paid")
    for _ in range(3):
        rows = [{"account": "vendor-7", "amount": 8, "currency": "AUD", "reference": "order-1"}]
        body = {"groupReference": "order-1", "providerId": PROVIDER, "chargeId": charge["chargeId"]}
        try:
            ask("POST", "/transfer", body | {"transfers": rows})
            return
        except Lost:
            if ask("GET", "/transfer", Reference="order-1")[1]["transfers"]:
                return


main(trade)
