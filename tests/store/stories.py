"""What clients ask of a server while it is killed again and again: mixed requests drawn from a
seed, each of which may use what the answers before it gave."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.driving import CARD, DUMMY

PUBLIC_URL = "http://127.0.0.1:4111"
INBOX = f"{PUBLIC_URL}/__inbox/shop"
BY_HEADER = {"request.idempotency": "by_header"}
_DECLINED = {**CARD, "cardNumber": "4000000000000002"}
WEATHER: dict[str, Any] = {
    "version": 1,
    "name": "weather",
    "rules": [
        {
            "id": "turns",
            "when": {"op": "charge.refund"},
            "sequence": [{"approve": {}}, {"decline": "lost_card"}],
        },
        {
            "id": "flaky",
            "when": {"op": "charge.create"},
            "key": ["request.currency"],
            "chance": [
                {"weight": 2, "then": {"approve": {}}},
                {"weight": 1, "then": {"decline": "insufficient_funds"}},
            ],
        },
    ],
}
"""A scenario with turns and chance."""
_PAYMENTS = {
    "charge": 16, "hold": 8, "decline": 3, "capture": 6, "void": 4, "refund": 8, "method": 3, "pay": 6, "customer": 3,
    "link": 3, "batch": 2, "repeat": 4, "search": 4, "hook": 1, "vault": 2, "drop": 1, "token": 1,
}  # fmt: skip
_CONTROL = {
    "advance": 6, "scenario": 2, "assume": 1, "fork": 2, "fork_fork": 1, "import": 1, "reset": 1, "mark": 1, "name": 1,
    "plan": 2,
}  # fmt: skip


@dataclass(slots=True)
class Call:
    """One request; ``key`` is the secret key under which it is sent."""

    method: str
    target: str
    body: Any
    key: str
    kind: str
    idempotency_key: str | None = None

    @property
    def raw(self) -> bytes:
        """Its body."""
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body).encode()

    @property
    def headers(self) -> dict[str, str]:
        """Its headers, beside those of the host and the key."""
        named = {"idempotency-key": self.idempotency_key} if self.idempotency_key else {}
        return {"content-type": "application/json", **named, "content-length": str(len(self.raw))}


@dataclass(slots=True)
class Done:
    """A request and its answer."""

    call: Call
    status: int
    answer: bytes


@dataclass(slots=True)
class Story:
    """What one client asks, one request after the other. Its ``name`` is in every reference; with
    ``control`` it has a sandbox for itself and forks of it, and moves clocks."""

    name: str
    key: str
    control: bool
    webhook: str = INBOX
    done: list[Done] = field(default_factory=list)
    pending: Call | None = None
    made: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    count: int = 0
    keys: list[str] = field(default_factory=list)
    random: Random = field(default_factory=Random)

    def __post_init__(self) -> None:
        self.keys = [self.key]
        self.random = Random(self.name)

    def next(self) -> Call:
        """The next request; until ``learn`` it is ``pending``."""
        kinds = {**_PAYMENTS, **(_CONTROL if self.control else {})}
        while True:
            [kind] = self.random.choices(list(kinds), list(kinds.values()))
            asked = self._ask(kind)
            if asked is not None:
                break
        method, target, body, *more = asked
        self.count += 1
        key = more[0] if more else self.key
        self.pending = Call(method, target, body, key, kind, more[1] if len(more) > 1 else None)
        return self.pending

    def learn(self, status: int, answer: bytes) -> None:
        """The answer to what is pending."""
        call, self.pending = self.pending, None
        assert call is not None
        self.done.append(Done(call, status, answer))
        if call.kind == "reset" and call.key == self.key:
            self.made.clear()
        if status not in (200, 201) or call.key != self.key:
            return
        body = json.loads(answer) if answer else {}
        for kind, name in (
            ("charge", "chargeId"), ("hold", "chargeId"), ("method", "paymentMethodId"), ("batch", "batchId")
        ):  # fmt: skip
            if call.kind == kind:
                self.made[kind].append(body[name])

    def _ask(self, kind: str) -> Any:
        reference, random, made = f"{self.name}-{self.count}", self.random, self.made
        charge = {
            "amount": random.randint(1, 99),
            "currency": random.choice(["AUD", "NZD"]),
            "providerId": DUMMY,
        }
        card = {**charge, "paymentInformation": CARD, "reference": reference}
        hooked = {**card, "webhook": {"url": self.webhook}} if random.random() < 0.4 else card
        match kind:
            case "charge":
                return "POST", "/charge/card", hooked
            case "hold":
                return "POST", "/charge/card", {**hooked, "capture": False}
            case "decline":
                return "POST", "/charge/card", {**hooked, "paymentInformation": _DECLINED}
            case "repeat":
                before = [
                    one.call
                    for one in self.done
                    if one.call.idempotency_key and one.call.key == self.key
                ]
                if before and random.random() < 0.5:
                    return (
                        "POST",
                        "/charge/card",
                        before[-1].body,
                        self.key,
                        before[-1].idempotency_key,
                    )
                return "POST", "/charge/card", card, self.key, reference
            case "capture" if made["hold"]:
                return "POST", f"/charge/{self._take('hold')}", {"amount": 1}
            case "void" if made["hold"]:
                return "DELETE", f"/charge/{self._take('hold')}/void", None
            case "refund" if made["charge"]:
                place = random.choice(made["charge"])
                return "DELETE", f"/refund/{place}?amount=0.5&comment={reference}", None
            case "method":
                body = {
                    "providerId": DUMMY,
                    "paymentInformation": CARD,
                    "metadata": {"n": reference},
                }
                return "POST", "/payment_method/card", body
            case "pay" if made["method"]:
                body = {
                    "amount": 7,
                    "paymentMethodId": random.choice(made["method"]),
                    "reference": reference,
                }
                return "POST", "/charge/payment_method", body
            case "customer":
                return "POST", "/customer/card", {
                    "providerId": DUMMY, "paymentInformation": CARD, "reference": reference, "firstName": "Ann"
                }  # fmt: skip
            case "link":
                link = {"title": "Tea", "amount": 4.5, "currency": "AUD", "reference": reference}
                return "POST", "/payment_link", link
            case "batch" if made["method"]:
                count = random.choice([1, 30, 450])
                rows = "\n".join(
                    f"{made['method'][0]},1,AUD,{reference}-{row}" for row in range(count)
                )
                text = f"PaymentMethodId,Amount,Currency,Reference\n{rows}"
                body = {
                    "count": count,
                    "description": reference,
                    "batch": text,
                    "webhook": {"url": self.webhook},
                }
                return "POST", "/batch/transaction/payment_method", body
            case "search":
                return "GET", f"/charge?reference={reference}", None
            case "hook":
                url = f"{self.webhook}{self.count}"
                return "POST", "/webhook/subscription", {"types": ["transaction"], "url": url}
            case "vault":
                return (
                    "POST",
                    f"/vault?n={reference}",
                    {"cardNumber": CARD["cardNumber"], "expireSeconds": 3600},
                )
            case "token":
                body = {"providerId": DUMMY, "paymentInformation": CARD, "vaultCard": True}
                return "POST", f"/token/card?n={reference}", body
            case "drop" if len(made["method"]) > 1:
                return "DELETE", f"/payment_method/{made['method'].pop()}", None
            case "plan" if made["method"]:
                return "POST", "/subscription/payment_method", {
                    "paymentMethodId": made["method"][0], "amount": 9, "currency": "AUD", "interval": "Month",
                    "frequency": 1, "endAfter": {"count": 3},
                }  # fmt: skip
            case "advance":
                return (
                    "POST",
                    "/__admin/clock/advance",
                    {"by": random.choice(["1ms", "61s", "2h", "3d"])},
                    self._any(),
                )
            case "scenario":
                return "PUT", "/__admin/scenarios", {**WEATHER, "name": reference}
            case "assume":
                return "PUT", "/__admin/assumptions", BY_HEADER
            case "mark":
                return "POST", "/__admin/marks", {"name": reference}
            case "name":
                return "POST", "/__admin/sandboxes", {"key": self.key, "name": reference}
            case "fork":
                return "POST", "/__admin/fork", {"to": self._new(f"{self.key}_a")}
            case "fork_fork" if len(self.keys) > 1:
                return "POST", "/__admin/fork", {"to": self._new(f"{self.key}_b")}, f"{self.key}_a"
            case "import":
                state = [one for one in self.done if one.call.target.startswith("/__admin/state?")]
                if state and random.random() < 0.7:
                    return "PUT", "/__admin/state", state[-1].answer, self._any()
                return "GET", "/__admin/state?secrets=true", None
            case "reset":
                return "POST", "/__admin/reset", {}, self._any()
        return None

    def _take(self, kind: str) -> str:
        return self.made[kind].pop(self.random.randrange(len(self.made[kind])))

    def _any(self) -> str:
        return self.random.choice(self.keys)

    def _new(self, key: str) -> str:
        if key not in self.keys:
            self.keys.append(key)
        return key
