"""THE route table: every operation of the payments API, once, in ``routes.csv``. Served, printed and described from it.

Sources name a paragraph of the service document, or published facts (the paths that the document does not show).
Endpoints and ``ahead`` are functions of ``mockserver.web.endpoints``, bodies, queries and replies types of
``mockserver.wire``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from mockserver.domain.reference_data import read_table
from mockserver.web.lazy import deferred
from mockserver.web.route import Auth, Route, Success

_endpoint = partial(deferred, "mockserver.web.endpoints")
_shape = partial(deferred, "mockserver.wire")


def _route(
    *,
    method: str,
    path: str,
    op: str,
    endpoint: str,
    body: str,
    query: str,
    reply: str,
    creates: str,
    public: str,
    headers: str,
    ahead: str,
    is_dated: str,
    summary: str,
    source: str,
) -> Route:
    return Route(
        method,
        path,
        op,
        _endpoint(endpoint),
        _shape(reply),
        source,
        body=_shape(body),
        query=_shape(query),
        headers=tuple(headers.split()),
        auth=Auth.PUBLIC if public else Auth.SECRET,
        success=Success.CREATED if creates else Success.OK,
        summary=summary,
        ahead=_endpoint(ahead),
        is_dated=bool(is_dated),
    )


ROUTES = read_table("routes", _route, Path(__file__).parent)
