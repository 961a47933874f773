"""As charges_other.py, but nothing is charged until the customer's own card was read; else a person
is told."""

from shop import CARD, PROVIDER, Lost, ask, book, main

CARDS = {"ann": CARD, "bob": CARD | {"cardNumber": "5555555555554444"}}


def trade():
    customers = {}
    for name, card in CARDS.items():
        body = {"providerId": PROVIDER, "paymentInformation": card, "reference": name}
        customers[name] = ask("POST", "/customer/card", body)[1]["customerId"]
    for name, customer in customers.items():
        order = f"order-{name}"
        book(order, state="unknown", payer=name)
        method = card_of(customer)
        if method is None:
            return 3
        body = {"paymentMethodId": method, "reference": order, "amount": 20}
        _, charge = ask("POST", "/charge/payment_method", body)
        book(
            order,
            paid=20,
            state="paid" if charge.get("status") == "SUCCESS" else "unpaid",
            payer=name,
        )


def card_of(customer):
    for _ in range(3):
        try:
            return ask("GET", f"/customer/{customer}")[1]["defaultPaymentMethod"]["paymentMethodId"]
        except Lost:
            continue


main(trade)
