"""The books are what a log of events adds up to: nothing is ever changed, and what was begun is
written before it is done."""

import fcntl
import json
import sys
from contextlib import contextmanager

sys.path[0] += "/.."
from nightly import square
from shop import FOLDER, Lost, look, pay

LOG = FOLDER / "events.jsonl"


@contextmanager
def log():
    """The events so far, and a way to add one, while nobody else does."""
    with LOG.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        events = [json.loads(line) for line in file]

        def add(event, **facts):
            file.write(json.dumps({"event": event, **facts}) + "\n")
            file.flush()

        yield events, add


def begins(reference):
    """Whether the payment of an order is ours to make."""
    with log() as (events, add):
        if any(one["event"] == "begun" and one["reference"] == reference for one in events):
            return False
        add("begun", reference=reference)
        return True


def trade():
    try:
        charge = pay("order-1", 20)[1] if begins("order-1") else look("order-1") or {}
    except Lost:
        return
    if charge.get("status") == "SUCCESS" and charge["amount"] == 20:
        with log() as (_, add):
            add("paid", reference="order-1", row={"paid": 20, "state": "paid"})


def reconcile():
    row = square("order-1", 20)
    with log() as (_, add):
        add("squared", reference="order-1", row=row)


def books():
    rows = {}
    with log() as (events, _):
        for event in events:
            rows[event["reference"]] = event.get("row", {"state": "unknown"})
    return [{"reference": reference, **row} for reference, row in rows.items()]


if sys.argv[1:] == ["books"]:
    print(json.dumps(books()))
else:
    sys.exit(reconcile() if sys.argv[1:] == ["reconcile"] else trade())
