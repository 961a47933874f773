"""What touches very many objects goes on in the next steps of the same instant: nobody waits for
all of it, and nobody sees a part of it."""

from collections import Counter
from typing import Any

import pytest

from mockserver.engine import customers, subscriptions
from mockserver.engine.step import Step
from tests.driving import CARD, DUMMY, Api

METHOD = {"providerId": DUMMY, "paymentInformation": CARD}


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Counter[Step]:
    """How many objects each step changes."""
    counts, plain = Counter[Step](), Step.change

    def change(self: Step, *args: Any) -> Any:
        counts[self] += 1
        return plain(self, *args)

    monkeypatch.setattr(Step, "change", change)
    monkeypatch.setattr(customers, "SHOWN", 5)
    monkeypatch.setattr(subscriptions, "MOST_EVENTS", 5)
    return counts


@pytest.mark.parametrize("path", ["/payment_method/{method}", "/customer/{owner}"])
def test_many_subscriptions_lose_their_method(path: str, changed: Counter[Step]) -> None:
    api = Api(assumptions={"subscription.method_removed": "at_once"})
    api.put("/__admin/clock", {"mode": "manual"})
    assert (
        api.post(
            "/webhook/subscription", {"url": "http://127.0.0.1:9/", "types": ["Subscription"]}
        ).status
        == 201
    )
    made = api.post("/customer/card", METHOD).body
    method = made["defaultPaymentMethod"]["paymentMethodId"]
    plan = {
        "paymentMethodId": method,
        "amount": 5,
        "currency": "AUD",
        "interval": "Month",
        "frequency": 1,
    }
    for _ in range(23):
        assert (
            api.post("/subscription/payment_method", {**plan, "startDate": "2040-01-01"}).status
            == 201
        )
    changed.clear()
    assert api.delete(path.format(method=method, owner=made["customerId"])).status == 200
    assert api.get("/subscription", Status="Suspended")["count"] == 23
    # Each is suspended, and its next payment is awaited no more.
    assert max(changed.values()) <= 2 * 5 + 2
    assert len(changed) >= 5
    # One when it began, one now.
    assert len(api.app.world.sandboxes.open(api.key, 0).deliveries) == 2 * 23


def test_many_removed_methods_show_their_customer(api: Api, changed: Counter[Step]) -> None:
    owner = api.post("/customer/card", {**METHOD, "email": "ann@example.com"})["customerId"]
    methods = [
        api.post(f"/customer/{owner}/payment_method/card", METHOD)["paymentMethodId"]
        for _ in range(23)
    ]
    for method in methods:
        assert api.delete(f"/payment_method/{method}").status == 200

    def shown(name: str) -> set[str]:
        return {api.get(f"/payment_method/{method}")["customer"][name] for method in methods}

    changed.clear()
    assert api.put(f"/customer/{owner}", {"firstName": "Eve"}).status == 200
    assert shown("firstName") == {"Eve"}
    assert max(changed.values()) <= 5 + 1
    changed.clear()
    assert api.delete(f"/customer/{owner}").status == 200
    assert shown("email") == {"deleted"}
    assert max(changed.values()) <= 5 + 2
