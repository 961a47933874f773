"""As bills_twice.py, but what the service has taken beyond the plan is given back before it is
booked."""

from shop import CARD, PROVIDER, ask, book, main


def trade():
    _, method = ask(
        "POST", "/payment_method/card", {"providerId": PROVIDER, "paymentInformation": CARD}
    )
    plan = {
        "paymentMethodId": method["paymentMethodId"],
        "amount": "9.99",
        "currency": "AUD",
        "interval": "Month",
    }
    _, made = ask("POST", "/subscription/payment_method", plan | {"endAfter": {"count": 1}})
    ask("POST", "/__admin/clock/advance", {"by": "1d"})
    _, found = ask("GET", "/charge", SubscriptionId=made["subscriptionId"])
    paid, *more = [charge for charge in found["charges"] if charge["status"] == "SUCCESS"]
    for charge in more:
        ask("DELETE", f"/refund/{charge['chargeId']}", amount=charge["amount"])
    total, back = paid["amount"] * (1 + len(more)), paid["amount"] * len(more)
    book("month-1", subscription=made["subscriptionId"], paid=total, refunded=back, state="paid")


main(trade)
