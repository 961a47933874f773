"""When a customer's card cannot be read, the card that was read last is charged, which is another
customer's."""

from shop import CARD, PROVIDER, Lost, ask, book, main

CARDS = {"ann": CARD, "bob": CARD | {"cardNumber": "5555555555554444"}}


def trade():
    customers, method = {}, None
    for name, card in CARDS.items():
        body = {"providerId": PROVIDER, "paymentInformation": card, "reference": name}
        customers[name] = ask("POST", "/customer/card", body)[1]["customerId"]
    for name, customer in customers.items():
        order = f"order-{name}"
        book(order, state="unknown", payer=name)
        try:
            method = ask("GET", f"/customer/{customer}")[1]["defaultPaymentMethod"][
                "paymentMethodId"
            ]
        except Lost:
            print("no answer, the card is known from before")
        body = {"paymentMethodId": method, "reference": order, "amount": 20}
        _, charge = ask("POST", "/charge/payment_method", body)
        book(
            order,
            paid=20,
            state="paid" if charge.get("status") == "SUCCESS" else "unpaid",
            payer=name,
        )


main(trade)
