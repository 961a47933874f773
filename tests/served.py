"""A real server process for end-to-end tests: started on a free port, stopped at the end of the
test."""

import http.client
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import warm

PROVIDER = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
CARD = {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}
CHARGE = {"providerId": PROVIDER, "amount": 12.5, "paymentInformation": CARD}


@dataclass
class Process:
    """A serving process and its port."""

    port: int
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def call(
        self, method: str, path: str, body: object = None, key: str = "sk_e2e"
    ) -> tuple[int, Any]:
        """One request on a connection of its own; status and JSON of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            headers = {"x-secretkey": key, "content-type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def resident(self) -> int:
        """Resident memory in bytes, where the system tells it."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop it by a signal; the exit code."""
        self.process.send_signal(number)
        return self.end()

    def end(self) -> int:
        """Wait until it has ended; its exit code."""
        assert self.process.stdout is not None
        self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(20)


def serve(
    *options: str, port: int = 0, errors: Path | None = None, files: int | None = None
) -> Process:
    """Start a server and wait for its ready line. ``errors`` takes its standard error, ``files`` is
    how many it may have open: then it is a process of its own, which can be measured."""
    command = ["-m", "mockserver", "serve", "--port", str(port), *options]
    limited = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", sys.executable]
    with open(errors or os.devnull, "a") as told:
        process = subprocess.Popen(
            [*(limited if files else warm.python()), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
        )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("ready on "):
            return Process(int(line.rsplit(":", 1)[1]), process)
    raise AssertionError(f"the server ended with {process.wait(20)} before it was ready")
