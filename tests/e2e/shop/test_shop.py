"""The shop's own tests, with the fixtures of the plugin: parallel, with scenarios, a clock and
webhooks."""

import pytest
from shop import Shop

VISA = "4111111111111111"


@pytest.fixture
def shop(mockserver):
    return Shop(
        mockserver.url,
        mockserver.secret_key,
        mockserver.inbox.url("shop"),
        wait=mockserver.clock.advance,
    )


@pytest.mark.parametrize("amount", ["0.01", "19.99", "20000"])
def test_an_order_is_paid(shop, mockserver, amount):
    assert shop.buy("order-1", amount, VISA) == "paid"
    assert mockserver.client.get("/charge").json()["count"] == 1


@pytest.mark.parametrize(("card", "tries"), [("4000000000000002", 1), ("4000000000009995", 3)])
def test_a_declined_card_is_tried_again_while_that_may_help(shop, mockserver, card, tries):
    assert shop.buy("order-1", 20, card) == "declined"
    mockserver.verify({"op": "charge.create", "count": {"exactly": tries}})


@pytest.mark.mockserver(scenario="soft-decline-then-success")
def test_the_third_try_is_paid(shop):
    assert shop.buy("order-1", 20, VISA) == "paid"


@pytest.mark.mockserver(scenario="charged-but-unanswered")
def test_a_lost_answer_does_not_charge_twice(shop, mockserver):
    assert shop.buy("order-1", 20, VISA) == "paid"
    mockserver.verify(
        {"op": "charge.create", "where": {"request.reference": "order-1"}, "count": {"exactly": 1}}
    )


@pytest.mark.mockserver(scenario="outage.yaml")
def test_an_outage_of_the_provider_is_over_after_a_minute(shop, mockserver):
    assert shop.buy("order-1", 20, VISA) == "declined"
    mockserver.clock.advance("1m")
    assert shop.buy("order-1", 20, VISA) == "paid"
    mockserver.verify(rules=True)


@pytest.mark.mockserver(clock="2031-03-01T00:00:00Z")
def test_a_reservation_lapses_after_a_week(shop, mockserver):
    assert shop.buy("early", 20, VISA, capture=False) == "reserved"
    assert shop.buy("late", 20, VISA, capture=False) == "reserved"
    mockserver.clock.advance("6d 23h 59m")
    assert shop.ship("early")
    mockserver.clock.advance("1m")
    assert not shop.ship("late")


def test_the_shop_is_reported_what_became_of_its_charges(shop, mockserver):
    shop.buy("order-1", 20, VISA)
    shop.buy("order-2", 20, "4000000000000341")
    paid, *declined = mockserver.inbox.messages("shop")
    assert paid["signature"] == "valid"
    assert paid["headers"]["authorization"] == "Bearer shop"
    assert (paid["body"]["data"]["reference"], paid["body"]["data"]["status"]) == (
        "order-1",
        "SUCCESS",
    )
    assert {message["body"]["data"]["status"] for message in declined} == {"FAILED"}


@pytest.mark.mockserver(scenario="repeated.yaml")
def test_a_webhook_that_comes_more_than_once_has_one_id(shop, mockserver):
    shop.buy("order-1", 20, VISA)
    mockserver.clock.advance("1h")
    messages = mockserver.inbox.messages("shop")
    assert len(messages) == 3
    assert len({message["body"]["meta"]["messageId"] for message in messages}) == 1
