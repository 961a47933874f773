"""Webhooks are stored and answered at once; whether the service has signed them is looked at when
they are worked off, each once."""

import sys
from contextlib import suppress
from json import loads
from queue import Empty, SimpleQueue
from time import monotonic

sys.path[0] += "/.."
from nightly import square
from shop import FOLDER, Lost, book, main, pay
from webhooks import is_signed, webhooks

stored = SimpleQueue()


def take(body, signature):
    stored.put((body, signature))
    return 200


def work_off(seconds):
    """Believe what is signed and about the order; whether it was paid."""
    end = monotonic() + seconds
    while (left := end - monotonic()) > 0:
        try:
            body, signature = stored.get(timeout=left)
        except Empty:
            return
        charge = loads(body)["data"] if is_signed(body, signature) else {}
        is_right = charge.get("reference") == "order-1" and charge.get("amount") == 20
        if is_right and charge["status"] == "SUCCESS":
            book("order-1", paid=20, state="paid")


def trade():
    try:
        (FOLDER / "begun").touch(exist_ok=False)
    except FileExistsError:
        return
    book("order-1", state="unknown")
    with webhooks(take) as webhook:
        with suppress(Lost):
            pay("order-1", 20, webhook=webhook)
        work_off(0.4)


def reconcile():
    book("order-1", **square("order-1", 20))


main(trade, reconcile)
