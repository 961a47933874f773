"""A long body is read while others have their turn, and means what it means when it is read at once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.driving import Api, card_charge
from tests.rows import each


def turns(api: Api, method: str, path: str, raw: bytes) -> tuple[int, Any]:
    """The turns of others while a request is served, and its answer."""

    async def run() -> tuple[int, Any]:
        serving, count = asyncio.ensure_future(api.calling(method, path, raw=raw)), 0
        while not serving.done():
            await asyncio.sleep(0)
            count += 1
        reply = await serving
        return count, (reply.status, reply.body)

    return asyncio.run(run())


def padded(body: dict[str, Any], values: int) -> bytes:
    return json.dumps({**body, "unknown": [[number] for number in range(values)]}).encode()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/charge/card", card_charge(reference="long")),
        ("POST", "/charge/card", card_charge(amount=-1)),
        ("POST", "/__admin/verify", {"op": "charge.create", "calls": 1}),
    ],
)
def test_a_long_body_is_read_in_slices(method: str, path: str, body: dict[str, Any]) -> None:
    at_once, (status, short) = turns(Api(), method, path, padded(body, 10))
    many, (same, long) = turns(Api(), method, path, padded(body, 100_000))
    assert (same, long.get("details")) == (status, short.get("details"))
    assert many >= at_once + 10


@each("length", [5, 70_000])
@each(
    ("begin", "end"),
    [("", ""), ("[]", ""), ("[1", "]"), ('{"a": ', ""), ('{"a": [' * 40, "]}" * 40), ('{"a": [NaN', "]}")],
)
def test_a_faulty_body_is_refused_alike_however_long(begin: str, end: str, length: int) -> None:
    short = Api().call("POST", "/charge/card", raw=f"{begin} {end}".encode())
    long = Api(waits=True).call("POST", "/charge/card", raw=f"{begin}{' ' * length}{end}".encode())
    assert (long.status, long["code"]) == (short.status, short["code"])


def test_a_long_body_of_an_unknown_key_is_refused_for_its_key() -> None:
    assert Api(waits=True).call("POST", "/charge/card", raw=b"[" * 100_000, key="sk_live_1").status == 401
