"""As cancels_in_books.py, but the subscription is cancelled until the service says so; else a
person is told."""

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
    is_over = end(f"/subscription/{trial['subscriptionId']}")
    book(
        "trial-1", subscription=trial["subscriptionId"], state="cancelled" if is_over else "unknown"
    )
    return 0 if is_over else 3


def end(path):
    for _ in range(3):
        try:
            if ask("GET", path)[1].get("status") == "Cancelled" or ask("DELETE", path)[0] == 200:
                return True
        except Lost:
            continue
    return False


main(trade)
