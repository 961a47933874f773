"""Tables of routes, and THE route table: every operation of the payments API, once. Served, printed and described from
it.

What a cell says is made of its text when it is first looked at, and a module that one names is imported then, so that
the first answer does not wait for all of them.
The rows are in ``routes.csv``. Sources name a section of the service document or of the published facts (the paths that
the document does not show). Endpoints and ``ahead`` are functions of ``mockserver.web.endpoints``; bodies,
queries and replies are rows of the tables of ``mockserver.wire``.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from mockserver.domain.record import read_table, record
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.wire.body_tables import body_type
from mockserver.wire.fields import Body
from mockserver.wire.profile import WireProfile

Texts = Mapping[str, str]
"""The cells of a row as they stand in the file, by the names of their columns."""


def in_module(package: str, column: str) -> Callable[[Texts], Any]:
    """What reads a cell that names something in a module of a package, as ``charges.create``; None of an empty cell.
    It raises ``AttributeError`` for an unknown name."""

    def read(row: Texts) -> Any:
        name = row[column]
        # The colon says where the module ends, so that no module of the name of the function is looked for.
        return resolve_name(f"{package}.{name.replace('.', ':', 1)}") if name else None

    return read


def of_type(column: str) -> Callable[[Texts], type[Body] | None]:
    """What reads a cell that names a body or a query; None of an empty cell."""
    return lambda row: body_type(row[column]) if row[column] else None


def cell(read: Callable[[Texts], Any]) -> Any:
    """A cell that is not just its text: it is read when it is first looked at."""
    return cached_property(lambda row: read(row.texts))


class RouteRow:
    """A row of a table of routes: its cells by name."""

    def __init__(self, **texts: str) -> None:
        plain = {name: text for name, text in texts.items() if not hasattr(type(self), name)}
        vars(self).update(plain, texts=texts)


@record
class OperationCall:
    """One authenticated, validated call. ``body`` and ``query`` are the models of the route; ``ready`` is what the
    route's ``ahead`` has made, None when it was not asked to."""

    step: Step
    profile: WireProfile
    body: Any
    query: Any
    resource: str
    ready: Any = None

    @property
    def path(self) -> Mapping[str, str]:
        """The placeholders of the route."""
        return self.step.asked.path

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox whose step is being taken."""
        return self.step.sandbox

    @property
    def provider(self) -> str | None:
        """The provider that is named in the header, the query or the body (published facts, 8 rows 18-19)."""
        named: str | None = self.step.asked.headers.get("providerid") or self.query.provider_id or self.body.provider_id
        return named


def _endpoint(row: Texts) -> Callable[[OperationCall], object]:
    found: Callable[[OperationCall], object] = resolve_name("mockserver.web.endpoints:endpoint_of")(
        row["endpoint"], row["reply"], row["query"]
    )
    return found


class CallRow(RouteRow):
    """A call of an API: where it is, ``reply`` as what it answers in the words of the table of replies, ``body`` and
    ``query`` as the models of what it takes; ``largest`` are the bytes that its body may have, None for the limit of
    the settings."""

    method: str
    path: str
    reply: str
    summary: str
    body: type[Body] | None = cell(of_type("body"))
    query: type[Body] | None = cell(of_type("query"))
    largest: int | None = cell(lambda row: int(row["largest"]) if row["largest"] else None)


class Route(CallRow):
    """One operation: who may call it, and on which source it rests. ``handle`` is the endpoint function: it
    gives the body of the answer, or a ``Reply`` of which status and body alone count. ``ahead`` begins work that the
    operation needs before its step, and that changes nothing; None when there is little of it.
    ``is_public``: a public key opens it too. ``creates``: the assumption ``response.created_status`` says with which
    status it answers.
    """

    op: str
    source: str
    handle: Callable[[OperationCall], object] = cell(_endpoint)
    ahead: Callable[[Step], Awaitable[object] | None] | None = cell(
        lambda row: in_module("mockserver.web", "ahead")(row) or getattr(_endpoint(row), "ahead", None)
    )
    headers: tuple[str, ...] = cell(lambda row: tuple(row["headers"].split()))
    is_public: bool = cell(lambda row: bool(row["public"]))
    creates: bool = cell(lambda row: bool(row["creates"]))


ROUTES = read_table("routes", Route, Path(__file__).parent)
FORM_ROUTES: Mapping[str, Route] = {row.op: row for row in read_table("form_routes", Route, Path(__file__).parent)}
"""What the forms of pages ask for, by operation: no other client can."""


@cache
def _forms() -> Sequence[tuple[str, re.Pattern[str], str]]:
    rows = sorted(ROUTES, key=lambda row: row.path.count("{"))
    return [(row.method, re.compile(re.sub(r"\{\w+\}", "[^/]+", row.path)), row.op) for row in rows]


def operation_of(method: str, path: str) -> str | None:
    """The operation that a method and a path, with its query, mean; literal segments count before placeholders."""
    bare = path.partition("?")[0].rstrip("/")
    return next((op for one, form, op in _forms() if one == method and form.fullmatch(bare)), None)
