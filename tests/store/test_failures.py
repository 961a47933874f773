"""What the store could not take is refused, and memory and file go on alike."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mockserver.engine.kept.batches import BatchPart
from mockserver.engine.kept.commits import Commit, NotWritten
from mockserver.engine.kept.keeping import DERIVED
from mockserver.engine.kept.names import is_part
from mockserver.engine.sandbox import Sandbox
from tests.driving import CARD, NOW, card_charge
from tests.store.twins import Kept, Twins


class FullDisk:
    """Takes no commit any more, once told so."""

    def __init__(self, api: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
        store: Any = api.app.world.store
        self._write = store._file.write
        self.is_full = False
        self.left: int | None = None
        monkeypatch.setattr(store._file, "write", self.write)

    def write(self, commit: Commit) -> None:
        if self.left is not None:
            self.left -= 1
        if self.is_full or (self.left is not None and self.left < 0):
            raise NotWritten("database or disk is full")
        self._write(commit)


def test_a_full_disk_refuses_and_goes_on_when_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twins = Twins(tmp_path / "s.db", every=1_000)
    twins.charge(reference="before")
    disk = FullDisk(twins.kept, monkeypatch)
    disk.is_full = True
    for _ in range(2):
        reply = twins.kept.try_charge(reference="lost")
        assert (reply.status, reply["code"], reply["isRetryable"]) == (503, 43, True)
        assert reply.headers["retry-after"] == "5"
        assert "disk is full" in reply["details"]["Store"]
    disk.is_full = False
    twins.charge(reference="after")
    twins.look()


def test_a_key_that_could_not_be_kept_opens_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = Kept(tmp_path / "s.db")
    disk = FullDisk(api, monkeypatch)
    disk.is_full = True
    assert api.try_charge().status == 503
    assert api.call("POST", "/__admin/reset").status == 503
    disk.is_full = False
    assert api.call("GET", "/__admin/sandboxes")["count"] == 0
    first = api.charge()
    api.restart()
    assert api.get(f"/charge/{first['chargeId']}").body == first


def test_steps_that_came_after_a_failed_commit_are_refused_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Kept(tmp_path / "s.db")
    api.charge()
    disk = FullDisk(api, monkeypatch)
    disk.is_full = True

    async def both() -> list[int]:
        first = asyncio.create_task(api.calling("POST", "/charge/card", card_charge()))
        for _ in range(3):
            await asyncio.sleep(0)
        second = asyncio.create_task(api.calling("POST", "/charge/card", card_charge()))
        return [(await first).status, (await second).status]

    assert asyncio.run(both()) == [503, 503]
    disk.is_full = False
    assert api.get("/charge")["count"] == 1


def test_a_long_call_that_could_not_be_kept_on_the_way_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Kept(tmp_path / "s.db")
    for hour in range(1, 30):
        api.call("POST", "/vault", {"cardNumber": CARD["cardNumber"], "expireSeconds": 3_600 * hour})
    store: Any = api.app.world.store
    write, commits = store._file.write, []

    def write_all_but_the_first(commit: Commit) -> None:
        commits.append(commit)
        if len(commits) == 1:
            raise NotWritten("database or disk is full")
        write(commit)

    monkeypatch.setattr(store._file, "write", write_all_but_the_first)
    reply = api.call("POST", "/__admin/clock/advance", {"by": "2d"})
    assert (reply.status, reply["code"]) == (503, 43)
    api.advance("2d")
    assert api.get("/__admin/clock")["now"] >= "2031-03-03"


def test_a_reset_of_all_is_refused_when_some_could_not_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = Kept(tmp_path / "s.db")
    for number in range(30):
        api.try_charge(key=f"sk_{number}")
    store: Any = api.app.world.store
    write, commits = store._file.write, []

    def write_all_but_the_first(commit: Commit) -> None:
        commits.append(commit)
        if len(commits) == 1:
            raise NotWritten("database or disk is full")
        write(commit)

    monkeypatch.setattr(store._file, "write", write_all_but_the_first)
    assert api.call("POST", "/__admin/reset?all=true", key="sk_29").status == 503
    assert api.call("POST", "/__admin/reset?all=true", key="sk_29").status == 200
    assert {api.call("GET", "/charge", key=f"sk_{number}")["count"] for number in range(30)} == {0}


def test_many_answers_wait_for_one_commit(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    api.charge()
    store = api.app.world.store
    assert store is not None
    before = store.commits
    api.race(*[("POST", "/charge/card", card_charge()) for _ in range(50)])
    assert store.commits - before < 10
    api.restart()
    assert api.get("/charge")["count"] == 51


def test_a_damaged_sandbox_is_refused_and_the_others_go_on(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    api.charge()
    api.try_charge(key="sk_other")
    api.kill()
    import sqlite3
    from zlib import crc32

    with sqlite3.connect(tmp_path / "s.db") as db:
        # Sound to the eye of the file, senseless as a charge.
        [world] = db.execute("SELECT world FROM sandboxes WHERE key = 'sk_tests'").fetchone()
        value = b'{"charge_id":7}'
        told = crc32(value, crc32(f"{world}.charges.0".encode()))
        db.execute("UPDATE rows SET value = ?, sum = ? WHERE world = ? AND part = 'charges'", (value, told, world))
    db.close()
    api = Kept(tmp_path / "s.db")
    reply = api.get("/charge")
    assert (reply.status, reply["code"]) == (503, 43)
    assert "charges: KeyError" in reply["details"]["Store"]
    assert api.call("GET", "/charge", key="sk_other").status == 200


def test_every_slot_of_a_sandbox_is_kept_or_derived() -> None:
    """A new part must be looked at here: kept by ``Keeping``, or named as derived."""
    kept = {
        *("assumed", "cards", "clock", "config", "deliveries", "director", "horizon", "idempotency", "ids", "inboxes"),
        *("journal", "now", "opened", "origin", "own", "past", "replays", "schedule", "scripts", "setup", "touched"),
        *("used", "warned", "watch"),
    }
    assert set(Sandbox.__slots__) == kept | DERIVED


def test_idle_sandboxes_are_put_away_and_come_back(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    made = api.charge()
    world: Any = api.app.world
    sandbox = world.sandboxes.open(api.key, NOW)
    assert world.store.put_away(sandbox)
    assert list(world.sandboxes) == []
    assert len(world.sandboxes) == 1
    assert api.get(f"/charge/{made['chargeId']}").body == made
    assert api.call("GET", "/charge", key=None, headers={"x-publickey": "pk_tests"}).status in (200, 401)


def test_a_large_copy_goes_into_the_file_bit_by_bit_and_is_there_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockserver.web.storing.SLICE", 5)
    twins = Twins(tmp_path / "s.db", every=1_000)
    for number in range(23):
        twins.charge(reference=f"o-{number}", capture=False)
    assert twins.call("POST", "/__admin/fork", {"to": "sk_copy"}).status == 201
    twins.kept.restart()
    twins.look(twins.key or "", "sk_copy")
    disk = FullDisk(twins.kept, monkeypatch)
    disk.left = 2
    assert twins.kept.call("POST", "/__admin/fork", {"to": "sk_half"}).status == 503
    disk.left = None
    assert twins.kept.call("GET", "/__admin/sandboxes")["count"] == 2
    twins.kept.restart()
    assert twins.kept.call("GET", "/__admin/sandboxes")["count"] == 2
    twins.look(twins.key or "", "sk_copy")


def test_every_part_has_a_name_that_a_store_may_have(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    api.charge()
    store: Any = api.app.world.store
    _, keeping = store._keepings[api.key]
    parts = [*keeping._parts, keeping._entries, keeping._stories, keeping._findings]
    assert [part.name for part in parts if not is_part(part.name)] == []
    assert is_part(BatchPart.rows_name)
