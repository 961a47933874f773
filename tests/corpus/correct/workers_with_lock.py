"""Two workers go through the open orders at once. Each order has a lock, and what was begun is
written under it; a worker that finds the lock taken goes on to the next order, and says so in the
end."""

import fcntl
import sys
from contextlib import contextmanager
from threading import Thread

sys.path[0] += "/.."
from nightly import square
from shop import FOLDER, Lost, book, look, main, pay

ORDERS = {"order-1": 20, "order-2": 35}
passed_by = []


@contextmanager
def lock(name):
    """Whether it is ours for as long as the block lasts."""
    with (FOLDER / f"{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            passed_by.append(name)
            yield False
        else:
            yield True


def work():
    for reference, amount in ORDERS.items():
        with lock(reference) as is_ours:
            if is_ours and not (FOLDER / f"{reference}.done").exists():
                settle(reference, amount)


def settle(reference, amount):
    begun = FOLDER / f"{reference}.begun"
    try:
        if begun.exists():
            charge = look(reference) or {}
        else:
            book(reference, state="unknown")
            begun.touch()
            _, charge = pay(reference, amount)
    except Lost:
        return
    if charge.get("status") == "SUCCESS" and charge["amount"] == amount:
        book(reference, paid=amount, state="paid")
        (FOLDER / f"{reference}.done").touch()


def trade():
    workers = [Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def reconcile():
    for reference, amount in ORDERS.items():
        book(reference, **square(reference, amount))


main(trade, reconcile)
