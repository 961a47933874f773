"""The fields of requests and of stored objects that rules may name: the tables agree with what is served and kept."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, get_args

from mockserver.engine.sandbox import Sandbox
from mockserver.engine.state_facts import KINDS
from mockserver.engine.tables import ROW_CLASSES
from mockserver.scenario.kinds import FLAG, NUMBER, TEXT
from mockserver.scenario.operations import OPERATIONS
from mockserver.scenario.requests import Field, fields_of, parts_of
from mockserver.scenario.stored import STORED
from mockserver.web.hosted import PAY
from mockserver.web.route import Route
from mockserver.web.routes import ROUTES
from mockserver.web.three_ds import ANSWER
from mockserver.wire.base import Body, nested_body
from tests.driving import DUMMY, Api, card
from tests.rows import each

ALL = (*ROUTES, PAY, ANSWER)
UNSERVED = {"batch.row", "subscription.renew", "webhook.deliver"}
"""Operations without a request: their fields are what the engine tells rules of them."""


def shape(field: Field) -> tuple[str, bool, bool]:
    kind = {TEXT: "text", NUMBER: "number", FLAG: "flag"}.get(field.kind, ", ".join(field.kind.allowed))
    return kind, field.is_list, field.is_map


def enum_of(annotation: Any) -> type[Enum] | None:
    if isinstance(annotation, type):
        return annotation if issubclass(annotation, Enum) else None
    return next((found for part in get_args(annotation) if (found := enum_of(part))), None)


def served_shape(annotation: Any, metadata: list[Any]) -> tuple[str, bool, bool]:
    text = f"{annotation}{metadata}"
    enum = enum_of(annotation)
    kind = "text"
    if nested_body(annotation) is None and enum is not None:
        kind = ", ".join(str(member.value) for member in enum)
    elif nested_body(annotation) is None:
        readers = {"read_number": "number", "_read_whole": "number", "_read_payer": "number", "_read_flag": "flag"}
        kind = next((name for reader, name in readers.items() if reader in text), "text")
    return kind, "list[" in text or "tuple[" in text, "read_map" in text


def models(op: str) -> list[type[Body]]:
    rows: list[Route] = [row for row in ALL if row.op == op]
    return [model for row in rows for model in (row.body, row.query) if model is not None]


def served(found: list[type[Body]]) -> dict[str, tuple[str, bool, bool]]:
    return {
        info.alias or name: served_shape(info.annotation, info.metadata)
        for model in found
        for name, info in model.model_fields.items()
    }


def shapes(fields: Mapping[str, Field]) -> dict[str, tuple[str, bool, bool]]:
    return {name: shape(field) for name, field in fields.items()}


def inner(found: list[type[Body]], name: str) -> list[type[Body]]:
    nested = [
        nested_body(info.annotation)
        for model in found
        for field, info in model.model_fields.items()
        if (info.alias or field) == name
    ]
    return [model for model in nested if model is not None]


@each("op", sorted(OPERATIONS.keys() - UNSERVED))
def test_the_fields_of_an_operation_are_those_of_its_requests(op: str) -> None:
    assert shapes(fields_of([op])) == served(models(op))


def test_the_fields_inside_a_field_are_those_that_some_request_has_there() -> None:
    wanted: dict[str, dict[str, tuple[str, bool, bool]]] = {}
    waiting = [models(op) for op in OPERATIONS]
    while waiting:
        found = waiting.pop()
        for name in served(found):
            below = inner(found, name)
            if below:
                wanted.setdefault(name, {}).update(served(below))
                waiting.append(below)
    assert {name: shapes(parts_of(name)) for name in wanted} == wanted


def test_the_fields_of_a_delivery_are_what_webhooks_say() -> None:
    api = Api()
    hook = "http://127.0.0.1:4111/__inbox/shop"
    api.post("/webhook/subscription", {"url": hook})
    api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": card()})
    method = api.post("/payment_method/card", {"providerId": DUMMY, "paymentInformation": card()})["paymentMethodId"]
    api.post("/subscription/payment_method", {"paymentMethodId": method, "amount": 1, "interval": "Day"})
    rows = f"PaymentMethodId,Amount,Currency,Reference\n{method},1,AUD,a"
    api.post("/batch/transaction/payment_method", {"count": 1, "description": "d", "batch": rows})
    charge = api.charge()
    api.delete(f"/refund/{charge['chargeId']}")
    held = api.charge(
        capture=False, paymentInformation=card(threeDSServerTransID="8a4bd9b8-4d9f-4bb3-9b1a-1f9f5b6a0c11")
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


def test_stored_kinds_are_those_that_are_kept() -> None:
    api = Api()
    api.get("/charge")
    (sandbox,) = api.app.world.sandboxes
    assert isinstance(sandbox, Sandbox)
    rows = {id(getattr(sandbox, name)): row for name, row in ROW_CLASSES.items()}
    assert {kind: rows[id(table(sandbox))] for kind, (_, table) in KINDS.items()} == STORED
