"""The door: Host names, other sites, tokens, content types, CORS."""

import json
import tracemalloc
from socket import gethostname

import pytest

from tests.driving import Api, card_charge
from tests.server.connecting import converse

EVIL = {"origin": "https://evil.example"}
OWN = {"host": "127.0.0.1:4111", "origin": "http://127.0.0.1:4111"}


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost:4111",
        "[::1]:4111",
        "LOCALHOST",
        "shop.test",
        "pay.localhost:80",
        "testserver",
    ],
)
def test_names_of_this_machine_are_answered(api: Api, host: str) -> None:
    assert api.call("GET", "/charge", headers={"host": host}).status == 200


MALFORMED = (
    "localhost#.evil",
    "localhost/.evil",
    "localhost?.evil",
    "localhost\\.evil",
    "localhost:80x",
    "local host",
)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "evil.example:4111",
        "a@b",
        "[::1",
        "x" * 300,
        *MALFORMED,
    ],
)
def test_any_other_name_is_refused_on_every_route(api: Api, host: str) -> None:
    for path in ("/charge", "/__admin/sandboxes", "/healthz", "/no/such/path"):
        reply = api.call("GET", path, headers={"host": host})
        assert (reply.status, list(reply.body["details"])) == (403, ["Host"]), path


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::"])
def test_further_names_can_be_allowed(address: str) -> None:
    for settings in ({"allow_host": ("pay.corp",)}, {"public_url": "https://pay.corp/x"}):
        api = Api(host=address, **settings)
        assert api.call("GET", "/charge", headers={"host": "PAY.corp:80"}).status == 200
        assert api.call("GET", "/charge", headers={"host": "evil.pay.corp:80"}).status == 403


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.5"])
def test_an_open_address_answers_to_addresses_and_names_of_its_network(address: str) -> None:
    api = Api(host=address)
    for host in (
        *(
            "192.168.1.5:4111",
            "10.0.0.7",
            "[fd00::7]:4111",
            "localhost:32768",
            "mockserver:4111",
            "my_payments",
        ),
        *(
            "host.docker.internal:4111",
            "pay.default.svc.cluster.local",
            "tower.local",
            "shop.test",
            "a.localhost.",
        ),
        *("tower", gethostname()),
    ):
        assert api.call("GET", "/charge", headers={"host": host}).status == 200, host


@pytest.mark.parametrize(
    "host", ["rebind.evil.example", "evil.example:80", "127.0.0.1.evil.example", "a@tower", "[::"]
)
def test_an_open_address_answers_to_no_name_of_a_stranger(host: str) -> None:
    api = Api(host="0.0.0.0")
    for path in ("/charge", "/__admin/sandboxes", "/__admin/reset?all=true", "/healthz", "/pay/x"):
        reply = api.call("POST" if "reset" in path else "GET", path, headers={"host": host})
        assert (reply.status, list(reply.body["details"])) == (403, ["Host"]), path
        assert "--allow-host" in reply.body["details"]["Host"]


@pytest.mark.parametrize("headers", [EVIL, {"origin": "null"}, {"sec-fetch-site": "cross-site"}])
@pytest.mark.parametrize("path", ["/__admin/reset", "//__admin/reset", "/__admin/reset/"])
def test_another_site_changes_nothing(api: Api, headers: dict[str, str], path: str) -> None:
    api.try_charge()
    reply = api.call("POST", path, headers=headers)
    assert (reply.status, list(reply.body["details"])) == (403, ["Origin"])
    assert api.call("GET", "/charge").body["count"] == 1


@pytest.mark.parametrize(
    "headers",
    [EVIL, {"origin": "null"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}],
)
@pytest.mark.parametrize("method", ["POST", "GET", "PUT"])
def test_an_inbox_takes_nothing_from_a_page_of_another_site(
    api: Api, headers: dict[str, str], method: str
) -> None:
    api.try_charge()
    for path in ("/__inbox/x?publicKey=pk_tests", "//__inbox/x?publicKey=pk_tests"):
        reply = api.call(
            method, path, key=None, raw=b"x", headers={**headers, "content-type": "text/plain"}
        )
        assert (reply.status, list(reply.body["details"])) == (403, ["Origin"])
    assert api.call("GET", "/__admin/inbox").body == {"inboxes": []}


def test_an_inbox_takes_what_no_browser_sends_and_what_the_own_page_does(api: Api) -> None:
    api.try_charge()
    for headers in ({}, OWN, {"sec-fetch-site": "same-origin"}, {"content-type": "text/plain"}):
        assert (
            api.call(
                "POST", "/__inbox/x?publicKey=pk_tests", key=None, raw=b"x", headers=headers
            ).status
            == 200
        )


@pytest.mark.parametrize("headers", [{}, {"x-publickey": "pk_new"}])
def test_an_inbox_opens_no_sandbox_for_a_public_key(api: Api, headers: dict[str, str]) -> None:
    for number in range(3):
        target = "/__inbox/x" if headers else f"/__inbox/x?publicKey=pk_{number}"
        reply = api.call("POST", target, key=None, raw=b"x", headers=headers)
        assert (reply.status, reply.body["code"]) == (401, 40)
    assert api.call("GET", "/__admin/sandboxes").body == {"count": 0, "sandboxes": []}


def test_the_own_page_may_change_and_reading_is_free(api: Api) -> None:
    assert (
        api.call("POST", "/__admin/reset", headers={**OWN, "sec-fetch-site": "same-origin"}).status
        == 200
    )
    assert api.call("GET", "/__admin/clock", headers=EVIL).status == 200


@pytest.mark.parametrize("path", ["/__admin/clock", "/charge/card", "/provider"])
def test_no_answer_to_a_secret_key_may_be_read_elsewhere(api: Api, path: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        assert "access-control-allow-origin" not in api.call(method, path, headers=EVIL).headers


def test_a_webhook_that_reaches_the_control_api_by_a_detour_changes_nothing(api: Api) -> None:
    api.try_charge()
    headers = {"x-payfurl-signature": "abc", "x-payfurl-version": "1"}
    for target in ("/__admin/reset?all=true", "/__admin/reset", "//__admin/clock/advance"):
        reply = api.call("POST", target, {"by": "1h"}, headers=headers)
        assert (reply.status, list(reply.body["details"])) == (403, ["XPayfurlSignature"])
    assert api.call("GET", "/charge").body["count"] == 1
    assert api.call("POST", "/__inbox/x", {}, headers=headers).status == 200


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data", 415),
    ],
)
def test_control_calls_that_change_need_json_or_yaml(api: Api, given: str, status: int) -> None:
    headers = {"content-type": given, "content-length": "13"}
    assert (
        api.call("POST", "/__admin/clock/advance", {"by": "1h"}, headers=headers).status == status
    )


def test_a_body_without_a_type_is_refused_but_no_body_needs_none(api: Api) -> None:
    assert (
        api.call(
            "POST", "/__admin/reset", headers={"content-type": "", "content-length": "2"}, raw=b"{}"
        ).status
        == 415
    )
    assert (
        api.call(
            "POST", "/__admin/reset", headers={"content-type": "", "content-length": "0"}
        ).status
        == 200
    )


def test_a_token_guards_every_control_call() -> None:
    api = Api(admin_token="s3cret")
    for method, path in (
        ("GET", "/__admin/sandboxes"),
        ("POST", "/__admin/reset"),
        ("GET", "//__admin/clock"),
    ):
        refused = api.call(method, path)
        assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert "s3cret" not in refused.raw.decode()
        assert api.call(method, path, headers={"x-admin-token": "s3cre"}).status == 401
        assert api.call(method, path, headers={"x-admin-token": "s3cret"}).status == 200
        assert api.call(method, path, headers={"authorization": "Bearer s3cret"}).status == 200
    assert api.call("GET", "/charge").status == 200
    assert api.call("GET", "/healthz").status == 200


@pytest.mark.parametrize("start", ["*", "*x", "x"])
def test_a_token_guards_paths_that_begin_with_no_slash(start: str) -> None:
    """HTTP servers let ``*x/...`` pass; where routes are looked for, what is before the first slash
    was left out."""
    api = Api(admin_token="s3cret")
    api.get("/charge")
    for method, path in (
        ("GET", "/__admin/journal/1"),
        ("DELETE", "/__admin/scenarios/x"),
        ("GET", "/charge/x"),
    ):
        refused = api.call(method, start + path)
        assert (refused.status, list(refused.body.get("details", ()))) == (404, ["Path"]), path


def test_a_browser_reaches_the_public_key_operations_only() -> None:
    from mockserver.web.routes import ROUTES

    api = Api()
    for route in ROUTES:
        path = route.path.replace("{", "").replace("}", "")
        preflight = api.call(
            "OPTIONS",
            path,
            key=None,
            headers={**EVIL, "access-control-request-method": route.method},
        )
        if route.is_public:
            assert preflight.status == 204
            assert preflight.headers["access-control-allow-origin"] == "*"
            assert route.method in preflight.headers["access-control-allow-methods"]
            allowed = preflight.headers["access-control-allow-headers"].split(", ")
            assert {"x-publickey", "providerid", "content-type"} == set(allowed)
            answer = api.call(
                route.method, path, {}, key=None, headers={**EVIL, "x-publickey": "pk_web"}
            )
            assert answer.headers["access-control-allow-origin"] == "*"
        elif preflight.status == 204:
            assert route.method not in preflight.headers["access-control-allow-methods"]
        else:
            assert "access-control-allow-origin" not in preflight.headers


def test_answers_say_that_they_are_what_they_say(api: Api) -> None:
    assert api.try_charge().headers["x-content-type-options"] == "nosniff"
    control = api.call("GET", "/__admin/sandboxes")
    assert (control.headers["x-content-type-options"], control.headers["cache-control"]) == (
        "nosniff",
        "no-store",
    )


@pytest.mark.parametrize("number", ["4539578763621486", "6011000990139424"])
def test_an_unpublished_number_is_warned_about_once_or_refused(number: str) -> None:
    api = Api()
    for _ in range(2):
        assert api.try_charge(number=number).status == 201
    api.try_charge()
    warned = [entry["warnings"] for entry in api.call("GET", "/__admin/journal").body["entries"]]
    assert [len(texts) for texts in warned] == [1, 0, 0]
    assert number not in warned[0][0]
    strict = Api(test_cards_only=True)
    assert strict.try_charge(number=number).body["code"] == 5
    assert strict.try_charge().status == 201


@pytest.mark.parametrize("second", ["127.0.0.1", "evil.example", ""])
@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_a_second_host_header_is_refused_whatever_it_says(second: str, address: str) -> None:
    api = Api(host=address)
    for path in ("/charge", "/__admin/clock", "/healthz"):
        # In a header of the driver's own spelling, so that both reach the server.
        reply = api.call("GET", path, headers={"Host": second})
        assert (reply.status, reply.body["code"]) == (400, 90), path
        assert reply.body["details"] == {"Host": "got 2 Host headers, wanted one"}


def test_long_headers_of_many_requests_do_not_fill_the_memory(api: Api) -> None:

    def ask(number: int) -> None:
        assert (
            api.call("GET", "/__admin/clock", headers={"x-trace": f"{number:050000}"}).status == 200
        )

    ask(0)
    tracemalloc.start()
    for number in range(1, 101):
        ask(number)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000


def test_a_request_names_its_host_once_in_version_1_1() -> None:
    for sent, status in ((b"GET /charge HTTP/1.1\r\n", 400), (b"GET /charge HTTP/1.0\r\n", 200)):
        head = sent + b"x-secretkey: sk_tests\r\n\r\n"
        said, _ = converse(head, until=b"\r\n\r\n", app=Api().app)
        assert b" %d " % status in said.splitlines()[0]


@pytest.mark.parametrize(
    ("coding", "status"), [("gzip, chunked", 501), ("chunked", 201), ("Chunked", 201)]
)
def test_a_coding_of_a_body_that_nobody_reads_is_refused(coding: str, status: int) -> None:
    body = json.dumps(card_charge()).encode()
    head = (
        b"POST /charge/card HTTP/1.1\r\nhost: localhost\r\nx-secretkey: "
        b"sk_tests\r\ntransfer-encoding: %b\r\n\r\n"
    )
    sent = head % coding.encode() + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    said, _ = converse(sent, until=b"}", app=Api().app)
    assert b" %d " % status in said.splitlines()[0]
