"""Which answers one commit serves: those that are ready, and those of clients that the last one
answered together."""

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


def commits_of(api: Kept, clients: int) -> int:
    """The commits for clients that ask one thing after the other, half of whom begin while the
    others' first commit is written."""
    store: Any = api.app.world.store

    async def client() -> None:
        for _ in range(ROUNDS):
            assert (await api.calling("POST", "/charge/card", CHARGE)).status == 201

    async def all_clients() -> None:
        first = [asyncio.create_task(client()) for _ in range(clients // 2)]
        while not store._present:
            await asyncio.sleep(0)
        await asyncio.gather(*first, *(client() for _ in range(clients // 2)))

    asyncio.run(all_clients())
    found: int = store.commits
    api.kill()
    return found


def test_clients_that_were_answered_together_share_the_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "COMPANY", 0.05)
    assert ROUNDS <= commits_of(Kept(tmp_path / "s.db"), 8) <= ROUNDS + 5


def test_of_two_clients_none_waits_for_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "COMPANY", 600.0)
    assert commits_of(Kept(tmp_path / "s.db"), 2) >= ROUNDS


def writers_of(api: Kept, charges: int, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each commit for a client that is alone: whether the event loop has written it."""
    store: Any = api.app.world.store
    write, found = store._file.write, []
    loop = threading.current_thread()

    def noted(commit: Any) -> None:
        found.append(threading.current_thread() is loop)
        write(commit)

    monkeypatch.setattr(store._file, "write", noted)

    async def client() -> None:
        for _ in range(charges):
            assert (await api.calling("POST", "/charge/card", CHARGE)).status == 201
            await asyncio.sleep(0)

    asyncio.run(client())
    api.kill()
    return found


def test_a_commit_that_is_alone_changes_no_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert writers_of(Kept(tmp_path / "s.db"), 5, monkeypatch) == [True] * 5


def test_after_two_slow_commits_a_thread_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "QUICK", 0.0)
    monkeypatch.setattr(writer, "THREADED", 1_000_000)
    assert writers_of(Kept(tmp_path / "s.db"), 5, monkeypatch) == [True, True, False, False, False]


def test_a_commit_that_waits_for_the_disk_is_written_by_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert writers_of(Kept(tmp_path / "s.db", store_sync="full"), 3, monkeypatch) == [False] * 3


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
            may_end.wait(10)

    reader = threading.Thread(target=hold)
    reader.start()
    held.wait(10)

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
