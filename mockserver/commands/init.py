"""The command that writes a first scenario, or a copy of a shipped one, with the schema for editors beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

FIRST = "first-scenario"
SCHEMA = "scenario.schema.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@click.command()
@click.argument("name", default=FIRST, required=False)
def init(name: str) -> None:
    """Write the scenario NAME.yaml and the schema for editors into this folder: a copy of the shipped scenario of
    that name, or a first one to edit.

    A scenario is never overwritten; the schema is. Exit code 2 when NAME.yaml exists or cannot be written.
    """
    from mockserver.adapters.scenario_files import shipped_file
    from mockserver.scenario.problems import ScenarioRefused
    from mockserver.scenario.reference import SCHEMA_ID, json_schema

    if _NAME.fullmatch(name) is None:
        raise click.UsageError(f"NAME: got {name[:120]!r}, allowed: letters, digits, '.', '_', '-', at most 100")
    stem = name.removesuffix(".yaml")
    try:
        text = shipped_file(stem).read_text("utf-8")
    except ScenarioRefused:
        text = shipped_file(FIRST).read_text("utf-8").replace(f"name: {FIRST}", f"name: {stem}", 1)
    path, schema = Path(f"{stem}.yaml"), Path(SCHEMA)
    if schema.exists() and SCHEMA_ID not in schema.read_text("utf-8", errors="replace"):
        raise click.UsageError(f"{schema} exists and is not a scenario schema; move it away first")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        schema.write_text(json.dumps(json_schema(), indent=1) + "\n", encoding="utf-8")
    except FileExistsError:
        raise click.UsageError(f"{path} exists; choose another NAME") from None
    except OSError as problem:
        raise click.UsageError(f"{path}: {problem.strerror}") from None
    click.echo(f"wrote {path} and {schema}")
    click.echo(f"check it:  mockserver check {path}\nserve it:  mockserver --scenario {path}")
