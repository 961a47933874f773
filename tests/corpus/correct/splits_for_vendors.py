"""A marketplace takes the price of a basket, and sends each vendor a share once it is paid. A share
that is not answered is looked up, and sent by nobody else."""

import sys

sys.path[0] += "/.."
from nightly import square
from shop import FOLDER, PROVIDER, Lost, ask, book, look, main, pay

SHARES = {"vendor-7": 24, "vendor-8": 10}


def takes(name):
    """Whether something is ours to do, and nobody else's from now on."""
    try:
        (FOLDER / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def trade():
    is_ours = takes("basket-1.begun")
    if is_ours:
        book("basket-1", state="unknown")
    try:
        charge = pay("basket-1", 40)[1] if is_ours else look("basket-1") or {}
        if charge.get("status") != "SUCCESS" or charge["amount"] != 40:
            return
        book("basket-1", paid=40, state="paid")
        for vendor, amount in SHARES.items():
            if takes(f"{vendor}.begun"):
                share(charge, vendor, amount)
    except Lost:
        return


def share(charge, vendor, amount):
    row = {"account": vendor, "amount": amount, "currency": "AUD", "reference": "basket-1"}
    body = {"groupReference": vendor, "providerId": PROVIDER, "chargeId": charge["chargeId"]}
    ask("POST", "/transfer", body | {"transfers": [row]})


def reconcile():
    book("basket-1", **square("basket-1", 40))


main(trade, reconcile)
