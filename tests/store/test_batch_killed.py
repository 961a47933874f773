"""A kill in the middle of a large batch, with webhooks waiting: everything ends as on a server that
was not killed."""

import asyncio
import json
import re
import time
from contextlib import suppress
from pathlib import Path
from pprint import pformat

import pytest

from tests.depth import tries
from tests.driving import CARD, DUMMY, card_charge
from tests.store.killed import Line, Served, difference, looks
from tests.store.stories import INBOX, Call

pytestmark = pytest.mark.slow

ROWS = tries(10_000, 100_000)
WAITING = 20
KEY = "sk_batch"
END = {"to": "2031-03-04T00:00:00Z"}
VIEWS = (
    "/__admin/state?secrets=true",
    "/__admin/webhooks?limit=1000",
    "/__admin/journal?limit=1000",
    "/__admin/inbox/shop",
    "/__admin/clock",
    "/__admin/findings",
)
REFUSES = {"url": "http://127.0.0.1:9/refuses"}


class Server(Served):
    """A server that is asked one thing after the other."""

    async def ask(self, method: str, target: str, body: object = None) -> bytes:
        """The body of an answer that is no refusal."""
        line = Line(self.port)
        try:
            status, answer = await line.send(Call(method, target, body, KEY, "ask"))
        finally:
            line.close()
        assert status in (200, 201), answer
        return answer

    async def begin(self) -> str:
        """Webhooks that nobody takes, and a batch of which nothing has happened; its id."""
        for number in range(WAITING):
            await self.ask(
                "POST", "/charge/card", card_charge(reference=f"w-{number}", webhook=REFUSES)
            )
        method = {"providerId": DUMMY, "paymentInformation": CARD}
        made = json.loads(await self.ask("POST", "/payment_method/card", method))["paymentMethodId"]
        rows = "\n".join(f"{made},1,AUD,b-{row}" for row in range(ROWS))
        text = f"PaymentMethodId,Amount,Currency,Reference\n{rows}"
        batch = {"count": ROWS, "description": "rents", "batch": text, "webhook": {"url": INBOX}}
        handed = await self.ask("POST", "/batch/transaction/payment_method", batch)
        # What answers do not wait for: the first tries of the webhooks.
        while b'"sending"' in await self.ask("GET", "/__admin/webhooks?limit=100"):
            await asyncio.sleep(0.01)
        return str(json.loads(handed)["batchId"])

    async def done(self) -> int:
        """Rows that have ended, asked so that the journal does not show it."""
        told = json.loads(await self.ask("GET", "/__admin/objects?kind=charge&limit=1"))
        return int(told["counts"]["charge"]) - WAITING

    async def kill_in_the_middle(self) -> int:
        """Let time pass until the batch is under way, and kill the server; rows that had ended."""

        async def advance() -> None:
            with suppress(OSError, EOFError):
                await self.ask("POST", "/__admin/clock/advance", END)

        moving = asyncio.create_task(advance())
        while not (ended := await self.done()) and not moving.done():
            await asyncio.sleep(0)
        self.process.kill()
        await moving
        self.kill()
        return ended


def test_everything_ends_as_without_the_kill(tmp_path: Path) -> None:
    served = Server(tmp_path / "s.db")
    unbroken = Server(tmp_path / "unbroken.db")
    try:
        batch_id = asyncio.run(served.begin())
        before = asyncio.run(served.kill_in_the_middle())
        assert 0 < before < ROWS
        served = Server(tmp_path / "s.db")
        after = asyncio.run(served.done())
        assert before <= after < ROWS
        asyncio.run(unbroken.begin())
        for one in (served, unbroken):
            asyncio.run(one.ask("POST", "/__admin/clock/advance", END))
            assert asyncio.run(one.done()) == ROWS
        ends = [asyncio.run(looks(one.port, KEY, VIEWS)) for one in (served, unbroken)]
        results = [asyncio.run(one.ask("GET", f"/batch/{batch_id}")) for one in (served, unbroken)]
        assert results[0] == results[1]
        if told := difference(*map(_comparable, ends)):
            pytest.fail(pformat(told, width=200))
        served.kill()
        begun = time.perf_counter()
        served = Server(tmp_path / "s.db")
        ready = time.perf_counter()
        count = json.loads(asyncio.run(served.ask("GET", "/charge?limit=1")))["count"]
        print(
            f"{before} of {ROWS} at the kill, {after} kept; ready again after {ready - begun:.2f} "
            "s,",
            end=" ",
        )
        print(
            f"first answer {time.perf_counter() - ready:.2f} s later; "
            f"{(tmp_path / 's.db').stat().st_size} bytes"
        )
        assert count == ROWS + WAITING
    finally:
        served.kill()
        unbroken.kill()


def _comparable(seen: dict[str, bytes]) -> dict[str, bytes]:
    """What is seen but for how long receivers took on this machine, and how much was left for the
    last move of the clock."""
    return {view: re.sub(rb'"latency":"[^"]*"|"ran":\d+', b"", text) for view, text in seen.items()}
