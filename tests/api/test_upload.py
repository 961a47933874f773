"""Faults while the body of a request is sent (scenario language, Outcomes, ``at: upload``), on real
sockets and in process."""

import json
import socket
from collections.abc import Iterator
from signal import SIGKILL

import pytest

from mockserver.scenario.operations import BODIES
from mockserver.web.routes import ROUTES
from mockserver.web.transport_faults import READ_BEFORE_CUT, Cut
from tests.driving import Api, card_charge
from tests.findings.test_client_mistakes import found
from tests.scenario.telling import fault, one, told
from tests.served import Process, serve

BODY = json.dumps(card_charge(reference="order-1")).encode()
HEAD = (
    b"POST /charge/card HTTP/1.1\r\nhost: localhost\r\nx-secretkey: %b\r\ncontent-length: "
    b"%d\r\n%b\r\n"
)


def rule(transport: str, more: str = "limit: 1", when: str = "{op: charge.create}") -> str:
    then = f"then: {{transport: {{at: upload, {transport}}}}}"
    return f"version: 1\nname: s\nrules: [{{id: r, when: {when}, {more}, {then}}}]"


@pytest.mark.parametrize("what", ["reset: true", "hang: true", "delay: 1ms, reset: true"])
def test_nothing_has_happened_and_the_client_is_in_doubt(what: str) -> None:
    api = Api(scenario=rule(what), waits=True)
    with pytest.raises(Cut):
        api.post("/charge/card", card_charge(reference="order-1"))
    assert api.get("/charge")["count"] == 0
    (entry,) = [one_ for one_ in api.get("/__admin/journal")["entries"] if one_["fault"]]
    assert (entry["fault"]["at"], entry["op"], entry["events"]) == ("upload", "charge.create", [])
    assert entry["request"]["body"]["reference"] == "order-1"
    assert [one_["rule"] for one_ in entry["decisions"]] == ["r"]
    assert api.post("/charge/card", card_charge(reference="order-1")).status == 201
    assert list(found(api)) == []


def test_a_blind_retry_is_one_though_nothing_was_taken() -> None:
    api = Api(scenario=rule("reset: true"))
    with pytest.raises(Cut):
        api.post("/charge/card", card_charge(reference="order-1"))
    api.post("/charge/card", card_charge(reference="order-1"))
    assert list(found(api)) == ["blind-retry"]


def test_slow_reading_ends_well() -> None:
    api = Api(scenario=rule("slow: {chunk: 100, every: 1ms}"), waits=True)
    assert api.post("/charge/card", card_charge()).status == 201
    (entry,) = [
        one_ for one_ in api.get("/__admin/journal")["entries"] if one_["op"] == "charge.create"
    ]
    assert [(one_["stage"], one_["rule"]) for one_ in entry["decisions"]][:1] == [("upload", "r")]


def test_headers_and_numbers_decide() -> None:
    api = Api(
        scenario=rule(
            "reset: true", "key: [header.x-till]", "{op: charge.create, header.x-till: '7', nth: 2}"
        )
    )
    for till, is_cut in (("7", False), ("8", False), ("7", True), ("7", False)):
        try:
            status = api.call(
                "POST", "/charge/card", card_charge(), headers={"x-till": till}
            ).status
        except Cut:
            status = 0
        assert status == (0 if is_cut else 201)


def test_a_fork_tells_the_same_story() -> None:
    api = Api(scenario=rule("reset: true"))
    with pytest.raises(Cut):
        api.post("/charge/card", card_charge())
    api.post("/charge/card", card_charge())
    assert api.post("/__admin/fork", {"at": 2, "to": "sk_fork"}).status in (200, 201)
    assert api.call("GET", "/charge", key="sk_fork")["count"] == 1


def test_a_sequence_that_is_used_up_refuses() -> None:
    steps = "at_end: fail, sequence: [{transport: {at: upload, reset: true}}]"
    api = Api(
        scenario=f"version: 1\nname: s\nrules: [{{id: r, when: {{op: charge.create}}, {steps}}}]"
    )
    with pytest.raises(Cut):
        api.post("/charge/card", card_charge())
    assert api.post("/charge/card", card_charge()).status == 400


def test_operations_with_a_body() -> None:
    assert {route.op for route in ROUTES if route.body is not None} == BODIES


REFUSED = [
    (
        "{op: charge.create, request.amount: 5}",
        "reset: {}",
        "got request.amount, and at: upload only the head",
    ),
    (
        "{op: charge.capture, state.charge.status: SUCCESS}",
        "hang: {}",
        "got state.charge.status, and at: upload",
    ),
    (
        "{op: charge.create, card: {brand: VISA}}",
        "reset: {}",
        "got card, and at: upload only the head has come",
    ),
    (
        "{op: charge.get}",
        "reset: {}",
        "at: upload means nothing in charge.get; it fits batch.create",
    ),
    (
        "{op: charge.create}",
        "truncate: {}",
        "truncate cannot be used at: upload, which has only reset, hang",
    ),
    ("{op: charge.create}", "status: 500", "status cannot be used at: upload"),
    ("{op: charge.create}", "delay: 5s", "delay cannot be used at: upload"),
    ("{op: charge.create}", "edit: {a: 1}", "edit cannot be used at: upload"),
    ("{op: charge.create}", "slow: {chunk: 0, every: 1s}", "got 0, wanted a whole number from 1"),
    (
        "{op: charge.create}",
        "slow: {chunk: 5, every: 1s}, reset: {}",
        "got reset and slow, only one of them",
    ),
]


@pytest.mark.parametrize(
    ("when", "what", "words"), REFUSED, ids=[f"{row[0]} {row[1]}" for row in REFUSED]
)
def test_a_fault_of_an_upload_that_makes_no_sense_is_refused(
    when: str, what: str, words: str
) -> None:
    assert words in fault(one(when, f"then: {{transport: {{at: upload, {what}}}}}"))


def test_slow_is_of_uploads_and_uploads_stand_alone() -> None:
    slow = "then: {transport: {at: answer, slow: {chunk: 5, every: 1s}}}"
    assert (
        "slow reads a body, and at: answer it has been read; use at: upload, or dribble"
        in fault(one("{}", slow))
    )
    both = "then: {transport: {at: upload, reset: {}}, webhook: {drop: true}}"
    assert "it cannot be combined with anything else" in fault(one("{op: charge.create}", both))
    keyed = "then: {transport: {at: upload, reset: {}}}"
    assert "got request.reference, and at: upload" in fault(
        one("{op: charge.create}", keyed, "key: [request.reference]")
    )
    (glob,) = told(one("{op: 'charge.*'}", keyed)).rules
    assert glob.operations == {"charge.create", "charge.capture"}


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    process = serve()
    yield process
    # An ordinary stop would wait for the requests that hang.
    process.stop(SIGKILL)


def connected(server: Process, key: str, transport: str) -> socket.socket:
    assert server.call("PUT", "/__admin/scenarios", json.loads(_as_json(transport)), key)[0] == 200
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
    return connection


def _as_json(transport: str) -> str:
    then = {"transport": {"at": "upload", **json.loads(transport)}}
    return json.dumps(
        {
            "version": 1,
            "rules": [{"id": "r", "when": {"op": "charge.create"}, "limit": 1, "then": then}],
        }
    )


@pytest.mark.slow
def test_a_small_body_is_taken_and_the_connection_reset(server: Process) -> None:
    connection = connected(server, "sk_small", '{"reset": true}')
    connection.sendall(HEAD % (b"sk_small", len(BODY), b"") + BODY)
    with pytest.raises(ConnectionResetError):
        connection.recv(100)
    assert server.call("GET", "/charge", key="sk_small")[1]["count"] == 0


@pytest.mark.slow
def test_a_large_body_is_cut_while_it_is_sent(server: Process) -> None:
    connection = connected(server, "sk_large", '{"reset": true}')
    size = 50_000_000
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        connection.sendall(HEAD % (b"sk_large", size, b"") + b" " * size)
    assert size > 100 * READ_BEFORE_CUT


@pytest.mark.slow
def test_whether_to_send_a_body_is_not_answered(server: Process) -> None:
    connection = connected(server, "sk_expect", '{"hang": true}')
    connection.sendall(HEAD % (b"sk_expect", len(BODY), b"expect: 100-continue\r\n"))
    connection.settimeout(0.3)
    with pytest.raises(TimeoutError):
        connection.recv(100)
    connection.sendall(BODY)
    with pytest.raises(TimeoutError):
        connection.recv(100)
    connection.close()
    assert server.call("GET", "/charge", key="sk_expect")[1]["count"] == 0


@pytest.mark.slow
def test_what_hangs_is_not_read_to_its_end(server: Process) -> None:
    connection = connected(server, "sk_hang", '{"hang": true}')
    connection.settimeout(0.5)
    with pytest.raises(TimeoutError):
        connection.sendall(HEAD % (b"sk_hang", 50_000_000, b"") + b" " * 50_000_000)
    connection.close()


@pytest.mark.slow
def test_without_a_fault_the_body_is_asked_for(server: Process) -> None:
    connection = connected(server, "sk_slow", '{"slow": {"chunk": 200, "every": "1ms"}}')
    connection.sendall(HEAD % (b"sk_slow", len(BODY), b"expect: 100-continue\r\n"))
    assert connection.recv(100).startswith(b"HTTP/1.1 100 Continue")
    connection.sendall(BODY)
    assert connection.recv(100).startswith(b"HTTP/1.1 201 Created")
