"""A shop in Node that runs on: ``mockserver_app`` judges what it did in each test."""

import httpx


def buy(shop, order, amount="20.00"):
    return httpx.post(
        f"{shop}/orders/{order}", params={"amount": amount}, trust_env=False
    ).text.strip()


def test_an_order_is_paid(shop, mockserver_app):
    assert buy(shop, "order-1") == "paid"
    mockserver_app.verify({"op": "charge.create", "count": {"exactly": 1}})


def test_a_lost_answer(shop, mockserver_app):
    mockserver_app.scenario("charged-but-unanswered")
    assert buy(shop, "order-2") == "paid"
