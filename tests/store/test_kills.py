"""A server is killed at random instants under a mixed load: what was answered is there, and nothing
else by half.

Every sandbox is compared to the byte with that of a server which was told the same and never
interrupted. That one has been told what was answered, and may have been told what was not.
"""

import asyncio
import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from pprint import pformat
from random import Random
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.depth import tries
from tests.driving import Api
from tests.store.killed import (
    FRESH,
    OWN_VIEWS,
    Line,
    Served,
    difference,
    looks,
    looks_again,
    tell,
    tell_again,
)
from tests.store.stories import BY_HEADER, INBOX, Call, Done, Story

pytestmark = pytest.mark.slow

ALONE = 8
"""Clients with a sandbox for themselves, and forks of it."""

TOGETHER = 4
"""Clients that share one of two sandboxes."""

MOST = tries(80, 250)
"""Answers of a round before the kill."""

SHARED_VIEWS = ("/__admin/state?secrets=true", "/__admin/journal?limit=1000")
"""What does not depend on who was answered first among those who asked at once."""

_JOURNAL_VIEWS = ("/__admin/journal?limit=1000", "/__admin/timeline")

_TOLD = ("reference", "description", "metadata", "url", "amount", "paymentMethodId")
"""Fields that tell requests of one path from each other, and that the journal shows as they are."""


class Receiver:
    """A receiver of webhooks, which keeps their ids."""

    def __init__(self) -> None:
        self.received: set[str] = set()
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    # The sender was killed.
                    return
                received.add(json.loads(body)["meta"]["messageId"])
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    one = Receiver()
    yield one
    one.server.shutdown()
    one.server.server_close()


class Round:
    """Sixteen clients and a kill."""

    def __init__(self, number: int, receiver: Receiver) -> None:
        self.receiver = receiver
        self.alone = [
            Story(f"r{number}-{n}", f"sk_r{number}_{n}", control=True) for n in range(ALONE)
        ]
        self.shared = {
            key: [
                Story(f"{key[3:]}-{n}", key, control=False, webhook=webhook)
                for n in range(TOGETHER)
            ]
            for key, webhook in ((f"sk_r{number}_x", INBOX), (f"sk_r{number}_y", receiver.url))
        }
        self.stories = [
            *self.alone,
            *(story for stories in self.shared.values() for story in stories),
        ]

    @property
    def answered(self) -> int:
        """How many requests were answered."""
        return sum(len(story.done) for story in self.stories)

    def load(self, served: Served, answers: int, moment: float) -> None:
        """Let everybody talk to the server, and kill it so many seconds after so many answers."""

        async def run() -> None:
            for key in self.shared:
                line = Line(served.port)
                assert (await line.send(_honour(key)))[0] == 200
                line.close()
            clients = [asyncio.create_task(tell(served.port, story)) for story in self.stories]
            while self.answered < answers and not all(client.done() for client in clients):
                await asyncio.sleep(0.001)
            await asyncio.sleep(moment)
            served.process.kill()
            await asyncio.gather(*clients)

        asyncio.run(run())
        served.kill()

    def verify(self, served: Served) -> None:
        """Compare every sandbox with that of an unbroken server."""
        for story in self.alone:
            verify_alone(served, story)
        for key, stories in self.shared.items():
            self._verify_shared(served, key, stories)

    def _verify_shared(self, served: Served, key: str, stories: list[Story]) -> None:
        """The journal says in which order the requests of many clients came."""
        asked: dict[object, deque[tuple[Call, tuple[int, bytes] | None]]] = defaultdict(deque)
        for story in stories:
            for done in story.done:
                asked[_mark(done.call)].append((done.call, (done.status, done.answer)))
            if story.pending is not None:
                asked[_mark(story.pending)].append((story.pending, None))
        api = Api(**FRESH)
        tell_again(api, _honour(key))
        found = asyncio.run(looks(served.port, key, SHARED_VIEWS))
        for entry in json.loads(found["/__admin/journal?limit=1000"])["entries"]:
            call, answer = asked[_mark_of(entry["request"])].popleft()
            again = tell_again(api, call)
            assert answer is None or answer == again, (call, answer, again)
        lost = [call for calls in asked.values() for call, answer in calls if answer is not None]
        assert not lost
        if told := difference(
            _in_any_order(found), _in_any_order(looks_again(api, key, SHARED_VIEWS))
        ):
            pytest.fail(pformat(told, width=200))
        if stories[0].webhook != INBOX:
            self._verify_webhooks(served, key)

    def _verify_webhooks(self, served: Served, key: str) -> None:
        """Nothing was sent of which the store knows nothing, and everything is sent in the end."""
        for _ in range(1_000):
            looked = asyncio.run(
                _one(served.port, Call("GET", "/__admin/webhooks?limit=1000", None, key, "look"))
            )
            planned = {one["messageId"]: one["state"] for one in looked["webhooks"]}
            if set(planned.values()) <= {"delivered"}:
                break
        assert set(planned.values()) <= {"delivered"}
        assert planned.keys() <= self.receiver.received
        self.receiver.received.difference_update(planned)
        assert not self.receiver.received


def verify_alone(served: Served, story: Story) -> None:
    """Compare the sandboxes of a story that nobody else used with those of an unbroken server."""
    if story.done and b'"hint"' in story.done[-1].answer:
        _verify_cut(served, story)
        return
    api = _told_all(story.done)
    found = {key: asyncio.run(looks(served.port, key, OWN_VIEWS)) for key in story.keys}
    without = _differences(api, found)
    if not without:
        return
    call = story.pending
    assert call is not None, without
    tell_again(api, call)
    told = _differences(api, found)
    if told and call.kind == "advance":
        # Time passes instant by instant, and may have come part of the way: then both go on to its
        # end.
        end = json.loads(tell_again(api, Call("GET", "/__admin/clock", None, call.key, "look"))[1])[
            "now"
        ]
        call = Call("POST", "/__admin/clock/advance", {"to": end}, call.key, "advance")
        asyncio.run(_one(served.port, call))
        tell_again(api := _told_all(story.done), call)
        found = {key: asyncio.run(looks(served.port, key, OWN_VIEWS)) for key in story.keys}
        told = _differences(api, found)
    if told:
        pytest.fail(pformat((story.pending, without, told), width=200))


def _verify_cut(served: Served, story: Story) -> None:
    """The last answer said how far a stop let the clock move: another call goes on from there, to
    where the move of an unbroken server arrives. Only the journal shows that there were two."""
    *before, last = story.done
    api = _told_all(before)
    cut, end = json.loads(last.answer)["now"], json.loads(tell_again(api, last.call)[1])["now"]
    clock = asyncio.run(
        _one(served.port, Call("GET", "/__admin/clock", None, last.call.key, "look"))
    )
    assert clock["now"] == cut <= end
    call = Call("POST", "/__admin/clock/advance", {"to": end}, last.call.key, "advance")
    asyncio.run(_one(served.port, call))
    tell_again(api, call)
    for key in story.keys:
        found, wanted = (
            asyncio.run(looks(served.port, key, OWN_VIEWS)),
            looks_again(api, key, OWN_VIEWS),
        )
        # Both show their last 1,000 entries, of which one is on the way and not at the end.
        steps, unbroken = _steps(found), _steps(wanted)
        assert steps[-900:] == unbroken[-900:]
        assert abs(len(steps) - len(unbroken)) <= 1
        if told := difference(found, {**wanted, **{view: found[view] for view in _JOURNAL_VIEWS}}):
            pytest.fail(pformat(told, width=200))


def _steps(seen: dict[str, bytes]) -> list[dict[str, Any]]:
    """The entries of the journal but for moves of the clock, and without their numbers."""
    entries = json.loads(seen[_JOURNAL_VIEWS[0]])["entries"]
    return [{**entry, "id": None} for entry in entries if entry["op"] != "clock.advance"]


async def _one(port: int, call: Call) -> Any:
    line = Line(port)
    try:
        return json.loads((await line.send(call))[1])
    finally:
        line.close()


def _honour(key: str) -> Call:
    return Call("PUT", "/__admin/assumptions", BY_HEADER, key, "assume")


def _in_any_order(seen: dict[str, bytes]) -> dict[str, bytes]:
    """What is seen but for the order in which webhooks of steps at once were planned."""
    state = json.loads(seen[SHARED_VIEWS[0]])
    del state["schedule"]["order"]
    state["schedule"]["entries"] = sorted(
        [at, *work] for at, _, *work in state["schedule"]["entries"]
    )
    return {**seen, SHARED_VIEWS[0]: json.dumps(state).encode()}


def _mark(call: Call) -> object:
    place = urlsplit(call.target)
    query = {name: values[0] for name, values in parse_qs(place.query).items()}
    body = call.body if isinstance(call.body, dict) else {}
    return _told(call.method, place.path, query, body, call.idempotency_key)


def _mark_of(request: dict[str, Any]) -> object:
    body = request["body"] if isinstance(request.get("body"), dict) else {}
    return _told(
        request["method"],
        request["path"],
        request["query"],
        body,
        request["headers"].get("idempotency-key"),
    )


def _told(
    method: str, path: str, query: object, body: dict[str, Any], idempotency_key: str | None
) -> object:
    told = {name: body[name] for name in _TOLD if name in body}
    return method, path, json.dumps([query, told], sort_keys=True), idempotency_key


def _told_all(story: list[Done]) -> Api:
    """A server that was told what was answered, and gave the same answers."""
    api = Api(**FRESH)
    for done in story:
        assert tell_again(api, done.call) == (done.status, done.answer), done.call
    return api


def _differences(api: Api, found: dict[str, dict[str, bytes]]) -> dict[str, list[object]]:
    """Where sandboxes part from those of an unbroken server, but for how much the last move of a
    clock ran."""
    return {
        key: told
        for key, seen in found.items()
        if (told := difference(_without_ran(seen), _without_ran(looks_again(api, key, OWN_VIEWS))))
    }


def _without_ran(seen: dict[str, bytes]) -> dict[str, bytes]:
    return {view: re.sub(rb'"ran":\d+', b"", text) for view, text in seen.items()}


def test_what_was_answered_is_there_after_a_kill_at_any_instant(
    tmp_path: Path, receiver: Receiver
) -> None:
    random = Random(17)
    served = Served(tmp_path / "s.db")
    try:
        for number in range(tries(10, 200)):
            mixed = Round(number, receiver)
            mixed.load(served, random.randrange(MOST), random.uniform(0, 0.01))
            served = Served(
                tmp_path / "s.db", *(["--store-sync", "full"] if number % 5 == 4 else [])
            )
            mixed.verify(served)
    finally:
        served.kill()
    assert "Traceback" not in served.errors.read_text()
