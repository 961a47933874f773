"""The file of a store: made for its owner alone, used by one process, and refused unwritten when it
is not whole."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import pytest

from mockserver.adapters.exit_codes import Exit
from mockserver.store.file import PAGE, StoreFile
from mockserver.store.file_reading import FORMAT, StoreRefused
from mockserver.store.schema import PAGES, Commit, StoredSandbox
from tests.store.twins import Kept, listed

NOBODY = 65534


def filled(path: Path, charges: int = 3) -> Path:
    """A store of one sandbox, closed."""
    api = Kept(path)
    for number in range(charges):
        api.charge(reference=f"o-{number}")
    api.kill()
    return path


def refused(path: Path) -> StoreRefused:
    """Why a file is refused; not a byte of it has changed."""
    before = path.read_bytes()
    with pytest.raises(StoreRefused) as told:
        StoreFile(path)
    assert path.read_bytes() == before
    return told.value


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = filled(tmp_path / "s.db")
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    StoreFile(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_only_its_owner_may_read_what_stands_beside_it(tmp_path: Path) -> None:
    path = filled(tmp_path / "s.db")
    beside = [path.with_name(f"s.db{suffix}") for suffix in ("-wal", "-shm")]
    # As a process leaves them that was killed.
    for one in (path, *beside):
        one.touch()
        one.chmod(0o644)
    file = StoreFile(path)
    assert {one.stat().st_mode & 0o777 for one in tmp_path.iterdir()} == {0o600}
    assert beside[1].exists()
    file.close()


def test_a_second_user_is_refused_with_the_code_of_a_port_in_use(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    first = StoreFile(path)
    with pytest.raises(StoreRefused, match="is in use") as told:
        StoreFile(path)
    assert told.value.exit_code is Exit.IN_USE
    first.close()
    StoreFile(path).close()


def test_a_file_of_another_kind_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.write_text("version: 1\n")
    assert "does not begin as an SQLite database" in str(refused(path))
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text)")
    other.close()
    assert "a database of another program" in str(refused(path))


def test_a_file_as_format_4_was_marked_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "qa.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA application_id = 68")
        db.execute("PRAGMA user_version = 984875012")
        db.execute("CREATE TABLE sandboxes (key TEXT PRIMARY KEY)")
    before = path.read_bytes()
    with pytest.raises(
        StoreRefused, match=r"an older mockserver \(format 4.*mockserver store export"
    ):
        StoreFile(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("version", "whose"), [(FORMAT + 1, "a newer"), (FORMAT - 1, "an older")])
def test_another_format_is_refused_with_the_way_out(
    tmp_path: Path, version: int, whose: str
) -> None:
    path = filled(tmp_path / "s.db")
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    told = str(refused(path))
    assert f"written by {whose} mockserver (format {version}, this one has {FORMAT})" in told
    assert "mockserver store export" in told


def test_a_changed_row_is_damage_and_the_sound_sandboxes_are_named(tmp_path: Path) -> None:
    path = filled(tmp_path / "s.db")
    second = Kept(path, key="sk_second")
    second.charge()
    second.kill()
    with sqlite3.connect(path) as db:
        db.execute(
            "UPDATE lines SET line = CAST(replace(line, '20', '21') AS BLOB) WHERE part = "
            "'charges' AND key = 1"
        )
    db.close()
    told = str(refused(path))
    assert "line 1 of charges" in told
    assert "1 of 2 sandboxes can be read: sk_***" in told


@pytest.mark.parametrize("where", [0.3, 0.6, 0.9])
def test_a_page_of_zeros_is_damage(tmp_path: Path, where: float) -> None:
    path = filled(tmp_path / "s.db", 40)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    raw = bytearray(path.read_bytes())
    page = int(len(raw) * where) // PAGE * PAGE
    raw[page : page + PAGE] = bytes(PAGE)
    path.write_bytes(raw)
    assert "is damaged" in str(refused(path)) or "can be read" in str(refused(path))


@contextmanager
def without_rights() -> Iterator[None]:
    """Let root, who may write everywhere, be nobody for a while."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights of folders are those of POSIX")
def test_a_folder_that_cannot_be_written_to_is_refused() -> None:
    # Not in ``tmp_path``, below folders that are closed to others.
    with TemporaryDirectory() as name:
        Path(name).chmod(0o555)
        with without_rights(), pytest.raises(StoreRefused, match="cannot be made"):
            StoreFile(Path(name, "s.db"))


def stored(number: int, key: str) -> StoredSandbox:
    return StoredSandbox(number, key, None, 0, 0, None)


def test_a_sandbox_is_another_from_one_commit_on_and_the_old_one_goes(tmp_path: Path) -> None:
    file = StoreFile(tmp_path / "s.db")
    commit = Commit([(1, "charges", number, b"{}") for number in range(7_000)])
    commit.put_sandbox(stored(1, "sk_a"))
    file.write(commit)
    commit = Commit([(2, "settled", 0, b"{}")])
    commit.drop_sandbox(1)
    commit.put_sandbox(stored(2, "sk_a"))
    file.write(commit)
    file.close()
    file = StoreFile(tmp_path / "s.db")
    assert file.sandboxes == [stored(2, "sk_a")]
    assert [len(listed(file.rows(number))) for number in (1, 2)] == [7_000, 1]
    while file.clear_away():
        pass
    assert [len(listed(file.rows(number))) for number in (1, 2)] == [0, 1]
    assert file.next_number == 3
    file.close()


def test_clearing_a_sandbox_away_does_not_look_through_the_pages_of_others(tmp_path: Path) -> None:
    file = StoreFile(tmp_path / "s.db")
    commit = Commit(
        [
            (sandbox, PAGES, f"page-{number}", b"")
            for sandbox, count in ((1, 20_000), (2, 10))
            for number in range(count)
        ]
    )
    commit.put_sandbox(stored(1, "sk_1"))
    commit.put_sandbox(stored(2, "sk_2"))
    file.write(commit)
    assert file.keys_with_page("page-0") == ["sk_1", "sk_2"]
    commit = Commit()
    commit.drop_sandbox(2)
    file.write(commit)
    work: list[int] = []
    file._db.set_progress_handler(lambda: work.append(100), 100)
    while file.clear_away():
        pass
    assert sum(work) < 5_000
    assert [file.keys_with_page(f"page-{number}") for number in (0, 10)] == [["sk_1"], ["sk_1"]]
    file.close()


def test_a_long_row_does_not_slow_those_beside_it_down(tmp_path: Path) -> None:
    def cost(length: int) -> float:
        file = StoreFile(tmp_path / f"{length}.db")
        file.write(Commit([(1, "journal", number, b"j" * length) for number in range(3)]))
        before = process_time()
        for start in range(0, 3_000, 100):
            file.write(
                Commit([(1, "charges", start + number, b"c" * 500) for number in range(100)])
            )
        spent = process_time() - before
        file.close()
        return spent

    assert cost(2_000_000) < 5 * cost(500) + 0.1


def may_mount() -> bool:
    """Whether this user may have a small disk of its own."""
    if shutil.which("unshare") is None:
        return False
    tried = ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_a_start_on_a_full_disk_says_that_it_is_full(tmp_path: Path) -> None:
    if not may_mount():
        pytest.skip("needs the program unshare, as root")
    path = filled(tmp_path / "s.db")
    disk = tmp_path / "disk"
    disk.mkdir()
    python = f"{sys.executable} -m mockserver"
    script = f"""mount -t tmpfs -o size=400k tmpfs {disk}
        cp {path} {disk}/s.db
        dd if=/dev/zero of={disk}/fill bs=1k count=10000 2>/dev/null
        {python} --store {disk}/s.db --port 0; echo "exit code $?" >&2
        {python} store check {disk}/s.db; echo "exit code $?" >&2
        rm {disk}/fill
        {python} store check {disk}/s.db"""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        capture_output=True,
        text=True,
        env=environ,
        check=False,
    )
    words = (
        f"{disk}/s.db cannot be used: the disk is full (No space left on device): make room, "
        "and start again; "
    )
    told = f"{words}it was not changed\nexit code 2\n"
    assert done.stderr == told + told
    assert done.stdout.endswith("is whole\n")
