"""``mockserver import``: recorded traffic as a scenario (docs/drift.md)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.machine_clock import machine_now
from mockserver.adapters.strict_yaml import scenario_text
from mockserver.commands.explore import stop
from mockserver.commands.options import options
from mockserver.drift.importing import scenario_of
from mockserver.drift.traffic import BadTraffic, read_har, read_postman

_READ = {"har": read_har, "postman": read_postman}


@click.command("import")
@click.argument("form", type=click.Choice(tuple(_READ)))
@click.argument("file", type=click.Path(path_type=Path))
@options("import")
def import_traffic(*, form: str, file: Path, out: Path | None) -> None:
    """Make a scenario of recorded traffic, a HAR file or a Postman collection: examples that `mockserver check` runs.

    Card numbers become test cards, keys and ccvs are left out. Exit code 2 when the file cannot be read or has no call
    of the service.
    """
    try:
        exchanges = _READ[form](file)
        made, notes = asyncio.run(scenario_of(exchanges, "recorded", machine_now()))
        if not any(one.path for one in exchanges):
            raise BadTraffic(f"{file}: none of its {len(exchanges)} exchanges is a call of the service")
        text = scenario_text(made)
        click.echo(text, nl=False) if out is None else out.write_text(text, "utf-8")
    except BadTraffic as fault:
        stop(Exit.USAGE, str(fault))
    except OSError as problem:
        stop(Exit.USAGE, f"{problem.filename}: {problem.strerror}")
    for note in notes:
        click.echo(note, err=True)
