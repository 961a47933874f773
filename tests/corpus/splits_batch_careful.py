"""As splits_batch.py, but a batch whose answer is lost is looked up by its description before it is
sent again."""

from shop import CARD, PROVIDER, Lost, ask, book, main, results_of

ORDERS = ["order-1", "order-2", "order-3", "order-4"]
NAME = "order-1 to order-4"


def trade():
    for order in ORDERS:
        book(order, state="unknown")
    _, method = ask(
        "POST", "/payment_method/card", {"providerId": PROVIDER, "paymentInformation": CARD}
    )
    try:
        batch = send(method)
    except Lost:
        found = ask("GET", "/batch", Description=NAME)[1]["batches"]
        batch = found[0]["batchId"] if found else send(method)
    for row in results_of(batch):
        _, amount, _, order, status, *_ = row.split(",")
        if status == "SUCCESS":
            book(order, paid=amount, state="paid")


def send(method):
    rows = "".join(f"{method['paymentMethodId']},20.00,AUD,{order}\n" for order in ORDERS)
    batch = f"PaymentMethodId,Amount,Currency,Reference\n{rows}"
    body = {"count": len(ORDERS), "description": NAME, "batch": batch}
    return ask("POST", "/batch/transaction/payment_method", body)[1]["batchId"]


main(trade)
