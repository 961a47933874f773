"""Rows of a batch that fail are sent again under a reference with a suffix, when the customer has
given another card."""

import sys

sys.path[0] += "/.."
from shop import CARD, PROVIDER, ask, book, main, results_of

OTHER = CARD | {"cardNumber": "5555555555554444"}


def trade():
    failed = send(store(CARD), ["order-1", "order-2"])
    if failed:
        failed = send(store(OTHER), [f"{order}-again" for order in failed])
    return 3 if failed else 0


def store(card):
    _, method = ask(
        "POST", "/payment_method/card", {"providerId": PROVIDER, "paymentInformation": card}
    )
    return method["paymentMethodId"]


def send(method, orders):
    """The orders whose rows have failed."""
    for order in orders:
        book(order, state="unknown")
    rows = "".join(f"{method},20.00,AUD,{order}\n" for order in orders)
    body = {
        "count": len(orders),
        "description": "night",
        "batch": f"PaymentMethodId,Amount,Currency,Reference\n{rows}",
    }
    _, batch = ask("POST", "/batch/transaction/payment_method", body)
    failed = []
    for row in results_of(batch["batchId"]):
        _, amount, _, order, status, *_ = row.split(",")
        if status == "SUCCESS":
            book(order, paid=amount, state="paid")
        else:
            book(order, state="failed")
            failed.append(order)
    return failed


main(trade)
