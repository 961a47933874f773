"""What careful shops in Python do at night: ask the service about each order until it answers, give
back what is too much, and book what is left."""

from contextlib import suppress

from shop import Lost, ask

TAKEN, UNDONE = {"SUCCESS", "PARTIAL_REFUND", "REFUND"}, {"FAILED", "AUTHORISE_CANCELLED", "VOIDED"}
TRIES = 8


def ask_until_answered(method, path, **query):
    """What the service says in the end. Raises ``Lost`` when nothing comes."""
    for _ in range(TRIES):
        with suppress(Lost):
            status, said = ask(method, path, **query)
            if status == 200:
                return said
    raise Lost


def refunds_of(charge):
    """What was given back of a charge, or is on its way."""
    return sum(refund["amount"] for refund in charge["refunds"])


def spare(charges, amounts):
    """The charges of an order that hold money and pay none of some amounts."""
    due = list(amounts)
    for charge in charges:
        is_taken = charge["status"] == "SUCCESS" and not refunds_of(charge)
        if is_taken and charge["amount"] in due:
            due.remove(charge["amount"])
        elif is_taken or charge["status"] == "Authorised":
            yield charge


def undo(charge):
    """Give a charge back, or let its hold go. Raises ``Lost``."""
    charge_id = charge["chargeId"]
    if charge["status"] == "Authorised":
        ask("DELETE", f"/charge/{charge_id}/void")
    else:
        ask("DELETE", f"/refund/{charge_id}", amount=charge["amount"])


def square(reference, *amounts):
    """Bring an order into line: it is paid by one charge of each amount, whatever else holds money is
    given back. What the books are to say of it. Raises ``Lost``."""
    tried = set()
    for _ in range(TRIES):
        charges = ask_until_answered("GET", "/charge", Reference=reference)["charges"][::-1]
        left = [one for one in spare(charges, amounts) if one["chargeId"] not in tried]
        if not left:
            return figures(charges, sum(amounts))
        try:
            undo(left[0])
            tried.add(left[0]["chargeId"])
        except Lost:
            continue
    raise Lost


def figures(charges, wanted):
    """What the charges of an order say together."""
    paid = sum(charge["amount"] for charge in charges if charge["status"] in TAKEN)
    refunded = sum(refunds_of(charge) for charge in charges if charge["status"] in TAKEN)
    row = {"paid": paid, "refunded": refunded}
    if any(charge["status"] not in TAKEN | UNDONE for charge in charges):
        return {"state": "unknown" if paid else "pending"}
    if not paid:
        return {"state": "unpaid"}
    if paid - refunded == wanted:
        return row | {"state": "paid"}
    return row | {"state": "refunded"} if paid == refunded else row
