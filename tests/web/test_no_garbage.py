"""Requests leave no cyclic garbage: new objects are frozen lot by lot, and what is cyclic then
stays for good."""

import asyncio
import gc
from collections import Counter

from tests.driving import CARD, DUMMY, VISA, Api, batch_of

CHARGE = {"amount": 12.5, "currency": "AUD", "providerId": DUMMY, "paymentInformation": CARD}
DECLINED = {**CHARGE, "paymentInformation": {**CARD, "cardNumber": "4000000000009995"}}
RULE = {
    "id": "no",
    "when": {"op": "charge.create", "request.amount": 3},
    "then": {"decline": "expired_card"},
}
SCENARIO = {"version": 1, "name": "no", "rules": [RULE]}
ROWS = 30


async def story(api: Api) -> None:
    """Some of everything that clients do."""

    async def call(method: str, path: str, body: object = None, *wanted: int) -> dict[str, str]:
        reply = await api.calling(method, path, body)
        assert reply.status in (wanted or (200, 201, 303)), reply.raw
        return reply.body if reply.raw.startswith(b"{") else {}

    made = [
        (await call("POST", "/charge/card", {**CHARGE, "capture": capture}))["chargeId"]
        for capture in (False, False, True)
    ]
    await call("POST", f"/charge/{made[0]}", {"amount": 5})
    await call("DELETE", f"/charge/{made[1]}/void")
    await call("DELETE", f"/charge/{made[2]}?Amount=1")
    await call("DELETE", f"/charge/{made[1]}", None, 409)
    await call("POST", "/charge/card", DECLINED, 400)
    await call("POST", "/charge/card", {"amount": "x"}, 400)
    await call("GET", "/charge?limit=5&SortBy=amount")
    await call("GET", "/nowhere", None, 404)
    await call("POST", "/vault", {"cardNumber": VISA, "expireSeconds": 60})
    method = await call(
        "POST", "/payment_method/card", {"providerId": DUMMY, "paymentInformation": CARD}
    )
    body = batch_of(*[f"{method['paymentMethodId']},1,AUD,b"] * ROWS)
    batch = (await call("POST", "/batch/transaction/payment_method", body))["batchId"]
    held = {"for": {"batch": {"id": batch, "status": "SUCCESS"}}, "advance": True}
    await call("POST", "/__admin/wait", held)
    await call("POST", "/__admin/wait", {"for": {"charge": {"amount": 999}}, "timeout": "1ms"})
    await call("GET", f"/batch/{batch}")
    link = (
        await call("POST", "/payment_link", {"title": "A lamp", "amount": 20, "currency": "AUD"})
    )["url"]
    await call("GET", "/" + link.split("/", 3)[3])
    await call("GET", f"/__admin/journal?q={made[0]}")
    await call("PUT", "/__admin/scenarios", SCENARIO)
    await call("PUT", "/__admin/scenarios", {**SCENARIO, "rules": [{"id": "bad"}]}, 400)
    await call("POST", "/charge/card", {**CHARGE, "amount": 3}, 400)
    document = await call("GET", "/__admin/state?secrets=true")
    await call("PUT", "/__admin/state", document)
    await call("POST", "/__admin/fork", {"to": "sk_two"})
    await call("POST", "/__admin/clock/advance", {"by": "40d"})
    await call("POST", "/__admin/reset")


def test_requests_leave_no_cyclic_garbage() -> None:
    api = Api()

    async def twice() -> Counter[str]:
        await story(api)
        # What there is by now stays; only what comes is looked at.
        gc.freeze()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        await story(api)
        gc.collect()
        return Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.garbage)

    try:
        left = asyncio.run(twice())
    finally:
        gc.set_debug(0)
        gc.enable()
        gc.garbage.clear()
    assert left == {}
