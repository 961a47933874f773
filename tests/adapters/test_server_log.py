"""The request log: one line a request, in text or JSON, off the request path, nothing secret in
it."""

import errno
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

import mockserver
from mockserver.adapters import server_log
from mockserver.adapters.server_log import LibraryMessages, RequestLog, ServerLog
from mockserver.settings import Settings
from mockserver.web.access import LogLine
from tests import warm
from tests.driving import Api
from tests.served import serve

NUMBER = "4539578763621486"


class Kept:
    """A log that keeps the requests that it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def __call__(self, told: object) -> None:
        if not isinstance(told, LogLine):
            self.told.append(told)

    def lines(self, *, as_json: bool = False) -> list[str]:
        return [line for told in self.told for line in told.lines(as_json=as_json)]  # type: ignore[attr-defined]


@pytest.fixture
def api() -> Api:
    """A caller of an application of its own, whose log is changed."""
    return Api()


@pytest.fixture
def kept(api: Api) -> Kept:
    log = Kept()
    api.app.world.log = log
    return log


def test_one_line_a_request(api: Api, kept: Kept) -> None:
    api.try_charge()
    api.try_charge(number="4000000000000002")
    api.call("GET", "/nowhere")
    api.call("GET", "/healthz")
    rows = [json.loads(line) for line in kept.lines(as_json=True)]
    assert [(row["method"], row["path"], row["op"], row["status"]) for row in rows] == [
        ("POST", "/charge/card", "charge.create", 201),
        ("POST", "/charge/card", "charge.create", 400),
        ("GET", "/nowhere", None, 404),
    ]
    assert rows[0]["time"].startswith("2031-")
    assert rows[0]["sandbox"].startswith("sk_***")
    assert rows[0]["rule"] is None
    assert rows[1]["rule"]
    assert kept.lines()[1].endswith(f"{rows[1]['sandbox']} rule={rows[1]['rule']}")


def test_a_line_tells_no_secret(api: Api, kept: Kept) -> None:
    api.call("GET", f"/charge?cardNumber={NUMBER}&CCV=937&comment=4539+5787+6362+1486")
    api.call("GET", f"/vault/{NUMBER}")
    api.call("GET", "/charge\nforged line")
    for as_json in (False, True):
        text = "\n".join(kept.lines(as_json=as_json))
        assert NUMBER not in text
        assert "937" not in text
        assert "4539 5787" not in text
        assert "sk_tests" not in text
        assert len(text.splitlines()) == 3


def test_a_warning_is_a_line_of_its_own(api: Api, kept: Kept) -> None:
    api.try_charge(number=NUMBER)
    api.try_charge(number=NUMBER)
    assert [line for line in kept.lines() if "warning" in line] == [kept.lines()[1]]
    assert "--test-cards-only" in json.loads(kept.lines(as_json=True)[1])["warning"]


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("/sk_live_abc/charge", "/sk_***/charge"),
        ("/charge/sk_tests?key=sk_tests", "/charge/sk_***?key=sk_***"),
        ("/charge/%2573k_tests", "/charge/sk_***"),
        ("/charge?a=4111%25%32%30111111111111&b=50%25", "/charge?a=4111********1111&b=50%"),
        ("/charge?a=%2534111111111111111&%2563cv=%2531", "/charge?a=4111********1111&%63cv=***"),
        ("/charge/sk_other?x-secretKey=other&a=b", "/charge/sk_***?x-secretKey=***&a=b"),
    ],
)
def test_a_secret_key_in_a_path_is_masked(target: str, told: str) -> None:
    api = Api()
    api.app.world.log = log = Kept()
    for key in ("sk_tests", None):
        api.call("GET", target, key=key)
    for as_json in (False, True):
        assert all(told in line for line in log.lines(as_json=as_json))
        assert "sk_tests" not in "".join(log.lines(as_json=as_json))


def test_a_key_that_does_not_look_like_one_is_masked_when_the_request_carries_it() -> None:
    api = Api(key="plainkey")
    api.app.world.log = log = Kept()
    api.call("GET", "/charge/plainkey?search=plainkey&limit=5")
    api.call("GET", "/nowhere/plainkey")
    assert "plainkey" not in "".join([*log.lines(), *log.lines(as_json=True)])
    assert "/charge/***?search=***&limit=5" in log.lines()[0]


@pytest.mark.parametrize(
    "path", ["*%0aready on {}", "/%0aready on {}", "/charge/%0d%0aready on {}", "/%250aready/{}"]
)
def test_what_is_sent_makes_one_line_with_no_card_number(path: str) -> None:
    api = Api()
    told: list[str] = []
    api.app.world.log = lambda one: told.extend(one.lines(as_json=False))  # type: ignore[attr-defined]
    charge_id = api.charge()["chargeId"]
    for target in (path.format(NUMBER), path.format(NUMBER) + f"/charge/{charge_id}"):
        api.call("GET", target.replace(" ", "%20"))
        api.call("POST", "/charge/card", {"a\nready on": 1, f"b\n{NUMBER}": 2})
    assert len(told) > 4
    assert [line for line in told if not line.isprintable() or NUMBER in line] == []


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_a_key_in_a_path_that_no_route_takes_is_masked_in_findings_and_in_the_journal(
    method: str,
) -> None:
    api = Api(key="plainkey")
    api.app.world.log = log = Kept()
    api.call(method, "/charge/plainkey/void" if method == "PATCH" else "/nowhere/plainkey")
    assert "plainkey" not in "".join(log.lines(as_json=True))
    assert b"plainkey" not in api.call("GET", "/__admin/journal").raw
    findings = api.call("GET", "/__admin/findings").raw
    assert b"/***" in findings
    assert b"plainkey" not in findings


class Line:
    level = "info"

    def __init__(self, text: str) -> None:
        self.text = text

    def lines(self, *, as_json: bool) -> list[str]:
        return [json.dumps(self.text) if as_json else self.text]


class Out(list[str]):
    """Keeps what is printed, which may not be on the request path."""

    def __call__(self, text: str, *, err: bool) -> None:
        assert err
        assert threading.current_thread() is not threading.main_thread()
        self.append(f"{text}\n")


def written(count: int, **given: str) -> str:
    out = Out()
    log = RequestLog(out, Settings(**given))  # type: ignore[arg-type]
    for number in range(count):
        log(Line(f"line {number}"))
    log.close()
    return "".join(out)


def test_lines_come_in_order_and_later() -> None:
    assert written(3) == "line 0\nline 1\nline 2\n"
    assert written(1, log_format="json") == '"line 0"\n'


def test_a_quiet_log_tells_the_requests_that_gave_cause_for_a_warning(api: Api, kept: Kept) -> None:
    api.try_charge(number=NUMBER)
    api.try_charge(number=NUMBER)
    out = Out()
    log = RequestLog(out, Settings(log_level="warning"))
    for told in kept.told:
        log(told)  # type: ignore[arg-type]
    log.close()
    assert "".join(out).splitlines() == Kept.lines(kept)[:2]


def test_a_slow_terminal_holds_nobody_up_and_the_lines_beyond_the_bound_are_dropped_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_log, "MOST_WAITING", 2)
    out, begun, goes_on = Out(), threading.Event(), threading.Event()

    def echo(text: str, *, err: bool) -> None:
        begun.set()
        assert goes_on.wait(60)
        out(text, err=err)

    log = RequestLog(echo, Settings())
    log(Line("line 0"))
    assert begun.wait(60)
    log(Line("line 1"))
    ServerLog(log.echo, Settings()).warning("that was not HTTP")
    for number in range(3):
        log(Line(f"further line {number}"))
    goes_on.set()
    log.close()
    assert "".join(out) == "line 0\nline 1\nwarning: that was not HTTP\n3 lines dropped\n"


def test_what_is_said_when_the_log_is_closed_is_printed_at_once() -> None:
    said: list[tuple[str, bool]] = []
    log = RequestLog(lambda line, *, err: said.append((line, err)), Settings())
    log.echo("ready", err=False)
    assert said == [("ready", False)]
    log.echo("one", err=True)
    log.close()
    log.echo("two", err=True)
    assert said == [("ready", False), ("one", True), ("two", True)]


def test_lines_that_cannot_be_written_are_dropped_and_counted() -> None:
    out, failed = Out(), threading.Event()

    def echo(text: str, *, err: bool) -> None:
        if not failed.is_set():
            failed.set()
            raise OSError(errno.ENOSPC, "No space left on device")
        out(text, err=err)

    log = RequestLog(echo, Settings(log_format="json"))
    log(Line("line 0"))
    assert failed.wait(60)
    log(Line("line 1"))
    log.close()
    assert "".join(out).splitlines() == ['"line 1"', '{"dropped": 1}']


def test_a_line_of_the_server_that_cannot_be_written_stops_nothing() -> None:
    def echo(line: str, *, err: bool = False) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    ServerLog(echo, Settings()).error("the store could not be written")


def test_the_traceback_of_an_error_that_nobody_foresaw_tells_no_secret() -> None:
    said: list[str] = []
    handler = LibraryMessages(ServerLog(lambda line, *, err=False: said.append(line), Settings()))
    logger = logging.Logger("library")
    logger.addHandler(handler)
    try:
        raise KeyError(f"{NUMBER} of sk_secret_1234")
    except KeyError:
        logger.exception("it failed for %s", NUMBER)
    [text] = said
    assert text.startswith("it failed for 4539********1486\nTraceback")
    assert text.endswith("KeyError: '4539********1486 of sk_***'")


@pytest.mark.skipif(sys.platform == "win32", reason="the test stops the server with a POSIX signal")
@pytest.mark.slow
def test_the_server_logs_to_standard_error() -> None:
    process = warm.started(
        *("mockserver", "--port", "0", "--log-format", "json"),
        env={**os.environ, "PYTHONPATH": str(Path(mockserver.__file__).resolve().parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        address = json.loads(process.stdout.readline())["message"].removeprefix("ready on ")
        request = urllib.request.Request(
            f"{address}/charge?limit=1", headers={"x-secretkey": "sk_log"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()
    [line] = [json.loads(line) for line in errors.splitlines()]
    assert (line["path"], line["op"], line["status"]) == ("/charge?limit=1", "charge.search", 200)


@pytest.mark.skipif(sys.platform == "win32", reason="the test names a pipe as a file")
@pytest.mark.slow
def test_a_reader_of_the_log_that_stalls_holds_no_answer_up() -> None:
    reading, writing = os.pipe()
    server = serve("--log-level", "warning", errors=Path(f"/dev/fd/{writing}"), files=1_000)
    try:
        os.set_blocking(writing, False)
        with suppress(BlockingIOError):
            while os.write(writing, b"." * select.PIPE_BUF):
                pass
        with socket.create_connection(("127.0.0.1", server.port), 10) as bad:
            # The parser of uvicorn warns of it.
            bad.sendall(b"GET /charge HTTP/1.1\r\ncontent-length: one\r\n\r\n")
            assert bad.recv(100).startswith(b"HTTP/1.1 400 ")
        assert server.call("GET", "/charge")[0] == 200
        assert server.stop() == 0
    finally:
        server.process.kill()
        os.close(reading)
        os.close(writing)


def test_the_first_entry_that_is_dropped_is_reported_once() -> None:
    api = Api(journal_limit=2)
    api.app.world.log = log = Kept()
    for _ in range(5):
        api.try_charge()
    told = [line for line in log.lines() if "journal entries" in line]
    assert len(told) == 1
    assert "only the newest 2" in told[0]
    assert "--journal-limit" in told[0]
