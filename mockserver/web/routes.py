"""THE routes: every operation of the payments API, once. Served, printed and described from
here."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

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


class _PathPattern(NamedTuple):
    """What the requests of one route look like."""

    method: str
    path: re.Pattern[str]
    op: str


@cache
def _patterns() -> Sequence[_PathPattern]:
    """Those of all routes; exact paths first, as ``/charge/card`` fits ``/charge/{charge_id}``
    too."""
    patterns: list[_PathPattern] = []
    for row in sorted(ROUTES, key=lambda row: row.path.count("{")):
        path = re.compile(re.sub(r"\{\w+\}", "[^/]+", row.path))
        patterns.append(_PathPattern(row.method, path, row.op))
    return patterns


def operation_of(method: str, path: str) -> str | None:
    """The operation that a method and a path, with its query, mean; None where there is none. For
    commands that read recorded traffic or explain a scenario, and serve no request."""
    bare = path.partition("?")[0].rstrip("/")
    for pattern in _patterns():
        if pattern.method == method and pattern.path.fullmatch(bare):
            return pattern.op
    return None
