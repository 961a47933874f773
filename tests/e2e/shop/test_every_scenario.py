"""The shop under every scenario that comes with the sandbox: it is blamed for nothing but habits.

Its clock is the sandbox's, so that pauses and weeks take no time.
"""

import httpx
import pytest
from receiver import Receiver
from shop import PROVIDER, Shop

from mockserver.adapters.scenario_files import shipped

# Connections and certificates are the server's, so no test can be given them.
OF_THE_SERVER = ("connection-", "certificate-")
SCENARIOS = {name: text for name, _, text in shipped() if not name.startswith(OF_THE_SERVER)}
VISA = "4111111111111111"
OTHERS = ["4000000000000002", "4000000000009995", "4000000000003220", "5555555555554444"]
# References that some scenario waits for.
WORDS = [
    "half",
    "ten-bytes",
    "broken",
    "drops",
    "before",
    "after",
    "silence",
    "late",
    "no-money",
    "stolen",
]


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(
            name, marks=pytest.mark.mockserver(scenario=name, clock="2031-03-01T18:00:00Z")
        )
        for name in SCENARIOS
    ],
)
def test_a_day_of_the_shop(mockserver, receiver, scenario):
    provider = "acq_main" if "id: acq_main" in SCENARIOS[scenario] else PROVIDER
    shop = Shop(
        mockserver.url,
        mockserver.secret_key,
        receiver.url,
        wait=mockserver.clock.advance,
        provider=provider,
    )
    receiver.take = shop.take
    buy(shop, mockserver, "order-1", 20, VISA)
    mockserver.clock.advance("6m")
    buy(shop, mockserver, "order-2", "80.50", VISA)
    buy(shop, mockserver, "order-3", "150", VISA)
    buy(shop, mockserver, "order-4", 60, VISA, capture=False)
    buy(shop, mockserver, "order-5", 20, VISA, capture=False)
    for number, card in enumerate([*OTHERS, *OTHERS[:2]]):
        buy(shop, mockserver, f"card-{number}", 30, card)
    for word in WORDS:
        if word in SCENARIOS[scenario]:
            buy(shop, mockserver, word, 10, "5555555555554444")
    mockserver.clock.advance("3h")
    shop.catch_up()
    for order in ("order-1", "order-2"):
        if order in shop.orders and shop.look(order)["status"] == "SUCCESS":
            shop.refund(order, 5)
    if "order-1" in shop.orders:
        shop.cancel("order-1")
    if "order-4" in shop.orders:
        shop.ship("order-4")
    if "order-5" in shop.orders:
        shop.cancel("order-5")
    mockserver.clock.advance("8d")
    shop.catch_up()
    assert mockserver.findings(finish=True) == []


def buy(shop, mockserver, order, amount, card, **more):
    """Buy as a customer does: go to the bank's page when there is one."""
    if shop.buy(order, amount, card, **more) == "waiting" and (page := shop.payer_page(order)):
        assert httpx.get(page, trust_env=False).status_code == 200
        mockserver.clock.advance("1m")
        shop.look(order)
