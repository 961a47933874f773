"""``mockserver store``: inspects the file of ``--store``, exports its sandboxes, and compacts it.

It is for the day when a server refuses its file. So it reads as far as anything can be read, tells
the rest as ``damage``, and changes nothing but by ``compact``. Keys are secrets and are shown
masked; who wants the secrets of a sandbox must know its key. Everything of the store is imported
where it is needed: the command's help and completion do without.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.machine_clock import machine_now, write_whole
from mockserver.commands.ending import stop
from mockserver.commands.options import options
from mockserver.commands.printed_tables import show
from mockserver.domain.clock import iso

if TYPE_CHECKING:
    from mockserver.engine.sandbox import Sandbox
    from mockserver.store.file_reading import StoreReader
    from mockserver.store.schema import StoredSandbox

_PATH = click.argument("path", metavar="PATH", type=click.Path(path_type=Path))


@click.group()
def store() -> None:
    """Inspect, export or compact the file of serve --store.

    Exit codes: 2 when the file is not a store, cannot be used or is of another version, 3 while a
    server has it open, 4 when it is damaged. Such a file is not changed.
    """


@store.command()
@_PATH
@options("store info")
def info(path: Path, form: str) -> None:
    """Print what a store holds: format, size, sandboxes with their objects and last use. Keys are
    masked."""
    from mockserver.store.file_reading import FORMAT

    with _opened(path) as reader:
        rows = _sandbox_rows(reader)
        size = reader.size
        damage = reader.damage
    if form == "json":
        document = {
            "path": str(path),
            "format": FORMAT,
            "bytes": size,
            "sandboxes": rows,
            "damage": damage,
        }
        click.echo(json.dumps(document, indent=2))
    else:
        click.echo(f"{path}: format {FORMAT}, {size:,} bytes, sandboxes: {len(rows)}")
        if rows:
            show([{name: _cell(value) for name, value in row.items()} for row in rows])
    _end_if_damaged(path, damage)


@store.command()
@_PATH
@options("store check")
def check(path: Path, form: str) -> None:
    """Check that a store is intact and that each of its sandboxes can be read.

    Exit code 4 otherwise, with the sandboxes that can be read.
    """
    from mockserver.store.file_reading import StoreDamaged, examined, opened_store

    damage: list[str] = []
    rows: list[dict[str, str | None]] = []
    with _reported():
        try:
            examined(path)
        except StoreDamaged as fault:
            damage.append(str(fault))
        # A file that is known to be damaged need not open at all; its damage is told already.
        opens_or_not = suppress(StoreDamaged) if damage else nullcontext()
        with opens_or_not, opened_store(path) as reader:
            restorer = _Restorer(reader)
            for stored in reader.sandboxes:
                reason = None
                try:
                    restorer.restore(stored)
                except _NotRestored as fault:
                    reason = str(fault)
                rows.append({**_names(stored), "fault": reason})
    # A file may be whole by SQLite's own checks, and a sandbox in it still cannot be made.
    broken = sum(row["fault"] is not None for row in rows)
    if broken and not damage:
        damage.append(
            f"{path} is damaged: {broken} of {len(rows)} sandboxes cannot be read; it was not "
            "changed"
        )
    if form == "json":
        click.echo(json.dumps({"path": str(path), "damage": damage, "sandboxes": rows}, indent=2))
    elif rows:
        columns = [
            {"id": row["id"], "key": row["key"], "can be read": row["fault"] or "yes"}
            for row in rows
        ]
        show(columns)
    if damage:
        stop(Exit.VERIFICATION_FAILED, "\n".join(damage))
    if form == "text":
        click.echo(f"{path} is whole")


@store.command()
@_PATH
@options("store export")
def export(
    path: Path, key: str | None, sandbox_id: str | None, secrets: bool, out: Path | None
) -> None:
    """Write one sandbox or all as documents that PUT /__admin/state takes, one a line.

    One of over 10 MB is written as lines of its own (.ndjson in a folder). A damaged store is
    exported as far as it can be read; exit code 4 when a part of it cannot.
    """
    if key is not None and sandbox_id is not None:
        raise click.UsageError("--key and --id: one names a sandbox, got both")
    if secrets and key is None:
        raise click.UsageError(
            "--secrets: wanted --key too; who does not know the key of a sandbox sees it masked"
        )
    is_all = key is None and sandbox_id is None
    with _opened(path) as reader:
        wanted = _chosen(reader, key, sandbox_id)
        if not is_all and not wanted:
            # It may have been in the part that cannot be read.
            _end_if_damaged(path, reader.damage)
            option = "--key" if key is not None else "--id"
            raise click.UsageError(
                f"{option}: {path} has no such sandbox; mockserver store info lists them"
            )
        restorer = _Restorer(reader)
        # Who wants one sandbox need not know what is wrong with others.
        damage = reader.damage if is_all else []
        if out is not None and is_all:
            with _refusing(out):
                out.mkdir(parents=True, exist_ok=True)
        for stored in wanted:
            try:
                sandbox = restorer.restore(stored)
            except _NotRestored as fault:
                damage.append(f"{_names(stored)['key']}: {fault}")
                continue
            document = _document(sandbox, secrets=secrets)
            if out is None:
                click.echo(document.content, nl=False)
            elif is_all:
                _write(out / f"{_names(stored)['id']}{document.suffix}", document.content)
            else:
                _write(out, document.content)
    _end_if_damaged(path, damage)


def _chosen(
    reader: StoreReader, key: str | None, sandbox_id: str | None
) -> Sequence[StoredSandbox]:
    """The sandbox of a key or of an id, if the store has it; all without either."""
    if key is not None:
        return [stored for stored in reader.sandboxes if stored.key == key]
    if sandbox_id is not None:
        return [stored for stored in reader.sandboxes if _names(stored)["id"] == sandbox_id]
    return reader.sandboxes


class _Document(NamedTuple):
    """A sandbox to be imported elsewhere, and the suffix that a file with it has."""

    content: bytes
    suffix: str


def _document(sandbox: Sandbox, *, secrets: bool) -> _Document:
    """The document of a sandbox as one line, or as lines when that is too long."""
    from mockserver.engine.state_document import TooLong, taken

    document = taken(sandbox, secrets=secrets)
    try:
        return _Document(document.whole() + b"\n", ".json")
    except TooLong:
        return _Document(b"".join(document.lines()), ".ndjson")


@store.command()
@_PATH
def compact(path: Path) -> None:
    """Rewrite a store without its unused space. When that fails, the file stays as it was.

    The disk temporarily needs the same space again. Exit code 1 when it is full.
    """
    from mockserver.store.file import StoreFile
    from mockserver.store.schema import NotWritten

    with _opened(path) as reader:
        before = reader.size
    with _reported():
        file = StoreFile(path, whole=True)
        try:
            # Rows of sandboxes that are gone, which a server clears away a few at a time.
            while file.clear_away():
                pass
            file.compact()
        except NotWritten as fault:
            stop(Exit.INTERNAL, f"{path} stays as it was: {fault}")
        finally:
            file.close()
    click.echo(f"{path}: {before:,} bytes before, {path.stat().st_size:,} now")


@contextmanager
def _reported() -> Iterator[None]:
    """End the command when a store is refused or damaged, each with its exit code: of a damaged
    one a script must save what it can, a refused one waits for its server or another version."""
    from mockserver.store.file_reading import StoreDamaged, StoreRefused

    try:
        yield
    except StoreDamaged as damage:
        stop(Exit.VERIFICATION_FAILED, str(damage))
    except StoreRefused as refused:
        stop(refused.exit_code, str(refused))


@contextmanager
def _opened(path: Path) -> Iterator[StoreReader]:
    """A store to be read. Ends the command when it cannot be."""
    from mockserver.store.file_reading import opened_store

    with _reported(), opened_store(path) as reader:
        yield reader


def _end_if_damaged(path: Path, damage: Sequence[str]) -> None:
    """End the command when something could not be read: a script must not take the rest for all
    there was."""
    if damage:
        stop(Exit.VERIFICATION_FAILED, "\n".join(f"{path} is damaged: {line}" for line in damage))


def _names(stored: StoredSandbox) -> dict[str, str | None]:
    """What a sandbox is known by, without its secret."""
    from mockserver.engine.sandbox import masked_key, sandbox_id_of

    return {"id": sandbox_id_of(stored.key), "key": masked_key(stored.key), "name": stored.name}


def _sandbox_rows(reader: StoreReader) -> list[dict[str, dict[str, int] | str | None]]:
    """Every sandbox, in the order of ``GET /__admin/sandboxes``. Objects are counted in the file:
    to read a sandbox with 100,000 of them takes seconds."""
    from mockserver.domain.reading import camel
    from mockserver.engine.tables import ROW_CLASSES

    counts = reader.counts()
    rows = []
    last_used_first = sorted(
        reader.sandboxes, key=lambda stored: (stored.used, stored.number), reverse=True
    )
    for stored in last_used_first:
        counts_here = counts.get(stored.number, {})
        objects = {}
        for name in ROW_CLASSES:
            if name in counts_here:
                objects[camel(name)] = counts_here[name]
        rows.append({**_names(stored), "lastUsed": iso(stored.touched), "objects": objects})
    return rows


class _NotRestored(Exception):
    """A sandbox cannot be made of its rows. The text says why."""


class _Restorer:
    """Makes sandboxes of their rows, as a server would. What is wrong with the texts of scenarios
    becomes damage of the store; built-in scenarios do without them."""

    def __init__(self, reader: StoreReader) -> None:
        from mockserver import create_app
        from mockserver.store.scenarios import StoredScenarios
        from mockserver.store.schema import SERVER, Unreadable

        self._reader = reader
        directory = create_app().world.directory
        try:
            self._scenarios = StoredScenarios(reader.rows(SERVER), directory)
        except Unreadable as fault:
            reader.damage.append(f"the scenarios: {fault}")
            self._scenarios = StoredScenarios({}, directory)

    def restore(self, stored: StoredSandbox) -> Sandbox:
        """The sandbox, with all of its rows. Raises ``_NotRestored``."""
        from mockserver.engine.tables import ROW_CLASSES
        from mockserver.store.restoring import stored_sandbox
        from mockserver.store.schema import DamagedSandbox, Unreadable

        try:
            rows = self._reader.rows(stored.number)
            sandbox = stored_sandbox(stored, rows, self._scenarios, machine_now()).sandbox
            # A sandbox makes the rows of a large table when they are asked for: all are, since one
            # that cannot be made would be found out by a client.
            for name in ROW_CLASSES:
                for _ in getattr(sandbox, name):
                    pass
        except Unreadable as fault:
            raise _NotRestored(str(fault)) from None
        except DamagedSandbox as fault:
            raise _NotRestored(fault.text) from None
        return sandbox


@contextmanager
def _refusing(place: Path) -> Iterator[None]:
    """Refuse ``--out`` when it cannot be written: that is the user's mistake, not the store's."""
    try:
        yield
    except OSError as problem:
        raise click.UsageError(f"--out: {place}: {problem.strerror}") from None


def _write(file: Path, text: bytes) -> None:
    """Write a file for its owner alone, whole or not at all: with ``--secrets`` it holds keys, and
    half a document would be refused later. A pipe or a device is written to as it is."""
    with _refusing(file):
        if file.exists() and not file.is_file():
            file.write_bytes(text)
        else:
            write_whole(file.resolve(), text, 0o600)


def _cell(value: dict[str, int] | str | None) -> str:
    """A value of a row as a column shows it."""
    if isinstance(value, dict):
        value = ", ".join(f"{count} {name}" for name, count in value.items())
    return value or "-"
