"""What the shops in Python share: calls of the service, and books of one file for each order.

A shop reads only its environment. ``python SHOP.py`` does its business, ``python SHOP.py books``
prints its books as a JSON array, ``python SHOP.py reconcile``, where there is such a job, asks the
service about orders that are open.
"""

import json
import os
import sys
import tempfile
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from time import sleep
from urllib.parse import urlencode, urlsplit

HOST = urlsplit(os.environ["MOCKSERVER_URL"]).netloc
HEADERS = {"x-secretkey": os.environ["MOCKSERVER_SECRET_KEY"], "content-type": "application/json"}
FOLDER = Path(os.environ.get("MOCKSERVER_RUN_DIR") or tempfile.mkdtemp())
PROVIDER = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
CARD = {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}
HOLDING = {"Authorised", "SUCCESS", "PENDING", "PARTIAL_REFUND"}
"""States in which a charge holds money of the customer."""


class Lost(Exception):
    """The answer did not come whole: nobody knows what has happened."""


def ask(method, path, body=None, **query):
    """One call of the service: the status of its answer, and what it says. Raises ``Lost``."""
    connection = HTTPConnection(HOST, timeout=5)
    try:
        connection.request(method, f"{path}?{urlencode(query)}", body and json.dumps(body), HEADERS)
        answer = connection.getresponse()
        said = json.load(answer)
    except (OSError, HTTPException, ValueError):
        raise Lost from None
    finally:
        connection.close()
    if answer.status >= 500 and "code" not in said:
        raise Lost
    return answer.status, said


def pay(reference, amount, card=CARD, provider=PROVIDER, **more):
    """Charge a card: the status of the answer, and the charge or the refusal. Raises ``Lost``."""
    body = {
        "providerId": provider,
        "reference": reference,
        "amount": amount,
        "paymentInformation": card,
    }
    return ask("POST", "/charge/card", body | more)


def look(reference):
    """The charge of an order that holds money, if there is one. Raises ``Lost``."""
    _, said = ask("GET", "/charge", Reference=reference)
    return next((charge for charge in said["charges"] if charge["status"] in HOLDING), None)


def results_of(batch):
    """The lines of a batch's results once it has ended. Raises ``Lost``."""
    for _ in range(100):
        _, said = ask("GET", f"/batch/{batch}")
        if said["status"] in ("SUCCESS", "FAILED"):
            return said["results"].splitlines()[1:]
        sleep(0.05)
    raise Lost


def book(reference, **row):
    """Write down what the shop believes of an order."""
    (FOLDER / f"{reference}.json").write_text(json.dumps({"reference": reference, **row}))


def books():
    """All that the shop believes."""
    return [json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json"))]


def main(trade, reconcile=None):
    """Do what the command line asks for."""
    if sys.argv[1:] == ["books"]:
        print(json.dumps(books()))
    else:
        sys.exit(reconcile() if sys.argv[1:] == ["reconcile"] else trade())
