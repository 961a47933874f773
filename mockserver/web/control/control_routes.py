"""The table of the control API, ``control_routes.csv``: calls are functions of ``mockserver.web.control``, queries and
bodies models of ``mockserver.wire``. ``success`` is a status; ``answers`` names further ones, parted by semicolons."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from mockserver.domain.reference_data import read_table
from mockserver.web.control.call import JSON, ControlRoute
from mockserver.web.lazy import deferred

_call = partial(deferred, "mockserver.web.control")
_model = partial(deferred, "mockserver.wire.control_bodies")


def _route(**row: str) -> ControlRoute:
    answers = (one.split(": ", 1) for one in row["answers"].split("; ") if one)
    return ControlRoute(
        method=row["method"],
        path=row["path"],
        handle=_call(row["call"]),
        summary=row["summary"],
        query=_model(row["query"]),
        body=_model(row["body"]),
        keyed=bool(row["keyed"]),
        success=int(row["success"]),
        answers={int(status): words for status, words in answers},
        # A state document is far larger than a request of the payments API may be.
        largest=int(row["largest"]) if row["largest"] else None,
        media=row["media"] or JSON,
    )


CONTROL_ROUTES = read_table("control_routes", _route, Path(__file__).parent)
