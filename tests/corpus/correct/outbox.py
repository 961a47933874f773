"""An order and the message that is to pay it are written in one transaction; a dispatcher takes each
message once, and asks about those that it finds begun."""

import json
import sqlite3
import sys

sys.path[0] += "/.."
from nightly import square
from shop import FOLDER, Lost, look, pay

database = sqlite3.connect(FOLDER / "shop.db", timeout=5, isolation_level=None)
database.execute("CREATE TABLE IF NOT EXISTS orders (reference PRIMARY KEY, amount, row)")
database.execute("CREATE TABLE IF NOT EXISTS outbox (reference PRIMARY KEY, state)")


def write(reference, row):
    database.execute("UPDATE orders SET row = ? WHERE reference = ?", (json.dumps(row), reference))


def place(reference, amount):
    database.execute("BEGIN IMMEDIATE")
    row = json.dumps({"state": "unknown"})
    database.execute("INSERT OR IGNORE INTO orders VALUES (?, ?, ?)", (reference, amount, row))
    database.execute("INSERT OR IGNORE INTO outbox VALUES (?, 'new')", (reference,))
    database.execute("COMMIT")


def dispatch(reference, amount):
    taken = database.execute(
        "UPDATE outbox SET state = 'begun' WHERE reference = ? AND state = 'new'", (reference,)
    )
    try:
        if taken.rowcount:
            _, charge = pay(reference, amount)
        else:
            charge = look(reference) or {}
    except Lost:
        return
    if charge.get("status") == "SUCCESS" and charge["amount"] == amount:
        write(reference, {"paid": amount, "state": "paid"})


def trade():
    place("order-1", 20)
    for reference, amount in database.execute("SELECT reference, amount FROM orders").fetchall():
        dispatch(reference, amount)


def reconcile():
    for reference, amount in database.execute("SELECT reference, amount FROM orders").fetchall():
        write(reference, square(reference, amount))


if sys.argv[1:] == ["books"]:
    for reference, row in database.execute("SELECT reference, row FROM orders"):
        print(json.dumps({"reference": reference, **json.loads(row)}))
else:
    sys.exit(reconcile() if sys.argv[1:] == ["reconcile"] else trade())
