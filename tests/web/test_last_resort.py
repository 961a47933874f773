"""An error that nobody foresaw: one JSON object, and a client that keeps its connections is told to
make a new one."""

import asyncio
import json
from typing import Any

from mockserver.web.guard import last_resort
from tests.driving import PROBLEM_FIELDS


def test_an_error_is_answered_and_ends_the_connection() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(last_resort({"type": "http", "path": "/charge"}, send))
    start, end = sent
    body = json.loads(end["body"])
    assert (start["status"], list(body), body["resource"]) == (500, PROBLEM_FIELDS, "/charge")
    assert (b"connection", b"close") in start["headers"]
