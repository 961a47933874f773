"""Names that do not resolve hold up nobody: not those of others, not the addresses that need no
asking."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from threading import Event

import pytest

from mockserver.adapters.resolver import THREADS, Resolver
from mockserver.domain.clock import SECOND


class Names:
    """A system resolver that knows ``shop.example``, and hangs over every name under ``.test``
    until it is let go."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.let_go = Event()

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        if host.endswith(".test"):
            self.let_go.wait()
        if host != "shop.example":
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return ["192.0.2.7"]


def lived(story: Callable[[Names], Awaitable[None]]) -> Names:
    async def living() -> None:
        try:
            await story(names)
        finally:
            names.let_go.set()

    names = Names()
    asyncio.run(living())
    return names


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("127.0.0.1", ["127.0.0.1"]),
        ("::1", ["::1"]),
        ("2130706433", ["127.0.0.1"]),
        ("localhost", ["127.0.0.1", "::1"]),
        ("LOCALHOST.", ["127.0.0.1", "::1"]),
        ("shop.localhost", ["127.0.0.1", "::1"]),
    ],
)
def test_an_address_and_localhost_ask_nobody(host: str, addresses: list[str]) -> None:
    async def story(names: Names) -> None:
        assert await Resolver(names)(host, "sandbox") == addresses

    assert lived(story).asked == []


def test_a_name_is_looked_up() -> None:
    async def story(names: Names) -> None:
        resolver = Resolver(names)
        assert await resolver("shop.example", "sandbox") == ["192.0.2.7"]
        with pytest.raises(OSError, match="no such name"):
            await resolver("shop.invalid", "sandbox")
        with pytest.raises(UnicodeError):
            await resolver("a" * 64 + ".example", "sandbox")

    assert lived(story).asked == ["shop.example", "shop.invalid"]


def test_a_name_that_hangs_is_given_up_and_asked_for_once() -> None:
    async def story(names: Names) -> None:
        resolver = Resolver(names, deadline=SECOND // 100)
        for _ in range(3):
            with pytest.raises(OSError, match=r"the name slow\.test was not resolved within 10ms"):
                await resolver("slow.test", "sandbox")

    assert lived(story).asked == ["slow.test"]


@pytest.mark.slow
def test_one_sandbox_with_names_that_hang_leaves_threads_to_others() -> None:
    async def story(names: Names) -> None:
        resolver = Resolver(names, deadline=SECOND // 2)
        hanging = [resolver(f"{number}.test", "sandbox") for number in range(10 * THREADS)]
        answers = await asyncio.gather(*hanging, return_exceptions=True)
        assert all(isinstance(answer, OSError) for answer in answers)
        assert len(names.asked) < THREADS // 4
        assert await Resolver.__call__(resolver, "shop.example", "another") == ["192.0.2.7"]

    lived(story)
