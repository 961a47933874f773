"""Places are shared: by owners in turn, by the things that each wants, in the order of asking."""

import asyncio
from collections import Counter
from collections.abc import Hashable
from random import Random

import pytest

from mockserver.adapters.fair_share import FairShare
from tests.depth import tries


class Holders:
    """Holds places until told to give them back; ``begun`` names the holders in the order in which
    they got theirs."""

    def __init__(self, share: FairShare) -> None:
        self.share = share
        self.begun: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def want(
        self, name: str, owner: str, thing: str, ordering_key: Hashable = None, apart: float = 0.0
    ) -> None:
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._hold(name, owner, thing, ordering_key, apart))
        await settled()

    async def end(self, *names: str) -> None:
        for name in names:
            self.ends[name].set()
        await settled()

    async def _hold(
        self, name: str, owner: str, thing: str, ordering_key: Hashable, apart: float
    ) -> None:
        async with self.share.place(owner, thing, ordering_key, apart):
            self.begun.append(name)
            await self.ends[name].wait()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_owner_never_holds_all_places() -> None:
    holders = Holders(FairShare(20, each=20))
    for number in range(20):
        await holders.want(f"a{number}", "a", "x")
    # Four of twenty: a quarter of the sixteen that stay free.
    assert len(holders.begun) == 4
    await holders.want("b0", "b", "x")
    assert holders.begun[-1] == "b0"
    await holders.end("a0")
    assert holders.begun[-1] == "a4"


async def test_as_many_owners_as_places_have_one_each() -> None:
    holders = Holders(FairShare(5, each=5))
    for number in range(6):
        await holders.want(str(number), str(number), "x")
    assert holders.begun == ["0", "1", "2", "3", "4"]
    await holders.end("3")
    assert holders.begun[-1] == "5"


async def test_one_thing_keeps_an_owner_from_no_other() -> None:
    holders = Holders(FairShare(100, each=2))
    for number in range(5):
        await holders.want(f"x{number}", "a", "x")
    await holders.want("y0", "a", "y")
    assert holders.begun == ["x0", "x1", "y0"]


async def test_owners_are_served_in_turn() -> None:
    holders = Holders(FairShare(1, each=1))
    for name in ("a0", "a1", "a2", "b0", "c0"):
        await holders.want(name, name[0], "x")
    for name in ("a0", "b0", "c0", "a1"):
        await holders.end(name)
    assert holders.begun == ["a0", "b0", "c0", "a1", "a2"]


async def test_of_one_lane_one_goes_after_the_other_in_the_order_of_asking() -> None:
    holders = Holders(FairShare(100, each=2))
    await holders.want("first", "a", "x", ordering_key="charge")
    await holders.want("second", "a", "x", ordering_key="charge")
    await holders.want("other", "a", "x", ordering_key="customer")
    await holders.want("third", "a", "x", ordering_key="customer")
    assert holders.begun == ["first", "other"]
    await holders.end("first")
    assert holders.begun == ["first", "other", "second"]
    await holders.end("other")
    assert holders.begun[-1] == "third"


async def test_apart_the_next_one_waits_for_the_end_of_the_one_before() -> None:
    holders = Holders(FairShare(100, each=10))
    for name in ("first", "second", "third"):
        await holders.want(name, "a", "x", apart=3600)
    assert holders.begun == ["first"]
    await holders.end("first")
    assert holders.begun == ["first", "second"]


async def test_apart_all_go_in_the_order_of_asking() -> None:
    holders = Holders(FairShare(100, each=10))
    names = [("a0", "a"), ("a1", "a"), ("b0", "b"), ("a2", "a")]
    for name, lane in names:
        await holders.want(name, "owner", "x", ordering_key=lane, apart=3600)
    for name, _ in names:
        assert holders.begun[-1] == name
        await holders.end(name)


async def test_apart_no_longer_than_told() -> None:
    holders = Holders(FairShare(100, each=10))
    for name in ("first", "second"):
        await holders.want(name, "a", "x", apart=0.01)
    while len(holders.begun) < 2:
        await asyncio.sleep(0.001)


async def test_widened_all_go_at_once_but_those_of_one_lane() -> None:
    holders = Holders(FairShare(100, each=2, share=1))
    for number in range(6):
        await holders.want(str(number), "a", "x", ordering_key=number // 2, apart=3600)
    await holders.want("y0", "a", "y", apart=3600)
    await holders.want("y1", "a", "y", apart=3600)
    assert holders.begun == ["0", "y0"]
    holders.share.widen("a", "x", 50)
    await settled()
    assert holders.begun == ["0", "y0", "2", "4"]
    await holders.end("2")
    assert holders.begun[-1] == "3"


async def test_narrowed_again_the_next_one_waits_for_its_turn() -> None:
    holders = Holders(FairShare(100, each=2, share=1))
    for number in range(4):
        await holders.want(str(number), "a", "x", apart=3600)
    holders.share.widen("a", "x", 3)
    await settled()
    assert holders.begun == ["0", "1", "2"]
    holders.share.narrow("a", "x")
    await holders.end("0", "1")
    assert holders.begun == ["0", "1", "2"]
    await holders.end("2")
    assert holders.begun[-1] == "3"


async def test_who_wants_a_thing_again_begins_as_usual() -> None:
    holders = Holders(FairShare(100, each=2, share=1))
    await holders.want("first", "a", "x", apart=3600)
    holders.share.widen("a", "x", 50)
    await holders.end("first")
    await asyncio.gather(*holders.tasks.values())
    for name in ("second", "third"):
        await holders.want(name, "a", "x", apart=3600)
    assert holders.begun == ["first", "second"]


async def test_an_owner_may_have_a_greater_share() -> None:
    holders = Holders(FairShare(20, each=20, share=1))
    for number in range(20):
        await holders.want(f"a{number}", "a", "x")
    assert len(holders.begun) == 10
    await holders.want("b0", "b", "x")
    assert holders.begun[-1] == "b0"


async def test_who_leaves_while_waiting_takes_no_place() -> None:
    holders = Holders(FairShare(1, each=1))
    for name in ("a", "b", "c", "d"):
        await holders.want(name, name, "x", ordering_key="ordering_key")
    await holders.want("behind", "c", "x", ordering_key="ordering_key")
    holders.tasks["b"].cancel()
    holders.tasks["behind"].cancel()
    await settled()
    holders.tasks["c"].cancel()
    await holders.end("a")
    assert holders.begun == ["a", "d"]
    await holders.end("d")
    await holders.want("e", "e", "x")
    assert holders.begun[-1] == "e"


@pytest.mark.parametrize("seed", range(tries(20, 300)))
async def test_no_bound_is_passed_and_no_place_lost_whoever_leaves_when(seed: int) -> None:
    random = Random(seed)
    places, each = random.choice([1, 3, 10, 40]), random.choice([1, 2, 5])
    share, held = FairShare(places, each), Counter[object]()

    async def use(owner: str, thing: str, lane: int | None) -> None:
        # Every other one keeps its turn for no longer than an instant.
        async with share.place(owner, thing, lane, random.choice([0, 0.001])):
            counted = ["all", (owner, thing), (owner, thing, object() if lane is None else lane)]
            held.update(counted)
            assert [
                held[one] <= most for one, most in zip(counted, (places, each, 1), strict=True)
            ] == [True] * 3
            try:
                for _ in range(random.randrange(4)):
                    await asyncio.sleep(0)
            finally:
                held.subtract(counted)

    tasks = list[asyncio.Task[None]]()
    for _ in range(150):
        tasks.append(
            asyncio.create_task(
                use(random.choice("abcd"), random.choice("xy"), random.choice([None, 1, 2]))
            )
        )
        if random.random() < 0.4:
            await asyncio.sleep(0)
        if random.random() < 0.2:
            random.choice(tasks).cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(one) for one in ended} <= {type(None), asyncio.CancelledError}
    holders = Holders(share)
    for number in range(places):
        await holders.want(str(number), str(number), "x")
    assert len(holders.begun) == places, "all places are free again"
