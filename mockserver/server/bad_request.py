"""What the server itself refuses, such as bytes that are not HTTP: the usual error shape, the end of the connection.

Source: docs/spec/published-facts.md, 4.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus

import httptools
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mockserver.domain.codes import Code
from mockserver.domain.problem import problem

ALWAYS_ANSWERED = frozenset({"/healthz", "/readyz"})
"""Paths that are answered however many connections are open."""

MOST_HEAD = 65_536
"""Bytes that a request's line and headers may have, and its trailers: what never ends must not fill the memory."""

HEAD_TOO_LARGE = (
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    f"wanted a request line and headers of at most {MOST_HEAD} bytes",
)
TIMED_OUT = HTTPStatus.REQUEST_TIMEOUT, "wanted the rest of the request sooner"
CONNECT_REFUSED = HTTPStatus.NOT_IMPLEMENTED, "CONNECT is not served: this server is not a proxy"
"""Of this one, because what follows on its connection is not HTTP."""

_WANTED: tuple[tuple[type[Exception], str], ...] = (
    (httptools.HttpParserInvalidMethodError, "wanted a method of HTTP, such as GET or POST"),
    (httptools.HttpParserCallbackError, "wanted a target of ASCII characters, at most 65535 of them"),
)


def malformed(fault: httptools.HttpParserError) -> tuple[HTTPStatus, str]:
    """Status and reason of the answer to what the parser refuses. Its words quote nothing of what was sent."""
    wanted = next((words for kind, words in _WANTED if isinstance(fault, kind)), None)
    return HTTPStatus.BAD_REQUEST, wanted or f"wanted a request of HTTP/1.1: {fault}"


def refusal(status: HTTPStatus, reason: str, server_headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """The whole answer as it stands on the wire, with the headers of the server besides its own."""
    answer = _response(status, reason, Code.VALIDATION_ERROR)
    lines = [f"HTTP/1.1 {status} {status.phrase}".encode()]
    lines += [name + b": " + value for name, value in (*server_headers, *answer.raw_headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + bytes(answer.body)


async def too_many_connections(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """The application on a connection too many: whether the server lives can be asked even then."""
    reason = "more connections are open than this server has files for"
    refused = _response(HTTPStatus.SERVICE_UNAVAILABLE, reason, Code.UNKNOWN_ERROR)
    await (app if scope["path"] in ALWAYS_ANSWERED else refused)(scope, receive, send)


def _response(status: HTTPStatus, reason: str, code: Code) -> Response:
    is_retryable = status is HTTPStatus.SERVICE_UNAVAILABLE
    body = problem(status, code, code.message, None, {"Request": reason}, is_retryable=is_retryable)
    headers = {
        "content-type": "application/json; charset=utf-8",
        "x-content-type-options": "nosniff",
        "connection": "close",
    }
    return Response(json.dumps(body, separators=(",", ":")), status, headers)
