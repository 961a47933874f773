"""SIGHUP reads the scenario files again, as the image's users do after they changed a mounted file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

import mockserver
from tests import warm

ROOT = Path(mockserver.__file__).resolve().parents[1]
RULE = "version: 1\nrules:\n  - {id: all, when: {op: charge.create}, then: {decline: %s}}\n"
CHARGE = {
    "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
    "amount": 5,
    "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40"},
}

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGHUP")]


class Served:
    """A server that reads its scenarios from a folder."""

    def __init__(self, folder: Path) -> None:
        self.port_file = folder / "port"
        self.scenarios = folder / "scenarios"
        self.scenarios.mkdir()
        self.process = subprocess.Popen(
            [*warm.python(), "-m", "mockserver", "--port", "0", "--port-file", str(self.port_file)],
            env={**os.environ, "PYTHONPATH": str(ROOT), "MOCKSERVER_SCENARIO": str(self.scenarios)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.port = int(self.process.stdout.readline().rpartition(":")[2])

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, object]]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        headers = {"x-secretkey": "sk_reload", "content-type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        content = json.loads(answer.read())
        connection.close()
        return answer.status, content

    def charge(self) -> object:
        answer = self.ask("POST", "/charge/card", CHARGE)[1]
        return answer.get("code") or answer["status"]

    def reload(self, text: str) -> None:
        (self.scenarios / "rule.yaml").write_text(text)
        self.process.send_signal(signal.SIGHUP)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    server = Served(tmp_path)
    yield server
    server.process.kill()
    server.process.communicate()


def until(holds: Callable[[], bool], within: float = 10.0) -> bool:
    """Whether something holds before the time is over."""
    end = time.monotonic() + within
    while not (held := holds()) and time.monotonic() < end:
        pass
    return held


def test_a_changed_folder_counts_after_the_signal_and_a_bad_file_changes_nothing(served: Served) -> None:
    assert served.charge() == "SUCCESS"
    served.reload(RULE % "expired_card")
    assert until(lambda: served.charge() == 14)
    served.reload(RULE % "expired_kard")
    assert until(lambda: served.ask("GET", "/readyz")[0] == 503)
    assert "expired_kard" in str(served.ask("GET", "/readyz")[1]["reasons"])
    assert served.charge() == 14
    served.reload(RULE % "lost_card")
    assert until(lambda: served.charge() == 941)
    assert served.ask("GET", "/readyz")[0] == 200
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(20) == 0
