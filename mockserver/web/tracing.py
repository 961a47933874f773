"""Spans of OpenTelemetry: one for each request, in the trace of its caller, and one for each try of
a webhook, in the trace of the request that caused it.

Ids of spans are chance. They go to the collector and into the header ``traceparent`` of webhooks,
into nothing that the product keeps or answers: that must be the same in every run. No attribute
holds a key, card data or a ccv. Imported only where spans are wanted.

Source: OpenTelemetry semantic conventions 1.23 and later, HTTP spans; W3C Trace Context.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from opentelemetry.context import Context
from opentelemetry.propagate import extract, inject
from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider, set_span_in_context

from mockserver.domain.charge import Charge
from mockserver.domain.delivery import Delivery, Sent
from mockserver.domain.masking import mask_start
from mockserver.engine.step import Step
from mockserver.web.access import METHODS, OPERATION, REFUSED, STEP, Access, shown_path
from mockserver.web.request import Scope, headers_by

LONGEST = 500
"""Characters of a text of a scenario that an attribute holds."""

_SPAN = "mockserver.span"


class Tracing:
    """The spans of one server, made by ``provider``. ``route_of`` gives the path of the route in
    the table for a method and a path, None where there is none."""

    def __init__(
        self, provider: TracerProvider, route_of: Callable[[str, str], str | None]
    ) -> None:
        self._tracer = provider.get_tracer("mockserver")
        self._route_of = route_of
        self._causes: WeakKeyDictionary[Delivery, Span] = WeakKeyDictionary()

    def request_begins(self, scope: Scope) -> None:
        """Begin the span of a request, in the trace that its ``traceparent`` names. It is named
        after the route: collectors group by names, and a path with ids would be a group of one."""
        route = self._route_of(scope["method"], scope["path"])
        method = name = scope["method"]
        if method not in METHODS:
            # A client may make up a method, and a collector groups by it.
            method, name = "_OTHER", "HTTP"
        attributes = {"http.request.method": method, "url.scheme": scope.get("scheme", "http")}
        if route is not None:
            attributes["http.route"] = route
            name = f"{name} {route}"
        headers = headers_by(tuple(map(tuple, scope["headers"])))
        caller = extract(headers, Context())
        scope[_SPAN] = self._tracer.start_span(name, caller, SpanKind.SERVER, attributes)

    def request_ends(self, access: Access) -> None:
        """End the span of a request that has been answered, or has not."""
        span: Span = access.scope[_SPAN]
        if span.is_recording():
            span.set_attributes(_request_attributes(access.scope))
            fault = access.fault
            if fault is None and not access.status:
                fault = "no_answer"
            # A 400 is the client's error: the server has done what it should.
            _note_status(span, access.status or None, fault, first_failure=500)
        span.end()

    def caused(self, scope: Scope, step: Step) -> None:
        """The webhooks of a step belong to the trace of its request."""
        if _SPAN not in scope:
            return
        for delivery_id in step.result.webhooks:
            delivery = step.sandbox.deliveries.get(delivery_id)
            if delivery is not None:
                self._causes[delivery] = scope[_SPAN]

    def try_begins(self, delivery: Delivery, headers: dict[str, str]) -> Span:
        """The span of a try to deliver a webhook; ``headers`` get its ``traceparent``. The
        signature is that of the body and stays what it is."""
        parent = Context()
        cause = self._causes.get(delivery)
        if cause is not None:
            parent = set_span_in_context(cause, parent)
        span = self._tracer.start_span("POST", parent, SpanKind.CLIENT, _try_attributes(delivery))
        inject(headers, set_span_in_context(span, Context()))
        return span

    def try_ends(self, span: Span, sent: Sent | None) -> None:
        """How it went; None when the server stopped before it had."""
        if sent is not None and sent.status is not None:
            # Here we are the client, for whom a 400 is a failure too.
            _note_status(span, sent.status, None, first_failure=400)
        else:
            _note_status(span, None, _fault_of(sent), first_failure=400)
        span.end()


def _note_status(span: Span, status: int | None, fault: str | None, *, first_failure: int) -> None:
    """What became of a request: its status, and the kind of its failure. A status from
    ``first_failure`` on is one by itself."""
    if status is not None:
        span.set_attribute("http.response.status_code", status)
        if fault is None and status >= first_failure:
            fault = str(status)
    if fault is not None:
        span.set_attribute("error.type", fault)
        span.set_status(StatusCode.ERROR)


def _request_attributes(scope: Scope) -> Mapping[str, str]:
    """What a span says of its request; rules and outcomes once each, in their order."""
    step = scope.get(STEP)
    attributes = {"url.path": shown_path(scope), "mockserver.op": scope.get(OPERATION, REFUSED)}
    if step is None:
        return attributes
    fired = [decision for decision in step.result.decisions if decision.rule is not None]
    if fired:
        rules = ",".join(dict.fromkeys(decision.rule for decision in fired))
        outcomes = "; ".join(dict.fromkeys(decision.outcome.words for decision in fired))
        attributes["mockserver.rule"] = mask_start(rules, LONGEST)
        attributes["mockserver.outcome"] = mask_start(outcomes, LONGEST)
    charge = step.result.about.get("charge")
    if isinstance(charge, Charge):
        attributes["mockserver.charge.id"] = charge.charge_id
        attributes["mockserver.charge.status"] = charge.status.value
    return attributes


def _try_attributes(delivery: Delivery) -> Mapping[str, str | int]:
    """What a span says of its try to deliver a webhook."""
    attributes: dict[str, str | int] = {
        "http.request.method": "POST",
        "mockserver.webhook.id": delivery.delivery_id,
        "mockserver.webhook.event": mask_start(delivery.message.event_type, LONGEST),
    }
    # An address that cannot be read is refused by the sender.
    with suppress(ValueError):
        url = urlsplit(delivery.url)
        default_port = 443 if url.scheme == "https" else 80
        attributes["server.address"] = url.hostname or ""
        attributes["server.port"] = url.port or default_port
        # Neither a password nor a query, which may be one.
        host = url.netloc.rpartition("@")[2]
        attributes["url.full"] = mask_start(f"{url.scheme}://{host}{url.path}", LONGEST)
    if delivery.tries:
        attributes["http.request.resend_count"] = len(delivery.tries)
    if delivery.message.type == "transaction" and delivery.message.subject_id is not None:
        attributes["mockserver.charge.id"] = delivery.message.subject_id
    return attributes


def _fault_of(sent: Sent | None) -> str:
    """The kind of what went wrong, in one of a few words: collectors count by it."""
    if sent is None:
        return "stopped"
    if sent.final:
        # No later try could go better: the address, for one, is not allowed.
        return "refused"
    return (sent.error or "no_answer").partition(":")[0]
