"""A subscription is paid each month. The shop books one payment a month, and never counts those of
the service."""

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
    book("month-1", subscription=made["subscriptionId"], paid="9.99", state="paid")


main(trade)
