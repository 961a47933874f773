"""What the server itself refuses, such as bytes that are no HTTP: the usual error shape, the end of the connection.

Source: docs/spec/published-facts.md, 4.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import httptools

from mockserver.domain.codes import Code
from mockserver.domain.problem import problem

ALWAYS_ANSWERED = frozenset({"/healthz", "/readyz"})
"""Paths that are answered however many connections are open."""

_WANTED: tuple[tuple[type[Exception], str], ...] = (
    (httptools.HttpParserInvalidMethodError, "wanted a method of HTTP, such as GET or POST"),
    (httptools.HttpParserCallbackError, "wanted a target of ASCII characters, at most 65535 of them"),
)


def refusal(fault: BaseException | None, headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """The whole answer as it stands on the wire, with ``headers`` besides its own; ``fault`` is the parser's.

    The parser's words are its own and quote nothing of what was sent.
    """
    wanted = next((words for kind, words in _WANTED if isinstance(fault, kind)), None)
    reason = (
        wanted or f"wanted a request of HTTP/1.1{f': {fault}' if isinstance(fault, httptools.HttpParserError) else ''}"
    )
    return _answer(HTTPStatus.BAD_REQUEST, reason, headers)


def head_too_large(limit: int, headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """The same for a request whose head has no end within ``limit`` bytes."""
    return _answer(
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        f"wanted a request line and headers of at most {limit} bytes",
        headers,
    )


def timed_out(headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """The same for a request whose rest has not come in time."""
    return _answer(HTTPStatus.REQUEST_TIMEOUT, "wanted the rest of the request sooner", headers)


def connect_refused(headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """The same for CONNECT: what follows it on the connection is not HTTP."""
    return _answer(HTTPStatus.NOT_IMPLEMENTED, "CONNECT is not served: this server is not a proxy", headers)


def too_many_connections() -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Body and headers of the answer (503) to a client beyond the limit of connections."""
    reason = "more connections are open than this server has files for"
    return _problem(HTTPStatus.SERVICE_UNAVAILABLE, reason, is_retryable=True)


async def in_reserve(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """The application on a connection too many: whether the server lives can be asked even then."""
    if scope["path"] in ALWAYS_ANSWERED:
        await app(scope, receive, send)
        return
    body, headers = too_many_connections()
    await send({"type": "http.response.start", "status": HTTPStatus.SERVICE_UNAVAILABLE, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _answer(status: HTTPStatus, reason: str, server_headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    body, headers = _problem(status, reason)
    lines = [f"HTTP/1.1 {status} {status.phrase}".encode()]
    lines += [name + b": " + value for name, value in (*server_headers, *headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _problem(status: HTTPStatus, reason: str, *, is_retryable: bool = False) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    code = Code.UNKNOWN_ERROR if is_retryable else Code.VALIDATION_ERROR
    fault = problem(status, code, code.message, None, {"Request": reason}, is_retryable=is_retryable)
    body = json.dumps(fault, separators=(",", ":")).encode()
    return body, [
        (b"content-type", b"application/json; charset=utf-8"),
        (b"x-content-type-options", b"nosniff"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
