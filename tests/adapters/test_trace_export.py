"""Spans on their way to a collector: sent as the environment says; without it nothing is sent."""

import gzip
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mockserver.adapters.server_log import ServerLog
from mockserver.adapters.trace_export import LAST, CannotTrace, open_export
from mockserver.settings import Settings
from tests.served import CHARGE, Process, serve

pytestmark = pytest.mark.slow

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACE = "0af7651916cd43dd8448eb211c80319c"


@contextmanager
def served(tmp_path: Path, **environ: str) -> Iterator[Process]:
    """A server with variables of its own; what it logs is in ``log``."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environ.items():
            patch.setenv(name, value)
        server = serve("--log-level", "warning", errors=tmp_path / "log")
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


@pytest.fixture
def collector() -> Iterator[Any]:
    """A collector of OTLP over HTTP: ``url``, and the requests that it ``got``, each its path,
    headers and message."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                raw = gzip.decompress(raw)
            server.got.append((self.path, self.headers, ExportTraceServiceRequest.FromString(raw)))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        got: list[Any]

    server = Server(("127.0.0.1", 0), Handler)
    server.got = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_spans_reach_the_collector_at_the_latest_when_the_server_ends(
    collector: Any, tmp_path: Path
) -> None:
    environ = {
        ENDPOINT: f"http://127.0.0.1:{collector.server_port}",
        "OTEL_SERVICE_NAME": "sandbox",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-token=abc",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_BSP_SCHEDULE_DELAY": "600000",
    }
    with served(tmp_path, **environ) as server:
        assert server.call("POST", "/charge/card", CHARGE)[0] == 201
        assert server.stop(signal.SIGTERM) == 0
    ((path, headers, message),) = collector.got
    assert (path, headers["x-token"]) == ("/v1/traces", "abc")
    (resource,) = message.resource_spans
    named = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert (named["service.name"], named["service.version"]) == ("sandbox", "0.1.0")
    assert [span.name for span in resource.scope_spans[0].spans] == ["POST /charge/card"]


def test_the_server_has_a_name_where_none_is_given(collector: Any, tmp_path: Path) -> None:
    with served(tmp_path, **{ENDPOINT: f"http://127.0.0.1:{collector.server_port}"}) as server:
        server.call("GET", "/charge")
        server.stop(signal.SIGINT)
    ((_, _, message),) = collector.got
    assert "mockserver" in [
        one.value.string_value for one in message.resource_spans[0].resource.attributes
    ]


@pytest.mark.parametrize("accepts", [True, False], ids=["silent", "refusing"])
def test_a_collector_that_does_not_answer_stalls_neither_requests_nor_the_stop(
    tmp_path: Path, accepts: bool
) -> None:
    with socket.socket() as there:
        there.bind(("127.0.0.1", 0))
        if accepts:
            there.listen()
        environ = {
            ENDPOINT: f"http://127.0.0.1:{there.getsockname()[1]}",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "OTEL_EXPORTER_OTLP_HEADERS": "not-a-header-but-a-secret",
        }
        with served(tmp_path, **environ) as server:
            begun = time.monotonic()
            for _ in range(200):
                assert server.call("GET", "/charge")[0] == 200
            answered = time.monotonic()
            assert server.stop() == 0
            ended = time.monotonic()
    # An export that was waited for would take ten seconds each time.
    assert answered - begun < 60
    assert ended - answered < LAST + 8
    log = (tmp_path / "log").read_text()
    assert "secret" not in log
    assert "Header format invalid" in log
    assert log.count("\n") <= 4, log


def told() -> tuple[list[str], ServerLog]:
    lines: list[str] = []
    return lines, ServerLog(lambda line, *, err=False: lines.append(line), Settings())


def test_another_protocol_is_refused_with_the_one_there_is() -> None:
    with pytest.raises(CannotTrace, match=r"got 'grpc', allowed: http/protobuf \(port 4318"):
        open_export(told()[1], "1", "grpc")


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(CannotTrace, match=r"pip install .*opentelemetry-sdk"):
        open_export(told()[1], "1", "http/protobuf")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "warning: no traces are sent: OTEL_EXPORTER_OTLP_PROTOCOL: got",
        ),
        ({"OTEL_PROPAGATORS": "nonsense"}, "warning: no traces are sent: OpenTelemetry"),
        ({"OTEL_SDK_DISABLED": "true"}, ""),
    ],
)
def test_variables_that_cannot_be_used_stop_no_server(
    tmp_path: Path, variables: dict[str, str], words: str
) -> None:
    with served(tmp_path, **{ENDPOINT: "http://127.0.0.1:9", **variables}) as server:
        assert server.call("GET", "/charge")[0] == 200
        assert server.stop() == 0
    log = (tmp_path / "log").read_text()
    assert log.startswith(words)
    assert log.count("\n") == (1 if words else 0)
