"""One of the two servers that are compared: what it answers to a call, within bounds and without secrets.

Answers hold no card number, ccv or key, wherever the server put them, so nothing that is made of them does.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx

from mockserver.adapters.scenario_files import Files, load
from mockserver.domain.clock import SECOND, Micros
from mockserver.domain.record import record
from mockserver.engine.sandboxes import looks_live
from mockserver.scenario.matching import json_text
from mockserver.scenario.scenario import CallMap, Scenario
from mockserver.settings import Settings
from mockserver.web.app import Application
from mockserver.wire.jsonio import MalformedJson, dumps, loads
from mockserver.wire.masked_bodies import mask_json

CALL_SECONDS = 10.0
"""How long one answer may take."""

LARGEST = 1_000_000
"""Bytes of an answer that are read."""

_KEY = "sk_drift"
_BASE = "http://127.0.0.1:4111"
_TEST_WORDS = frozenset(
    "sandbox test testing dev develop development staging stage uat demo mock localhost local internal qa".split()
)
_LIVE_WORDS = frozenset("live prod production".split())


class Refusal(ValueError):
    """An address or a key that nothing is sent to or with; the text says why, and does not repeat it."""


@record
class Answer:
    """What came back. ``status`` is 0 when no whole answer did, and ``body`` then says why. ``body`` is masked,
    ``known`` is not: the ids of later calls are taken from it."""

    status: int
    body: object
    known: object = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Server:
    """A server as a client asks it. ``now`` is its time, ``rest`` lets time pass, in microseconds."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        key: str,
        now: Callable[[], Micros],
        rest: Callable[[Micros], None] | None = None,
    ) -> None:
        self.now = now
        self._client = client
        self._key = key
        self._rest = rest

    async def rest(self, length: Micros) -> None:
        """Let time pass."""
        if self._rest is not None:
            self._rest(length)
        else:
            await asyncio.sleep(length / SECOND)

    async def ask(self, call: CallMap) -> Answer:
        """Make one call; whatever comes of it is an answer."""
        headers = {"x-secretkey": self._key, **(call.headers or {})}
        content = None if call.body is None else json_text(call.body)
        raw = bytearray()
        try:
            async with (
                asyncio.timeout(CALL_SECONDS),
                self._client.stream(call.method, call.path, content=content, headers=headers) as response,
            ):
                async for chunk in response.aiter_raw():
                    raw += chunk
                    if len(raw) > LARGEST:
                        return Answer(response.status_code, f"an answer of over {LARGEST} bytes")
        except TimeoutError:
            return Answer(0, f"no whole answer within {CALL_SECONDS:.0f} s")
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as problem:
            return Answer(0, f"no whole answer: {type(problem).__name__}")
        return self._read(response.status_code, bytes(raw))

    def _read(self, status: int, raw: bytes) -> Answer:
        if not raw:
            return Answer(status, None)
        try:
            known = loads(raw)
            shown = loads(dumps(mask_json(known)).replace(self._secret(), b"***"))
        except MalformedJson:
            return Answer(status, "text that is not JSON")
        return Answer(status, shown, known)

    def _secret(self) -> bytes:
        """The key as it stands in JSON."""
        return dumps(self._key)[1:-1]


def remote(url: str, key: str, now: Callable[[], Micros]) -> Server:
    """The server to compare with. Raises ``Refusal`` for an address or a key that does not look like one for tests.

    No redirect is followed: the key would go with it.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if parts.username or parts.password or parts.query or parts.fragment:
        raise Refusal("wanted an address without a user, a password or a query")
    is_near, words = _is_near(host), set(re.split("[^a-z]+", host))
    if words & _LIVE_WORDS or not (is_near or words & _TEST_WORDS):
        raise Refusal(f"the host does not look like one for tests: wanted one of {', '.join(sorted(_TEST_WORDS))} in it")
    if parts.scheme != "https" and not is_near:
        raise Refusal("wanted https: the key would travel in the clear")
    if not (key.isascii() and key.isprintable() and key.strip() == key and len(key) >= 6):
        raise Refusal("wanted a key of at least 6 printable ASCII characters")
    if looks_live(key):
        raise Refusal("the key looks like a live one, and only keys for tests are used")
    headers = {"accept": "application/json", "accept-encoding": "identity", "content-type": "application/json"}
    client = httpx.AsyncClient(base_url=url, headers=headers, timeout=CALL_SECONDS, trust_env=not is_near)
    return Server(client, key, now)


def _is_near(host: str) -> bool:
    """Whether a host is this machine."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def local(assumptions: Mapping[str, object], profile: str, instant: Micros) -> Server:
    """A new sandbox of this product in this process, its clock at an instant until ``rest`` moves it."""
    given = Scenario("drift", "drift.yaml", assumptions=assumptions)
    time = [instant]

    def rest(length: Micros) -> None:
        time[0] += length

    settings = Settings(profile=profile, log_level="error", findings="off")
    app = Application(settings, lambda: time[0], Files(lambda: [given, *load((), test_values=True)]))
    headers = {"content-type": "application/json"}
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=_BASE, headers=headers)
    return Server(client, _KEY, lambda: time[0], rest)
