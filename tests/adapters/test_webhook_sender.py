"""The real sender and the ticker against receivers on real sockets: good, dead, slow, endless and
forbidden ones."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from mockserver.adapters import webhook_sender
from mockserver.adapters.webhook_sender import CONNECTIONS, LONGEST_ANSWER, WebhookSender
from mockserver.domain.clock import SECOND, Clock, ClockMode, real_due
from mockserver.domain.delivery import Sent, Try, sign
from mockserver.settings import DEFAULT_WEBHOOK_KEY
from tests.driving import DUMMY, NOW, Api

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
CARD = {"cardNumber": "4111111111111111", "expiryDate": "12/40"}


class Receiver:
    """Answers with the next of ``statuses`` (the last one for ever) and keeps what it got."""

    def __init__(self, *statuses: int, answer: Answer | None = None, headers: str = "") -> None:
        self.statuses = list(statuses) or [200]
        self.answer = answer
        self.headers = headers
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lines = [line.partition(": ") for line in head.split("\r\n")[1:] if line]
                headers = {name.lower(): value for name, _, value in lines}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                self.got.append((headers, body))
                if self.answer is not None:
                    await self.answer(reader, writer)
                    return
                status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
                writer.write(
                    f"HTTP/1.1 {status} X\r\n{self.headers}content-length: 2\r\n\r\nok".encode()
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def listening(receiver: Receiver) -> AsyncIterator[Receiver]:
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    try:
        yield receiver
    finally:
        server.close()


def send(receiver: Receiver, within: int = 60 * SECOND) -> Sent:
    async def sending() -> Sent:
        sender = WebhookSender()
        async with listening(receiver):
            try:
                return await sender.send(receiver.url, {"X-One": "1"}, b"{}", within)
            finally:
                await sender.close()

    return asyncio.run(sending())


def test_a_body_arrives_as_it_is_with_its_headers() -> None:
    receiver = Receiver(204)
    sent = send(receiver)
    assert (sent.status, sent.error) == (204, None)
    ((headers, body),) = receiver.got
    assert (headers["x-one"], body) == ("1", b"{}")
    assert headers["host"] == receiver.url.split("/")[2]


def test_names_and_headers_beyond_ascii_arrive() -> None:
    receiver = Receiver()

    async def sending() -> Sent:
        async def resolved(host: str, owner: object) -> list[str]:
            return ["127.0.0.1"]

        async with listening(receiver):
            url = receiver.url.replace("127.0.0.1", "bücher.example")
            return await WebhookSender(resolved).send(
                url, {"Authorization": "Überall"}, b"{}", SECOND
            )

    assert asyncio.run(sending()).status == 200
    ((headers, _),) = receiver.got
    assert headers["host"].startswith("xn--bcher-kva.example:")
    assert headers["authorization"] == "Überall"


def test_redirects_are_not_followed() -> None:
    receiver = Receiver(302, headers="location: /elsewhere\r\n")
    assert send(receiver).status == 302
    assert len(receiver.got) == 1


def test_a_receiver_that_hangs_times_out() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    sent = send(Receiver(answer=silent), 100_000)
    assert (sent.status, sent.error) == (None, "timeout")
    assert sent.latency >= 100_000


def test_a_receiver_that_drips_times_out() -> None:
    async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        while not reader.at_eof():
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.01)

    assert send(Receiver(answer=dripping), 200_000).error == "timeout"


def test_of_an_endless_answer_only_so_much_is_read() -> None:
    written = 0

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
        while True:
            writer.write(chunk)
            written += 4096
            await writer.drain()

    assert send(Receiver(answer=endless)).status == 200
    # What is under way in the buffers of both ends comes on top.
    assert written < LONGEST_ANSWER + 50_000_000


def test_nobody_there_is_reported_in_words() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        sent = asyncio.run(WebhookSender().send(url, {}, b"{}", SECOND))
    assert sent.status is None
    assert "ConnectError" in (sent.error or "")
    assert not sent.final


@pytest.mark.parametrize(
    ("url", "addresses", "words"),
    [
        ("http://169.254.169.254/latest", ["169.254.169.254"], "link-local"),
        ("http://harmless.example/", ["169.254.169.254"], "link-local"),
        ("http://[fe80::1]/", ["fe80::1%eth0"], "link-local"),
        ("http://mapped.example/", ["::ffff:169.254.169.254"], "link-local"),
        ("http://any.example/", ["0.0.0.0"], "link-local"),
        ("http://nat64.example/", ["64:ff9b::a9fe:a9fe"], "link-local"),
        ("http://own.example:4111/__admin/reset?all=true", ["127.0.0.1"], "control API"),
        ("https://localhost:5001/x/..//%5f%5fadmin/reset", ["::1"], "control API"),
        ("ftp://127.0.0.1/", ["127.0.0.1"], "http or https"),
        ("not a url", [], "http or https"),
        ("//127.0.0.1/", ["127.0.0.1"], "http or https"),
        ("ftp://127.0.0.1:4111/", ["127.0.0.1"], "http or https"),
        ("http://127.0.0.1:99999/", ["127.0.0.1"], "http or https"),
        ("http://[", [], "http or https"),
        (f"http://{'a' * 3_000}/", [], "http or https"),
        ("http://ann:secret@127.0.0.1/", ["127.0.0.1"], "user name"),
    ],
)
def test_some_addresses_are_never_called(url: str, addresses: list[str], words: str) -> None:
    async def resolved(host: str, owner: object) -> list[str]:
        return addresses

    sent = asyncio.run(WebhookSender(resolved).send(url, {}, b"{}", SECOND))
    assert sent.status is None
    assert sent.final
    assert words in (sent.error or "")
    assert "secret" not in (sent.error or "")


def test_the_address_that_was_checked_is_the_one_that_is_called() -> None:
    receiver = Receiver()

    async def sending() -> Sent:
        async with listening(receiver):
            port = receiver.url.split(":")[2].partition("/")[0]

            async def resolved(host: str, owner: object) -> list[str]:
                assert host == "shop.example"
                return ["169.254.169.254", "127.0.0.1"]

            return await WebhookSender(resolved).send(
                f"http://shop.example:{port}/a?b=c", {}, b"{}", SECOND
            )

    assert asyncio.run(sending()).status == 200
    assert receiver.got[0][0]["host"].startswith("shop.example:")


@pytest.mark.slow
def test_a_name_that_cannot_be_looked_up_is_an_error_of_the_try() -> None:
    sent = asyncio.run(WebhookSender().send("http://\x00/", {}, b"{}", SECOND))
    assert sent.status is None
    assert sent.error


@pytest.mark.parametrize(
    ("mode", "rate", "at", "real"),
    [
        (ClockMode.REAL, 1, 150, 1050),
        (ClockMode.FAST, 10, 150, 1005),
        (ClockMode.FAST, 40, 150, 1002),
        (ClockMode.MANUAL, 1, 150, None),
        (ClockMode.MANUAL, 1, 100, 1000),
        (ClockMode.REAL, 1, 90, 1000),
    ],
)
def test_when_something_comes_due_by_the_machine(
    mode: ClockMode, rate: int, at: int, real: int | None
) -> None:
    assert real_due(Clock(mode, 100, 1000, rate), at) == real


def charge(url: str) -> dict[str, Any]:
    return {
        "amount": 5,
        "providerId": DUMMY,
        "paymentInformation": CARD,
        "webhook": {"url": url, "authorization": "k"},
    }


def lived(api: Api, story: Callable[[], Awaitable[None]]) -> None:
    """Run a story while the application is served."""

    async def living() -> None:
        async with api.app.lifespan():
            await story()

    asyncio.run(living())


async def waited(api: Api, wanted: dict[str, object], **more: object) -> dict[str, Any]:
    answer = await api.calling("POST", "/__admin/wait", {"for": wanted, "timeout": "20s", **more})
    return answer.body


def test_a_served_application_sends_signs_and_tries_again_on_its_clock() -> None:
    api, receiver = Api(), Receiver(500, 500, 200)

    async def story() -> None:
        async with listening(receiver):
            assert (await api.calling("POST", "/charge/card", charge(receiver.url))).status == 201
            # The advance lets tries arrive, so that the next of them keep their place.
            await api.calling("POST", "/__admin/clock/advance", {"by": "70s"})
            assert (await waited(api, {"webhook": {"state": "delivered"}}))["held"]
            (delivery,) = (await api.calling("GET", "/__admin/webhooks")).body["webhooks"]
            assert [(made["at"][14:19], made["status"]) for made in delivery["tries"]] == [
                ("00:00", 500),
                ("00:10", 500),
                ("01:10", 200),
            ]

    lived(api, story)
    assert len({body for _, body in receiver.got}) == 1
    headers, body = receiver.got[0]
    assert headers["x-payfurl-signature"] == sign(DEFAULT_WEBHOOK_KEY, body)
    assert headers["authorization"] == "k"
    assert json.loads(body)["meta"]["type"] == "transaction"


@pytest.mark.slow
def test_a_dead_slow_or_endless_receiver_slows_no_call(api: Api) -> None:

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    ended = 0.0

    async def story() -> None:
        nonlocal ended
        async with listening(Receiver(answer=silent)) as slow, listening(Receiver()) as quick:
            begun = time.monotonic()
            for url in [slow.url, "http://127.0.0.1:1/", "http://2852039166/", "nowhere"] * 5:
                assert (await api.calling("POST", "/charge/card", charge(url))).status == 201
            # A call that waited for a silent receiver would take ten seconds.
            assert time.monotonic() - begun < 10
            await api.calling("POST", "/charge/card", charge(quick.url))
            assert (await waited(api, {"webhook": {"url": quick.url, "state": "delivered"}}))[
                "held"
            ]
            listed = (await api.calling("GET", "/__admin/webhooks?state=given_up")).body
            assert listed["count"] == 10
            ended = time.monotonic()

    lived(api, story)
    # Those under way get a few seconds to end, and then the server stops all the same.
    assert time.monotonic() - ended < 8


@pytest.mark.slow
def test_hundreds_of_webhooks_to_a_silent_receiver_keep_no_other_waiting(api: Api) -> None:

    async def story() -> None:
        over = asyncio.Event()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await over.wait()

        async with listening(Receiver(answer=silent)) as slow, listening(Receiver()) as quick:
            for _ in range(3 * CONNECTIONS):
                assert (await api.calling("POST", "/charge/card", charge(slow.url))).status == 201
            begun = time.monotonic()
            for key in ("sk_tests", "sk_other"):
                assert (
                    await api.calling("POST", "/charge/card", charge(quick.url), key=key)
                ).status == 201
            while len(quick.got) < 2:
                await asyncio.sleep(0.01)
            # Behind the others it would come after the ten seconds that a silent receiver has.
            assert time.monotonic() - begun < 10
        # The stop need not wait for those under way.
        over.set()

    lived(api, story)


def test_webhooks_of_one_object_keep_their_order_though_the_receiver_is_slow(api: Api) -> None:
    seen: list[str] = []

    async def story() -> None:
        receiver = Receiver()

        async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            status = json.loads(receiver.got[-1][1])["data"]["status"]
            await asyncio.sleep(0.05 if status == "Authorised" else 0)
            seen.append(status)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

        receiver.answer = slow
        async with listening(receiver):
            body = {**charge(receiver.url), "capture": False}
            made = (await api.calling("POST", "/charge/card", body)).body
            await api.calling("POST", f"/charge/{made['chargeId']}", {})
            await api.calling("DELETE", f"/refund/{made['chargeId']}")
            assert (await waited(api, {"webhook": {"state": "delivered", "count": 3}}))["held"]

    lived(api, story)
    assert seen == ["Authorised", "SUCCESS", "REFUND"]


def test_a_try_under_way_is_the_last_when_its_subscription_is_deleted_meanwhile() -> None:
    api, asked, deleted = Api(), asyncio.Event(), asyncio.Event()

    async def failing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await deleted.wait()
        writer.write(b"HTTP/1.1 500 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    async def story() -> None:
        async with listening(Receiver(answer=failing)) as receiver:
            made = (await api.calling("POST", "/webhook/subscription", {"url": receiver.url})).body
            await api.calling("POST", "/charge/card", {**charge(receiver.url), "webhook": None})
            await asked.wait()
            await api.calling("DELETE", f"/webhook/subscription/{made['webhookSubscriptionId']}")
            deleted.set()
            assert (await waited(api, {"webhook": {"state": "given_up", "tries": 1}}))["held"]

    lived(api, story)


def test_before_the_answer_means_before_it() -> None:
    api, receiver = Api(), Receiver()
    rule = "version: 1\nname: s\nrules:\n  - {id: w, then: {webhook: {before_answer: true}}}"
    assert api.call("PUT", "/__admin/scenarios", raw=rule.encode()).status == 200

    async def story() -> None:
        async with listening(receiver):
            await api.calling("POST", "/charge/card", charge(receiver.url))
            assert len(receiver.got) == 1

    lived(api, story)


@pytest.mark.slow
def test_time_passes_in_a_served_application_without_a_request() -> None:
    begun = time.monotonic_ns()
    api = Api(clock="real", real_clock=lambda: NOW + (time.monotonic_ns() - begun) // 1_000)

    async def story() -> None:
        receiver = Receiver()
        async with listening(receiver):
            await api.calling("PUT", "/__admin/clock", {"mode": "fast", "rate": 1_000_000})
            body = {**charge(receiver.url), "capture": False}
            await api.calling("POST", "/charge/card", body)
            while len(receiver.got) < 2:
                await asyncio.sleep(0.01)
                assert time.monotonic_ns() - begun < 20_000_000_000
            assert json.loads(receiver.got[1][1])["data"]["status"] == "AUTHORISE_CANCELLED"

    lived(api, story)


def test_a_stop_reports_what_was_not_sent(api: Api, caplog: pytest.LogCaptureFixture) -> None:

    async def story() -> None:
        # A receiver that answers 500 leaves a try for later.
        async with listening(Receiver(500)) as receiver:
            await api.calling("POST", "/charge/card", charge(receiver.url))
            assert (await waited(api, {"webhook": {"tries": 1}}))["held"]

    lived(api, story)
    (line,) = [
        record.getMessage() for record in caplog.records if record.name == "mockserver.webhooks"
    ]
    assert "1 webhooks were not delivered before the stop, 0 of them never tried" in line
    assert "sk_tests" not in line


def test_a_sandbox_that_was_reset_sends_nothing_more() -> None:
    api, receiver = Api(), Receiver(500)

    async def story() -> None:
        async with listening(receiver):
            await api.calling("POST", "/charge/card", charge(receiver.url))
            assert (await waited(api, {"webhook": {"tries": 1}}))["held"]
            await api.calling("POST", "/__admin/reset", {})
            await api.calling("POST", "/__admin/clock/advance", {"by": "1h"})
            assert (await api.calling("GET", "/__admin/webhooks")).body["count"] == 0
        assert len(receiver.got) == 1

    lived(api, story)


def test_the_client_is_made_once_and_not_in_the_thread_of_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, plain = list[threading.Thread](), webhook_sender._client

    def client() -> httpx.AsyncClient:
        made.append(threading.current_thread())
        return plain()

    monkeypatch.setattr(webhook_sender, "_client", client)

    async def run() -> list[Sent]:
        async with listening(Receiver()) as receiver:
            sender = WebhookSender()
            sent = await asyncio.gather(
                *(sender.send(receiver.url, {}, b"{}", SECOND * 5) for _ in range(3))
            )
            await sender.close()
        return sent

    assert [sent.status for sent in asyncio.run(run())] == [200] * 3
    assert len(made) == 1
    assert made[0] is not threading.main_thread()


@pytest.mark.parametrize(("status", "is_accepted"), [(200, True), (500, False)])
def test_the_status_counts_where_the_rest_of_the_answer_is_cut(
    status: int, is_accepted: bool
) -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: 1000\r\n\r\nhalf".encode())
        await writer.drain()

    sent = send(Receiver(answer=cut))
    assert (sent.status, sent.error) == (status, None)
    assert Try(0, sent.status).is_accepted is is_accepted
