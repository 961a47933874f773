"""A customer ends the free trial of a subscription. The shop forgets her, whether the service has
heard it or not."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from shop import CARD, PROVIDER, Lost, ask, book, main


def trade():
    _, method = ask(
        "POST", "/payment_method/card", {"providerId": PROVIDER, "paymentInformation": CARD}
    )
    begin = (datetime.now(UTC) + timedelta(days=14)).date().isoformat()
    plan = {
        "paymentMethodId": method["paymentMethodId"],
        "amount": "9.99",
        "currency": "AUD",
        "interval": "Month",
    }
    _, trial = ask("POST", "/subscription/payment_method", plan | {"startDate": begin})
    book("trial-1", subscription=trial["subscriptionId"], state="unknown")
    with suppress(Lost):
        ask("DELETE", f"/subscription/{trial['subscriptionId']}")
    book("trial-1", subscription=trial["subscriptionId"], state="cancelled")


main(trade)
