"""Spans: one a request in its caller's trace, one a try of a webhook in its request's, and nothing
secret in them."""

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from mockserver.domain.delivery import Content, Delivery, Sent, WebhookMessage, sign
from mockserver.settings import DEFAULT_WEBHOOK_KEY, trace_protocol
from mockserver.web.app import Application
from mockserver.web.transport_faults import Cut
from tests.adapters.test_webhook_sender import Receiver, listening, lived
from tests.driving import VISA, Api, card, card_charge

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLING = {
    "traceparent": f"00-{TRACE}-{CALLER}-01",
    "tracestate": "shop=7",
    "baggage": "key=sk_live_1",
}
DECLINE = """
version: 1
name: strict
rules:
  - id: broke
    when: {op: charge.create, request.amount: 13}
    then: {decline: insufficient_funds}
  - id: cut
    when: {op: charge.create, request.amount: 14}
    then: {transport: {at: receive, reset: true}}
"""


class Spans:
    """An application, and the spans of what it is asked."""

    def __init__(self, api: Api, **provider: Any) -> None:
        self.api = api
        self._kept = InMemorySpanExporter()
        made = TracerProvider(shutdown_on_exit=False, **provider)
        made.add_span_processor(SimpleSpanProcessor(self._kept))
        world = api.app.world
        api.app = Application(world.settings, world.real_clock, world.directory.reader, made)

    def taken(self) -> list[ReadableSpan]:
        """Those that have ended since the last look."""
        found = list(self._kept.get_finished_spans())
        self._kept.clear()
        return found

    def of(self, method: str, target: str, body: object = None, **more: Any) -> ReadableSpan:
        """The span of one request."""
        self.api.call(method, target, body, **more)
        (span,) = self.taken()
        return span


def ids(span: ReadableSpan) -> tuple[str, str | None]:
    """Its trace, and the span above it."""
    return (
        f"{span.context.trace_id:032x}",
        None if span.parent is None else f"{span.parent.span_id:016x}",
    )


def test_a_request_joins_its_callers_trace_and_says_what_it_came_to(api: Api) -> None:
    span = Spans(api).of("POST", "/charge/card", card_charge(), headers=CALLING)
    assert (span.name, span.kind.name, span.status.status_code) == (
        "POST /charge/card",
        "SERVER",
        StatusCode.UNSET,
    )
    assert ids(span) == (TRACE, CALLER)
    charge = api.get("/charge")["charges"][0]
    assert dict(span.attributes or {}) == {
        "http.request.method": "POST",
        "url.scheme": "http",
        "http.route": "/charge/card",
        "url.path": "/charge/card",
        "http.response.status_code": 201,
        "mockserver.op": "charge.create",
        "mockserver.charge.id": charge["chargeId"],
        "mockserver.charge.status": charge["status"],
    }


@pytest.mark.parametrize(
    "sent", [{}, {"traceparent": "nonsense"}, {"traceparent": f"00-{'0' * 32}-{CALLER}-01"}]
)
def test_a_request_without_a_trace_begins_one(api: Api, sent: dict[str, str]) -> None:
    trace, above = ids(Spans(api).of("GET", "/charge", headers=sent))
    assert trace not in (TRACE, "0" * 32)
    assert above is None


def test_a_rule_is_named_with_its_outcome() -> None:
    api = Api(scenario=DECLINE)
    spans = Spans(api)
    span = spans.of("POST", "/charge/card", card_charge(amount=13))
    found = dict(span.attributes or {})
    assert found["mockserver.rule"] == "broke"
    assert "insufficient" in str(found["mockserver.outcome"]).lower()
    assert found["mockserver.charge.status"] == "FAILED"
    assert span.status.status_code is StatusCode.UNSET, (
        "a declined payment is no error of the server"
    )
    with pytest.raises(Cut):
        api.call("POST", "/charge/card", card_charge(amount=14))
    (cut,) = spans.taken()
    found = dict(cut.attributes or {})
    assert (found["mockserver.rule"], found["error.type"]) == ("cut", "Cut")
    assert "http.response.status_code" not in found
    assert cut.status.status_code is StatusCode.ERROR


def test_what_the_guard_or_no_route_takes_has_a_span_and_probes_have_none(api: Api) -> None:
    spans = Spans(api)
    refused = spans.of("GET", "/charge", headers={"host": "evil.example.com"})
    assert (dict(refused.attributes or {})["mockserver.op"], refused.name) == (
        "refused",
        "GET /charge",
    )
    unknown = spans.of("GET", "/no/such")
    assert (dict(unknown.attributes or {})["mockserver.op"], unknown.name) == ("none", "GET")
    odd = spans.of("4111111111111111", "/charge")
    assert (dict(odd.attributes or {})["http.request.method"], odd.name) == ("_OTHER", "HTTP")
    control = spans.of("GET", "/__admin/clock")
    assert (dict(control.attributes or {})["mockserver.op"], control.name) == (
        "control",
        "GET /__admin/clock",
    )
    for path in ("/healthz", "/readyz", "/metrics"):
        api.get(path)
    assert spans.taken() == []


def test_an_error_that_nobody_foresaw_is_one_of_its_span(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    spans = Spans(api)
    monkeypatch.setattr(api.app.world.directory, "of_secret_key", None)
    with pytest.raises(TypeError):
        api.get("/charge")
    (span,) = spans.taken()
    assert dict(span.attributes or {})["error.type"] == "TypeError"
    assert (span.status.status_code, span.status.description, list(span.events)) == (
        StatusCode.ERROR,
        None,
        [],
    )


def test_no_attribute_holds_a_key_card_data_or_a_ccv() -> None:
    key = "sk_live_7261"
    rules = DECLINE.replace("id: broke", f"id: card-{VISA}")
    spans = Spans(Api(key, scenario=rules))
    told = [
        spans.of(
            "POST", "/charge/card", card_charge(amount=13, paymentInformation=card(ccv="7261"))
        )
    ]
    told += [
        spans.of("GET", f"/charge/{VISA}"),
        spans.of("GET", f"/charge/{key}?key={key}&ccv=7261"),
    ]
    told += [spans.of("GET", "/charge/odd-key", key="odd-key"), spans.of("GET", f"/__inbox/{key}")]
    # Without ids and times, which may hold any digits.
    text = str([(span.name, dict(span.attributes or {}), span.status.description) for span in told])
    assert not any(span.events for span in told)
    assert [secret for secret in (key, "odd-key", "7261", VISA) if secret in text] == []
    assert "/charge/4111********1111" in text


def test_a_trace_that_is_not_sampled_stays_so(api: Api) -> None:
    spans = Spans(api, sampler=ALWAYS_OFF)
    assert api.try_charge().status == 201
    assert spans.taken() == []


def test_ids_of_spans_go_nowhere_into_answers_and_the_journal() -> None:
    def told(*, traced: bool) -> list[bytes]:
        api = Api()
        if traced:
            Spans(api)
        api.post(
            "/webhook/subscription",
            {"url": "http://127.0.0.1:4111/__inbox/shop", "types": ["Transaction"]},
        )
        replies = [api.call("POST", "/charge/card", card_charge())]
        api.advance("1s")
        replies += [
            api.get(path) for path in ("/__admin/journal", "/__admin/webhooks", "/__inbox/shop")
        ]
        return [reply.raw for reply in replies]

    assert told(traced=True) == told(traced=False)


def served(api: Api, receiver: Receiver, story: Callable[[], Awaitable[None]]) -> None:
    async def told() -> None:
        async with listening(receiver):
            await story()

    lived(api, told)


@pytest.mark.slow
def test_each_try_of_a_webhook_carries_the_trace_of_its_request_on() -> None:
    api, receiver = Api(), Receiver(500, 200)
    spans = Spans(api)

    async def story() -> None:
        body = card_charge(webhook={"url": f"{receiver.url}?token=1"})
        assert (await api.calling("POST", "/charge/card", body, headers=CALLING)).status == 201
        assert (await api.calling("POST", "/__admin/clock/advance", {"by": "1d"})).status == 200

    served(api, receiver, story)
    request, advance, failed, delivered = sorted(
        spans.taken(), key=lambda span: (span.kind.value, span.start_time)
    )
    assert (request.name, advance.name) == ("POST /charge/card", "POST /__admin/clock/advance")
    assert ids(failed) == ids(delivered) == (TRACE, f"{request.context.span_id:016x}")
    first, second = (dict(span.attributes or {}) for span in (failed, delivered))
    assert first == {
        "http.request.method": "POST",
        "url.full": receiver.url,
        "server.address": "127.0.0.1",
        "server.port": int(receiver.url.split(":")[2].split("/")[0]),
        "http.response.status_code": 500,
        "error.type": "500",
        "mockserver.webhook.id": second["mockserver.webhook.id"],
        "mockserver.webhook.event": "transaction.status.changed",
        "mockserver.charge.id": dict(request.attributes or {})["mockserver.charge.id"],
    }
    assert (second["http.request.resend_count"], second["http.response.status_code"]) == (1, 200)
    for (headers, body), span in zip(receiver.got, (failed, delivered), strict=True):
        assert headers["traceparent"] == f"00-{TRACE}-{span.context.span_id:016x}-01"
        assert (headers["tracestate"], "baggage" in headers) == ("shop=7", False)
        assert headers["x-payfurl-signature"] == sign(DEFAULT_WEBHOOK_KEY, body)


@pytest.mark.slow
def test_a_webhook_before_the_answer_is_in_its_requests_trace_and_an_event_of_ones_own_begins_one() -> (
    None
):
    rule = "{id: r, when: {op: charge.create}, then: {webhook: {before_answer: true}}}"
    api, receiver = Api(scenario=f"version: 1\nname: s\nrules: [{rule}]"), Receiver()
    spans = Spans(api)

    async def story() -> None:
        body = card_charge(webhook={"url": receiver.url})
        assert (await api.calling("POST", "/charge/card", body, headers=CALLING)).status == 201
        event = {"type": "Batch", "eventType": "batch.lost", "data": {}, "url": receiver.url}
        assert (await api.calling("POST", "/__admin/events", event)).status == 201
        assert (await api.calling("POST", "/__admin/clock/advance", {"by": "1s"})).status == 200

    served(api, receiver, story)
    ended = spans.taken()
    early, late = (span for span in ended if span.kind.name == "CLIENT")
    request = next(span for span in ended if span.name == "POST /charge/card")
    assert ids(early) == (TRACE, f"{request.context.span_id:016x}")
    assert (early.end_time or 0) <= (request.end_time or 0)
    assert (ids(late)[0] != TRACE, ids(late)[1]) == (True, None)


@pytest.mark.slow
def test_without_tracing_a_webhook_has_no_traceparent_and_nothing_of_it_is_imported() -> None:
    api, receiver = Api(), Receiver()

    async def story() -> None:
        body = card_charge(webhook={"url": receiver.url})
        assert (await api.calling("POST", "/charge/card", body, headers=CALLING)).status == 201
        assert (await api.calling("POST", "/__admin/clock/advance", {"by": "1s"})).status == 200

    served(api, receiver, story)
    ((headers, _),) = receiver.got
    assert "traceparent" not in headers
    seen = (
        "import sys, mockserver, mockserver.cli; mockserver.create_app(); "
        "print('opentelemetry' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True).stdout
        == "False\n"
    )


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        (Sent(None, "timeout", 1), "timeout"),
        (Sent(None, "not an http or https address", 1, final=True), "refused"),
        (Sent(503, None, 1), "503"),
        (None, "stopped"),
    ],
)
def test_the_fault_of_a_try_is_one_of_a_few_words(api: Api, sent: Sent | None, fault: str) -> None:
    spans = Spans(api)
    tracing = api.app.world.tracing
    assert tracing is not None
    message = WebhookMessage("customer", "customer.updated", "c1")
    unreadable = Delivery("d", "d", message, "http://[", None, Content(b"{}", None), "1", 0, 0, "d")
    tracing.try_ends(tracing.try_begins(unreadable, {}), sent)
    (span,) = spans.taken()
    found = dict(span.attributes or {})
    assert (found["error.type"], found["mockserver.webhook.id"]) == (fault, "d")
    assert not {"url.full", "mockserver.charge.id"} & found.keys()


@pytest.mark.parametrize(
    ("environ", "protocol"),
    [
        ({}, None),
        ({"ENDPOINT": "http://127.0.0.1:4318"}, "http/protobuf"),
        ({"TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, "http/protobuf"),
        ({"ENDPOINT": " "}, None),
        ({"ENDPOINT": "http://a", "PROTOCOL": "grpc"}, "grpc"),
        (
            {"ENDPOINT": "http://a", "PROTOCOL": "grpc", "TRACES_PROTOCOL": "http/protobuf"},
            "http/protobuf",
        ),
    ],
)
def test_an_endpoint_turns_traces_on(environ: dict[str, str], protocol: str | None) -> None:
    named = {f"OTEL_EXPORTER_OTLP_{name}": value for name, value in environ.items()}
    assert trace_protocol(named) == protocol
    assert trace_protocol({**named, "OTEL_SDK_DISABLED": "True"}) is None
    assert trace_protocol({**named, "OTEL_TRACES_EXPORTER": "none"}) is None


def test_json_of_a_span_is_what_the_tests_look_through(api: Api) -> None:
    span = Spans(api).of("GET", "/charge")
    assert json.loads(span.to_json())["attributes"]["url.path"] == "/charge"
