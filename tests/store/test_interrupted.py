"""A server process that ends between two answers, by a kill or in peace, and one whose disk is
full."""

import asyncio
import json
import resource
import signal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import pytest

from tests.driving import CARD, DUMMY, START, card_charge
from tests.served import serve
from tests.store.killed import Line, Served, tell
from tests.store.stories import Call, Done, Story
from tests.store.test_kills import verify_alone
from tests.waiting import until

pytestmark = pytest.mark.slow


async def _send(port: int, call: Call) -> tuple[int, bytes]:
    line = Line(port)
    try:
        return await line.send(call)
    finally:
        line.close()


def ask(
    port: int, method: str, target: str, body: Any = None, key: str = "sk_tests"
) -> tuple[int, Any]:
    """Status and JSON of an answer."""
    status, answer = asyncio.run(_send(port, Call(method, target, body, key, "ask")))
    return status, json.loads(answer)


def test_a_stop_under_load_loses_nothing(tmp_path: Path) -> None:
    served = Served(tmp_path / "s.db")
    stories = [Story(f"stop-{number}", f"sk_stop_{number}", control=True) for number in range(4)]

    async def run() -> None:
        clients = [asyncio.create_task(tell(served.port, story)) for story in stories]
        while sum(len(story.done) for story in stories) < 40:
            await asyncio.sleep(0.001)
        served.process.terminate()
        await asyncio.gather(*clients)

    asyncio.run(run())
    assert served.stop() == 0
    assert not (tmp_path / "s.db-wal").exists()
    served = Served(tmp_path / "s.db")
    try:
        for story in stories:
            verify_alone(served, story)
    finally:
        served.kill()


def test_a_stop_cuts_a_move_of_the_clock_short_and_says_so(tmp_path: Path) -> None:
    served = Served(tmp_path / "s.db")
    story = Story("cut", "sk_cut", control=True)

    async def tell_one(method: str, target: str, body: object) -> Any:
        call = Call(method, target, body, story.key, "advance")
        story.done.append(Done(call, *await _send(served.port, call)))
        return json.loads(story.done[-1].answer)

    async def run() -> str:
        method = await tell_one(
            "POST", "/payment_method/card", {"providerId": DUMMY, "paymentInformation": CARD}
        )
        plan = {"amount": 9, "currency": "AUD", "interval": "Day", "frequency": 1}
        await tell_one(
            "POST",
            "/subscription/payment_method",
            {**plan, "paymentMethodId": method["paymentMethodId"]},
        )
        moving = asyncio.create_task(tell_one("POST", "/__admin/clock/advance", {"by": "4000d"}))
        look = Call("GET", "/__admin/clock", None, story.key, "look")
        while json.loads((await _send(served.port, look))[1])["now"].startswith(START[:10]):
            pass
        served.process.terminate()
        return str((await moving)["hint"])

    try:
        assert asyncio.run(run()).startswith(
            "the server was asked to stop on the way to 2042-02-11"
        )
        assert served.stop() == 0
        served = Served(tmp_path / "s.db")
        verify_alone(served, story)
    finally:
        served.kill()


def test_a_sandbox_that_was_put_away_sends_its_webhook_when_it_is_due_and_is_listed(
    tmp_path: Path,
) -> None:
    posts: Queue[str] = Queue()

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(503)
            self.send_header("content-length", "0")
            self.end_headers()
            posts.put(self.path)

        def log_message(self, *_: object) -> None:
            return

    receiver = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    Thread(target=receiver.serve_forever, args=(0.05,), daemon=True).start()
    served = Served(tmp_path / "s.db", "--sandbox-idle", "1s", "--log-level", "info")
    try:
        ask(served.port, "PUT", "/__admin/clock", {"mode": "fast", "rate": 4})
        url = f"http://127.0.0.1:{receiver.server_address[1]}/hook"
        made = ask(served.port, "POST", "/charge/card", card_charge(webhook={"url": url}))[1]
        assert posts.get(timeout=20) == "/hook"
        # The second try is due 10 s later, 2.5 s of the machine's time: the sandbox is not in
        # memory by then.
        assert posts.get(timeout=20) == "/hook"
        assert "put away" in served.errors.read_text()
        assert ask(served.port, "GET", "/__admin/sandboxes", key="")[1]["count"] == 1

        def tries() -> list[object]:
            _, told = ask(served.port, "GET", "/__admin/webhooks")
            return list(told["webhooks"][0]["tries"])

        # The receiver has it before the server has read the answer.
        until(lambda: len(tries()) >= 2, "the second try")
        assert ask(served.port, "GET", f"/charge/{made['chargeId']}")[1] == made
    finally:
        served.kill()
        receiver.shutdown()
        receiver.server_close()


@pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="limits of other processes cannot be set here"
)
def test_a_disk_that_fills_refuses_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    one = serve("--store", str(path), "--seed", "42", "--clock", START, files=256)
    pid, acknowledged = one.process.pid, []
    _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)

    def charge(reference: str) -> tuple[int, Any]:
        return ask(one.port, "POST", "/charge/card", card_charge(reference=reference))

    try:
        for number in range(3):
            status, body = charge(f"before-{number}")
            assert status == 201
            acknowledged.append(body)
        largest = max(file.stat().st_size for file in tmp_path.glob("s.db*"))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (largest + 40_000, most))
        refused = 0
        for number in range(60):
            status, body = charge(f"full-{number}")
            if status == 201:
                acknowledged.append(body)
                continue
            refused += 1
            assert (status, body["code"], body["isRetryable"], body["httpStatus"]) == (
                503,
                43,
                True,
                503,
            )
            assert list(body["details"]) == ["Store"]
            if refused == 5:
                break
        assert refused == 5
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
        status, body = charge("after")
        assert status == 201
        acknowledged.append(body)
        held = ask(one.port, "GET", "/charge?limit=200")[1]
    finally:
        one.stop(signal.SIGKILL)
    again = Served(path)
    try:
        assert ask(again.port, "GET", "/charge?limit=200")[1] == held
        assert held["count"] == len(acknowledged)
        for body in acknowledged:
            assert ask(again.port, "GET", f"/charge/{body['chargeId']}")[1] == body
    finally:
        again.kill()
