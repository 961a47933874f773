"""The least that a get, a search and a first answer of a sandbox need: what no rewrite can go below.

One function of ASGI, without Starlette, routes, states or scenarios. It looks up who asks, finds the
charge, answers with bytes that are ready, counts the call, keeps what the journal keeps of it and
writes its line of the log. It imports what a sandbox is made of (Starlette, pydantic, orjson, click),
so its first answer is that of a sandbox whose own code takes no time. Served as the reference is:
uvicorn with uvloop and httptools. ``python benchmarks/sketch.py PORT`` serves it.
"""

from __future__ import annotations

import itertools
import sys
import time
from bisect import bisect_left
from collections import Counter, deque
from datetime import UTC, datetime
from typing import Any

import click  # noqa: F401
import orjson
import pydantic  # noqa: F401
import starlette.applications  # noqa: F401
import uvicorn

IP_INFO = dict.fromkeys(
    ("ip", "hostname", "city", "region", "country", "loc", "org", "postal", "timezone"), "known"
)
"""As many members as the sandbox answers."""

HEADERS = [
    (b"content-type", b"application/json; charset=utf-8"),
    (b"x-content-type-options", b"nosniff"),
]
BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
NUMBERS = itertools.count(1)


class Sandbox:
    """What one key has: its charges as the texts of their answers, by id and by reference, the calls
    that the journal shows, and how many there were."""

    def __init__(self) -> None:
        self.charges: dict[str, bytes] = {}
        self.by_reference: dict[str, list[bytes]] = {}
        self.journal: deque[tuple[int, datetime, str, str, int]] = deque(maxlen=1_000)
        self.calls: Counter[tuple[str, int, int]] = Counter()


SANDBOXES: dict[bytes, Sandbox] = {}
LOG = sys.stderr


async def app(scope: Any, receive: Any, send: Any) -> None:
    """One call."""
    if scope["type"] != "http":
        return
    begun = time.perf_counter()
    key = next((value for name, value in scope["headers"] if name == b"x-secretkey"), b"")
    sandbox = SANDBOXES.setdefault(key, Sandbox())
    now = datetime.now(UTC)
    method, path = scope["method"], scope["path"]
    status, answer = 200, b""
    if method == "POST":
        status, answer = 201, created(sandbox, (await receive())["body"])
    elif path == "/charge":
        answer = page_of(sandbox, scope["query_string"])
    else:
        answer = sandbox.charges[path.removeprefix("/charge/")]
    number = next(NUMBERS)
    sandbox.journal.append((number, now, method, path, status))
    taken = time.perf_counter() - begun
    sandbox.calls[method, status, bisect_left(BUCKETS, taken)] += 1
    LOG.write(f"{now.isoformat()} {number} {method} {path} {status} {taken * 1e3:.1f} ms\n")
    length = b"%d" % len(answer)
    headers = [*HEADERS, (b"content-length", length)]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


def created(sandbox: Sandbox, body: bytes) -> bytes:
    """The text of a new charge; it has what was sent, and as many members as a sandbox answers."""
    identifier = f"{len(sandbox.charges) + 1:032x}"
    sent = orjson.loads(body)
    text = orjson.dumps({"chargeId": identifier, "status": "SUCCESS", "ipInfo": IP_INFO, **sent})
    sandbox.charges[identifier] = text
    sandbox.by_reference.setdefault(sent.get("Reference", ""), []).append(text)
    return text


def page_of(sandbox: Sandbox, query: bytes) -> bytes:
    """The newest ten charges of a reference, as a page."""
    reference = query.partition(b"&")[0].partition(b"=")[2].decode()
    rows = sandbox.by_reference.get(reference, [])[-10:]
    rows.reverse()
    head = b'{"limit":10,"skip":0,"count":%d,"charges":[' % len(rows)
    return b"".join((head, b",".join(rows), b"]}"))


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False, lifespan="off")
