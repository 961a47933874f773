"""A server that is asked the same again and again takes no more memory once its journals are
full."""

import gc
import tracemalloc
from pathlib import Path
from weakref import ref

import pytest

from tests.driving import CARD, DUMMY, Api, Reply, card_charge
from tests.store.twins import Kept

pytestmark = pytest.mark.slow

URL = "http://127.0.0.1:4111"
ROUNDS = 10
BATCH = "PaymentMethodId,Amount,Currency,Reference\n{0},5,AUD,b-1\n{0},6,AUD,b-2"


def go_round(api: Api) -> None:
    """Of everything that ``benchmarks.soak`` does, once; in the end the sandbox and its fork are
    empty again."""

    def call(method: str, path: str, body: object = None, key: str = "sk_tests") -> Reply:
        raw = body if isinstance(body, bytes) else None
        reply = api.call(method, path, None if raw else body, raw=raw, key=key, waits=True)
        assert reply.status < 404, reply.raw
        return reply

    charge = call("POST", "/charge/card", card_charge(webhook={"url": f"{URL}/__inbox/shop"}))[
        "chargeId"
    ]
    held = call("POST", "/charge/card", card_charge(capture=False))["chargeId"]
    call(
        "POST",
        "/charge/card",
        card_charge(paymentInformation={**CARD, "cardNumber": "4000000000000002"}),
    )
    call("POST", f"/charge/{held}", {"amount": 5})
    call("DELETE", f"/charge/{charge}?amount=2")
    call("GET", "/charge?limit=5&SortBy=amount")
    card = {"providerId": DUMMY, "paymentInformation": CARD}
    method = call("POST", "/payment_method/card", card)["paymentMethodId"]
    rows = {"count": 2, "description": "b", "batch": BATCH.format(method)}
    call("POST", "/batch/transaction/payment_method", rows)
    call("POST", "/payment_link", {"title": "A lamp", "amount": 20, "currency": "AUD"})
    call("PUT", "/__admin/assumptions", {"vault.ccv_delay": "10m"})
    call("POST", "/__admin/wait", {"for": {"inbox": {"name": "shop", "count": 1}}, "advance": True})
    call("POST", "/__admin/clock/advance", {"by": "9d"})
    call("POST", "/__admin/fork", {"to": "sk_copy"})
    call("GET", f"/charge/{charge}", key="sk_copy")
    call("PUT", "/__admin/state", call("GET", "/__admin/state?secrets=true").raw)
    for view in ("journal", "findings", "webhooks", "timeline", "sandboxes"):
        call("GET", f"/__admin/{view}")
    call("POST", "/__admin/reset?all=true", {})


@pytest.mark.parametrize("is_kept", [False, True])
def test_memory_is_flat_once_the_journals_are_full(tmp_path: Path, is_kept: bool) -> None:
    # Full after a few rounds, not after hundreds. All caches are full, too, when the first figures
    # are taken.
    api = Kept(tmp_path / "s.db", journal_limit=10) if is_kept else Api(journal_limit=10)

    def go(rounds: int) -> tuple[int, int]:
        for _ in range(rounds):
            go_round(api)
        gc.collect()
        # A connection of sqlite3 forgets its cursors, which are gone, once in 200 statements.
        objects = [one for one in gc.get_objects() if not (isinstance(one, ref) and one() is None)]
        return tracemalloc.get_traced_memory()[0], len(objects)

    tracemalloc.start()
    try:
        go(22)
        # What other tests of the process have left may change meanwhile, once: a leak grows each
        # time.
        for _ in range(3):
            (size, count), (size_after, count_after) = go(0), go(ROUNDS)
            if count_after - count < ROUNDS and size_after - size < ROUNDS * 4_000:
                break
    finally:
        tracemalloc.stop()
    # A round makes and drops four sandboxes, and some sixty entries of journals: none of them may
    # leave anything.
    assert count_after - count < ROUNDS
    assert size_after - size < ROUNDS * 4_000
