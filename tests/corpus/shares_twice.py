"""The vendor's share of an order is sent again, under another reference, when its answer is
lost."""

from shop import PROVIDER, Lost, ask, book, main, pay


def trade():
    book("order-1", state="unknown")
    _, charge = pay("order-1", 20)
    book("order-1", paid=20, state="paid")
    for attempt in (1, 2, 3):
        rows = [
            {"account": "vendor-7", "amount": 8, "currency": "AUD", "reference": f"share-{attempt}"}
        ]
        body = {
            "groupReference": f"share-{attempt}",
            "providerId": PROVIDER,
            "chargeId": charge["chargeId"],
        }
        try:
            ask("POST", "/transfer", body | {"transfers": rows})
            return
        except Lost:
            continue


main(trade)
