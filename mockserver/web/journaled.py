"""A request that the journal keeps, taken up once more: its operation, its fields, and the request
itself, so that it can be sent or carried out again. The journal has texts alone; what they mean
stands in the table of routes.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.engine.journal import JournalEntry
from mockserver.engine.journaling import asked_with
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.decisions import StageDecision
from mockserver.web.operation import OperationEndpoint
from mockserver.web.operations.route import Route
from mockserver.web.request import Request
from mockserver.web.routes import FORM_ROUTES, ROUTES
from mockserver.web.world import World
from mockserver.wire.fields import Body, Fields

_ROUTES: Mapping[str, Route[Any, Any]] = {
    route.name: route for route in (*ROUTES, *FORM_ROUTES.values())
}


def operation_of(entry: JournalEntry, world: World) -> OperationEndpoint | None:
    """What can carry the request of an entry out again; None for anything but a request of the
    API, and for one whose answer depended on the moment."""
    route = _ROUTES.get(entry.route) if entry.is_repeatable else None
    return OperationEndpoint(world, route) if route is not None else None


def fields_of(entry: JournalEntry) -> Mapping[str, object]:
    """The fields that an entry asked with. Those of a request are read out of its text at every
    look."""
    form, route = entry.form, _ROUTES.get(entry.route)
    if form is None or route is None:
        return entry.request
    model, text = (route.body, entry.raw) if form.is_body else (route.query, entry.query)
    return Fields(model or Body, text, is_body=form.is_body, commas=form.decimal_commas)


def request_of(entry: JournalEntry, known: Sandbox | None = None) -> Request:
    """The request of an entry, as it came."""
    return Request(
        entry.method,
        entry.path,
        entry.placeholders,
        entry.query,
        entry.headers,
        raw=entry.raw,
        known=known,
    )


def asking_of(entry: JournalEntry) -> Callable[[StageDecision], Attempt]:
    """What rules were asked with, by decision of an entry. Its request is read once, and not before
    that is asked for."""
    read: list[Mapping[str, object]] = []

    def attempt_of(decision: StageDecision) -> Attempt:
        if not read:
            read.append(dict(fields_of(entry).items()))
        return asked_with(decision, entry, read[0])

    return attempt_of
