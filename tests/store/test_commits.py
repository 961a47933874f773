"""Which answers one commit serves, and where it is written."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from mockserver.store import writer
from mockserver.store.schema import SCENARIOS, Commit, NotWritten
from tests.driving import CARD, DUMMY
from tests.store.twins import Kept

CHARGE = {"amount": 5, "currency": "AUD", "providerId": DUMMY, "paymentInformation": CARD}
ROUNDS = 20
LOST = """version: 1
name: lost
rules:
  - {id: lost, when: {op: charge.create}, then: {decline: lost_card}}
"""
SLOW = {
    "version": 1,
    "name": "slow",
    "rules": [{"id": "slow", "when": {"op": "charge.get"}, "then": {"lag": "1s"}}],
}


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


def texts_written(api: Kept, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of each commit from now on: how many texts of scenarios it has."""
    store: Any = api.app.world.store
    write, counts = store._file.write, []

    def counted(commit: Commit) -> None:
        counts.append(sum(part == SCENARIOS for _, part, _, _ in commit.puts))
        write(commit)

    monkeypatch.setattr(store._file, "write", counted)
    return counts


def test_the_text_of_a_scenario_is_written_once_for_all_sandboxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Kept(tmp_path / "s.db", scenario=LOST)
    counts = texts_written(api, monkeypatch)
    for key in ("sk_1", "sk_2", "sk_3"):
        assert api.try_charge(key=key)["code"] == 941
    # Another config of the same sandbox has the old text and a new one.
    api.call("POST", "/__admin/scenarios", SLOW, key="sk_1")
    assert sum(counts) == 2
    api.restart()
    counts = texts_written(api, monkeypatch)
    assert api.try_charge(key="sk_4")["code"] == 941
    assert api.call("POST", "/__admin/scenarios", SLOW, key="sk_2").status == 201
    assert (sum(counts), len(counts) >= 2) == (0, True)
    api.restart()
    names = [row["name"] for row in api.call("GET", "/__admin/scenarios", key="sk_2")["scenarios"]]
    assert {"lost", "slow"} <= set(names)


def test_one_commit_has_the_text_of_a_scenario_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Kept(tmp_path / "s.db", scenario=LOST)
    counts = texts_written(api, monkeypatch)

    async def all_clients() -> None:
        calls = [
            api.calling("POST", "/charge/card", CHARGE, key=f"sk_{number}") for number in range(5)
        ]
        await asyncio.gather(*calls)

    asyncio.run(all_clients())
    assert counts[0] == sum(counts) == 1
    api.kill()


def test_a_text_whose_commit_failed_is_written_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Kept(tmp_path / "s.db", scenario=LOST)
    store: Any = api.app.world.store
    with monkeypatch.context() as full:

        def refuse(commit: Commit) -> None:
            raise NotWritten("database or disk is full")

        full.setattr(store._file, "write", refuse)
        assert api.try_charge().status == 503
    assert api.try_charge()["code"] == 941
    # Another server reads the sandbox under its scenario, though it has none itself.
    api.kill()
    assert Kept(tmp_path / "s.db").try_charge()["code"] == 941
