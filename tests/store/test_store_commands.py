"""``mockserver store info|check|export|compact``, on files that servers have written."""

import hashlib
import json
import os
import sqlite3
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mockserver.cli import main
from mockserver.engine.sandbox import masked_key, sandbox_id_of
from mockserver.store.file import StoreFile
from mockserver.store.file_reading import FORMAT
from tests.control.test_state import LINES, NUMBER, fill
from tests.driving import Api
from tests.store.twins import Kept

KEYS = ("sk_tests", "sk_second")


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["store", *map(str, args)])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a server that was killed, and what it answered last."""
    folder = tmp_path_factory.mktemp("written")
    api = Kept(folder / "qa.db")
    fill(api)
    api.try_charge(key=KEYS[1])
    api.call("POST", "/__admin/sandboxes", {"key": KEYS[0], "name": "nikki"})
    files = {
        f"{key}{query}": api.call("GET", f"/__admin/state{query}", key=key).raw
        for key, query in DOCUMENTS
    }
    files["sandboxes"] = api.call("GET", "/__admin/sandboxes").raw
    files["qa.db"], files["qa.db-wal"] = (
        (folder / "qa.db").read_bytes(),
        (folder / "qa.db-wal").read_bytes(),
    )
    api.kill()
    return files


DOCUMENTS = [(key, query) for key in KEYS for query in ("", "?secrets=true")]


@pytest.fixture
def store(tmp_path: Path, written: dict[str, bytes]) -> Path:
    for name in ("qa.db", "qa.db-wal"):
        (tmp_path / name).write_bytes(written[name])
    return tmp_path / "qa.db"


def sums(path: Path) -> list[str]:
    """What stands in a store and in the log beside it."""
    return [
        hashlib.sha256(one.read_bytes()).hexdigest()
        for one in (path, path.with_name(f"{path.name}-wal"))
    ]


def test_info_says_what_the_list_of_sandboxes_says_and_shows_no_key(
    store: Path, written: dict[str, bytes]
) -> None:
    before = sums(store)
    done = run("info", store, "--format", "json")
    assert done.exit_code == 0
    told = json.loads(done.output)
    size = len(written["qa.db"]) + len(written["qa.db-wal"])
    assert (told["path"], told["format"], told["bytes"], told["damage"]) == (
        str(store),
        FORMAT,
        size,
        [],
    )
    listed = {one["id"]: one for one in json.loads(written["sandboxes"])["sandboxes"]}
    assert {one["key"] for one in told["sandboxes"]} == {masked_key(key) for key in KEYS}
    for one in told["sandboxes"]:
        there = listed[one["id"]]
        assert (one["name"], one["key"]) == (there["name"], there["key"])
        assert one["objects"] == {kind: count for kind, count in there["objects"].items() if count}
    words = run("info", store).output
    assert "nikki" in words
    assert not any(key in text for key in KEYS for text in (words, done.output))
    assert sums(store) == before


def test_check_names_every_sandbox_of_a_whole_file(store: Path) -> None:
    before = sums(store)
    done = run("check", store)
    assert done.exit_code == 0
    assert done.output.splitlines()[-1] == f"{store} is whole"
    assert [line.split()[1:] for line in done.output.splitlines()[1:-1]] == [
        [masked_key(key), "yes"] for key in KEYS
    ]
    assert sums(store) == before


@pytest.mark.parametrize(("key", "query"), DOCUMENTS)
def test_an_export_is_the_document_of_the_server(
    store: Path, written: dict[str, bytes], tmp_path: Path, key: str, query: str
) -> None:
    secrets = ("--secrets",) if query else ()
    done = run("export", store, "--key", key, *secrets)
    assert (done.exit_code, done.stdout_bytes) == (0, written[key + query] + b"\n")
    assert (NUMBER.encode() in done.stdout_bytes) is (bool(query) and key == KEYS[0])
    out = tmp_path / "one.json"
    assert run("export", store, "--key", key, *secrets, "--out", out).exit_code == 0
    assert (out.read_bytes(), out.stat().st_mode & 0o777) == (done.stdout_bytes, 0o600)
    again = Api(key)
    assert again.call("PUT", "/__admin/state", raw=out.read_bytes()).status == 200
    assert again.call("GET", f"/__admin/state{query}").raw == written[key + query]


def test_an_export_leaves_what_it_is_written_to_what_it_is(
    store: Path, written: dict[str, bytes], tmp_path: Path
) -> None:
    link, file, pipe = (tmp_path / name for name in ("link", "file.json", "pipe"))
    link.symlink_to(file)
    assert run("export", store, "--key", KEYS[0], "--out", link).exit_code == 0
    assert (link.is_symlink(), file.read_bytes()) == (True, written[KEYS[0]] + b"\n")
    os.mkfifo(pipe)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    assert run("export", store, "--key", KEYS[0], "--out", pipe).exit_code == 0
    reader.join(10)
    assert (heard, pipe.is_fifo()) == ([written[KEYS[0]] + b"\n"], True)


def test_all_are_exported_by_the_line_or_into_a_folder_and_one_by_its_id(
    store: Path, written: dict[str, bytes], tmp_path: Path
) -> None:
    documents = {sandbox_id_of(key): written[key] for key in KEYS}
    done = run("export", store)
    assert (done.exit_code, sorted(done.stdout_bytes.splitlines())) == (
        0,
        sorted(documents.values()),
    )
    assert run("export", store, "--out", tmp_path / "all").exit_code == 0
    assert {
        file.stem: file.read_bytes().rstrip() for file in (tmp_path / "all").iterdir()
    } == documents
    for sandbox_id, document in documents.items():
        assert run("export", store, "--id", sandbox_id).stdout_bytes == document + b"\n"


@pytest.mark.parametrize("query", ["", "?secrets=true"])
def test_what_is_too_long_for_one_object_is_exported_as_the_lines_of_the_server(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    key = KEYS[0]
    api = Kept(store, key=key)
    lines = api.call("GET", f"/__admin/state{query}", headers={"accept": LINES}).raw
    api.kill()
    # Enough for the other sandbox, which has one charge.
    monkeypatch.setattr("mockserver.engine.state_document.LONGEST_OBJECT", 10_000)
    secrets = ("--secrets",) if query else ()
    done = run("export", store, "--key", key, *secrets)
    assert (done.exit_code, done.stdout_bytes) == (0, lines), done.output
    if not secrets:
        assert run("export", store, "--out", tmp_path / "all").exit_code == 0
        assert sorted(path.suffix for path in (tmp_path / "all").iterdir()) == [".json", ".ndjson"]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--key", "sk_nobody"), "--key: "),
        (("--id", "nothing"), "--id: "),
        (("--key", KEYS[0], "--id", "nothing"), "got both"),
        (("--secrets",), "wanted --key too"),
        (("--id", sandbox_id_of(KEYS[0]), "--secrets"), "wanted --key too"),
        (("--out", __file__), f"--out: {__file__}: File exists"),
        (("--key", KEYS[0], "--out", f"{__file__}/x"), "Not a directory"),
        (("--key", KEYS[0], "--out", str(Path(__file__).parent)), "Is a directory"),
    ],
)
def test_an_export_that_cannot_be_is_bad_usage(
    store: Path, args: tuple[str, ...], why: str
) -> None:
    done = run("export", store, *args)
    assert (done.exit_code, why in done.output) == (2, True), done.output
    assert "sk_nobody" not in done.output


def test_compact_gives_back_the_room_of_what_is_gone(
    store: Path, written: dict[str, bytes]
) -> None:
    api = Kept(store)
    for _ in range(60):
        api.charge()
    api.call("POST", "/__admin/reset")
    api.restart()
    api.kill()
    before = store.stat().st_size
    done = run("compact", store)
    assert done.exit_code == 0
    assert store.stat().st_size < before
    assert done.output == f"{store}: {before:,} bytes before, {store.stat().st_size:,} now\n"
    assert run("export", store, "--key", KEYS[1]).stdout_bytes == written[KEYS[1]] + b"\n"
    api = Kept(store)
    assert api.get("/charge")["count"] == 0
    api.kill()


def test_compact_without_room_on_the_disk_leaves_the_file(
    store: Path, written: dict[str, bytes]
) -> None:
    resource = pytest.importorskip("resource")
    StoreFile(store).close()
    before = store.stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, limits[1]))
    try:
        done = run("compact", store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done.exit_code == 1
    assert done.output.startswith(f"{store} stays as it was: ")
    assert store.stat().st_size == before
    assert run("check", store).exit_code == 0
    assert run("export", store, "--key", KEYS[0]).stdout_bytes == written[KEYS[0]] + b"\n"


@pytest.mark.parametrize("command", ["info", "check", "export", "compact"])
def test_a_file_that_a_server_has_open_is_left_to_it(store: Path, command: str) -> None:
    api = Kept(store)
    api.charge()
    before = sums(store)
    done = run(command, store)
    assert done.exit_code == 3
    assert done.output.startswith(f"{store} is in use by another process")
    assert sums(store) == before
    assert api.try_charge().status == 201
    api.kill()


@pytest.mark.parametrize("command", ["info", "check", "export", "compact"])
def test_a_file_that_is_not_there_is_not_made(tmp_path: Path, command: str) -> None:
    for path, why in ((tmp_path / "no.db", "there is no such file"), (tmp_path, "is not a file")):
        done = run(command, path)
        assert (done.exit_code, why in done.output) == (2, True)
    (tmp_path / "empty.db").touch()
    done = run(command, tmp_path / "empty.db")
    assert (done.exit_code, "is empty" in done.output) == (2, True)
    assert [one.name for one in tmp_path.iterdir()] == ["empty.db"]


def damage(store: Path, sql: str) -> None:
    with sqlite3.connect(store) as db:
        db.execute(sql)
    db.close()


def test_what_can_be_read_of_a_damaged_file_is_named_and_exported(
    store: Path, written: dict[str, bytes]
) -> None:
    damage(
        store,
        "UPDATE lines SET line = CAST('{}' AS BLOB) WHERE part = 'charges' AND key = 1 AND "
        f"sandbox = (SELECT key FROM lines WHERE part = 'sandboxes' AND instr(line, '{KEYS[0]}'))",
    )
    before = store.read_bytes()
    done = run("check", store, "--format", "json")
    assert done.exit_code == 4
    told = json.loads(done.stdout)
    assert "line 1 of charges; 1 of 2 sandboxes can be read" in told["damage"][0]
    assert {one["key"]: one["fault"] for one in told["sandboxes"]} == {
        masked_key(KEYS[0]): "line 1 of charges",
        masked_key(KEYS[1]): None,
    }
    done = run("export", store)
    assert (done.exit_code, done.stdout_bytes) == (4, written[KEYS[1]] + b"\n")
    assert done.stderr == f"{store} is damaged: {masked_key(KEYS[0])}: line 1 of charges\n"
    assert run("export", store, "--key", KEYS[1]).exit_code == 0
    assert run("export", store, "--key", KEYS[0]).exit_code == 4
    assert run("info", store).exit_code == 0
    assert run("compact", store).exit_code == 4
    assert store.read_bytes() == before


def test_rows_that_do_not_fit_together_are_found(store: Path) -> None:
    damage(store, "DELETE FROM lines WHERE part = 'charges' AND key = 0")
    done = run("check", store)
    assert done.exit_code == 4
    assert f"{store} is damaged: 2 of 2 sandboxes cannot be read; it was not changed" in done.output
    assert "row 0 is missing" in done.output
