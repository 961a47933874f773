"""Requests sent one after the other, cut anywhere, are answered as uvicorn's own protocol answers
each of them alone.

Four differences are meant: no upgrade is offered, so its field is not passed on; trailers are
dropped; the blanks behind a value do not belong to it; a client that has sent its body is not told
to go on.
"""

import json
import re
from collections.abc import Iterator
from itertools import chain, repeat
from random import Random
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from mockserver.web.request import read_parts, send_bytes
from tests.depth import tries
from tests.server.connecting import TEXT, Clock, Wire, connected

Answer = tuple[int, bytes]

METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS")
TARGETS = (
    "/a",
    "/a?x=%zz&y#z",
    "/%2e/%ff?",
    "/a;b=c",
    "//a",
    "/parts",
    "/" + "x" * 9_000,
    "http://other.test/a?b",
    "*",
)
FIELDS = (
    *(
        "Host: x",
        "host:x ",
        "X-A: \t b c \t",
        "X-B:",
        "Cookie: \xe9",
        "TE: a,b",
        "X-Long: " + "y" * 8_000,
    ),
    *(
        "Connection: keep-alive",
        "Connection: close",
        "Connection: Upgrade, close",
        "Connection: upgrade",
    ),
    *("Upgrade: h2c", "Proxy-Connection: close", "Expect: 100-continue"),
)
BODIES = (b"", b"hello", b'{"a":1}', b"GET / HTTP/1.1\r\n\r\n", bytes(range(256)), b"z" * 70_000)
UPGRADE = re.compile(rb"(?m)^Upgrade:.*?\r\n")
OFTEN = 0.95


async def tell(scope: Any, receive: Any, send: Any) -> None:
    """Answers with all that it is given of a request."""
    body = b"".join(await read_parts(receive, {}, 1_000_000))
    names = ("method", "path", "query_string", "http_version", "scheme", "root_path", "raw_path")
    fields = [
        (name, value.rstrip())
        for name, value in scope["headers"]
        if name not in (b"upgrade", b"x-trailer")
    ]
    said = json.dumps([*(str(scope[name]) for name in names), str(fields), str(body)]).encode()
    if scope["path"] == "/parts":
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-length", b"%d" % len(said))],
            }
        )
        await send({"type": "http.response.body", "body": said[:5], "more_body": True})
        await send({"type": "http.response.body", "body": said[5:]})
    else:
        await send_bytes(send, 200, said, TEXT)


def asked(draw: Random) -> tuple[bool, bytes, bytes]:
    """A request, rarely one that is wrong somewhere in its head: whether its answer has no body,
    its head and body."""
    method, body = draw.choice(METHODS), draw.choice(BODIES)
    lines = draw.choices(FIELDS, k=draw.randrange(5))
    if draw.random() < 0.5:
        lines.append(f"Content-Length: {len(body)}")
    elif draw.random() < 0.6:
        lines.append("Transfer-Encoding: chunked")
        body = b"".join(chunks(draw, body))
    else:
        body = b""
    draw.shuffle(lines)
    version = "1.1" if draw.random() < OFTEN else draw.choice(["1.0", "2.0", "0.9"])
    first = f"{method} {draw.choice(TARGETS)} HTTP/{version}"
    head = "\r\n".join([first, *lines, "", ""]).encode("latin-1")
    if draw.random() > OFTEN and b"Upgrade" not in head:
        place = draw.randrange(len(head) - 1)
        head = (
            head[:place]
            + bytes(draw.choices(b" \t\r\n\0:a\xff", k=draw.randrange(3)))
            + head[place + 1 :]
        )
    return method == "HEAD", head, body


def chunks(draw: Random, body: bytes) -> Iterator[bytes]:
    while body:
        size = draw.randint(1, len(body))
        yield b"%x%b\r\n%b\r\n" % (size, draw.choice([b"", b";a=b"]), body[:size])
        body = body[size:]
    yield b"0\r\n" + draw.choice([b"", b"X-Trailer: 1\r\n"]) + b"\r\n"


def answers(said: bytes, bare: list[bool]) -> Iterator[Answer]:
    """Statuses and bodies; what a refusal says is each protocol's own. ``bare`` says which answers
    have no body."""
    for is_bare in chain(bare, repeat(False)):
        head, _, said = said.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").partition(b"\r\n\r\n")
        if not head:
            return
        status = int(head.split()[1])
        if status == 400:
            yield 400, b""
            return
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = 0 if is_bare else int(fields[b"content-length"])
        yield status, said[:length]
        said = said[length:]


def plainly(clock: Clock, is_bare: bool, head: bytes, body: bytes) -> tuple[list[Answer], bool]:
    """How uvicorn answers a request on a connection of its own, and whether it ends that."""
    config = uvicorn.Config(tell, lifespan="off", log_config=None)
    config.load()
    protocol, wire = HttpToolsProtocol(config, ServerState(), {}, clock), Wire()
    protocol.connection_made(wire)
    # A fault behind it would take the answer to the first with it.
    for part in (UPGRADE.sub(b"", head), body):
        if part and not wire.closed:
            clock.step(protocol.data_received, part)
    return list(answers(wire.said, [is_bare])), wire.closed


def pieces(draw: Random, data: bytes) -> Iterator[bytes]:
    cuts = sorted(draw.randrange(len(data) + 1) for _ in range(draw.choice([0, 0, 1, 3, 30])))
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        if start < end:
            yield data[start:end]


@pytest.mark.parametrize("seed", range(tries(6, 300)))
def test_requests_in_any_pieces_are_answered_as_uvicorn_answers_each_alone(
    seed: int, clock: Clock
) -> None:
    draw = Random(seed)
    for _ in range(30):
        wanted: list[Answer] = []
        bare, sent, is_over = list[bool](), b"", False
        while not is_over and len(bare) < 4:
            is_bare, head, body = asked(draw)
            found, is_over = plainly(clock, is_bare, head, body)
            # Whatever comes behind a request that is not whole belongs to it.
            is_over = is_over or not found
            wanted += found
            # One that is wrong may be taken for two.
            bare += [is_bare, *repeat(False, len(found) - 1)]
            sent += head + body
        protocol, wire = connected(clock, app=tell)
        for piece in pieces(draw, sent):
            if not wire.closed:
                clock.step(protocol.data_received, piece)
        assert list(answers(wire.said, bare)) == wanted, sent
