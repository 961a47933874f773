"""The table of the control API, ``control_routes.csv``: calls are functions of ``mockserver.web.control``, queries and
bodies models of ``mockserver.wire``. ``success`` is a status; ``answers`` names further ones, parted by semicolons."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from mockserver.domain.reference_data import read_table
from mockserver.web.control.call import JSON, ControlRoute
from mockserver.web.lazy import deferred

_call = partial(deferred, "mockserver.web.control")
_query = partial(deferred, "mockserver.wire.control_queries")
_body = partial(deferred, "mockserver.wire.control_bodies")


def _route(
    *,
    method: str,
    path: str,
    call: str,
    query: str,
    body: str,
    keyed: str,
    success: str,
    answers: str,
    largest: str,
    media: str,
    summary: str,
) -> ControlRoute:
    return ControlRoute(
        method,
        path,
        _call(call),
        summary,
        query=_query(query),
        body=_body(body),
        keyed=bool(keyed),
        success=int(success),
        answers={int(status): words for status, words in (one.split(": ", 1) for one in answers.split("; ") if one)},
        # A state document is far larger than a request of the payments API may be.
        largest=int(largest) if largest else None,
        media=media or JSON,
    )


CONTROL_ROUTES = read_table("control_routes", _route, Path(__file__).parent)
