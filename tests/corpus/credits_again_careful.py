"""As credits_again.py, but each webhook leaves a mark in the folder, and what is paid is counted by
the marks."""

from json import loads
from threading import Event
from urllib.parse import urlsplit

from shop import FOLDER, ask, book, main, pay
from webhooks import is_signed, webhooks

came = Event()


def take(body, signature):
    if not is_signed(body, signature):
        return 401
    message = loads(body)["meta"]["messageId"]
    (FOLDER / f"{message}.handled").touch()
    book("top-up-1", paid=20 * len(list(FOLDER.glob("*.handled"))))
    came.set()
    return 200


def trade():
    place = FOLDER / "address"
    known = place.read_text() if place.exists() else None
    with webhooks(take, int(known or 0)) as webhook:
        if known is None:
            place.write_text(str(urlsplit(webhook["url"]).port))
            book("top-up-1", paid=0, state="unknown")
            pay("top-up-1", 20, webhook=webhook)
            came.wait(5)
        # An hour later the service has sent again what it takes for lost.
        ask("POST", "/__admin/clock/advance", {"by": "1h"})


main(trade)
