"""Any story, told to a server that ends after each of its calls: every answer is that of one that
never ends."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from tests.depth import tries
from tests.driving import CARD, DUMMY, card_charge
from tests.store.twins import Twins

LOST = {
    "version": 1,
    "name": "lost",
    "rules": [
        {"id": "lost", "when": {"op": "charge.create", "request.reference": "lost"},
         "then": {"transport": {"status": 502}}},
        {"id": "some", "when": {"op": "charge.create"}, "key": "request.reference", "chance": [
            {"share": 30, "then": {"decline": "insufficient_funds"}}]},
        {"id": "late", "when": {"op": "charge.get"}, "then": {"lag": "10s"}},
        {"id": "rows", "when": {"op": "batch.create"},
         "then": {"batch": {"rows": [{"at": [2], "decline": "lost_card"}]}}},
    ],
}  # fmt: skip
INBOX = "http://127.0.0.1:4111/__inbox/shop"
BATCH = "PaymentMethodId,Amount,Currency,Reference\n{0},5,AUD,b-1\n{0},6,AUD,b-2\n{0},7,AUD,b-3\n"
REFERENCES = ["one", "two", "lost", None]


class Story:
    """What has been made by now, for calls that need it."""

    def __init__(self, twins: Twins) -> None:
        self.twins = twins
        self.charges = ["none"]
        self.methods = ["none"]
        self.batches = ["none"]

    def post(
        self, path: str, body: object, into: list[str] | None = None, name: str = "", **more: Any
    ) -> None:
        reply = self.twins.call("POST", path, body, **more)
        if into is not None and reply.status in (200, 201) and name in reply.body:
            into.append(reply.body[name])

    def charge(self, which: int) -> None:
        body = card_charge(
            amount=10 + which % 3, reference=REFERENCES[which % 4], capture=which % 5 > 0
        )
        number = "4000000000000002" if which % 7 == 6 else "4111111111111111"
        body["paymentInformation"] = {**CARD, "cardNumber": number}
        self.post(
            "/charge/card",
            body,
            self.charges,
            "chargeId",
            headers={"idempotency-key": str(which % 6)},
        )

    def move(self, which: int) -> None:
        charge = self.charges[which % len(self.charges)]
        method, path = [
            ("POST", "/charge/{}"),
            ("DELETE", "/charge/{}"),
            ("DELETE", "/refund/{}"),
            ("GET", "/charge/{}"),
        ][which % 4]
        self.twins.call(method, path.format(charge))

    def method(self, which: int) -> None:
        body = {
            "providerId": DUMMY,
            "paymentInformation": CARD,
            "vaultCard": which % 2 == 0,
            "vaultExpireSeconds": 3600,
        }
        self.post("/payment_method/card", body, self.methods, "paymentMethodId")

    def batch(self, which: int) -> None:
        rows = BATCH.format(self.methods[which % len(self.methods)])
        body = {"count": 3, "description": "d", "batch": rows}
        self.post("/batch/transaction/payment_method", body, self.batches, "batchId")

    def subscribe(self, which: int) -> None:
        plan = {
            "amount": 9,
            "currency": "AUD",
            "interval": "Day",
            "frequency": 1,
            "endAfter": {"count": 3},
        }
        self.post(
            "/subscription/payment_method",
            {**plan, "paymentMethodId": self.methods[which % len(self.methods)]},
        )

    def webhook(self, which: int) -> None:
        url = [INBOX, INBOX, "http://127.0.0.1:9/x"][which % 3]
        self.post(
            "/webhook/subscription",
            {"types": ["transaction", "batch"], "url": url, "authorization": "a"},
        )

    def advance(self, which: int) -> None:
        self.post("/__admin/clock/advance", {"by": ["5s", "1h", "2d", "40d"][which % 4]})

    def control(self, which: int) -> None:
        calls: list[tuple[str, str, object]] = [
            ("PUT", "/__admin/scenarios", LOST),
            (
                "PUT",
                "/__admin/assumptions",
                {"request.idempotency": "by_header", "vault.ccv_delay": "10m"},
            ),
            ("POST", "/__admin/marks", {"name": f"m{which}"}),
            ("DELETE", "/__admin/inbox/shop", None),
            ("POST", "/__admin/reset", None),
            ("POST", "/__admin/verify", {"op": "charge.create", "count": 1}),
            ("DELETE", "/__admin/scenarios", None),
            ("POST", "/__admin/fork", {"to": "sk_copy"}),
        ]
        self.twins.call(*calls[which % len(calls)])

    def read(self, which: int) -> None:
        self.twins.call(
            "GET",
            ["/charge?reference=one", "/charge", f"/batch/{self.batches[-1]}", "/vault"][which % 4],
        )


CHAPTERS = [
    *("charge", "charge", "move", "move", "method", "batch", "subscribe", "webhook"),
    *("advance", "control", "control", "read"),
]
"""Methods of ``Story``, by name: so a story that fails can be read, and told again as an
example."""


@pytest.mark.slow
# A story takes a tenth of a second: to shrink one takes minutes.
@settings(max_examples=tries(4, 200), phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(st.tuples(st.sampled_from(CHAPTERS), st.integers(0, 50)), min_size=6, max_size=14))
@example([("control", 7), ("control", 4)])
@example(
    [("read", 29), ("advance", 25), ("charge", 26), ("control", 39), ("batch", 20), ("method", 0)]
)
def test_any_story_goes_on(story: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        twins = Twins(Path(folder) / "s.db", every=3)
        told = Story(twins)
        for chapter, which in [("control", 0), ("control", 1), *story]:
            getattr(told, chapter)(which)
        twins.look()
        twins.call("GET", "/__admin/state?secrets=true", key="sk_copy")
