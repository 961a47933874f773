"""A card is kept as a token, and the order is booked as paid whatever becomes of the token's
charge."""

from shop import CARD, PROVIDER, ask, book, main


def trade():
    _, token = ask("POST", "/token/card", {"providerId": PROVIDER, "paymentInformation": CARD})
    ask("POST", "/charge/token", {"token": token["tokenId"], "reference": "order-1", "amount": 20})
    book("order-1", paid=20, state="paid")


main(trade)
