"""One of the two servers that are compared: what it answers to a call, within bounds and without
secrets.

One is this product, opened in this process: a walk is played there many times, under many
assumptions, and no socket is needed for that. The other may be the sandbox of a company, so it is
asked carefully: only an address and a key for tests are taken, an answer that does not come, or is
too long, is an answer that says so.

Answers hold no card number, ccv or key, wherever the server put them, so nothing that is made of
them does.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from functools import lru_cache
from urllib.parse import SplitResult, unquote, urlsplit

import httpx

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.scenario_files import Files, load
from mockserver.domain.clock import SECOND, Micros
from mockserver.domain.record import entity, record
from mockserver.engine.sandboxes import looks_live
from mockserver.scenario.scenario import CallMap, Scenario, ScenarioFile
from mockserver.scenario.values import json_text
from mockserver.settings import Settings
from mockserver.web.app import Application
from mockserver.web.request import call_app
from mockserver.wire.jsonio import MalformedJson, loads
from mockserver.wire.masked_bodies import mask_json

CALL_SECONDS = 10.0
"""How long one answer may take."""

LARGEST = 1_000_000
"""Bytes of an answer that are read."""

_KEY = "sk_drift"
_TEST_WORDS = {
    "sandbox",
    "test",
    "testing",
    "dev",
    "develop",
    "development",
    "staging",
    "uat",
    "demo",
    "mock",
    "qa",
}
"""Words of the names of hosts that are for tests."""

_LIVE_WORDS = {"live", "prod", "production"}
"""Words of the names of hosts that are not, whatever else they say."""

_SHORTEST_KEY = 6
"""Characters of a key: a shorter one would be found, and masked, where it is none."""


class NotCompared(Exception):
    """Why two servers are not compared, or a file is not read, and the exit code for it: the
    address or the key of one is refused (its text does not repeat them), it does not answer,
    something in the file is wrong at a place."""

    def __init__(self, words: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(words)
        self.code = code


@record
class Answer:
    """What came back. ``status`` is 0 when no whole answer did, and ``body`` then says why.
    ``body`` is masked, ``known`` is not: the ids of later calls are taken from it."""

    status: int
    body: object
    known: object = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


Send = Callable[[CallMap, Mapping[str, str], bytes], Awaitable[tuple[int, bytes]]]
"""Makes a call with its headers and its body: the status and the body of the answer, of which no
more than ``LARGEST`` bytes are read and one. Raises ``OSError`` or what httpx raises where no whole
answer comes."""


@entity
class Peer:
    """A server as a client asks it. ``now`` is its time, ``rest`` lets time pass, in
    microseconds."""

    _send: Send
    _key: str = field(repr=False)
    now: Callable[[], Micros]
    rest: Callable[[Micros], Awaitable[None]]

    async def ask(self, call: CallMap) -> Answer:
        """Make one call; whatever comes of it is an answer."""
        headers = {
            "x-secretkey": self._key,
            "content-type": "application/json",
            **(call.headers or {}),
        }
        content = b"" if call.body is None else json_text(call.body).encode()
        try:
            async with asyncio.timeout(CALL_SECONDS):
                status, raw = await self._send(call, headers, content)
        except TimeoutError:
            return Answer(0, f"no whole answer within {CALL_SECONDS:.0f} s")
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as problem:
            return Answer(0, f"no whole answer ({type(problem).__name__})")
        if len(raw) > LARGEST:
            return Answer(status, f"an answer of over {LARGEST} bytes")
        if not raw:
            return Answer(status, None)
        masked, known = _masked_and_known(raw, self._key)
        return Answer(status, masked, known)


# Sandboxes that play one walk give most answers alike.
@lru_cache(maxsize=4_000)
def _masked_and_known(raw: bytes, key: str) -> tuple[object, object]:
    """The JSON of an answer, masked and as it is. The key of the call is masked wherever it is."""
    # The key as it stands within a text of JSON, without quotes.
    key_in_text = json_text(key)[1:-1]
    try:
        known = loads(raw)
        # One of digits alone may be a part of a number, which is none any more then.
        masked = json_text(mask_json(known)).replace(key_in_text, "***")
        return loads(masked.encode()), known
    except MalformedJson:
        return "text that is not JSON", None


def remote(url: str, key: str, now: Callable[[], Micros]) -> Peer:
    """The server to compare with. Raises ``NotCompared`` for an address or a key that does not look
    like one for tests.

    No redirect is followed: the key would go with it.
    """
    parts = urlsplit(url)
    is_near = Settings(host=(parts.hostname or "").lower()).is_loopback
    _check_address(parts, is_near=is_near)
    _check_key(key)
    client = httpx.AsyncClient(
        base_url=url,
        headers={"accept": "application/json", "accept-encoding": "identity"},
        timeout=CALL_SECONDS,
        # A proxy would send what is meant for this machine elsewhere.
        trust_env=not is_near,
    )

    async def send(call: CallMap, own: Mapping[str, str], content: bytes) -> tuple[int, bytes]:
        """Make a call over the network, and stop reading what is too long for an answer."""
        raw = bytearray()
        async with client.stream(call.method, call.path, content=content, headers=own) as response:
            async for chunk in response.aiter_raw():
                raw += chunk
                if len(raw) > LARGEST:
                    break
        return response.status_code, bytes(raw)

    async def rest(length: Micros) -> None:
        """Let time pass: another server has a clock that nobody sets."""
        await asyncio.sleep(length / SECOND)

    return Peer(send, key, now, rest)


def _check_address(parts: SplitResult, *, is_near: bool) -> None:
    """Refuse an address that does not look like one for tests; ``is_near`` is on this machine.
    Raises ``NotCompared``."""
    if parts.username or parts.query or parts.fragment:
        raise NotCompared("wanted an address without a user and a query")
    words = set(re.split("[^a-z]+", (parts.hostname or "").lower()))
    is_live = not words.isdisjoint(_LIVE_WORDS)
    is_for_tests = is_near or not words.isdisjoint(_TEST_WORDS)
    if is_live or not is_for_tests:
        allowed = ", ".join(sorted(_TEST_WORDS))
        raise NotCompared(f"the host does not look like one for tests, wanted a word of {allowed}")
    if parts.scheme != "https" and not is_near:
        raise NotCompared("wanted https: the key would travel in the clear")


def _check_key(key: str) -> None:
    """Refuse a key that does not look like one for tests: a short one could not be masked wherever
    it appears, and another text no header carries. Raises ``NotCompared``."""
    is_text = key.isascii() and key.isprintable() and key.strip() == key
    if not is_text or len(key) < _SHORTEST_KEY:
        raise NotCompared(f"wanted a key of at least {_SHORTEST_KEY} printable ASCII characters")
    if looks_live(key):
        raise NotCompared("the key looks like a live one, and only keys for tests are used")


def opening(profile: str, instant: Micros) -> Callable[[Mapping[str, object]], Peer]:
    """What opens a sandbox of this product in this process under some assumptions, its clock at an
    instant until ``rest`` moves it: one application, begun anew, so the sandbox that was opened
    before answers no more."""
    now, test_values = instant, load((), test_values=True)
    settings = Settings(profile=profile, log_level="error", findings="off")

    def clock() -> Micros:
        return now

    app = Application(settings, clock, Files(list))

    async def rest(length: Micros) -> None:
        """Let time pass without waiting for it: the clock of the sandbox moves on."""
        nonlocal now
        now += length

    async def send(call: CallMap, own: Mapping[str, str], content: bytes) -> tuple[int, bytes]:
        """Make a call in this process."""
        path, _, query = call.path.partition("?")
        headers = {"host": "127.0.0.1", **own}
        answer = await call_app(app, call.method, unquote(path), query.encode(), headers, content)
        return answer.status, answer.raw

    def open_sandbox(assumptions: Mapping[str, object]) -> Peer:
        """Begin anew, at the same instant, so that every walk can be compared with any other."""
        nonlocal now
        now = instant
        file = ScenarioFile(version=1, assumptions=dict(assumptions))
        scenario = Scenario("drift", "drift.yaml", file)

        def scenarios() -> list[Scenario]:
            return [scenario, *test_values]

        app.world.begin(Files(scenarios))
        return Peer(send, _KEY, clock, rest)

    return open_sandbox
