"""``mockserver store``: inspects the file of ``--store``, exports its sandboxes, and compacts
it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
        rows, size, damage = _described(reader), reader.size, reader.damage
    if form == "json":
        found = {
            "path": str(path),
            "format": FORMAT,
            "bytes": size,
            "sandboxes": rows,
            "damage": damage,
        }
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo(f"{path}: format {FORMAT}, {size:,} bytes, sandboxes: {len(rows)}")
        if rows:
            show([{name: _shown(value) for name, value in row.items()} for row in rows])
    _end_damaged(path, damage)


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
        with suppress(StoreDamaged) if damage else nullcontext(), opened_store(path) as reader:
            make = _maker(reader)
            for kept in reader.sandboxes:
                made = make(kept)
                rows.append({**_named(kept), "fault": made if isinstance(made, str) else None})
    broken = sum(row["fault"] is not None for row in rows)
    if broken and not damage:
        damage.append(
            f"{path} is damaged: {broken} of {len(rows)} sandboxes cannot be read; it was not "
            "changed"
        )
    if form == "json":
        click.echo(json.dumps({"path": str(path), "damage": damage, "sandboxes": rows}, indent=2))
    elif rows:
        show(
            [
                {
                    "id": row["id"] or "",
                    "key": row["key"] or "",
                    "can be read": row["fault"] or "yes",
                }
                for row in rows
            ]
        )
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
    with _opened(path) as reader:
        known = [kept for kept in reader.sandboxes if key in (None, kept.key)]
        wanted = [kept for kept in known if sandbox_id in (None, _named(kept)["id"])]
        what = "--key" if key is not None else "--id" if sandbox_id is not None else None
        if what is not None and not wanted:
            _end_damaged(path, reader.damage)
            raise click.UsageError(
                f"{what}: {path} has no such sandbox; mockserver store info lists them"
            )
        make = _maker(reader)
        damage = reader.damage if what is None else []
        if out is not None and what is None:
            with _refusing(out):
                out.mkdir(parents=True, exist_ok=True)
        for kept in wanted:
            made = make(kept)
            if isinstance(made, str):
                damage.append(f"{_named(kept)['key']}: {made}")
                continue
            suffix, text = _document(made, secrets=secrets)
            if out is None:
                click.echo(text, nl=False)
            else:
                _write(out / f"{_named(kept)['id']}{suffix}" if what is None else out, text)
    _end_damaged(path, damage)


def _document(sandbox: Sandbox, *, secrets: bool) -> tuple[str, bytes]:
    """The document of a sandbox as one line, or as lines when that is too long, with the suffix of
    its file."""
    from mockserver.engine.state_document import TooLong, taken

    try:
        return ".json", taken(sandbox, secrets=secrets).whole() + b"\n"
    except TooLong:
        return ".ndjson", b"".join(taken(sandbox, secrets=secrets).lines())


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
    from mockserver.store.file_reading import StoreDamaged, StoreRefused

    try:
        yield
    except StoreRefused as refused:
        stop(
            Exit.VERIFICATION_FAILED if isinstance(refused, StoreDamaged) else refused.exit_code,
            str(refused),
        )


@contextmanager
def _opened(path: Path) -> Iterator[StoreReader]:
    from mockserver.store.file_reading import opened_store

    with _reported(), opened_store(path) as reader:
        yield reader


def _end_damaged(path: Path, damage: Sequence[str]) -> None:
    if damage:
        stop(Exit.VERIFICATION_FAILED, "\n".join(f"{path} is damaged: {line}" for line in damage))


def _named(kept: StoredSandbox) -> dict[str, str | None]:
    from mockserver.engine.sandbox import masked_key, sandbox_id_of

    return {"id": sandbox_id_of(kept.key), "key": masked_key(kept.key), "name": kept.name}


def _described(reader: StoreReader) -> list[dict[str, Any]]:
    """Every sandbox, in the order of ``GET /__admin/sandboxes``."""
    from mockserver.domain.reading import camel
    from mockserver.engine.tables import ROW_CLASSES

    counts = reader.counts()
    rows = []
    for kept in sorted(reader.sandboxes, key=lambda one: (one.used, one.number), reverse=True):
        parts = counts.get(kept.number, {})
        objects = {camel(name): parts[name] for name in ROW_CLASSES if name in parts}
        rows.append({**_named(kept), "lastUsed": iso(kept.touched), "objects": objects})
    return rows


def _maker(reader: StoreReader) -> Callable[[StoredSandbox], Sandbox | str]:
    """A function that makes a sandbox of its rows, as a server would, or gives the reason why it
    cannot."""
    from mockserver import create_app
    from mockserver.engine.tables import ROW_CLASSES
    from mockserver.store.persister import stored_sandbox
    from mockserver.store.scenarios import StoredScenarios
    from mockserver.store.schema import SERVER, DamagedSandbox, Unreadable

    directory = create_app().world.directory
    try:
        scenarios = StoredScenarios(reader.rows(SERVER), directory)
    except Unreadable as fault:
        reader.damage.append(f"the scenarios: {fault}")
        scenarios = StoredScenarios({}, directory)

    def make(kept: StoredSandbox) -> Sandbox | str:
        try:
            sandbox = stored_sandbox(
                kept, reader.rows(kept.number), scenarios, machine_now()
            ).sandbox
            # A server makes the rows of a large table one by one.
            for name in ROW_CLASSES:
                deque(getattr(sandbox, name), maxlen=0)
        except Unreadable as fault:
            return str(fault)
        except DamagedSandbox as fault:
            return fault.text
        return sandbox

    return make


@contextmanager
def _refusing(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise click.UsageError(f"--out: {place}: {problem.strerror}") from None


def _write(file: Path, text: bytes) -> None:
    """Write a file for its owner alone, whole or not at all. A pipe or a device is written to as it
    is."""
    with _refusing(file):
        if file.exists() and not file.is_file():
            file.write_bytes(text)
        else:
            write_whole(file.resolve(), text, 0o600)


def _shown(value: dict[str, int] | str | None) -> str:
    if isinstance(value, dict):
        value = ", ".join(f"{count} {name}" for name, count in value.items())
    return value or "-"
