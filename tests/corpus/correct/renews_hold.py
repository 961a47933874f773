"""A hold for a hired car is renewed each week, before it lapses: the new one first, then the old one
is let go; when the car is back, the last one is captured."""

import sys

sys.path[0] += "/.."
from nightly import figures, square
from shop import FOLDER, Lost, ask, book, main, pay

HIRE = "hire-1"


def trade():
    try:
        (FOLDER / "begun").touch(exist_ok=False)
    except FileExistsError:
        return
    book(HIRE, state="unknown")
    try:
        hire()
    except Lost:
        return


def hire():
    first = hold()
    if first is None:
        return
    ask("POST", "/__admin/clock/advance", {"by": "6d"})
    second = hold()
    if second is None:
        return
    ask("DELETE", f"/charge/{first}/void")
    status, charge = ask("POST", f"/charge/{second}", {"amount": 50})
    if status == 200 and charge["status"] == "SUCCESS":
        _, found = ask("GET", "/charge", Reference=HIRE)
        book(HIRE, **figures(found["charges"], 50))


def hold():
    """The id of a new hold, if there is one."""
    _, charge = pay(HIRE, 50, capture=False)
    return charge["chargeId"] if charge.get("status") == "Authorised" else None


def reconcile():
    book(HIRE, **square(HIRE, 50))


main(trade, reconcile)
