"""Requests that come whole, in one packet, with an ordinary head: read without a parser that calls back for each line.

Nearly every request is such a one. Every other goes the plain way, through uvicorn's parser.
"""

from __future__ import annotations

import re
from typing import Any

from mockserver.domain.remembered import Remembered

_LINE = re.compile(
    rb"(GET|POST|PUT|PATCH|DELETE) (/(?!/)[A-Za-z0-9._~@:,;=!$&'()*+/-]*+)(?:\?([!-\"$-~]*+))? HTTP/1\.1\r\n"
)
"""A first line whose target has no escapes in its path: what its parts are needs no parser of URLs."""

_FIELD = re.compile(rb"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([!-~](?:[ -~]*[!-~])?)\r\n")
_FIELDS = re.compile(rb"(?:[A-Za-z0-9!#$%&'*+.^_`|~-]+:[ \t]*[!-~](?:[ -~]*+(?<=[!-~]))?+\r\n)+")
"""Header fields that have a value, without blanks at its end. Names and values are never empty."""

_FRAMING = frozenset({b"connection", b"expect", b"proxy-connection", b"transfer-encoding", b"upgrade"})
"""Fields by which a client may say more of its connection, or of the length of its request, than is read here."""

_USUAL = (b"connection", b"keep-alive")

_LENGTH = re.compile(rb"[0-9]{1,9}")
_LONGEST = 8_192
"""Bytes of a head that is read here."""

_MOST_FIELDS = 64
"""Fields of a head that is kept: once they are read, 1,600 of them take 25 times as many bytes."""

SAID: dict[str, Any] = {"method": "", "path": "", "raw_path": b"", "query_string": b"", "headers": ()}
"""What each request says of itself: a scope that has room for it from the start does not grow."""

Header = tuple[bytes, bytes]


class Headers(tuple[Header, ...]):
    """The header fields of a request, names in lower case. Requests with the same fields share one object, which
    compares by identity: what follows from it alone can be remembered by it."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


def whole(data: bytes, connection: dict[str, Any]) -> tuple[dict[str, Any], bytes] | None:
    """The scope and the body of the request that a packet is; None when it is none, more than one, or an unusual one.
    ``connection`` is what the scopes of all its requests have in common, with room for ``SAID``."""
    end = data.find(b"\r\n\r\n") + 4
    # Calls that have a body mostly share their head; others mostly name something in its first line.
    said = (_said_by if data[:1] == b"P" else _said)(data[:end])
    if said is None:
        return None
    body = data[end:]
    scope = connection.copy()
    scope["method"], scope["path"], scope["raw_path"], scope["query_string"], scope["headers"], length = said
    return (scope, body) if len(body) == length else None


def _said(head: bytes) -> tuple[str, str, bytes, bytes, Headers, int] | None:
    """What a head says: the method, the path as text and as it came, the query, the fields, and the length of the body;
    None of an unusual one."""
    line = _LINE.match(head) if len(head) <= _LONGEST else None
    fields = _fields_of(head[line.end() : -2]) if line is not None else None
    if line is None or fields is None:
        return None
    method, path, query = line.groups(b"")
    return _METHODS[method], path.decode("ascii"), path, query, *fields


_USUAL_LENGTH = 1_000
_said_by = Remembered(
    512, _said, lambda head: len(head) <= _USUAL_LENGTH and head.count(b"\n") <= _MOST_FIELDS
).__getitem__

_METHODS = {name.encode(): name for name in ("GET", "POST", "PUT", "PATCH", "DELETE")}


def _fields(lines: bytes) -> tuple[Headers, int] | None:
    """The fields of a head and the length of the body; None when they say more than that."""
    if not _FIELDS.fullmatch(lines):
        return None
    headers = Headers((name.lower(), value) for name, value in _FIELD.findall(lines))
    lengths = [value for name, value in headers if name == b"content-length"]
    if len(lengths) > 1 or any(name in _FRAMING and (name, value.lower()) != _USUAL for name, value in headers):
        return None
    if lengths and not _LENGTH.fullmatch(lengths[0]):
        return None
    return headers, int(lengths[0]) if lengths else 0


_fields_of = Remembered(512, _fields, lambda lines: lines.count(b"\n") <= _MOST_FIELDS).__getitem__
"""Most clients send the same ones with every request."""
