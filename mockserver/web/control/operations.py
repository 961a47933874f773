"""Operations as rules name them (``/__admin/operations``): what each is, the calls that ask for it, and what ``when``
and ``key`` may use there; and which failures they have met (``/__admin/coverage``: docs/explore.md, Failure coverage).
"""

from __future__ import annotations

from typing import Any

from mockserver.domain.reading import camel
from mockserver.engine.state_facts import KINDS
from mockserver.scenario.failures import TRIED, Coverage, met
from mockserver.scenario.operations import OPERATIONS, PROVIDER_OPERATIONS, UNREQUESTED
from mockserver.scenario.paths import CARD_FACTS, fields_of, testable
from mockserver.web.control.call import ControlCall
from mockserver.web.openapi import WEBHOOKS
from mockserver.web.routes import ROUTES

_DELIVERY = "webhook.deliver"
_EVERYWHERE = ("age", "idle", "nth", "clock")
_OF_REQUESTS = ("header.<name>", "call", "in_flight", "overlaps")
_OF_PROVIDERS = (
    *("provider", "source", "attempt", "bank_account.accountNumber"),
    *(f"card.{fact}" for fact in CARD_FACTS),
)


def named_operation(op: str) -> dict[str, Any]:
    """One operation; ``state`` has the kinds of objects that it is about, or that its request names, ``events`` what
    a rule for webhooks sees."""
    fields, calls = fields_of({op}), [f"{row.method} {row.path}" for row in ROUTES if row.op == op]
    named = {*fields, *(camel(name) for name, _ in KINDS.values() if any(f"{{{name}}}" in call for call in calls))}
    subject = op.partition(".")[0]
    kinds = [kind for kind, (name, _) in KINDS.items() if op == _DELIVERY or kind == subject or camel(name) in named]
    also = _OF_PROVIDERS if op in PROVIDER_OPERATIONS else ()
    also += (op,) if op == "batch.row" else ()
    if op != _DELIVERY:
        also += ("overlaps",) if op in UNREQUESTED else _OF_REQUESTS
    return {
        "op": op,
        "means": OPERATIONS[op].meaning,
        "asksProvider": op in PROVIDER_OPERATIONS,
        "calls": calls,
        "request": [f"request.{name}" for name in testable(op)],
        "state": [f"state.{camel(kind)}" for kind in kinds],
        "also": [*also, *_EVERYWHERE],
        "events": [name for kind in WEBHOOKS for name in kind.event_types] if op == _DELIVERY else [],
    }


def listing(call: ControlCall) -> object:
    return {"operations": [named_operation(op) for op in OPERATIONS]}


def coverage(call: ControlCall) -> object:
    """Since the server began, in all sandboxes: how many failures struck, of all that there are for the operations that
    were used; a map of both."""
    counts = call.world.directory.config.counts
    struck = [(op, name, TRIED) for (op, _), outcome in counts.struck.items() for name in met(op, outcome)]
    used = counts.operations | {op for op, _ in counts.struck}
    return Coverage.of(used & OPERATIONS.keys(), struck).shown()
