"""Each planted fault of the naive shop is found, by its name, and nothing else is."""

import pytest
from receiver import Receiver
from shop import PROVIDER, Shop

VISA = "4111111111111111"
STOPPED, SOFT, CHALLENGED = "4000000000000002", "4000000000009995", "4000000000003220"


def lost(operation):
    """A scenario that loses the first answer of an operation."""
    then = "then: {transport: {at: answer, reset: true}}"
    return (
        f"version: 1\nname: lost\nrules: "
        f"[{{id: lost, when: {{op: {operation}}}, limit: 1, {then}}}]\n"
    )


SLOW = """
version: 1
name: slow
findings: {timeout: 50ms}
rules: [{id: slow, when: {op: charge.create}, then: {latency: 100ms}}]
"""

TWICE = """
version: 1
name: twice
rules: [{id: twice, when: {op: charge.create}, then: {webhook: {copies: 2, gap: 5s}}}]
"""

OLD = """
version: 1
name: old
rules:
  - id: old
    when: {op: charge.create}
    then: {webhook: {delay: 1h, stale: true}, later: [{after: 30m, void: {}}]}
"""


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def shop(mockserver, receiver):
    shop = Shop(mockserver.url, mockserver.secret_key)
    receiver.take = shop.take
    return shop


@pytest.fixture
def found(mockserver):
    """The names of what was found when the story has ended, each once."""

    def names():
        return list(dict.fromkeys(row["finding"] for row in mockserver.findings(finish=True)))

    return names


def hear(shop, receiver):
    shop.webhook = {"url": receiver.url}


@pytest.mark.mockserver(scenario="charged-but-unanswered")
def test_a_lost_answer(shop, found):
    assert shop.buy("order-5", 20, VISA) == "paid"
    assert found() == ["double-charge", "blind-retry"]


@pytest.mark.mockserver(scenario=lost("charge.refund"))
def test_a_lost_refund(shop, found):
    shop.buy("order-5", 20, VISA)
    shop.refund("order-5", 5)
    assert found() == ["double-refund", "blind-retry"]


@pytest.mark.mockserver(scenario=lost("batch.create"))
def test_a_lost_batch(shop, found, mockserver):
    card = {"cardNumber": VISA, "expiryDate": "12/40", "ccv": "123"}
    body = {"providerId": PROVIDER, "paymentInformation": card}
    method = mockserver.client.post("/payment_method/card", json=body).json()["paymentMethodId"]
    shop.pay_out(f"PaymentMethodId,Amount,Currency,Reference\n{method},5,AUD,row-1\n")
    assert found() == ["batch-sent-twice", "blind-retry"]


def test_a_card_that_was_stopped(shop, found):
    assert shop.buy("order-5", 20, STOPPED) == "declined"
    assert found() == ["hard-decline-retried"]


def test_a_card_without_money(shop, found):
    for number in range(6):
        shop.buy(f"order-{number}", 20, SOFT)
    assert found() == ["too-many-retries"]


@pytest.mark.mockserver(scenario="rate-limited")
def test_a_service_that_asks_for_a_pause(shop, found):
    for number in range(4):
        shop.buy(f"order-{number}", 20, VISA)
    assert found() == ["retry-after-ignored"]


@pytest.mark.mockserver(scenario=SLOW)
def test_a_service_that_hangs(shop, found):
    shop.buy("order-5", 20, VISA)
    assert found() == ["no-timeout"]


@pytest.mark.mockserver(scenario="webhook-bad-signature")
def test_a_forged_webhook(shop, found, receiver, mockserver):
    hear(shop, receiver)
    shop.buy("order-5", 20, VISA)
    mockserver.wait_for(webhook={"state": "delivered"})
    assert found() == ["forged-webhook-accepted"]


@pytest.mark.mockserver(scenario=TWICE, clock="manual")
def test_a_webhook_that_comes_twice(shop, found, receiver, mockserver):
    hear(shop, receiver)
    shop.buy("order-5", 20, VISA, capture=False)
    mockserver.clock.advance("10s")
    # That the copy tells a state which is over by then is the same mistake.
    assert found() == ["webhook-not-deduplicated"]


@pytest.mark.mockserver(scenario=OLD, clock="manual")
def test_a_webhook_that_is_old(shop, found, receiver, mockserver):
    hear(shop, receiver)
    shop.buy("order-5", 20, VISA, capture=False)
    mockserver.clock.advance("2h")
    mockserver.wait_for(webhook={"state": "delivered"})
    assert found() == ["wrong-state", "stale-webhook-believed"]


@pytest.mark.mockserver(clock="manual")
def test_a_webhook_that_breaks_the_receiver(shop, found, receiver, mockserver):
    hear(shop, receiver)
    shop.buy("order-5", 20, "4000000000000341")
    mockserver.clock.advance("8d")
    assert found() == ["hard-decline-retried", "webhook-lost"]


@pytest.mark.mockserver(clock="manual")
def test_a_reservation_that_is_left_alone(shop, found, mockserver):
    shop.buy("order-5", 20, VISA, capture=False)
    mockserver.clock.advance("8d")
    assert not shop.ship("order-5")
    assert found() == ["authorisation-forgotten", "wrong-state"]


def test_a_payer_whose_bank_asks(shop, found):
    assert shop.buy("order-5", 20, CHALLENGED) == "paid"
    assert found() == ["challenge-ignored"]


@pytest.mark.mockserver(scenario="partial-approval")
def test_a_part_of_the_amount(shop, found):
    assert shop.buy("order-5", 80, VISA) == "paid"
    assert found() == ["partial-approval-ignored"]


def test_a_card_number_in_the_metadata_and_a_misspelt_field(shop, found):
    shop.note_card("order-5", 20, VISA)
    assert found() == ["unknown-field", "card-number-outside-its-field"]


def test_a_third(shop, found):
    shop.share(100, 3, VISA)
    assert found() == ["amount-not-exact", "no-reference"]


def test_a_page_with_the_secret_key(shop, found):
    shop.buy("order-5", 20, VISA)
    assert shop.show_in_page("order-5") == "SUCCESS"
    assert found() == ["secret-key-in-browser"]


@pytest.mark.mockserver(
    scenario="findings: {allow: [challenge-ignored]}\nversion: 1\nname: polled\n"
)
def test_a_payment_that_is_awaited(shop, found):
    shop.buy("order-5", 20, CHALLENGED)
    shop.await_payment("order-5")
    assert found() == ["polled-hard"]


def test_a_path_that_does_not_exist(shop, found):
    shop.list_orders()
    assert found() == ["no-such-operation"]
