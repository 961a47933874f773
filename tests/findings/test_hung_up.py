"""Clients that hang up over a real connection while they wait for an answer."""

import http.client
import json
import socket
import struct
from contextlib import closing

import pytest

from tests.served import CHARGE, Process
from tests.waiting import until

pytestmark = pytest.mark.slow

SLOW = """version: 1
name: slow
rules:
  - {id: slow, when: {op: charge.create}, limit: 1, then: {latency: 500ms}}
"""


HELD_BACK = SLOW.replace("{latency: 500ms}", "{transport: {at: receive, delay: 500ms}}")


def prepare(server: Process, key: str, scenario: str = SLOW) -> socket.socket:
    """A client that waits for the answer to a charge."""
    admin = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    admin.request(
        "PUT",
        "/__admin/scenarios",
        scenario,
        {"x-secretkey": key, "content-type": "application/yaml"},
    )
    assert admin.getresponse().status == 200
    admin.close()
    body = json.dumps(CHARGE)
    head = (
        f"POST /charge/card HTTP/1.1\r\nhost: 127.0.0.1\r\nx-secretkey: {key}\r\ncontent-type: "
        f"application/json\r\n"
    )
    client = socket.create_connection(("127.0.0.1", server.port), 20)
    client.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
    until(lambda: server.call("GET", "/__admin/rules", key=key)[1]["rules"][0]["hits"] == 1)
    return client


def metrics(server: Process) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", "/metrics")
    with closing(connection):
        return connection.getresponse().read().decode()


def found(server: Process, key: str) -> list[str]:
    rows = server.call("GET", "/__admin/findings?severity=warning", key=key)[1]["findings"]
    return [row["finding"] for row in rows]


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_client_that_hangs_up_and_asks_again_pays_twice(server: Process, is_reset: bool) -> None:
    key = f"sk_hung_{is_reset}"
    client = prepare(server, key)
    close(client, is_reset=is_reset)
    assert server.call("POST", "/charge/card", CHARGE, key)[0] == 201
    until(lambda: found(server, key) == ["double-charge", "blind-retry"])


def close(client: socket.socket, *, is_reset: bool) -> None:
    """Hang up. Only of a connection that is reset does the server know before it answers."""
    if is_reset:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_charge_that_is_held_back_and_sent_again_is_made_twice(
    server: Process, is_reset: bool
) -> None:
    key = f"sk_held_{is_reset}"
    client = prepare(server, key, HELD_BACK)
    close(client, is_reset=is_reset)
    assert server.call("POST", "/charge/card", CHARGE, key)[0] == 201
    until(lambda: found(server, key) == ["double-charge", "blind-retry"])


def test_a_client_that_hangs_up_before_its_answer_got_no_status(server: Process) -> None:
    close(prepare(server, "sk_none", HELD_BACK), is_reset=True)
    counted = 'mockserver_requests_total{op="charge.create",status="none"}'
    until(lambda: counted in metrics(server))


def test_two_clients_that_both_wait_for_their_answer(server: Process) -> None:
    with prepare(server, "sk_both", HELD_BACK) as client, client.makefile("rb") as answer:
        assert server.call("POST", "/charge/card", CHARGE, "sk_both")[0] == 201
        assert b" 201 " in answer.readline()
    assert found(server, "sk_both") == []


def test_a_client_that_only_sends_no_more_reads_its_answer(server: Process) -> None:
    client = prepare(server, "sk_half")
    client.shutdown(socket.SHUT_WR)
    assert server.call("POST", "/charge/card", CHARGE, "sk_half")[0] == 201
    with client, client.makefile("rb") as answer:
        assert b" 201 " in answer.readline()
        answer.read()
    assert found(server, "sk_half") == []
