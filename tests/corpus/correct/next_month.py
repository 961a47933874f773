"""A test of a subscription moves the sandbox's clock by a month, and books each payment by its
charge."""

import sys

sys.path[0] += "/.."
from shop import CARD, PROVIDER, Lost, ask, book, main


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
    try:
        _, made = ask("POST", "/subscription/payment_method", plan | {"endAfter": {"count": 2}})
    except Lost:
        [made] = ask("GET", "/subscription")[1]["subscriptions"]
    ask("POST", "/__admin/clock/advance", {"by": "32d"})
    _, found = ask("GET", "/charge", SubscriptionId=made["subscriptionId"])
    for charge in found["charges"]:
        if charge["status"] == "SUCCESS":
            book(charge["chargeId"], charge=charge["chargeId"], paid="9.99")
    return 0 if len(found["charges"]) == 2 else 1


main(trade)
