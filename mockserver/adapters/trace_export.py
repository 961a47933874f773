"""Where spans go: in batches to a collector of OpenTelemetry, from a thread of their own that no
request waits for.

The SDK reads its own environment variables (``OTEL_SERVICE_NAME``, ``OTEL_TRACES_SAMPLER``,
``OTEL_EXPORTER_OTLP_HEADERS`` and so on). Its packages come with the extra ``otel`` and are
imported only here and in ``mockserver.web.tracing``, when spans are wanted.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from mockserver.adapters.extras import how_to_add
from mockserver.adapters.server_log import LibraryMessages, ServerLog

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

LAST = 1.0
"""Seconds that spans which are still here may take to reach the collector when the server ends."""

REPEAT_SECONDS = 600.0
"""Seconds for which the same message is not printed again: an absent collector fails every
batch."""


class CannotTrace(Exception):
    """No span can be sent: the text says why, and the way out."""


def close_export(provider: TracerProvider) -> None:
    """Send what is left, for at most ``LAST`` seconds."""
    # A daemon thread: a collector that does not answer must not keep the process alive.
    ending = threading.Thread(target=provider.shutdown, daemon=True)
    ending.start()
    ending.join(LAST)


def open_export(log: ServerLog, version: str, protocol: str) -> TracerProvider:
    """What makes spans and sends them, as the environment says. ``protocol`` is that of OTLP.
    Raises ``CannotTrace``."""
    if protocol != "http/protobuf":
        raise CannotTrace(
            f"OTEL_EXPORTER_OTLP_PROTOCOL: got '{protocol}', allowed: http/protobuf (port 4318 of "
            "most collectors)"
        )
    messages = LibraryMessages(log)
    messages.addFilter(_RateLimited())
    messages.take_over("opentelemetry")
    try:
        # The first of them reads OTEL_PROPAGATORS.
        import opentelemetry.propagate  # noqa: F401
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        resource = Resource.create({"service.version": version})
        # The SDK's word for a service without a name would stand for several programs.
        if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": "mockserver"}))
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    except ImportError:
        raise CannotTrace(f"OpenTelemetry is not installed: {how_to_add('otel')}") from None
    except Exception as fault:
        # Whatever the SDK cannot read of the environment: it names the variable.
        raise CannotTrace(f"OpenTelemetry: {fault}") from None
    return provider


class _RateLimited(logging.Filter):
    """Lets each message pass once in ``REPEAT_SECONDS``, without the headers for the collector."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a message is printed; of one that quotes the headers only their name is left."""
        if record.name == "opentelemetry.util.re":
            record.args = ("OTEL_EXPORTER_OTLP_HEADERS",)
        now, text = time.monotonic(), str(record.msg)
        if now - self._logged.get(text, -REPEAT_SECONDS) < REPEAT_SECONDS:
            return False
        self._logged[text] = now
        return True
