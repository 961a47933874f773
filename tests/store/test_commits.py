"""Which answers one commit serves, and where it is written."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from mockserver.store import writer
from tests.driving import CARD, DUMMY
from tests.store.twins import Kept

CHARGE = {"amount": 5, "currency": "AUD", "providerId": DUMMY, "paymentInformation": CARD}
ROUNDS = 20


def writers_of(api: Kept, clients: int, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each commit for clients that ask one thing after the other: whether the event loop has
    written it."""
    store: Any = api.app.world.store
    write, on_loop = store._file.write, []
    loop = threading.current_thread()

    def noted(commit: Any) -> None:
        on_loop.append(threading.current_thread() is loop)
        write(commit)

    monkeypatch.setattr(store._file, "write", noted)

    async def client() -> None:
        for _ in range(ROUNDS):
            assert (await api.calling("POST", "/charge/card", CHARGE)).status == 201

    async def all_clients() -> None:
        await asyncio.gather(*(client() for _ in range(clients)))

    asyncio.run(all_clients())
    api.kill()
    return on_loop


@pytest.mark.parametrize("clients", [1, 2, 8])
def test_one_commit_of_the_event_loop_serves_all_that_are_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clients: int
) -> None:
    on_loop = writers_of(Kept(tmp_path / "s.db"), clients, monkeypatch)
    assert ROUNDS <= len(on_loop) <= ROUNDS + 2
    assert all(on_loop)


def test_a_commit_that_waits_for_the_disk_is_written_by_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any(writers_of(Kept(tmp_path / "s.db", store_sync="full"), 3, monkeypatch))


def test_a_long_commit_is_written_by_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LONG", 500)
    assert not any(writers_of(Kept(tmp_path / "s.db"), 3, monkeypatch))


def test_a_file_in_use_is_not_waited_for_on_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Kept(tmp_path / "s.db")
    api.charge()
    store: Any = api.app.world.store
    held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with store._file._lock:
            held.set()
            may_end.wait(60)

    reader = threading.Thread(target=hold)
    reader.start()
    held.wait(60)

    async def both() -> int:
        charge = asyncio.create_task(api.calling("POST", "/charge/card", CHARGE))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not charge.done()
        may_end.set()
        return (await charge).status

    assert asyncio.run(both()) == 201
    reader.join()
    api.restart()
    assert api.get("/charge")["count"] == 2
