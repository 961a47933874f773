"""A day of each shop, as a test of it: it ends well when what the shop says is what the service
says.

Clocks are set by hand, so pauses and hours take no time. A day that has ended in the middle goes on
when it is run again in the same folder, as after a reboot; ``careful_books`` and ``naive_books``
print what the shop then believes.
"""

import importlib.util
import json
import ssl
from contextlib import ExitStack, closing
from fcntl import LOCK_EX, flock
from functools import partial
from pathlib import Path

import httpx
from receiver import Receiver

from mockserver.remote import RemoteSandbox

VISA = "4111111111111111"
ROWS = "PaymentMethodId,Amount,Currency,Reference\n{},5,AUD,row-1\n{},6,AUD,row-2\n"

# Reading the certificates of all authorities takes longer than a day of these shops.
httpx.Client = partial(httpx.Client, verify=ssl.create_default_context())


def shop_of(folder):
    path = Path(__file__).parent.parent / folder / "shop.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_shop", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CAREFUL, NAIVE = shop_of("shop"), shop_of("naive")


def opened(url, key):
    sandbox = RemoteSandbox(url, key)
    sandbox.clock.start("2031-03-01T18:00:00Z")
    return sandbox


def receiver_in(folder):
    """Where webhooks arrive: at the same address after a reboot."""
    file = folder / "port"
    receiver = Receiver(int(file.read_text()) if file.exists() else 0)
    file.write_text(str(receiver.server.server_port))
    return receiver


def careful(url, key, folder):
    """Reserve, ship and refund; hear webhooks. Another worker waits until this one has ended."""
    with (folder / "lock").open("w") as lock, ExitStack() as ends:
        flock(lock, LOCK_EX)
        receiver = ends.enter_context(closing(receiver_in(folder)))
        sandbox, ledger = opened(url, key), CAREFUL.Ledger(folder / "ledger.json")
        shop = CAREFUL.Shop(url, key, receiver.url, wait=sandbox.clock.advance, ledger=ledger)
        receiver.take = shop.take
        assert shop.buy("order-1", 20, VISA, capture=False) == "reserved"
        sandbox.clock.advance("1m")
        shop.catch_up()
        assert shop.ship("order-1")
        assert shop.refund("order-1", 5)
        # The last webhooks come in.
        sandbox.clock.advance("1m")


def careful_books(url, key, folder):
    return json.dumps(CAREFUL.Ledger(folder / "ledger.json").books())


def naive(url, key, folder):
    """Reserve, refund, charge many; hear webhooks, which ship what was reserved."""
    sandbox, receiver = opened(url, key), Receiver()
    shop = NAIVE.Shop(url, key, receiver.url, folder / "notes.json")
    receiver.take = shop.take
    assert shop.buy("order-1", 20, VISA, capture=False) == "reserved"
    sandbox.clock.advance("1h")
    assert shop.refund("order-1", 5)
    card = {"cardNumber": VISA, "expiryDate": "12/40", "ccv": "123"}
    stored = shop.http.post(
        "/payment_method/card", json={"providerId": NAIVE.PROVIDER, "paymentInformation": card}
    )
    method = stored.json()["paymentMethodId"]
    assert shop.pay_out(ROWS.format(method, method))
    sandbox.clock.advance("1m")


def naive_books(url, key, folder):
    notes = json.loads((folder / "notes.json").read_text())
    rows = [
        {
            "reference": "order-1",
            "paid": 20,
            "refunded": 5 if "refund order-1" in notes else 0,
            "state": "shipped",
        }
    ]
    if "pay out" in notes:
        rows += [
            {"reference": f"row-{number}", "paid": 4 + number, "state": "paid"} for number in (1, 2)
        ]
    return json.dumps(rows)
