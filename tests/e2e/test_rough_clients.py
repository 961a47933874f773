"""Clients that hang up, trickle, send garbage or come in crowds: nobody else notices, and the
server stays itself."""

import asyncio
import contextlib
import json
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mockserver.domain.errors import problem
from tests.served import CHARGE, Process, serve

BODY = json.dumps(CHARGE).encode()
LONG = {f"k{number}": "a" * 2_000 for number in range(450)}
"""As much metadata as a body of a payment may bring: its answers have 900,000 characters."""

HEAD = (
    b"POST /charge/card HTTP/1.1\r\nhost: 127.0.0.1\r\nx-secretkey: sk_rough\r\ncontent-length: "
    b"%d\r\n\r\n" % len(BODY)
)
LINGER = struct.pack("ii", 1, 0)

ROUGH = {
    "nothing at all": b"",
    "half a request line": b"POST /char",
    "half the headers": HEAD[:60],
    "half the body": HEAD + BODY[: len(BODY) // 2],
    "garbage": bytes(range(256)) * 8,
    "TLS where there is none": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
    "a length that is no number": b"POST /vault HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: "
    b"ten\r\n\r\n",
    "a negative length": b"POST /vault HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -5\r\n\r\n",
    "a chunk that is no chunk": b"POST /vault HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: "
    b"chunked\r\n\r\nzz\r\n",
    "an endless header": b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-long: " + b"a" * 200_000,
    "headers without end": b"GET /healthz HTTP/1.1\r\n" + b"x-one: 1\r\n" * 20_000,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    """A process of its own, whose memory is measured."""
    process = serve(files=4096)
    yield process
    assert process.stop() == 0


def until_closed(client: socket.socket) -> bytes:
    """All that is still said."""
    got = b""
    while piece := client.recv(65536):
        got += piece
    return got


def knock(port: int, raw: bytes, *, reset: bool) -> None:
    """Send something and be gone, in order or by a reset."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        try:
            client.sendall(raw)
        except ConnectionError:
            return  # refused before all of it was said: just as well
        if reset:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("name", ROUGH)
def test_a_rough_client_harms_nobody(server: Process, name: str, reset: bool) -> None:
    for _ in range(5):
        knock(server.port, ROUGH[name], reset=reset)
    status, charge = server.call("POST", "/charge/card", CHARGE)
    assert (status, charge["status"]) == (201, "SUCCESS")


def test_an_unfinished_request_takes_no_payment(server: Process) -> None:
    key = "sk_unfinished"
    for cut in range(1, len(BODY), 17):
        knock(server.port, HEAD.replace(b"sk_rough", key.encode()) + BODY[:cut], reset=True)
    assert server.call("GET", "/charge", key=key)[1]["count"] == 0


def test_a_trickling_client_is_served_and_holds_nobody_up(server: Process) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as slow:
        raw = HEAD + BODY
        for place in range(0, len(raw), 16):
            slow.sendall(raw[place : place + 16])
            if place % 160 == 0:
                assert server.call("GET", "/healthz")[0] == 200
        answer = slow.recv(65536)
    assert answer.startswith(b"HTTP/1.1 201 ")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_long_answers_that_nobody_takes_wait_their_turn_and_fill_no_memory(server: Process) -> None:
    status, made = server.call("POST", "/charge/card", CHARGE | {"metadata": LONG}, "sk_pipe")
    assert status == 201
    asked = (
        b"GET /charge/%b HTTP/1.1\r\nhost: 127.0.0.1\r\nx-secretkey: sk_pipe\r\n\r\n"
        % made["chargeId"].encode()
    )
    before = server.resident()
    with contextlib.ExitStack() as open_ones:
        for _ in range(40):
            client = open_ones.enter_context(
                socket.create_connection(("127.0.0.1", server.port), timeout=20)
            )
            client.sendall(asked * 100)
        for _ in range(5):
            assert server.call("GET", "/healthz")[0] == 200
        assert server.resident() - before < 400_000_000


def test_a_declared_length_over_the_limit_is_refused_before_a_byte_of_it_came(
    server: Process,
) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(HEAD.replace(b"%d" % len(BODY), b"20000000"))
        assert client.recv(65536).startswith(b"HTTP/1.1 413 ")


WELL = b"host: 127.0.0.1\r\nx-secretkey: sk_rough\r\n"
UNREADABLE = {
    "garbage": (b"\x00\x01 4111111111111111\r\n\r\n", "wanted a method of HTTP"),
    "TLS": (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50,
        "this port speaks plain HTTP",
    ),
    "an unknown method": (b"FROB /charge HTTP/1.1\r\n" + WELL + b"\r\n", "wanted a method of HTTP"),
    "another version": (
        b"GET /charge HTTP/9.9\r\n" + WELL + b"\r\n",
        "wanted a request of HTTP/1.1",
    ),
    "an endless target": (
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n" + WELL + b"\r\n",
        "at most 65535",
    ),
    "two lengths": (
        b"POST /vault HTTP/1.1\r\n" + WELL + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}}",
        "Content-Length",
    ),
    "a length and chunks": (
        b"POST /vault HTTP/1.1\r\n"
        + WELL
        + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
        "Transfer-Encoding",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_request_is_refused_in_the_shape_of_every_error(
    server: Process, name: str
) -> None:
    raw, words = UNREADABLE[name]
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(raw)
        got = until_closed(client)
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"\r\ncontent-type: application/json; charset=utf-8\r\n" in head
    assert b"\r\nconnection: close" in head
    told = json.loads(body)
    assert words in told["details"]["Request"]
    assert "4111" not in body.decode()
    assert told == {**problem(400, 90, "Validation Error", None, told["details"])}


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads the memory of a process from /proc"
)
def test_trailers_without_end_fill_no_memory(server: Process) -> None:
    before = server.resident()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(
            b"POST /vault HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: "
            b"chunked\r\n\r\n0\r\nx-long: "
        )
        with contextlib.suppress(ConnectionError):
            for _ in range(1_000):
                client.sendall(b"y" * 100_000)
        assert server.call("GET", "/healthz")[0] == 200
    assert server.resident() < before + 50_000_000


@pytest.mark.skipif(sys.platform == "win32", reason="limits open files as POSIX does")
def test_whether_the_server_lives_can_be_asked_when_files_run_short() -> None:
    server = serve(files=256)
    try:
        silent = [
            socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(300)
        ]
        assert server.call("GET", "/healthz")[0] == 200
        for client in silent:
            with contextlib.suppress(ConnectionError):
                client.sendall(b"POST /charge/card HTTP/1.1\r\n")
        # Who is slow keeps its connection.
        assert server.call("POST", "/charge/card", CHARGE)[0] == 503
        for client in silent:
            client.close()
        assert server.call("POST", "/charge/card", CHARGE)[0] == 201
        waiting = []
        asked = b'{"for": {"charge": {"status": "FAILED"}}, "timeout": "10m"}'
        head = (
            b"POST /__admin/wait HTTP/1.1\r\n"
            + WELL
            + b"content-type: application/json\r\ncontent-length: %d\r\n\r\n"
        )
        for _ in range(300):
            waiting.append(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            with contextlib.suppress(ConnectionError):
                waiting[-1].sendall(head % len(asked) + asked)
        assert server.call("GET", "/healthz")[0] == 200
        status, told = server.call("GET", "/charge")
        assert (status, told["details"]["Request"]) == (
            503,
            "more connections are open than this server has files for",
        )
        for client in waiting:
            client.close()
    finally:
        assert server.stop() == 0


FAULTS: dict[str, object] = {
    "reset": {},
    "close_after": 20,
    "truncate": {},
    "garbage": {},
    "dribble": {"chunk": 500, "every": "1ms"},
    "malformed_json": {},
    "hang": {},
    "delay": "10ms",
}
SLOW = [
    {
        "id": kind,
        "when": {"op": "charge.create", "request.reference": kind},
        "then": {"latency": "50ms", "transport": {"at": "answer", kind: how}},
    }
    for kind, how in FAULTS.items()
]
SLOW += [
    {
        "id": name,
        "when": {"op": "charge.create", "request.reference": name},
        "then": {"latency": latency},
    }
    for name, latency in (("slow", "60ms"), ("endless", "10m"))
]


def slow_charge(reference: str) -> bytes:
    body = json.dumps({**CHARGE, "reference": reference}).encode()
    return HEAD.replace(b"%d" % len(BODY), b"%d" % len(body)) + body


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Process]:
    """A server whose answers take their time, and that has not complained when it is stopped during
    one of them."""
    errors = tmp_path / "errors"
    process = serve(errors=errors)
    rules = {"version": 1, "name": "slow", "rules": SLOW}
    assert process.call("PUT", "/__admin/scenarios", rules, key="sk_rough")[0] == 200
    yield process
    assert process.stop() == 0
    told = errors.read_text()
    assert "Traceback" not in told
    assert "Exception" not in told


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_who_leaves_before_an_answer_or_a_fault_leaves_no_traceback(
    slow: Process, reset: bool, count: int
) -> None:
    for kind in FAULTS:
        knock(slow.port, slow_charge(kind) * count, reset=reset)
    for _ in range(count):
        assert (
            slow.call("POST", "/charge/card", {**CHARGE, "reference": "slow"}, key="sk_rough")[0]
            == 201
        )


def test_a_stop_during_a_long_latency_ends_the_connection_and_the_server(slow: Process) -> None:
    with socket.create_connection(("127.0.0.1", slow.port), timeout=20) as client:
        client.sendall(slow_charge("endless"))
        assert slow.call("GET", "/charge", key="sk_rough")[0] == 200
        slow.process.send_signal(signal.SIGTERM)
        assert until_closed(client) == b""
        assert slow.process.wait(20) == 0


async def _closed_loop(port: int, connections: int, each: int) -> int:
    """Keep-alive clients that ask one after the other; how many answers were not 201."""

    async def client(number: int) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        wrong = 0
        for _ in range(each):
            writer.write(HEAD.replace(b"sk_rough", b"sk_crowd") + BODY)
            status = await reader.readline()
            length = 0
            while (line := await reader.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            await reader.readexactly(length)
            wrong += not status.startswith(b"HTTP/1.1 201 ")
        writer.close()
        await writer.wait_closed()
        return wrong

    return sum(await asyncio.gather(*(client(number) for number in range(connections))))


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads the memory of a process from /proc"
)
def test_a_crowd_gets_all_its_answers_and_a_reset_gives_the_memory_back(server: Process) -> None:
    crowd = 64
    sizes = []
    for _ in range(3):
        assert asyncio.run(_closed_loop(server.port, crowd, 40)) == 0
        assert server.call("GET", "/charge", key="sk_crowd")[1]["count"] == crowd * 40
        sizes.append(server.resident())
        assert server.call("POST", "/__admin/reset", key="sk_crowd")[0] == 200
    # What a round stores is freed by the reset: three rounds need hardly more than one.
    assert sizes[-1] < sizes[0] * 1.25


def test_a_killed_server_leaves_nothing_that_hinders_the_next_one() -> None:
    first = serve()
    with ThreadPoolExecutor(8) as crowd:
        list(crowd.map(lambda _: first.call("POST", "/charge/card", CHARGE), range(40)))
    assert first.stop(signal.SIGKILL) == -signal.SIGKILL
    second = serve(port=first.port)
    try:
        assert second.call("GET", "/charge")[1]["count"] == 0
        assert second.call("POST", "/charge/card", CHARGE)[0] == 201
    finally:
        assert second.stop() == 0
