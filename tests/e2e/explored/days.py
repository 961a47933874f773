"""A day of each shop, as a test of it: it ends well when what the shop says is what the service says.

Clocks are set by hand, so pauses and hours take no time.
"""

import importlib.util
import ssl
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


def careful(url, key):
    """Reserve, ship and refund; hear webhooks."""
    sandbox, receiver = opened(url, key), Receiver()
    shop = CAREFUL.Shop(url, key, receiver.url, wait=sandbox.clock.advance)
    receiver.take = shop.take
    assert shop.buy("order-1", 20, VISA, capture=False) == "reserved"
    sandbox.clock.advance("1m")
    shop.catch_up()
    assert shop.ship("order-1")
    assert shop.refund("order-1", 5)


def naive(url, key):
    """Reserve, refund, charge many; hear webhooks, which ship what was reserved."""
    sandbox, receiver = opened(url, key), Receiver()
    shop = NAIVE.Shop(url, key, receiver.url)
    receiver.take = shop.take
    assert shop.buy("order-1", 20, VISA, capture=False) == "reserved"
    sandbox.clock.advance("1h")
    assert shop.refund("order-1", 5)
    card = {"cardNumber": VISA, "expiryDate": "12/40", "ccv": "123"}
    stored = shop.http.post("/payment_method/card", json={"providerId": NAIVE.PROVIDER, "paymentInformation": card})
    method = stored.json()["paymentMethodId"]
    assert shop.pay_out(ROWS.format(method, method))
