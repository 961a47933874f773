"""What the store could not take is refused, and memory and file go on alike."""

import asyncio
import json
import sqlite3
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mockserver.cli import main
from mockserver.domain.clock import DAY
from mockserver.domain.errors import NotKept
from mockserver.store.file import StoreFile
from mockserver.store.file_reading import StoreRefused, sum_of_line
from mockserver.store.persister import DERIVED
from mockserver.store.schema import Commit, NotWritten
from mockserver.web.runner import Ticker
from tests.driving import CARD, NOW, card_charge
from tests.store.twins import Kept, Twins, number_of


class FullDisk:
    """Takes no commit any more, once told so."""

    def __init__(self, api: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
        store: Any = api.app.world.store
        self._write = store._file.write
        self.is_full = False
        self.left: int | None = None
        self.sizes: list[int] = []
        monkeypatch.setattr(store._file, "write", self.write)
        self._probe = store._file.probe
        monkeypatch.setattr(store._file, "probe", self.probe)

    def probe(self) -> None:
        if self.is_full:
            raise NotWritten("database or disk is full")
        self._probe()

    def write(self, commit: Commit) -> None:
        if self.left is not None:
            self.left -= 1
        if self.is_full or (self.left is not None and self.left < 0):
            raise NotWritten("database or disk is full")
        self.sizes.append(sum(_things(part, value) for _, part, _, value in commit.puts))
        self._write(commit)


def file_of_two(folder: Path) -> Path:
    """The file of a server that is gone, with a charge in each of two sandboxes."""
    path = folder / "s.db"
    api = Kept(path)
    api.charge()
    api.try_charge(key="sk_other")
    api.kill()
    return path


def lose_one_commit(api: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk be full for the next commit alone."""
    store: Any = api.app.world.store
    write, commits = store._file.write, []

    def write_all_but_the_first(commit: Commit) -> None:
        commits.append(commit)
        if len(commits) == 1:
            raise NotWritten("database or disk is full")
        write(commit)

    monkeypatch.setattr(store._file, "write", write_all_but_the_first)


def _things(part: str, value: bytes) -> int:
    """How many things a row holds that a sandbox may have any number of: of what only grows several
    at a time."""
    if part.startswith("findings"):
        return 0
    return len(json.loads(value)) if part in ("journal", "stories") else 1


def test_a_full_disk_refuses_and_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_server_with_a_full_disk_is_not_ready_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Kept(tmp_path / "s.db")
    api.charge(reference="before")
    disk = FullDisk(api, monkeypatch)
    assert api.call("GET", "/readyz", key=None).body == {"status": "ready"}
    disk.is_full = True
    assert api.try_charge(reference="lost").status == 503
    asked = api.call("GET", "/readyz", key=None)
    assert (asked.status, asked.body["status"]) == (503, "not ready")
    assert asked.body["reasons"] == ["the store cannot be written: database or disk is full"]
    disk.is_full = False
    # Nobody need ask for anything that is kept.
    assert api.call("GET", "/readyz", key=None).body == {"status": "ready"}
    api.charge(reference="after")
    disk.is_full = True
    assert api.try_charge(reference="lost").status == 503
    disk.is_full = False
    api.charge(reference="after that")
    disk.is_full = True
    assert api.call("GET", "/readyz", key=None).status == 200, "what was written last could be"


def test_a_sandbox_whose_deletion_could_not_be_kept_is_there_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Kept(tmp_path / "s.db")
    assert api.try_charge().status == 201
    api.call("PUT", "/__admin/sandbox", {"name": "Nightly"})
    disk = FullDisk(api, monkeypatch)
    disk.is_full = True
    refused = api.call("DELETE", "/__admin/sandbox", {})
    assert (refused.status, refused["code"]) == (503, 43)
    disk.is_full = False
    (listed,) = api.call("GET", "/__admin/sandboxes", key=None).body["sandboxes"]
    assert (listed["name"], listed["requests"]) == ("Nightly", 1)
    assert api.get("/charge")["count"] == 1
    api.restart()
    assert api.get("/charge")["count"] == 1
    assert api.call("DELETE", "/__admin/sandbox", {}).status == 200
    assert api.call("GET", "/__admin/sandboxes", key=None).body["count"] == 0


def test_a_key_that_could_not_be_kept_opens_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        api.call(
            "POST", "/vault", {"cardNumber": CARD["cardNumber"], "expireSeconds": 3_600 * hour}
        )
    lose_one_commit(api, monkeypatch)
    reply = api.call("POST", "/__admin/clock/advance", {"by": "2d"})
    assert (reply.status, reply["code"]) == (503, 43)
    api.advance("2d")
    assert api.get("/__admin/clock")["now"] >= "2031-03-03"


def test_a_reset_of_all_is_refused_when_some_could_not_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Kept(tmp_path / "s.db")
    for number in range(30):
        api.try_charge(key=f"sk_{number}")
    lose_one_commit(api, monkeypatch)
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
    with sqlite3.connect(tmp_path / "s.db") as db:
        # Sound to the eye of the file, senseless as a charge.
        number = number_of(db, "sk_tests")
        value = b'{"charge_id":"7"}'
        row = value, sum_of_line(number, "charges", 0, value), number
        db.execute("UPDATE lines SET line = ?, sum = ? WHERE sandbox = ? AND part = 'charges'", row)
    db.close()
    api = Kept(tmp_path / "s.db")
    reply = api.get("/charge")
    assert (reply.status, reply["code"]) == (503, 43)
    assert "charges: TypeError: Charge.__init__() missing 7 required" in reply["details"]["Store"]
    assert api.call("GET", "/charge", key="sk_other").status == 200


@pytest.mark.parametrize(
    ("member", "name", "is_readable"),
    [
        ("lengths", "charges", False),
        ("lengths", "journal", False),
        ("counters", "charges", True),
        # The beginning of an attribute that no sandbox has.
        ("plain", "nowhere.", False),
    ],
)
def test_a_head_that_lacks_something_spoils_its_sandbox_alone(
    tmp_path: Path, member: str, name: str, *, is_readable: bool
) -> None:
    path = file_of_two(tmp_path)
    with sqlite3.connect(path) as db:
        number = number_of(db, "sk_tests")
        of_head = "WHERE sandbox = ? AND part = 'head'"
        [line] = db.execute(f"SELECT line FROM lines {of_head}", (number,)).fetchone()
        head = json.loads(line)
        if name in head[member]:
            del head[member][name]
        else:
            head[member][name] = 1
        value = json.dumps(head).encode()
        row = value, sum_of_line(number, "head", 0, value), number
        db.execute(f"UPDATE lines SET line = ?, sum = ? {of_head}", row)
    db.close()
    api = Kept(path)
    reply = api.get("/charge")
    if is_readable:
        assert reply.status == 200
    else:
        assert (reply.status, reply["code"]) == (503, 43)
    assert api.call("GET", "/charge", key="sk_other").status == 200
    api.kill()
    done = CliRunner().invoke(main, ["store", "check", str(path)])
    assert done.exit_code == (0 if is_readable else 4), done.output


def test_a_senseless_row_of_a_large_table_is_refused_where_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    api = Kept(path)
    ids = [api.charge(reference=f"o-{number}")["chargeId"] for number in range(3)]
    api.kill()
    with sqlite3.connect(path) as db:
        value = json.dumps({"charge_id": ids[1], "amount": "4111111111111111"}).encode()
        db.execute(
            "UPDATE lines SET line = ?, sum = ? WHERE sandbox = 1 AND part = 'charges' AND key = 1",
            (value, sum_of_line(1, "charges", 1, value)),
        )
    db.close()
    monkeypatch.setattr("mockserver.store.parts.STEP_ROWS", 2)
    api = Kept(path)
    assert [api.get(f"/charge/{one}").status for one in ids] == [200, 503, 200]
    reply = api.get("/charge")
    assert (reply.status, reply["code"]) == (503, 43)
    assert "4111111111111111" not in reply.raw.decode()
    assert api.try_charge().status == 201
    api.kill()
    done = CliRunner().invoke(main, ["store", "check", str(path)])
    assert (done.exit_code, "charges: TypeError: Charge.__init__() missing" in done.output) == (
        4,
        True,
    ), done.output


def test_a_senseless_row_that_comes_due_does_not_stop_the_time_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "s.db", [NOW]
    more: dict[str, Any] = {"clock": "real", "real_clock": lambda: now[0]}
    api = Kept(path, **more)
    keys = ("sk_tests", "sk_tests", "sk_other")
    first, *_ = [
        api.call("POST", "/charge/card", card_charge(capture=False), key=key)["chargeId"]
        for key in keys
    ]
    api.kill()
    with sqlite3.connect(path) as db:
        number = number_of(db, "sk_tests")
        value = json.dumps({"charge_id": first}).encode()
        row = value, sum_of_line(number, "charges", 0, value), number
        db.execute(
            "UPDATE lines SET line = ?, sum = ? WHERE sandbox = ? AND part = 'charges' AND key = 0",
            row,
        )
    db.close()
    monkeypatch.setattr("mockserver.store.parts.STEP_ROWS", 1)
    api = Kept(path, **more)

    async def story() -> None:
        world = api.app.world
        for key in ("sk_tests", "sk_other"):
            await api.calling("GET", "/version", key=key)
        now[0] += 8 * DAY
        ticker = Ticker(world.runner, world.sandboxes.is_live)
        running = asyncio.ensure_future(ticker.run())
        for sandbox in world.sandboxes:
            ticker.note(sandbox)
        [other] = [sandbox for sandbox in world.sandboxes if sandbox.key == "sk_other"]
        while not other.schedule.ran and not running.done():
            await asyncio.sleep(0)
        assert (other.schedule.ran, running.done()) == (1, False)
        running.cancel()

    asyncio.run(story())
    assert api.get("/charge").status == 503


def test_damage_in_a_large_file_is_found_when_the_sandbox_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_of_two(tmp_path)
    with sqlite3.connect(path) as db:
        number = number_of(db, "sk_tests")
        db.execute(
            "UPDATE lines SET line = x'5b5d' WHERE sandbox = ? AND part = 'charges'", [number]
        )
    db.close()
    monkeypatch.setattr("mockserver.store.file.CHECKED", 1)
    api = Kept(path)
    reply = api.get("/charge")
    assert (reply.status, reply["code"]) == (503, 43)
    assert reply["details"]["Store"].endswith("cannot be read: line 0 of charges")
    assert api.call("GET", "/charge", key="sk_other")["count"] == 1
    listed = api.call("GET", "/__admin/sandboxes", key="sk_other")
    assert (listed.status, listed["count"], len(listed["sandboxes"])) == (200, 2, 1)
    api.kill()
    for whole in ({"whole": True}, {}):
        with pytest.raises(StoreRefused, match="line 0 of charges; 1 of 2 sandboxes can be read"):
            StoreFile(path, **whole)
        monkeypatch.undo()


def test_every_part_of_a_sandbox_is_kept_or_derived(tmp_path: Path) -> None:
    """A new part must be looked at here: stored by ``SandboxPersister``, or named as derived."""
    kept = {
        *(
            "assumed",
            "cards",
            "clock",
            "config",
            "deliveries",
            "director",
            "horizon",
            "idempotency",
        ),
        *(
            "ids",
            "inboxes",
            "journal",
            "now",
            "opened",
            "origin",
            "own",
            "past",
            "replays",
            "schedule",
            "scripts",
        ),
        *("setup", "touched", "used", "warned", "observers", "arrivals"),
    }
    sandbox = Kept(tmp_path / "s.db").app.world.sandboxes.open("sk_any", NOW)
    assert set(vars(sandbox)) == kept | DERIVED


def test_idle_sandboxes_are_put_away_and_come_back(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    made = api.charge()
    world: Any = api.app.world
    sandbox = world.sandboxes.open(api.key, NOW)
    assert world.store.put_away(sandbox)
    assert list(world.sandboxes) == []
    assert len(world.sandboxes) == 1
    assert api.get(f"/charge/{made['chargeId']}").body == made
    assert api.call("GET", "/charge", key=None, headers={"x-publickey": "pk_tests"}).status in (
        200,
        401,
    )


def test_a_large_copy_goes_into_the_file_bit_by_bit_and_is_there_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockserver.store.writer.SLICE", 5)
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


def test_what_a_large_sandbox_comes_back_with_goes_into_the_file_bit_by_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockserver.store.writer.SLICE", 5)
    twins = Twins(tmp_path / "s.db", every=1_000)
    for number in range(23):
        twins.charge(reference=f"o-{number}", capture=False)
    twins.advance("8d")
    assert twins.call("POST", "/__admin/reset?undo=true").status == 200
    disk = FullDisk(twins.kept, monkeypatch)
    assert twins.call("POST", "/__admin/undo").status == 200
    assert len(disk.sizes) > 12
    # The last commit has the small things and the line of the index, too.
    assert max(disk.sizes) <= 5 + 3
    twins.kept.restart()
    twins.look()


@pytest.mark.parametrize("written", range(8))
def test_a_large_copy_that_was_answered_is_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    monkeypatch.setattr("mockserver.store.writer.SLICE", 5)
    api = Kept(tmp_path / "s.db")
    for number in range(23):
        api.charge(reference=f"o-{number}")
    disk = FullDisk(api, monkeypatch)
    disk.left = written
    status = api.call("POST", "/__admin/fork", {"to": "sk_copy"}).status
    api.restart()
    kept = api.call("GET", "/charge", key="sk_copy")["count"]
    assert (status, kept) in {(201, 23), (503, 0)}


def test_what_rests_on_two_commits_is_kept_when_both_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Kept(tmp_path / "s.db", store_sync="full")
    for key in ("sk_1", "sk_2"):
        api.try_charge(key=key)
    store: Any = api.app.world.store
    first, second = (api.app.world.sandboxes.open(key, NOW) for key in ("sk_1", "sk_2"))
    write, commits, may_end = store._file.write, [], threading.Event()

    def write_all_but_the_first(commit: Commit) -> None:
        commits.append(commit)
        if len(commits) == 1:
            may_end.wait(60)
            raise NotWritten("database or disk is full")
        write(commit)

    monkeypatch.setattr(store._file, "write", write_all_but_the_first)

    async def wait_for_all() -> None:
        first.warned.add("changed")
        second.warned.add("changed")
        store.note(first)
        while not commits:
            await asyncio.sleep(0)
        store.note(second)
        waiting = asyncio.ensure_future(store.all_kept(store.failures))
        await asyncio.sleep(0)
        may_end.set()
        await waiting

    with pytest.raises(NotKept):
        asyncio.run(wait_for_all())
    assert len(commits) == 2


def test_many_changed_sandboxes_are_gathered_while_others_have_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Kept(tmp_path / "s.db")
    for number in range(12):
        api.try_charge(key=f"sk_{number}")
    monkeypatch.setattr("mockserver.store.writer.PAUSE", 1)
    world: Any = api.app.world
    gathered: list[int] = []
    gather = world.store._gather
    monkeypatch.setattr(
        world.store, "_gather", lambda *given: (gathered.append(1), gather(*given))[1]
    )

    async def most_in_a_turn() -> int:
        for sandbox in world.sandboxes:
            sandbox.warned.add("changed")
            world.store.note(sandbox)
        end, turns = asyncio.ensure_future(world.store.all_kept(0)), []
        while not end.done():
            turns.append(len(gathered))
            await asyncio.sleep(0)
        return max(after - before for before, after in pairwise(turns))

    assert asyncio.run(most_in_a_turn()) <= 1
    assert len(gathered) == 12


def test_runner_waits_for_the_store_so_that_no_commit_holds_much_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockserver.store.writer.PENDING", 20)
    monkeypatch.setattr("mockserver.engine.batches.ROWS_OF_STEP", 10)
    monkeypatch.setattr("mockserver.store.parts.BATCH_BLOCK", 10)
    api = Kept(tmp_path / "s.db")
    method = api.method()
    store: Any = api.app.world.store
    write, sizes = store._file.write, []

    def slowly(commit: Commit) -> None:
        time.sleep(0.02)
        sizes.append(sum(part == "charges" for _, part, *_ in commit.puts))
        write(commit)

    monkeypatch.setattr(store._file, "write", slowly)
    batch = api.batch(*[f"{method},5,AUD,"] * 300)
    api.advance("1h")
    assert sum(sizes) >= 300
    assert max(sizes) <= 40
    done = api.get(f"/batch/{batch}").body
    api.restart()
    assert api.get(f"/batch/{batch}").body == done
    assert done["success"] == 300
