"""THE routes: every operation of the payments API, once. Served, printed and described from
here."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from mockserver.web.operations import (
    batches,
    challenges,
    charges,
    customers,
    info,
    payment_links,
    payment_methods,
    providers,
    subscriptions,
    tokens,
    transfers,
    vault,
    webhook_subscriptions,
)
from mockserver.web.operations.route import Route

ROUTES: Sequence[Route[Any, Any]] = (
    *charges.ROUTES,
    *vault.ROUTES,
    *customers.ROUTES,
    *payment_methods.ROUTES,
    *tokens.ROUTES,
    *payment_links.ROUTES,
    *subscriptions.ROUTES,
    *transfers.ROUTES,
    *webhook_subscriptions.ROUTES,
    *batches.ROUTES,
    *info.ROUTES,
    *providers.ROUTES,
)

FORM_ROUTES: Mapping[str, Route[Any, Any]] = {
    route.op: route for route in (payment_links.PAY, challenges.OF_CHARGE, challenges.OF_TOKEN)
}
"""What the forms of pages ask for, by operation: no other client can."""


@cache
def _forms() -> Sequence[tuple[str, re.Pattern[str], str]]:
    rows = sorted(ROUTES, key=lambda row: row.path.count("{"))
    return [(row.method, re.compile(re.sub(r"\{\w+\}", "[^/]+", row.path)), row.op) for row in rows]


def operation_of(method: str, path: str) -> str | None:
    """The operation that a method and a path, with its query, mean; literal segments count before
    placeholders."""
    bare = path.partition("?")[0].rstrip("/")
    return next((op for one, form, op in _forms() if one == method and form.fullmatch(bare)), None)
