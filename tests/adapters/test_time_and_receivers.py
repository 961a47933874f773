"""A clock that is moved and real receivers do not race: what is under way at an instant ends before
time goes on (control document, ``/__admin/clock/advance`` and ``/__admin/wait``)."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.adapters import webhook_dispatcher, webhook_sender
from mockserver.domain.clock import MILLISECOND, SECOND
from mockserver.web import runner
from tests.adapters.test_webhook_sender import CARD, Receiver, charge, listening, lived
from tests.driving import DUMMY, NOW, Api

pytestmark = pytest.mark.slow

NOBODY = "http://127.0.0.1:1/"
DAY_0 = "2031-03-01T00:00:00.0000000Z"


async def call(api: Api, method: str, path: str, body: object = None) -> dict[str, Any]:
    reply = await api.calling(method, path, body)
    assert reply.status in (200, 201), reply.raw
    return reply.body


async def advance(api: Api, by: str, **more: object) -> dict[str, Any]:
    return await call(api, "POST", "/__admin/clock/advance", {"by": by, **more})


async def wait(api: Api, wanted: dict[str, object], **more: object) -> dict[str, Any]:
    return await call(api, "POST", "/__admin/wait", {"for": wanted, "advance": True, **more})


async def subscribe(api: Api, url: str, interval: str, count: int = 1) -> None:
    body = {"providerId": DUMMY, "paymentInformation": CARD}
    method = (await call(api, "POST", "/payment_method/card", body))["paymentMethodId"]
    plan = {
        "paymentMethodId": method,
        "amount": 9.99,
        "interval": interval,
        "frequency": 1,
        "webhook": {"url": url},
    }
    for _ in range(count):
        await call(api, "POST", "/subscription/payment_method", plan)


async def tries(api: Api) -> list[tuple[str, int | None, str | None]]:
    (delivery,) = (await call(api, "GET", "/__admin/webhooks"))["webhooks"]
    return [(made["at"][8:19], made["status"], made["error"]) for made in delivery["tries"]]


def ticking() -> Callable[[], int]:
    begun = time.monotonic_ns()
    return lambda: NOW + (time.monotonic_ns() - begun) // 1_000


def slow(seconds: float) -> Receiver:
    """A receiver that takes its time, and then answers 200."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    return Receiver(answer=answer)


def silent(over: asyncio.Event | None = None) -> Receiver:
    """It answers nothing; ``over`` makes it leave."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await (over.wait() if over is not None else reader.read())

    return Receiver(answer=answer)


def test_a_wait_lets_a_try_end_before_it_moves_the_clock(api: Api) -> None:

    async def story() -> None:
        async with listening(slow(0.003)) as receiver:
            made = await call(
                api, "POST", "/charge/card", {**charge(receiver.url), "capture": False}
            )
            answer = await wait(api, {"webhook": {"state": "delivered"}})
            assert (answer["held"], answer["waited"], answer["now"]) == (True, "0s", DAY_0)
            assert (await call(api, "GET", f"/charge/{made['chargeId']}"))["status"] == "Authorised"

    lived(api, story)


def test_a_wait_moves_the_clock_from_try_to_try(api: Api) -> None:

    async def story() -> None:
        async with listening(Receiver(500, 500, 200)) as receiver:
            await call(api, "POST", "/charge/card", {**charge(receiver.url), "capture": False})
            answer = await wait(api, {"webhook": {"state": "delivered"}})
            assert (answer["held"], answer["waited"]) == (True, "1m10s")
            assert (answer["ran"], answer["waiting"]) == (2, 0)
            assert [made[:2] for made in await tries(api)] == [
                ("01T00:00:00", 500),
                ("01T00:00:10", 500),
                ("01T00:01:10", 200),
            ]

    lived(api, story)


def test_copies_that_are_made_while_a_webhook_is_sent_have_the_time_at_which_the_clock_stands() -> (
    None
):
    real = NOW
    api = Api(clock="real", real_clock=lambda: real)

    async def now(key: str) -> object:
        return (await api.calling("GET", "/__admin/clock", key=key))["now"]

    async def story() -> None:
        nonlocal real
        over = asyncio.Event()
        async with listening(silent(over)) as receiver:
            await call(api, "PUT", "/__admin/clock", {"mode": "fast", "rate": 1_000})
            real += 60 * SECOND
            await call(api, "POST", "/charge/card", charge(receiver.url))
            assert (await call(api, "GET", "/__admin/clock"))["waiting"] == 1
            real += 5 * SECOND
            document = (await api.calling("GET", "/__admin/state")).raw
            assert (
                await api.calling("PUT", "/__admin/state", raw=document, key="sk_import")
            ).status == 200
            await call(api, "POST", "/__admin/fork", {"to": "sk_fork"})
            assert [await now(key) for key in ("sk_fork", "sk_import")] == [
                await now("sk_tests")
            ] * 2
            over.set()

    lived(api, story)


def test_webhooks_that_were_to_be_sent_when_a_sandbox_was_emptied_are_sent_once_that_is_undone() -> (
    None
):
    api, receiver = Api(), slow(0.01)

    async def story() -> None:
        async with listening(receiver):
            for _ in range(20):
                await call(api, "POST", "/charge/card", charge(receiver.url))
            emptied, runner = api.app.world.sandboxes.open("sk_tests", NOW), api.app.world.runner
            assert len(runner.sending(emptied)) == 20
            await call(api, "POST", "/__admin/reset?undo=true")
            while runner.sending(emptied):
                await asyncio.sleep(0.01)
            assert len(receiver.got) < 20
            await call(api, "POST", "/__admin/undo")
            assert (await advance(api, "1h"))["waiting"] == 0
            assert len(receiver.got) == len({body for _, body in receiver.got}) == 20

    lived(api, story)


def test_one_long_jump_tells_a_receiver_everything_in_the_order_of_time() -> None:
    api, receiver = Api(), slow(0.001)

    async def story() -> None:
        async with listening(receiver):
            await subscribe(api, receiver.url, "Month")
            moved = await advance(api, "365d")
            assert (moved["ran"], moved["pending"], moved["waiting"]) == (22, 1, 0)
            at = [json.loads(body)["meta"]["timestamp"] for _, body in receiver.got]
            assert len(at) == 13
            assert at == sorted(at)

    lived(api, story)


def test_of_one_instant_a_receiver_is_reported_in_the_same_order_in_every_run() -> None:
    def told() -> list[str]:
        api, receiver = Api(), slow(0.001)

        async def story() -> None:
            async with listening(receiver):
                await subscribe(api, receiver.url, "Day", count=20)
                await advance(api, "1d")

        lived(api, story)
        return [json.loads(body)["meta"]["messageId"] for _, body in receiver.got]

    first = told()
    assert len(first) == 60
    assert first == told()


def test_the_figures_of_a_move_are_the_same_in_every_run() -> None:
    def figures() -> list[object]:
        api, found = Api(), []

        async def story() -> None:
            await subscribe(api, NOBODY, "Day", count=5)
            found.append(await advance(api, "5d"))
            found.append((await call(api, "GET", "/charge"))["count"])
            found.append((await call(api, "GET", "/__admin/webhooks?state=given_up"))["count"])

        lived(api, story)
        return found

    first = figures()
    # Of each day five renewals, and six tries of each of their webhooks; 25 tries of the last day
    # are still to come.
    assert first[1:] == [30, 30 + 5 - 5]
    assert first == figures()


def test_a_receiver_that_says_nothing_is_left_at_the_time_out_and_time_goes_on(api: Api) -> None:

    async def story() -> None:
        async with listening(silent()) as receiver:
            await call(
                api,
                "PUT",
                "/__admin/assumptions",
                {"webhook.timeout": "20ms", "webhook.retry": "1h 1d"},
            )
            await call(api, "POST", "/charge/card", charge(receiver.url))
            moved = await advance(api, "2d")
            assert (moved["now"][8:19], moved["waiting"], moved["pending"]) == ("03T00:00:00", 0, 0)
            assert await tries(api) == [
                ("01T00:00:00", None, "timeout"),
                ("01T01:00:00", None, "timeout"),
                ("02T01:00:00", None, "timeout"),
            ]

    lived(api, story)


class Crowded(Receiver):
    """Says nothing, or answers once ``speaks`` is set; ``most`` counts those who waited at once."""

    def __init__(self, speaks: asyncio.Event) -> None:
        super().__init__(answer=self.wait)
        self.speaks = speaks
        self.here = self.most = 0

    async def wait(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.here += 1
        self.most = max(self.most, self.here)
        leaving = asyncio.create_task(reader.read())
        speaking = asyncio.create_task(self.speaks.wait())
        await asyncio.wait({leaving, speaking}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        speaking.cancel()
        self.here -= 1
        if self.speaks.is_set():
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")


def test_a_silent_receiver_is_sent_many_webhooks_at_once_and_in_order_once_it_answers(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_dispatcher, "PATIENCE", 0.005)

    async def story() -> None:
        speaks = asyncio.Event()
        async with listening(Crowded(speaks)) as receiver:
            await call(
                api,
                "PUT",
                "/__admin/assumptions",
                {"webhook.timeout": "2s", "webhook.retry": "1h 1d"},
            )
            for _ in range(120):
                await call(api, "POST", "/charge/card", charge(receiver.url))
            moved = await advance(api, "10m")
            assert (moved["waiting"], moved["pending"], len(receiver.got)) == (0, 120, 120)
            assert 60 <= receiver.most <= webhook_sender.CONNECTIONS
            # In the order in which their tries have ended, which sockets decide.
            due = (await call(api, "GET", "/__admin/clock/due?limit=100"))["due"]
            speaks.set()
            monkeypatch.setattr(webhook_dispatcher, "PATIENCE", 10)
            receiver.got.clear()
            receiver.most = 0
            assert (await advance(api, "1h"))["waiting"] == 0
            sent = [json.loads(body)["meta"]["messageId"] for _, body in receiver.got]
            assert sent[:100] == [work["id"] for work in due]
            assert receiver.most == 1

    lived(api, story)


def test_a_receiver_that_is_slow_is_sent_ten_at_once_at_most(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_dispatcher, "PATIENCE", 0.001)

    async def story() -> None:
        alone, served = asyncio.Lock(), 0

        async def one_after_the_other(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            nonlocal served
            receiver.here += 1
            receiver.most = max(receiver.most, receiver.here)
            async with alone:
                await asyncio.sleep(0.01)
                served += 1
            # One in three comes too late.
            if served % 3 == 0:
                await reader.read()
            receiver.here -= 1
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

        receiver = Crowded(asyncio.Event())
        receiver.answer = one_after_the_other
        async with listening(receiver):
            await call(api, "PUT", "/__admin/assumptions", {"webhook.timeout": "400ms"})
            for _ in range(60):
                await call(api, "POST", "/charge/card", charge(receiver.url))
            assert (await advance(api, "1s"))["waiting"] == 0
            assert receiver.most <= 10

    lived(api, story)


def test_a_move_that_would_take_too_long_says_who_is_waited_for_and_goes_on_when_asked() -> None:
    api = Api(real_clock=ticking())

    async def story() -> None:
        async with listening(Receiver(answer=answering)) as receiver:
            await call(api, "POST", "/charge/card", {**charge(receiver.url), "capture": False})
            moved = await advance(api, "8d", timeout="50ms")
            assert (moved["now"], moved["waiting"], moved["ran"]) == (DAY_0, 1, 0)
            assert "on the way to 2031-03-09T00:00:00.0000000Z" in moved["hint"]
            assert (await call(api, "GET", "/__admin/clock"))["waiting"] == 1
            hint = (await advance(api, "0s", timeout="1ms"))["hint"]
            assert hint.startswith(f"timed out at {DAY_0}, while 1 webhook was being sent")
            frozen = await call(api, "PUT", "/__admin/clock", {"mode": "manual"})
            assert (frozen["waiting"], "hint" in frozen) == (1, False)
            answer = await wait(api, {"webhook": {"state": "delivered"}}, timeout="50ms")
            assert (answer["held"], answer["waiting"]) == (False, 1)
            assert "50ms of real time" in answer["hint"]
            let_go.set()
            moved = await advance(api, "8d")
            assert (moved["now"][8:19], moved["waiting"], "hint" in moved) == (
                "09T00:00:00",
                0,
                False,
            )

    let_go = asyncio.Event()

    async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await let_go.wait()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    lived(api, story)


def test_what_a_receiver_asks_is_answered_at_the_instant_of_its_webhook() -> None:
    api, seen = Api(), []

    async def story() -> None:
        async def asking(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            told = json.loads(receiver.got[-1][1])
            found = await call(api, "GET", f"/charge/{told['data']['chargeId']}")
            clock = await call(api, "GET", "/__admin/clock")
            seen.append((told["data"]["status"], found["status"], clock["now"][8:19]))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

        receiver = Receiver(answer=asking)
        async with listening(receiver):
            account = {"bankCode": "001-002", "accountNumber": "123456", "accountName": "Ann"}
            body = {"amount": 5, "providerId": DUMMY, "bankPaymentInformation": account}
            await call(
                api, "POST", "/charge/bank_account", {**body, "webhook": {"url": receiver.url}}
            )
            await call(api, "POST", "/charge/card", {**charge(receiver.url), "capture": False})
            await advance(api, "365d")

    lived(api, story)
    assert sorted(seen) == [
        ("AUTHORISE_CANCELLED", "AUTHORISE_CANCELLED", "08T00:00:00"),
        ("Authorised", "Authorised", "01T00:00:00"),
        ("PENDING", "PENDING", "01T00:00:00"),
        ("SUCCESS", "SUCCESS", "02T00:00:00"),
    ]


def test_a_fast_clock_stands_still_while_a_webhook_is_being_sent() -> None:
    api, receiver = Api(clock="real", real_clock=ticking()), slow(0.02)

    async def story() -> None:
        async with listening(receiver):
            await call(api, "PUT", "/__admin/clock", {"mode": "fast", "rate": 1_000_000})
            made = await call(
                api, "POST", "/charge/card", {**charge(receiver.url), "capture": False}
            )
            # Each of the two takes 20 ms, which would be five hours and a half of this clock.
            while len(receiver.got) < 2:
                await asyncio.sleep(0.001)
            expired = json.loads(receiver.got[1][1])["meta"]["timestamp"]
            assert expired[:19] == f"2031-03-08T{made['dateAdded'][11:19]}"
            now = (await call(api, "GET", "/__admin/clock"))["now"]
            assert now == expired

    lived(api, story)


def test_moves_at_the_same_time_follow_one_another(api: Api) -> None:

    async def story() -> None:
        async with listening(slow(0.01)) as receiver:
            await subscribe(api, receiver.url, "Day")
            moved = await asyncio.gather(*(advance(api, "1d") for _ in range(3)))
            assert [answer["now"][8:10] for answer in moved] == ["02", "03", "04"]

    lived(api, story)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/__admin/clock/advance", {"by": "365d"}),
        ("/__admin/wait", {"for": {"charge": {"status": "FAILED"}}, "advance": True}),
    ],
)
def test_who_hangs_up_moves_the_clock_no_further(api: Api, path: str, body: object) -> None:

    async def story() -> None:
        over = asyncio.Event()
        async with listening(silent(over)) as receiver:
            await call(api, "POST", "/charge/card", {**charge(receiver.url), "capture": False})
            gone = asyncio.Event()
            moving = asyncio.create_task(api.calling("POST", path, body, gone=gone))
            while not receiver.got:
                await asyncio.sleep(0.001)
            gone.set()
            assert (await asyncio.wait_for(moving, 60)).status == 0
            assert (await call(api, "GET", "/__admin/clock"))["now"] == DAY_0
            # The stop need not wait for the try under way.
            over.set()

    lived(api, story)


@pytest.mark.parametrize("by", ["0s", "1us"])
def test_a_real_clock_can_be_moved_by_next_to_nothing(by: str) -> None:
    api = Api(clock="real", real_clock=ticking())
    before = api.call("GET", "/__admin/clock").body["now"]
    moved = api.call("POST", "/__admin/clock/advance", {"by": by})
    assert moved.status == 200, moved.raw
    assert moved.body["now"] >= before
    later = api.call("GET", "/__admin/clock").body["now"]
    assert moved.body["now"] <= later


def test_a_moved_clock_runs_on_from_where_it_was_moved_to() -> None:
    now = [NOW]
    api = Api(clock="real", real_clock=lambda: now[0])
    api.call("POST", "/__admin/clock/advance", {"by": "1d"})
    now[0] += 250 * MILLISECOND
    assert api.call("GET", "/__admin/clock").body["now"] == "2031-03-02T00:00:00.2500000Z"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/__admin/clock/advance", {"by": "1m"}),
        ("/__admin/wait", {"for": {"charge": {"count": 24, "status": "FAILED"}}, "advance": True}),
    ],
)
def test_batches_that_run_at_the_same_time_take_their_rows_in_the_same_order_in_every_run(
    path: str, body: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    declined = {"id": "declined", "when": {"op": "batch.row"}, "then": {"decline": "do_not_honour"}}
    scenario = json.dumps({"version": 1, "rules": [declined]})
    monkeypatch.setattr(runner, "SHORTEST_WAIT", 0)

    def told(*, is_served: bool) -> list[bytes]:
        api, seen = Api(scenario=scenario), list[bytes]()

        async def story() -> None:
            method = await call(
                api,
                "POST",
                "/payment_method/card",
                {"providerId": DUMMY, "paymentInformation": CARD},
            )
            rows = [f"{method['paymentMethodId']},1,AUD,{number}" for number in range(4)]
            batch = "\n".join(["PaymentMethodId,Amount,Currency,Reference", *rows])
            for _ in range(6):
                new = {"count": 4, "description": "side by side", "batch": batch}
                await call(api, "POST", "/batch/transaction/payment_method", new)
            seen.append((await api.calling("POST", path, body)).raw)
            seen.append((await api.calling("GET", "/__admin/journal")).raw)

        if is_served:
            lived(api, story)
        else:
            asyncio.run(story())
        return seen

    assert told(is_served=True) == told(is_served=False)
