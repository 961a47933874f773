"""A request that the journal keeps, taken up once more: its endpoint, its fields, and the request
itself, so that it can be sent or carried out again.

The journal has a request as text alone, and the name of its route: an entry must mean the same
after a restart, when it comes out of a store, and its fields would take memory in every entry
although few are ever looked at. What the text means stands in the table of routes.
"""

from collections.abc import Callable, Mapping
from functools import cache
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


def endpoint_of(entry: JournalEntry, world: World) -> OperationEndpoint | None:
    """What can carry the request of an entry out again; None for anything but a request of the
    payments API, and for one whose answer depended on the moment, such as a refusal for the rate
    of calls: taken again, it would be answered otherwise."""
    if not entry.is_repeatable:
        return None
    route = _ROUTES.get(entry.route)
    return None if route is None else OperationEndpoint(world, route)


def fields_of(entry: JournalEntry) -> Mapping[str, object]:
    """The fields that an entry asked with. Those of a request are read out of its text at every
    look, in the form in which they were read when it came; due work, which nobody sent, has its
    fields in the entry."""
    form, route = entry.form, _ROUTES.get(entry.route)
    if form is None or route is None:
        return entry.request
    if form.is_body:
        return Fields(route.body or Body, entry.raw, is_body=True, commas=form.decimal_commas)
    return Fields(route.query or Body, entry.query, is_body=False, commas=form.decimal_commas)


def request_of(entry: JournalEntry, known: Sandbox | None = None) -> Request:
    """The request of an entry, as it came, of the sandbox ``known``."""
    return Request(
        entry.method,
        entry.path,
        entry.placeholders,
        entry.query,
        entry.headers,
        raw=entry.raw,
        known=known,
    )


def attempt_reader(entry: JournalEntry) -> Callable[[StageDecision], Attempt]:
    """What tells with which attempt the rules of a decision of this entry were asked: who explains
    why a rule did not fire tests it once more. Its request, which may be long, is read for the
    first decision that is explained, and once for all of them."""

    @cache
    def request() -> Mapping[str, object]:
        return dict(fields_of(entry).items())

    def attempt_of(decision: StageDecision) -> Attempt:
        return asked_with(decision, entry, request())

    return attempt_of
