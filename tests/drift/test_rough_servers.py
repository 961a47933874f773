"""Servers that are not what they should be: no crash, no stall, and no key or card in anything that
is written."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mockserver.cli import main
from mockserver.drift import peers
from tests import needs

KEY = "sk_rough_9f8e7d6c"
CARD = "4111111111111111"
PAGE = "# Here\n\n<!-- drift -->\n<!-- end -->\n"
Answer = Callable[[BaseHTTPRequestHandler, bytes], None]


def answered(handler: BaseHTTPRequestHandler, status: int, raw: bytes, **headers: str) -> None:
    handler.send_response(status)
    handler.send_header("content-length", str(len(raw)))
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(raw)


def garbles(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    answered(handler, 200, b'{"chargeId": "\xff\x00' + KEY.encode() + body)


def echoes(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """The key and the card wherever they can stand: names, values, lists, in other spellings."""
    said = {
        KEY: KEY,
        f"x-{KEY}-y": [KEY, f"the key is {KEY}!", "".join(f"\\u{ord(one):04x}" for one in KEY)],
        "limit": CARD,
        "count": int(CARD),
        CARD: "4111 1111 1111 1111",
        "charges": [
            {
                "status": f"paid with {CARD}",
                "ccv": "123",
                "message": body.decode("utf-8", "replace"),
            }
        ],
        "chargeId": CARD,
    }
    answered(handler, 400 if handler.path.endswith("void") else 201, json.dumps(said).encode())


def lies_about_types(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    value = {
        "GET": b'{"charges": 7, "limit": [{}], "count": null, "providerId": {"providerId": 1}}',
        "POST": b"[[[]]]",
    }
    answered(handler, 201, value.get(handler.command, b'"done"'))


def nests(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    answered(handler, 200, b"[" * 100_000 + b"]" * 100_000)


def sends_much(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    answered(handler, 200, b'{"a": "' + b"x" * 10_000_000 + b'"}')


def closes(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    handler.close_connection = True


def breaks_off(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{")
    handler.close_connection = True


def redirects(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    answered(handler, 302, b"", location="http://127.0.0.1:9/elsewhere")


def compresses(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    answered(handler, 200, b"\x1f\x8b\x08\x00not really", **{"content-encoding": "gzip"})


def is_no_http(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n" + KEY.encode() + b"\r\n")
    handler.close_connection = True


def refuses_the_key(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    answered(handler, 401, json.dumps({"message": f"unknown key {KEY}"}).encode())


def refuses_all(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    answered(handler, 500, b"")


def drips(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n")
    for _ in range(100):
        time.sleep(0.05)
        handler.wfile.write(b" ")
        handler.wfile.flush()


def stops_answering(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    if handler.path.startswith("/charge?Reference") or handler.path.startswith("/info"):
        answered(handler, 200, b'{"limit": 100, "skip": 0, "count": 0, "charges": []}')
    else:
        handler.close_connection = True


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], tuple[str, list[str]]]]:
    """Start a server that answers all in one way: its address, and the calls that it got."""
    running: list[ThreadingHTTPServer] = []

    def start(answer: Answer) -> tuple[str, list[str]]:
        calls: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    self.raw_requestline = self.rfile.readline(65_537)
                    if not self.raw_requestline or not self.parse_request():
                        self.close_connection = True
                        return
                    body = self.rfile.read(int(self.headers.get("content-length") or 0))
                    calls.append(f"{self.command} {self.path}")
                    answer(self, body)
                    self.wfile.flush()
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        running.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}", calls

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def drift(*words: str, key: str = KEY) -> Result:
    return CliRunner().invoke(
        main, ["drift", *words], env={"DRIFT_KEY": key}, catch_exceptions=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (garbles, 1, "text that is not JSON"),
        (echoes, 1, "breaks a client"),
        (lies_about_types, 1, "breaks a client"),
        pytest.param(nests, 1, "text that is not JSON", marks=needs.DEEP),
        (sends_much, 1, "an answer of over 1000000 bytes"),
        (closes, 5, "no whole answer"),
        (breaks_off, 5, "no whole answer"),
        pytest.param(redirects, 1, "302 there", marks=needs.DEEP),
        pytest.param(compresses, 1, "text that is not JSON", marks=needs.DEEP),
        (is_no_http, 5, "no whole answer"),
        (refuses_the_key, 2, "the key was refused with status 401"),
        (refuses_all, 1, "500 there"),
        (drips, 5, "no whole answer within"),
        (stops_answering, 5, "broken off: 3 calls in a row had no answer"),
    ],
)
def test_a_rough_server_is_reported_in_bounded_time(
    answer: Answer,
    code: int,
    said: str,
    serve: Callable[[Answer], tuple[str, list[str]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if answer is drips:
        monkeypatch.setattr(peers, "CALL_SECONDS", 0.3)
    url, calls = serve(answer)
    page = tmp_path / "page.md"
    page.write_text(PAGE, "utf-8")
    files = [
        "--record",
        str(tmp_path / "rec"),
        "--write",
        str(tmp_path / "drift.yaml"),
        "--page",
        str(page),
    ]
    done = drift("--against", url, "--key-env", "DRIFT_KEY", "--ops", "charge.get,vault.*", *files)
    assert (done.exit_code, said in done.output) == (code, True), done.output
    assert len(calls) < 200
    written = [
        done.output,
        *(path.read_text("utf-8") for path in tmp_path.rglob("*.*") if path.is_file()),
    ]
    assert [text for text in written if KEY in text or CARD in text] == []
    if (tmp_path / "rec").exists():
        again = drift("--replay", str(tmp_path / "rec"))
        assert (again.exit_code, again.output) == (done.exit_code, done.output)


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        ("https://api.payfurl.com", KEY, "does not look like one for tests"),
        ("https://sandbox-live.example.com", KEY, "does not look like one for tests"),
        ("https://production.test.example.com", KEY, "does not look like one for tests"),
        ("http://sandbox-api.payfurl.com", KEY, "wanted https"),
        (f"https://{KEY}:secret@sandbox.example.com", KEY, "without a user and a password"),
        ("https://sandbox.example.com/?key=1", KEY, "without query"),
        ("https://sandbox-api.payfurl.com", "sk_live_abcdef", "looks like a live one"),
        ("https://sandbox-api.payfurl.com", "sk_prod-abcdef", "looks like a live one"),
        ("https://sandbox-api.payfurl.com", "sk_a\nb_cdef", "printable ASCII"),
        ("https://sandbox-api.payfurl.com", "short", "at least 6"),
        ("https://sandbox-api.payfurl.com", "", "--key-env"),
    ],
)
def test_nothing_is_sent_to_what_looks_live_or_with_a_live_key(
    url: str, key: str, said: str
) -> None:
    done = drift("--against", url, "--key-env", "DRIFT_KEY", key=key)
    assert (done.exit_code, said in done.output) == (2, True), done.output
    assert not key or key not in done.output


@pytest.mark.parametrize(
    "url",
    ["https://sandbox-api.payfurl.com", "https://develop-api-au.payfurl.com", "http://127.0.0.1:1"],
)
def test_a_host_for_tests_is_taken(url: str) -> None:
    assert peers.remote(url, "sk_test_live_updates", lambda: 0).now() == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "wanted one of --against URL and --replay DIR"),
        (
            ("--against", "http://127.0.0.1:9", "--replay", "."),
            "wanted one of --against URL and --replay DIR",
        ),
        (("--against", "http://127.0.0.1:9"), "--key-env"),
        (("--against", "http://127.0.0.1:9", "--key-env", "NO_SUCH_NAME"), "--key-env"),
        (("--against", "127.0.0.1:9", "--key-env", "DRIFT_KEY"), "http://127.0.0.1:9"),
        (("--dry-run", "--ops", "charge.crate"), "charge.create"),
        (("--replay", "."), "wanted a folder with a recording"),
    ],
)
def test_a_wrong_question_is_refused(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = drift(*words)
    assert (done.exit_code, said in done.output) == (2, True), done.output


def test_nobody_at_the_address_is_not_reached() -> None:
    done = drift("--against", "http://127.0.0.1:9", "--key-env", "DRIFT_KEY")
    assert (done.exit_code, "no whole answer" in done.output) == (5, True), done.output


def test_a_dry_run_prints_the_walk_and_what_it_cannot_show() -> None:
    done = drift("--dry-run", "--ops", "vault.*")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert "item: POST /vault" in lines
    assert "item-read: GET /vault/{item.vaultId}" in lines
    assert "webhook.retry" in done.output
    # What a call needs is played with it.
    assert "method-vaulted: POST /payment_method/card" in lines
    assert "customer: POST /customer/card" not in lines
