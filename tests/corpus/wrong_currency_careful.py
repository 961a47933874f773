"""As wrong_currency.py, but both tries are the same."""

from shop import Lost, book, look, main, pay


def trade():
    order = {"reference": "order-1", "amount": 20, "currency": "NZD"}
    book("order-1", state="unknown")
    try:
        _, charge = pay(**order)
    except Lost:
        charge = look("order-1") or pay(**order)[1]
    if charge.get("status") == "SUCCESS":
        book("order-1", paid=charge["amount"], currency=charge["currency"], state="paid")


main(trade)
