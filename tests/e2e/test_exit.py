"""The server stops within six seconds, whatever hangs: names that do not resolve, receivers,
answers, waits."""

import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

from tests.served import CHARGE, Process

SERVER = """
import socket, threading
from mockserver.cli import main

asked = socket.getaddrinfo

def getaddrinfo(host, *more, flags=0, **rest):
    if str(host).endswith(".test") and not flags & socket.AI_NUMERICHOST:
        threading.Event().wait()
    return asked(host, *more, flags=flags, **rest)

socket.getaddrinfo = getaddrinfo
main(["serve", "--port", "0"])
"""
"""A server on a machine whose resolver hangs over every name under ``.test``, without a packet."""

SLOW = {
    "version": 1,
    "rules": [{"id": "slow", "when": {"request.reference": "slow"}, "then": {"latency": "50s"}}],
}


def test_nothing_that_hangs_keeps_the_server_from_stopping(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    command = [sys.executable, str(script)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    server = Process(int(process.stdout.readline().rsplit(":", 1)[1]), process)

    def call(method: str, path: str, body: object) -> int:
        with suppress(OSError, HTTPException):
            return server.call(method, path, body)[0]
        return 0

    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor() as others:
        try:
            assert call("PUT", "/__admin/scenarios", SLOW) == 200
            quiet = {"url": f"http://127.0.0.1:{silent.getsockname()[1]}/"}
            assert call("POST", "/charge/card", {**CHARGE, "webhook": quiet}) == 201
            others.submit(
                call, "POST", "/charge/card", {**CHARGE, "reference": "slow", "webhook": quiet}
            )
            others.submit(
                call,
                "POST",
                "/__admin/wait",
                {"for": {"charge": {"id": "never"}}, "timeout": "10m"},
            )
            connected, _ = silent.accept()
            for number in range(30):
                assert (
                    call(
                        "POST",
                        "/charge/card",
                        {**CHARGE, "webhook": {"url": f"http://{number}.test/"}},
                    )
                    == 201
                )
        finally:
            begun = time.monotonic()
            code = server.stop(signal.SIGTERM)
    connected.close()
    assert code == 0
    # Container engines kill after ten seconds.
    assert time.monotonic() - begun < 10
