"""THE route table: every operation of the payments API, once. Served, printed and described from it.

The creations of charges are in ``charge_routes.csv``, which ``python -m tools.docs`` prints from
``mockserver.wire.source_bodies``, so that the first answer does not wait for it; all others in ``routes.csv``. Sources
name a paragraph of the service document, or published facts (the paths that the document does not show). Endpoints and
``ahead`` are functions of ``mockserver.web.endpoints``, bodies, queries and replies types of ``mockserver.wire``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from mockserver.domain.reference_data import read_table
from mockserver.web.lazy import deferred
from mockserver.web.route import Auth, Route, Success

_endpoint = partial(deferred, "mockserver.web.endpoints")
_shape = partial(deferred, "mockserver.wire")


def _route(**row: str) -> Route:
    return Route(
        **{name: row[name] for name in ("method", "path", "op", "summary", "source")},
        handle=_endpoint(row["endpoint"]),
        reply=_shape(row["reply"]),
        body=_shape(row["body"]),
        query=_shape(row["query"]),
        headers=tuple(row["headers"].split()),
        auth=Auth.PUBLIC if row["public"] else Auth.SECRET,
        success=Success.CREATED if row["creates"] else Success.OK,
        ahead=_endpoint(row["ahead"]),
        is_dated=bool(row["is_dated"]),
    )


ROUTES = tuple(row for name in ("charge_routes", "routes") for row in read_table(name, _route, Path(__file__).parent))
