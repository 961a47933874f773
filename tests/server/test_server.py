"""The server as a process: ready line, port file, ports in use, TLS, signals; and the collector's
bookkeeping."""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mockserver.server.serving import CannotListen, listen
from mockserver.settings import Settings
from tests import warm

# The tests also run from a checkout that is not installed.
ROOT = Path(__file__).resolve().parents[2]
Start = Callable[..., "subprocess.Popen[str]"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the tests stop servers with POSIX signals"),
]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[subprocess.Popen[str]] = []

    def run(**environ: str) -> subprocess.Popen[str]:
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith("MOCKSERVER_")
        }
        process = warm.started(
            "tests.server.tiny_server",
            env={
                **clean,
                "PYTHONPATH": str(ROOT),
                "MOCKSERVER_PORT": "0",
                "MOCKSERVER_DATA_DIR": str(tmp_path / "data"),
                **environ,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().rstrip("\n")


def port_of(ready: str) -> int:
    assert ready.startswith("ready on http://127.0.0.1:"), ready
    return int(ready.rpartition(":")[2])


def stop(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, str]:
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    return process.returncode, errors


def get(port: int, path: str = "/") -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    finally:
        connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_after_the_ready_line_and_a_signal_stops_it_with_0(
    start: Start, number: int
) -> None:
    process = start()
    port = port_of(line(process))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/")
    answer = connection.getresponse()
    assert (answer.read(), answer.getheader("server")) == (b"helloworld", None)
    connection.request("GET", "/")
    assert connection.getresponse().read() == b"helloworld"
    code, errors = stop(process, number)
    assert (code, errors.split()) == (0, ["startup", "shutdown"])


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("text", str.strip)])
def test_lines_that_tell_of_no_request_have_the_form_of_the_log(
    start: Start, form: str, read: Callable[[str], Any]
) -> None:
    process = start(MOCKSERVER_LOG_FORMAT=form, TINY_QUIET="1")
    ready = read(line(process))
    port = port_of(ready["message"] if form == "json" else ready)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as lost:
        lost.sendall(b"no http at all\r\n\r\n")
        assert lost.recv(4096).startswith(b"HTTP/1.1 400 ")
    process.send_signal(signal.SIGHUP)
    assert process.stderr
    told = [read(process.stderr.readline()) for _ in range(2)]
    if form == "json":
        told = [{name: text for name, text in row.items() if name != "time"} for row in told]
        assert told == [
            {"warning": "Invalid HTTP request received."},
            {"message": "scenarios reloaded"},
        ]
    else:
        assert told == ["warning: Invalid HTTP request received.", "scenarios reloaded"]


@pytest.mark.parametrize(
    ("level", "told"), [("warning", ["warning: Invalid HTTP request received."]), ("error", [])]
)
def test_less_is_reported_when_less_is_asked_for(start: Start, level: str, told: list[str]) -> None:
    process = start(MOCKSERVER_LOG_LEVEL=level, TINY_QUIET="1")
    with socket.create_connection(("127.0.0.1", port_of(line(process))), timeout=60) as lost:
        lost.sendall(b"no http at all\r\n\r\n")
        assert lost.recv(4096).startswith(b"HTTP/1.1 400 ")
    process.send_signal(signal.SIGHUP)
    assert stop(process) == (0, "".join(f"{text}\n" for text in told))


def test_a_signal_lets_the_answer_under_way_finish(start: Start) -> None:
    process = start()
    port = port_of(line(process))
    with socket.create_connection(("127.0.0.1", port), timeout=60) as held:
        held.sendall(b"GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
        got = b""
        while not got.endswith(b"hello"):
            got += held.recv(4096)
        process.send_signal(signal.SIGTERM)
        while accepts(port):
            pass
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
        assert held.recv(4096) == b"world"
    assert process.wait(timeout=20) == 0


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except OSError:
        return False
    return True


def test_the_port_file_is_there_while_it_is_ready(start: Start, tmp_path: Path) -> None:
    process = start(MOCKSERVER_PORT_FILE=str(tmp_path / "port"))
    port = port_of(line(process))
    assert (tmp_path / "port").read_text() == f"{port}\n"
    stop(process)
    assert [path.name for path in tmp_path.iterdir()] == []


def test_a_port_file_of_another_server_is_left_alone(start: Start, tmp_path: Path) -> None:
    process = start(MOCKSERVER_PORT_FILE=str(tmp_path / "port"))
    line(process)
    (tmp_path / "port").write_text("1\n")
    stop(process)
    assert (tmp_path / "port").read_text() == "1\n"


def test_a_port_file_that_cannot_be_written_is_bad_usage(start: Start, tmp_path: Path) -> None:
    process = start(MOCKSERVER_PORT_FILE=str(tmp_path / "absent" / "port"))
    out, errors = process.communicate(timeout=20)
    assert (process.returncode, out) == (2, "")
    assert "--port-file: cannot write" in errors


def test_a_port_in_use_exits_3_and_says_so(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = start(MOCKSERVER_PORT=str(port))
        out, errors = process.communicate(timeout=20)
    assert (process.returncode, out) == (3, "")
    assert errors.startswith(f"port {port} of 127.0.0.1 is in use")


def test_tls_and_plain_answer_with_one_lifespan(start: Start, tmp_path: Path) -> None:
    process = start(MOCKSERVER_TLS_PORT="0")
    tls_line = line(process)
    assert tls_line.startswith("tls on https://localhost:")
    plain, secure = port_of(line(process)), int(tls_line.rpartition(":")[2])
    trust = ssl.create_default_context(cafile=str(tmp_path / "data" / "ca.pem"))
    connection = http.client.HTTPSConnection("localhost", secure, timeout=60, context=trust)
    connection.request("GET", "/")
    assert connection.getresponse().read() == get(plain) == b"helloworld"
    connection.close()
    code, errors = stop(process)
    assert (code, errors.split()) == (0, ["startup", "shutdown"])


def test_a_certificate_that_cannot_be_read_is_bad_usage(start: Start) -> None:
    process = start(
        MOCKSERVER_TLS_PORT="0", MOCKSERVER_TLS_CERT="absent.pem", MOCKSERVER_TLS_KEY="absent.key"
    )
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 2
    assert "--tls-port: the certificate cannot be used" in errors


def test_the_scope_carries_the_transport_of_the_connection(start: Start) -> None:
    process = start()
    port = port_of(line(process))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        get(port, "/cut")
    assert get(port) == b"helloworld"


def test_an_application_that_cannot_start_exits_1(start: Start) -> None:
    process = start(TINY_BAD_START="1")
    out, errors = process.communicate(timeout=20)
    assert (process.returncode, out) == (1, "")
    assert "cannot start" in errors


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({}, ["reloaded", "scenarios reloaded"]),
        ({"TINY_BAD_RELOAD": "1"}, ["reload failed, the old rules stay in force: line 3 is bad"]),
    ],
)
def test_hangup_reloads_and_the_server_lives_on(
    start: Start, environ: dict[str, str], told: list[str]
) -> None:
    process = start(**environ)
    port = port_of(line(process))
    process.send_signal(signal.SIGHUP)
    assert process.stderr
    assert [process.stderr.readline().strip() for _ in range(1 + len(told))] == ["startup", *told]
    assert get(port) == b"helloworld"
    assert stop(process)[0] == 0


@pytest.mark.parametrize(("token", "warned"), [("", True), ("t", False)])
def test_a_wide_address_without_admin_token_is_warned_about(
    start: Start, token: str, warned: bool
) -> None:
    process = start(MOCKSERVER_HOST="0.0.0.0", MOCKSERVER_ADMIN_TOKEN=token)
    assert line(process).startswith("ready on http://0.0.0.0:")
    code, errors = stop(process)
    assert (code, "--admin-token" in errors) == (0, warned)


def test_addresses_are_written_as_urls() -> None:
    listeners = listen(Settings(port=0, tls_port=0))
    try:
        assert listeners.settings.address == f"http://127.0.0.1:{listeners.plain.getsockname()[1]}"
        assert listeners.settings.port != 0
        assert listeners.tls_address == f"https://localhost:{listeners.settings.tls_port}"
    finally:
        listeners.close()


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_an_ipv6_address_is_bracketed() -> None:
    try:
        listeners = listen(Settings(host="::1", port=0, tls_port=0))
    except CannotListen as refusal:
        pytest.skip(f"needs IPv6: {refusal}")
    listeners.close()
    assert listeners.settings.address.startswith("http://[::1]:")
    assert listeners.tls_address.startswith("https://[::1]:")
    assert listeners.settings.url == listeners.settings.address


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_every_address_means_those_of_both_families() -> None:
    try:
        listeners = listen(Settings(host="::", port=0, tls_port=0))
    except CannotListen as refusal:
        pytest.skip(f"needs IPv6: {refusal}")
    try:
        listeners.plain.listen()
        for address in ("127.0.0.1", "::1"):
            socket.create_connection((address, listeners.settings.port), 10).close()
        assert listeners.tls_address == f"https://localhost:{listeners.settings.tls_port}"
    finally:
        listeners.close()


def test_an_address_of_another_machine_is_bad_usage() -> None:
    with pytest.raises(CannotListen, match=r"cannot listen on 192\.0\.2\.1:0") as refused:
        listen(Settings(host="192.0.2.1", port=0))
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("host", ["a" * 64, "x..invalid"])
def test_a_name_that_none_can_have_is_bad_usage(host: str) -> None:
    with pytest.raises(CannotListen, match="cannot listen on") as refused:
        listen(Settings(host=host, port=0))
    assert refused.value.exit_code == 2


def test_a_taken_tls_port_frees_the_plain_one() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        socket.create_server(("127.0.0.1", 0)) as free,
    ):
        plain, port = free.getsockname()[1], taken.getsockname()[1]
        free.close()
        with pytest.raises(CannotListen, match="--tls-port") as refused:
            listen(Settings(port=plain, tls_port=port))
        listen(Settings(port=plain)).close()
    assert refused.value.exit_code == 3
