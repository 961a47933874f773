"""The fields of webhooks and of stored objects that rules may name: the tables agree with what is
sent and kept."""

from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import KINDS
from mockserver.engine.tables import ROW_CLASSES
from mockserver.scenario.request_fields import parts_of
from mockserver.scenario.stored_fields import STORED
from mockserver.web.openapi import WEBHOOKS
from mockserver.wire.replies import reply_type
from tests.driving import DUMMY, Api, card


def test_the_fields_of_a_delivery_are_what_webhooks_say(api: Api) -> None:
    hook = "http://127.0.0.1:4111/__inbox/shop"
    api.post("/webhook/subscription", {"url": hook})
    api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": card()})
    method = api.method()
    api.post(
        "/subscription/payment_method", {"paymentMethodId": method, "amount": 1, "interval": "Day"}
    )
    api.batch(f"{method},1,AUD,a")
    charge = api.charge()
    api.delete(f"/refund/{charge['chargeId']}")
    held = api.charge(
        capture=False,
        paymentInformation=card(threeDSServerTransID="8a4bd9b8-4d9f-4bb3-9b1a-1f9f5b6a0c11"),
    )
    api.delete(f"/charge/{held['chargeId']}")
    api.advance("1s")
    told = [one["body"] for one in api.get("/__admin/webhooks")["webhooks"]]
    assert {one["meta"]["type"] for one in told} == {
        "transaction",
        "batch",
        "subscription",
        "customer",
        "paymentMethod",
    }
    assert {name for one in told for name in one["data"]} == parts_of("data").keys()
    assert {name for one in told for name in one["meta"]} - {"messageId"} == parts_of("meta").keys()


def test_stored_kinds_are_those_that_are_kept(api: Api) -> None:
    api.get("/charge")
    (sandbox,) = api.app.world.sandboxes
    assert isinstance(sandbox, Sandbox)
    rows = {id(getattr(sandbox, name)): row for name, row in ROW_CLASSES.items()}
    assert {kind: rows[id(of.table(sandbox))] for kind, of in KINDS.items()} == STORED


def test_rules_may_name_whatever_the_tables_say_that_webhooks_have() -> None:
    said = {name for kind in WEBHOOKS for name in reply_type(kind.reply).fields}
    assert said - parts_of("data").keys() == set(), "add them to data in scenario/unrequested.txt"
    assert parts_of("data").keys() - said == set(), "no reply of web/webhooks.csv has them"
