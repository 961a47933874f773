"""As uses_old_token.py, but a token whose hour is over is replaced, and only what is paid is
booked."""

from shop import CARD, PROVIDER, ask, book, main


def charged():
    _, token = ask("POST", "/token/card", {"providerId": PROVIDER, "paymentInformation": CARD})
    return ask(
        "POST", "/charge/token", {"token": token["tokenId"], "reference": "order-1", "amount": 20}
    )


def trade():
    book("order-1", state="unpaid")
    status, charge = charged()
    if status == 400:
        status, charge = charged()
    if status == 201 and charge["status"] == "SUCCESS":
        book("order-1", paid=20, state="paid")


main(trade)
