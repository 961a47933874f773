"""A server that is killed in the middle of its work, and the next one on its file."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.driving import card_charge

pytestmark = pytest.mark.slow

CLIENTS = 8


@contextmanager
def serving(store: Path, *options: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A server on a store: its port and its process."""
    ports = store.with_name("port")
    ports.unlink(missing_ok=True)
    command = ["mockserver", "serve", "--port", "0", "--port-file", str(ports)]
    process = warm.started(*command, "--store", str(store), "--log-level", "error", *options, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while not ports.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        assert ports.exists(), "the server is not ready"
        yield int(ports.read_text()), process
    finally:
        process.kill()
        process.wait(20)


def call(port: int, method: str, path: str, body: object = None) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        headers = {"x-secretkey": "sk_killed", "content-type": "application/json"}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_what_was_answered_before_a_kill_is_there_and_nothing_by_half(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    answered: dict[str, Any] = {}
    for _ in range(3):
        with serving(store) as (port, process):

            def work(number: int, port: int = port) -> None:
                try:
                    for turn in range(10_000):
                        status, made = call(port, "POST", "/charge/card", card_charge(reference=f"{number}-{turn}"))
                        assert status == 201
                        answered[made["chargeId"]] = made
                except (OSError, HTTPException, ValueError):
                    return

            clients = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
            for client in clients:
                client.start()
            before = len(answered)
            while len(answered) < before + 60:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            for client in clients:
                client.join()
    with serving(store) as (port, process):
        for charge_id, made in answered.items():
            assert call(port, "GET", f"/charge/{charge_id}") == (200, made)
        _, state = call(port, "GET", "/__admin/state")
        found = len(state["tables"]["charges"])
        # What was kept and not yet answered when the kill came is there as well: of each client one call at most.
        assert len(answered) <= found <= len(answered) + 3 * CLIENTS
        assert state["counters"]["charge"] == found
        second = subprocess.run(
            [*warm.python(), "-m", "mockserver", "serve", "--port", "0", "--store", str(store)],
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (second.returncode, b"is in use" in second.stderr + second.stdout) == (3, True)
        process.terminate()
        assert process.wait(30) == 0
    assert not store.with_name("s.db-wal").exists()


def test_a_webhook_that_waited_goes_out_after_the_restart_though_nobody_asks(tmp_path: Path) -> None:
    store, arrived = tmp_path / "s.db", threading.Event()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.end_headers()
            arrived.set()

        def log_message(self, *_: object) -> None: ...

    probe = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    address = probe.server_address[1]
    probe.server_close()
    with serving(store) as (port, process):
        assert call(port, "PUT", "/__admin/assumptions", {"webhook.retry": "4s 1h"})[0] == 200
        hook = {"types": ["transaction"], "url": f"http://127.0.0.1:{address}/", "authorization": "a"}
        assert call(port, "POST", "/webhook/subscription", hook)[0] < 300
        assert call(port, "POST", "/charge/card", card_charge())[0] == 201
        end = time.monotonic() + 20
        while time.monotonic() < end:
            _, seen = call(port, "GET", "/__admin/webhooks")
            if seen["webhooks"][0]["state"] == "waiting":
                break
            time.sleep(0.05)
        assert seen["webhooks"][0]["state"] == "waiting", seen
        process.send_signal(signal.SIGKILL)
    receiver = ThreadingHTTPServer(("127.0.0.1", address), Receiver)
    thread = threading.Thread(target=receiver.serve_forever, daemon=True)
    thread.start()
    try:
        with serving(store) as (port, _):
            assert arrived.wait(30)
            end = time.monotonic() + 20
            while (seen := call(port, "GET", "/__admin/webhooks")[1]["webhooks"][0])["state"] != "delivered":
                assert time.monotonic() < end, seen
                time.sleep(0.05)
            assert len(seen["tries"]) == 2
    finally:
        receiver.shutdown()
        receiver.server_close()
