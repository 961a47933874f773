"""The answer to what is no HTTP request: the error shape of every other refusal, and the end of the connection.

Source: published facts, 4.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus

import httptools

from mockserver.domain.codes import Code

_WANTED: tuple[tuple[type[Exception], str], ...] = (
    (httptools.HttpParserInvalidMethodError, "wanted a method of HTTP, such as GET or POST"),
    (httptools.HttpParserCallbackError, "wanted a target of ASCII characters, at most 65535 of them"),
)


def refusal(fault: BaseException | None, headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """The whole answer as it stands on the wire, with ``headers`` besides its own; ``fault`` is the parser's.

    The parser's words are its own and quote nothing of what was sent.
    """
    wanted = next((words for kind, words in _WANTED if isinstance(fault, kind)), None)
    told = (
        wanted or f"wanted a request of HTTP/1.1{f': {fault}' if isinstance(fault, httptools.HttpParserError) else ''}"
    )
    return _answer(HTTPStatus.BAD_REQUEST, told, headers)


def endless(limit: int, headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """The same for a request whose head has no end within ``limit`` bytes."""
    return _answer(
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        f"wanted a request line and headers of at most {limit} bytes",
        headers,
    )


def _answer(status: HTTPStatus, told: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    code = Code.VALIDATION_ERROR
    problem = {
        "message": code.message,
        "code": int(code),
        "isRetryable": False,
        "type": f"https://docs.payfurl.com/errorcodes#{int(code)}",
        "resource": None,
        "details": {"Request": told},
        "gatewayCode": None,
        "gatewayMessage": None,
        "httpStatus": int(status),
    }
    body = json.dumps(problem, separators=(",", ":")).encode()
    lines = [
        f"HTTP/1.1 {status} {status.phrase}".encode(),
        *(name + b": " + value for name, value in headers),
        b"content-type: application/json; charset=utf-8",
        b"x-content-type-options: nosniff",
        b"content-length: %d" % len(body),
        b"connection: close",
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
