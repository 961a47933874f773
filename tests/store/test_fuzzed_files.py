"""Files that were damaged in any way: refused before a server is ready, unchanged, or read
whole."""

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mockserver.adapters.exit_codes import Exit
from mockserver.cli import main
from mockserver.store.file import PAGE, StoreFile
from mockserver.store.file_reading import StoreRefused, sum_of_line
from mockserver.store.schema import SERVER
from tests.depth import tries
from tests.store.twins import Kept, listed, number_of

pytestmark = pytest.mark.slow

NAMES = ("s.db", "s.db-wal")

FRAME = 24 + PAGE
Files = dict[str, bytes]


def made(folder: Path, key: str = "sk_tests") -> tuple[Files, Files]:
    """The files of a server that was killed, and of one that was stopped."""
    api = Kept(folder / NAMES[0], key=key)
    for number in range(25):
        api.charge(reference=f"o-{number}")
        api.try_charge(key=f"{key}_{number % 3}")
    api.post("/payment_link", {"title": "Tea", "amount": 4.5, "currency": "AUD"})
    killed = {name: (folder / name).read_bytes() for name in NAMES}
    api.kill()
    return killed, {NAMES[0]: (folder / NAMES[0]).read_bytes()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, Files]:
    return made(tmp_path_factory.mktemp("whole"))


def put(folder: Path, files: Mapping[str, bytes]) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / NAMES[0]


def content_or_refusal(path: Path) -> Any:
    """All that a server finds in a file, or why it is refused: then not a byte has changed."""
    before = {
        name: (path.parent / name).read_bytes() for name in NAMES if (path.parent / name).exists()
    }
    try:
        file = StoreFile(path)
    except StoreRefused as refused:
        after = {name: (path.parent / name).read_bytes() for name in before}
        return refused if after == before else AssertionError(f"changed, and {refused}")
    try:
        rows = [(stored, listed(file.rows(stored.number))) for stored in file.sandboxes]
        return rows, listed(file.rows(SERVER))
    finally:
        file.close()


def content(path: Path) -> Any:
    """The same. Raises ``StoreRefused``."""
    found = content_or_refusal(path)
    if isinstance(found, Exception):
        raise found
    return found


def flipped(raw: bytes, chance: random.Random) -> bytes:
    out = bytearray(raw)
    for _ in range(chance.choice((1, 1, 1, 2, 30))):
        out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    return bytes(out)


def zeroed(raw: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(raw))
    return raw[:start] + bytes(len(raw[start : start + PAGE])) + raw[start + PAGE :]


def garbled(raw: bytes, chance: random.Random) -> bytes:
    start, size = chance.randrange(len(raw)), chance.choice((3, 50, 5_000))
    return raw[:start] + chance.randbytes(len(raw[start : start + size])) + raw[start + size :]


def shifted(raw: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(raw))
    return raw[:start] + chance.randbytes(chance.choice((1, 16, PAGE))) + raw[start:]


def swapped(raw: bytes, chance: random.Random) -> bytes:
    pages = [raw[start : start + PAGE] for start in range(0, len(raw), PAGE)]
    one, other = (chance.randrange(len(raw) // PAGE) for _ in range(2))
    pages[one], pages[other] = pages[other], pages[one]
    return b"".join(pages)


def cut(raw: bytes, chance: random.Random) -> bytes:
    return raw[: chance.randrange(1, len(raw))]


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flipped,
    zeroed,
    garbled,
    shifted,
    swapped,
    cut,
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_refused_or_read_whole(
    whole: tuple[Files, Files], tmp_path: Path, damage: Callable[[bytes, random.Random], bytes]
) -> None:
    chance = random.Random(damage.__name__)
    wanted = content(put(tmp_path / "f", whole[0]))
    refused = 0
    for number in range(tries(25, 1_500)):
        files = dict(chance.choice(whole))
        name = chance.choice(sorted(files))
        raw = files[name]
        files[name] = damage(raw, chance)
        path = put(tmp_path / "f", files)
        found = content_or_refusal(path)
        if isinstance(found, StoreRefused):
            refused += 1
            assert str(found).startswith(str(path)), found
            assert found.exit_code is Exit.USAGE, found
            continue
        if name == NAMES[1]:
            # A log that ends earlier cannot be told from one that was written so far.
            continue
        assert found == wanted, (number, name)
    assert refused


@pytest.mark.parametrize("empty", [False, True])
def test_a_log_without_its_file_is_left_alone(
    whole: tuple[Files, Files], tmp_path: Path, empty: bool
) -> None:
    killed, _ = whole
    files = {NAMES[1]: killed[NAMES[1]], **({NAMES[0]: b""} if empty else {})}
    path = put(tmp_path / "f", files)
    with pytest.raises(StoreRefused, match=r"s\.db-wal beside it has commits"):
        StoreFile(path)
    assert {one.name: one.read_bytes() for one in path.parent.iterdir()} == files


def test_a_log_of_which_only_some_pages_were_put_into_the_file_leaves_it_whole(
    whole: tuple[Files, Files], tmp_path: Path
) -> None:
    """As SQLite leaves it that was killed meanwhile, or had no room for the rest."""
    file, log = (whole[0][name] for name in NAMES)
    wanted, pages = content(put(tmp_path / "f", whole[0])), dict[int, bytes]()
    for place in range(32, len(log) - FRAME + 1, FRAME):
        pages[int.from_bytes(log[place : place + 4])] = log[place + 24 : place + FRAME]
    begun = bytearray(file)
    for number in sorted(pages):
        begun[(number - 1) * PAGE : number * PAGE] = pages[number]
        assert content(put(tmp_path / "f", {NAMES[0]: bytes(begun), NAMES[1]: log})) == wanted
    assert len(pages) > 3


def test_another_program_that_has_read_the_log_leaves_a_whole_file(
    whole: tuple[Files, Files], tmp_path: Path
) -> None:
    wanted = content(put(tmp_path / "f", whole[0]))
    path = put(tmp_path / "f", whole[0])
    db = sqlite3.connect(path)
    copy = sqlite3.connect(tmp_path / "copy.db")
    db.backup(copy)
    db.close()
    copy.close()
    assert not (tmp_path / "f" / NAMES[1]).exists()
    assert content(path) == content(tmp_path / "copy.db") == wanted


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE lines SET line = 'null' WHERE part = 'head'", "line 0 of head"),
        ("UPDATE lines SET part = 'nonsense' WHERE part = 'charges'", "line 0 of nonsense"),
        ("UPDATE lines SET key = 'x' WHERE part = 'charges' AND key = 0", "line x of charges"),
        ("DELETE FROM lines WHERE part = 'settled'", "has no line settled"),
        ("INSERT INTO lines VALUES (999, 'charges', 0, '{}', 0)", "line 0 of charges"),
        ("UPDATE lines SET key = key + 900 WHERE part = 'sandboxes'", "the index, at sandbox 90"),
        ("UPDATE lines SET line = x'00ff' WHERE part = 'sandboxes'", "the index, at sandbox "),
        ("UPDATE lines SET part = CAST(x'ff' AS TEXT) WHERE part = 'charges'", "UTF-8"),
        ("UPDATE lines SET key = 'x' || key WHERE part = 'pages'", " of pages"),
        ("DROP TABLE lines", "no such table"),
        ("ALTER TABLE lines RENAME COLUMN line TO row", "no such column"),
    ],
)
def test_rows_that_were_edited_by_hand_are_damage(
    whole: tuple[Files, Files], tmp_path: Path, statement: str, why: str
) -> None:
    path = put(tmp_path / "f", whole[1])
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()
    with pytest.raises(StoreRefused, match="is damaged") as told:
        content(path)
    assert why in str(told.value)
    for command in ("info", "check", "export", "compact"):
        done = CliRunner().invoke(main, ["store", command, str(path)])
        assert isinstance(done.exception, SystemExit | None), done.exception
        assert done.exit_code == 4 or command in ("info", "export")
    done = CliRunner().invoke(main, ["serve", "--port", "0", "--store", str(path)])
    assert done.exit_code == 2
    assert "ready on" not in done.output
    assert why in done.output


@pytest.mark.parametrize(
    "value", [b"null", b"[]", b"{}", b"7", b'"x"', b"[[]]", b'{"a":', b"\xff", b"[" * 3_000]
)
def test_sound_rows_of_nonsense_spoil_their_sandbox_alone(
    whole: tuple[Files, Files], tmp_path: Path, value: bytes
) -> None:
    path = put(tmp_path / "f", whole[1])
    file = StoreFile(path)
    sandbox = next(stored.number for stored in file.sandboxes if stored.key == "sk_tests")
    stood = {(part, key): line for part, key, line in listed(file.rows(sandbox)) if part != "pages"}
    parts = dict(stood.keys())
    file.close()
    for part, number in parts.items():
        with sqlite3.connect(path) as db:
            put_line(db, sandbox, part, number, value)
        db.close()
        done = CliRunner().invoke(main, ["store", "check", str(path)])
        assert isinstance(done.exception, SystemExit | None), (part, done.exception)
        assert done.exit_code in (0, 4)
        if done.exit_code == 4:
            assert "1 of 4 sandboxes cannot be read" in done.output, part
            api = Kept(path)
            reply = api.get("/charge")
            assert (reply.status, reply["code"]) == (503, 43), part
            assert api.call("GET", "/charge", key="sk_tests_0").status == 200
            api.kill()
        with sqlite3.connect(path) as db:
            put_line(db, sandbox, part, number, stood[part, number])
        db.close()


def test_what_is_said_of_damage_shows_no_key_and_no_card(
    whole: tuple[Files, Files], tmp_path: Path
) -> None:
    path = put(tmp_path / "f", whole[1])
    with sqlite3.connect(path) as db:
        db.execute("UPDATE lines SET line = CAST(line || x'ff' AS BLOB) WHERE part = 'sandboxes'")
    db.close()
    for command in ("info", "check", "export", "compact"):
        done = CliRunner().invoke(main, ["store", command, str(path)])
        assert (done.exit_code, "sk_tests" in done.output) == (4, False), done.output
    path = put(tmp_path / "f", whole[1])
    with sqlite3.connect(path) as db:
        sandbox = number_of(db, "sk_tests")
        put_line(db, sandbox, "scripts", 0, b"{}")
        put_line(
            db,
            sandbox,
            "charges",
            0,
            b'["4111111111111111","4111111111111111","4111111111111111 AUD"]',
        )
    db.close()
    done = CliRunner().invoke(main, ["store", "check", str(path)])
    assert (done.exit_code, "4111111111111111" in done.output) == (4, False), done.output


@pytest.mark.parametrize(
    ("name", "files", "code", "why"),
    [
        ("missing/s.db", {}, Exit.USAGE, "missing: No such file or directory"),
        ("folder.db/x/s.db", {"folder.db": b""}, Exit.USAGE, "Not a directory"),
        (".", {}, Exit.USAGE, "is not a file"),
        ("s.db", {"s.db": b"version: 1\n" * 50}, Exit.USAGE, "is not a store"),
        (
            "s.db",
            {"s.db": b"SQLite format 3\x00"},
            Exit.USAGE,
            "is damaged: file is not a database",
        ),
    ],
)
def test_a_server_says_why_it_cannot_begin(
    tmp_path: Path, name: str, files: Files, code: Exit, why: str
) -> None:
    put(tmp_path / "f", files)
    done = CliRunner().invoke(main, ["serve", "--port", "0", "--store", str(tmp_path / "f" / name)])
    assert (done.exit_code, why in done.output) == (code, True), done.output
    assert "ready on" not in done.output
    assert {
        one.name: one.read_bytes() for one in (tmp_path / "f").iterdir() if one.suffix == ".db"
    } == files


def test_a_second_server_leaves_the_lock_of_the_first(
    whole: tuple[Files, Files], tmp_path: Path
) -> None:
    path = put(tmp_path / "f", whole[0])
    file = StoreFile(path)
    for command in (["serve", "--port", "0", "--store"], ["store", "info"]):
        assert CliRunner().invoke(main, [*command, str(path)]).exit_code == 3
    # Another process knows only the lock.
    code = "import sys, sqlite3; sqlite3.connect(sys.argv[1], timeout=0).execute('SELECT * FROM lines')"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert "database is locked" in done.stderr
    file.close()


def put_line(db: sqlite3.Connection, sandbox: int, part: str, key: int, line: bytes) -> None:
    row = (line, sum_of_line(sandbox, part, key, line), sandbox, part, key)
    db.execute("UPDATE lines SET line = ?, sum = ? WHERE sandbox = ? AND part = ? AND key = ?", row)


def test_a_link_is_the_file_that_it_names(whole: tuple[Files, Files], tmp_path: Path) -> None:
    wanted = content(put(tmp_path / "f", whole[0]))
    path = put(tmp_path / "f", whole[0])
    link = tmp_path / "link.db"
    link.symlink_to(path)
    assert content(link) == wanted
    file = StoreFile(path)
    with pytest.raises(StoreRefused, match="is in use"):
        StoreFile(link)
    file.close()
    link.unlink()
    link.symlink_to(tmp_path / "nothing")
    with pytest.raises(StoreRefused, match="cannot be made"):
        StoreFile(link)
    assert not (tmp_path / "nothing").exists()
