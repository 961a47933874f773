"""Connections that are reset as they are made, and certificates that a client must refuse (scenario
language, ``at: connect`` and ``tls``): the words, and what a socket sees."""

import json
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from mockserver.adapters.tls import authority_pem
from mockserver.web.transport_faults import Cut
from tests import warm
from tests.driving import Api
from tests.scenario.telling import fault, faults, one, told
from tests.served import serve
from tests.waiting import PATIENCE

RESET = "then: {transport: {at: connect, reset: true}}"

REFUSED = [
    ("{op: charge.create}", RESET, "limit: 1", "got op, and no request and no sandbox"),
    ("{clock: {from: '18:05'}}", RESET, "limit: 1", "got clock, and no request and no sandbox"),
    ("{header.x-a: b}", RESET, "limit: 1", "got header.x-a, and no request and no sandbox"),
    ("{}", RESET, "", "at: connect needs a limit, a number"),
    ("{}", RESET, "limit: {times: 2, per: key}", "at: connect needs a limit, a number"),
    ("{}", RESET, "limit: 1\n    for: 5m", "for has no meaning at: connect"),
    ("{}", RESET, "limit: 1\n    key: [header.x]", "key has no meaning at: connect"),
    ("{}", RESET, "limit: 1\n    expect: {min: 1}", "expect has no meaning at: connect"),
    (
        "{}",
        "then: {transport: {at: connect, hang: true}}",
        "limit: 1",
        "hang cannot be used at: connect",
    ),
    (
        "{}",
        "then: {transport: {at: connect, delay: 1s, reset: {}}}",
        "limit: 1",
        "delay cannot be used at: connect",
    ),
    (
        "{}",
        "then: {transport: {at: connect, reset: {}}, webhook: {drop: true}}",
        "limit: 1",
        "it cannot be combined",
    ),
]


@pytest.mark.parametrize(
    ("when", "what", "more", "words"), REFUSED, ids=[row[3] for row in REFUSED]
)
def test_what_cannot_be_known_is_refused(when: str, what: str, more: str, words: str) -> None:
    assert words in fault(one(when, what, more))


def test_connections_are_counted_over_all_sandboxes() -> None:
    rule = (
        "{id: r, when: {nth: {between: [2, 3]}}, limit: 5, then: {transport: {at: connect, "
        "reset: true}}}"
    )
    api = Api(scenario=f"version: 1\nname: s\nrules: [{rule}]")
    seen = []
    for key in ("sk_a", "sk_b", "sk_a", "sk_b"):
        try:
            seen.append(api.call("GET", "/charge", key=key).status)
        except Cut:
            seen.append(0)
    assert seen == [200, 0, 0, 200]
    (told_,) = [
        one_ for one_ in api.call("GET", "/__admin/rules", key="sk_a")["rules"] if one_["id"] == "r"
    ]
    assert (told_["stage"], told_["calls"], told_["hits"], told_["left"]) == ("connect", 4, 2, 3)


@pytest.mark.parametrize(
    ("scenario", "field"),
    [
        (
            {
                "rules": [
                    {"id": "r", "limit": 1, "then": {"transport": {"at": "connect", "reset": True}}}
                ]
            },
            "Rules",
        ),
        ({"tls": {"certificate": "expired"}}, "Tls"),
    ],
)
def test_one_sandbox_cannot_be_given_what_is_the_servers(
    scenario: dict[str, object], field: str
) -> None:
    api = Api()
    reply = api.put("/__admin/scenarios", {"version": 1, **scenario})
    assert (reply.status, reply["code"]) == (400, 90)
    assert "give this file to the server with --scenario" in reply["details"][field]
    started = Api(scenario=json.dumps({"version": 1, "name": "s", **scenario}))
    more = {"version": 1, "name": "more", "rules": [{"id": "m", "then": {"decline": "lost_card"}}]}
    assert started.post("/__admin/scenarios", more).status == 201
    assert api.get("/charge").status == 200


@pytest.mark.parametrize(
    ("tls", "words"),
    [
        (
            "{certificate: expird}",
            "allowed: expired, wrong_name, untrusted_chain - did you mean 'expired'?",
        ),
        ("{}", "got nothing, wanted at least one of certificate, refuse, hang, min_version"),
        (
            "{refuse: handshakes}",
            "got 'handshakes', allowed: handshake - did you mean 'handshake'?",
        ),
        (
            "{refuse: handshake, hang: handshake}",
            "got refuse and hang, only one of them is allowed",
        ),
        ("{min_version: 1.4}", "got '1.4', allowed: 1.2, 1.3"),
        ("{certificates: expired}", "unknown key 'certificates' - did you mean 'certificate'?"),
    ],
)
def test_words_of_tls(tls: str, words: str) -> None:
    assert any(words in problem for problem in faults(f"version: 1\ntls: {tls}\n"))


def test_the_rule_is_reported_by_its_words() -> None:
    (rule,) = told(one("{}", RESET, "limit: 1")).rules
    assert rule.plan.outcomes[0].words == "transport at connect: reset"


def start(folder: Path, *options: str) -> tuple[int, str]:
    """The exit code and the complaint of a server that does not start."""
    (folder / "tls.yaml").write_text("version: 1\ntls: {certificate: expired}\n")
    command = [
        *warm.python(),
        "-m",
        "mockserver",
        "serve",
        "--port",
        "0",
        "--scenario",
        "tls.yaml",
        *options,
    ]
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=30, check=False
    )
    return ended.returncode, ended.stderr


@pytest.mark.slow
def test_a_certificate_without_a_tls_port_is_refused(tmp_path: Path) -> None:
    code, complaint = start(tmp_path)
    assert code == 2
    assert "tls: certificate: expired cannot be had: --tls-port is not given" in complaint


def reset_at_once(port: int, context: ssl.SSLContext | None = None) -> bool:
    """Whether a connection is reset before it says anything."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
            connection = (
                raw if context is None else context.wrap_socket(raw, server_hostname="localhost")
            )
            connection.sendall(
                b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
            )
            return not connection.recv(100)
    except ConnectionError:
        return True


@pytest.mark.slow
def test_both_ports_reset_and_count_together(tmp_path: Path) -> None:
    rule = {"id": "r", "limit": 2, "then": {"transport": {"at": "connect", "reset": True}}}
    file, log = tmp_path / "connect.json", tmp_path / "log"
    file.write_text(json.dumps({"version": 1, "rules": [rule]}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        tls_port = free.getsockname()[1]
    options = ("--scenario", str(file), "--tls-port", str(tls_port), "--data-dir", str(tmp_path))
    process = serve(*options, errors=log)
    try:
        context = ssl.create_default_context(cadata=authority_pem(tmp_path).decode())
        seen = [reset_at_once(process.port), reset_at_once(tls_port, context)]
        assert [*seen, reset_at_once(process.port), reset_at_once(tls_port, context)] == [
            True,
            True,
            False,
            False,
        ]
    finally:
        process.stop()


def seen_by(port: int, context: ssl.SSLContext, patience: float) -> str:
    """What comes of a handshake within some seconds: its version, or the alert that ends it."""
    raw = socket.create_connection(("127.0.0.1", port), timeout=patience)
    try:
        with raw, context.wrap_socket(raw, server_hostname="localhost") as made:
            return made.version() or ""
    except TimeoutError:
        return "nothing came"
    except ssl.SSLError as alert:
        return alert.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tls", "seen"),
    [
        ("{refuse: handshake}", ["SSLV3_ALERT_HANDSHAKE_FAILURE"] * 2),
        ("{hang: handshake}", ["nothing came", "nothing came"]),
        ('{min_version: "1.3"}', ["TLSV1_ALERT_PROTOCOL_VERSION", "TLSv1.3"]),
        ("{min_version: 1.2}", ["TLSv1.2", "TLSv1.3"]),
    ],
)
def test_a_client_sees_what_is_wrong_with_the_handshake(
    tls: str, seen: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "tls.yaml"
    file.write_text(f"version: 1\ntls: {tls}\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        tls_port = free.getsockname()[1]
    process = serve(
        "--scenario", str(file), "--tls-port", str(tls_port), "--data-dir", str(tmp_path)
    )
    try:
        clients = []
        for newest in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = ssl.create_default_context(cadata=authority_pem(tmp_path).decode())
            context.maximum_version = newest
            clients.append(seen_by(tls_port, context, 0.5 if "hang" in tls else PATIENCE))
        assert clients == seen
        assert reset_at_once(process.port) is False
    finally:
        process.stop()
