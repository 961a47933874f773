"""The few ASGI moves that endpoints need, without the cost of request and response objects on the hot path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from functools import lru_cache
from typing import Any

from mockserver.wire.jsonio import dumps

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
RawHeader = tuple[bytes, bytes]
RawHeaders = list[RawHeader]

JSON_TYPE = (b"content-type", b"application/json; charset=utf-8")
NOSNIFF = (b"x-content-type-options", b"nosniff")
NO_STORE = (b"cache-control", b"no-store")
_SHORT = 64


class TooLarge(Exception):
    """A body is over the limit."""


class HungUp(Exception):
    """The client went away before it had sent its body."""


async def read_body(receive: Receive, scope: Scope, limit: int) -> bytes:
    """The whole body. Raises ``TooLarge`` as soon as it is known to be, ``HungUp`` when it never ends.

    A server that can hand over a body that has come already has a ``whole`` at its ``receive``.
    """
    whole = getattr(receive, "whole", None)
    here: bytes | None = whole() if whole is not None else None
    if here is not None:
        if len(here) > limit:
            raise TooLarge
        return here
    for name, value in scope["headers"]:
        if name == b"content-length":
            if value.isdigit() and int(value) > limit:
                raise TooLarge
            break
    message = await receive()
    if not message.get("more_body"):
        if message["type"] == "http.disconnect":
            raise HungUp
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise TooLarge
        return body
    chunks = [message.get("body", b"")]
    size = len(chunks[0])
    while message.get("more_body"):
        if size > limit:
            raise TooLarge
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HungUp
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
    if size > limit:
        raise TooLarge
    return b"".join(chunks)


def headers_of(scope: Scope) -> dict[str, str]:
    """Header names in lower case; of a header given twice the first counts, but beside a public key the last secret
    key (assumption ``keys.both``)."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        headers.setdefault(_text(name), _text(value))
    if "x-publickey" in headers:
        headers.update((_text(name), _text(value)) for name, value in scope["headers"] if name == b"x-secretkey")
    return headers


def _text(raw: bytes) -> str:
    return _short_text(raw) if len(raw) <= _SHORT else raw.decode("latin-1")


@lru_cache(maxsize=4_096)
def _short_text(raw: bytes) -> str:
    """The same header comes with every request of a client, and the journal keeps them all: one text does for all."""
    return raw.decode("latin-1")


async def send_bytes(send: Send, status: int, body: bytes, headers: Iterable[RawHeader] = (JSON_TYPE, NOSNIFF)) -> None:
    """One whole answer. A server that can write one in a single go has a ``whole`` at its ``send``."""
    whole = getattr(send, "whole", None)
    if whole is not None and whole(status, tuple(headers), body):
        return
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [*headers, (b"content-length", str(len(body)).encode())],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def send_json(send: Send, status: int, value: object, extra: RawHeaders | None = None) -> None:
    """One whole JSON answer; bytes are one that has been written already."""
    raw = value if isinstance(value, bytes) else dumps(value)
    await send_bytes(send, status, raw, [JSON_TYPE, NOSNIFF, NO_STORE, *(extra or ())])
