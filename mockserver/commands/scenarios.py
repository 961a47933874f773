"""Commands about scenarios: the library, schema and outcomes; writing a first file, checking and
explaining files. What a scenario means is decided elsewhere: these read files, ask and print.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.machine_clock import machine_now
from mockserver.adapters.scenario_files import bounded, load, schema_text, shipped, shipped_file
from mockserver.commands import reports
from mockserver.commands.completion import offered
from mockserver.commands.ending import stop
from mockserver.commands.options import options
from mockserver.commands.printed_tables import as_json as json_option
from mockserver.commands.printed_tables import show
from mockserver.domain.errors import nearest
from mockserver.domain.reading import camel
from mockserver.scenario.explain import explain as explained
from mockserver.scenario.problems import ScenarioProblem, ScenarioRefused
from mockserver.scenario.provider_outcome import CATALOGUE
from mockserver.scenario.scenario import Scenario
from mockserver.wire.jsonio import MalformedJson, loads

if TYPE_CHECKING:
    from mockserver.commands.scenario_check import Checked

_WIDEST = 50
"""Characters of a name that keep a row within 80 columns; the one that is longer stands out."""

_MOST_BYTES = 10_000_000
"""Bytes of the file of a request: as many as the server takes of a batch, its largest body."""


@click.command()
@json_option
def outcomes(as_json: bool) -> None:
    """Print every outcome by name, with its codes and their meaning."""
    if as_json:
        codes = ("error_code", "error_message", "gateway_code", "gateway_message", "is_retryable")
        fields = ("name", *codes, "meaning")
        rows = [
            {camel(field): getattr(row, field) for field in fields} for row in CATALOGUE.values()
        ]
        show(rows, as_json=True)
        return
    # One name is much longer than all others, and would move every column.
    widest = max(len(row.name) for row in CATALOGUE.values() if len(row.name) < _WIDEST)
    click.echo(f"{'name':<{widest}}  {'code':>4}  {'gateway':>7}  retryable")
    for row in CATALOGUE.values():
        # What is no decline leaves nothing to try again.
        retry = {True: "yes", False: "no", None: "-"}[row.is_retryable]
        click.echo(
            f"{row.name:<{widest}}  {row.error_code or '-':>4}  {row.gateway_code or '-':>7}  "
            f"{retry}"
        )
        click.echo(f"    {row.meaning}")


@click.command()
@click.argument("name", required=False, shell_complete=offered)
@json_option
def scenarios(name: str | None, as_json: bool) -> None:
    """Print the shipped scenarios, one line each; with NAME print that file."""
    if name is not None:
        try:
            click.echo(shipped_file(name).read_text("utf-8"), nl=False)
        except ScenarioRefused as refused:
            raise click.UsageError(refused.problems[0].message) from None
        return
    rows = [{"name": known, "description": description} for known, description, _ in shipped()]
    show(rows, as_json=as_json)


@click.command()
@options("schema")
def schema(out: Path | None) -> None:
    """Print the JSON Schema of a scenario file, for editors."""
    text = json.dumps(json.loads(schema_text()), indent=2)
    if out is None:
        click.echo(text)
        return
    try:
        out.write_text(text + "\n", "utf-8")
    except OSError as problem:
        raise click.UsageError(f"--out: {out}: {problem.strerror}") from None
    click.echo(f"wrote {out}")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=offered)
@options("check")
def check(files: tuple[str, ...], form: str, verbose: bool) -> None:
    """Check scenario files, folders or shipped names, and run their examples. Of several it says
    what their set-ups do together.

    Exit code 2 when a file is refused, 4 when an example fails.
    """
    # It builds the whole server, which the other commands of this module need not wait for.
    from mockserver.commands.scenario_check import checked, unread

    loaded, problems = _load_each(files)
    if problems:
        click.echo(str(ScenarioRefused(problems)), err=True)
    if not loaded and not problems:
        raise click.UsageError(f"no scenario file in {', '.join(files)}")
    results = unread(problems)
    for result in checked(loaded, tells_rules=verbose):
        # Examples of a large scenario take a while: people see each file when it is done.
        if form == "text":
            for line, is_fault in reports.checks_lines(result, is_verbose=verbose):
                click.echo(line, err=is_fault)
        results.append(result)
    if form == "json":
        click.echo(reports.checks_json(results))
    elif form == "junit":
        click.echo(reports.checks_junit(results))
    sys.exit(_exit_code(results))


def _load_each(files: Sequence[str]) -> tuple[list[Scenario], list[ScenarioProblem]]:
    """The scenarios of all files, folders or shipped names that can be read, and what is wrong with
    the others: each is loaded by itself, so one that is refused hides nothing of those after it."""
    loaded: list[Scenario] = []
    problems: list[ScenarioProblem] = []
    for file in files:
        try:
            loaded += load([file], test_values=False)
        except ScenarioRefused as refused:
            problems += refused.problems
    return loaded, problems


def _exit_code(results: Sequence[Checked]) -> Exit:
    """How ``check`` ends. A refused file goes first: its examples have not run at all, while those
    that fail can be seen in the report."""
    if any(result.refusal is not None for result in results):
        return Exit.USAGE
    examples = chain.from_iterable(result.examples for result in results)
    if any(example.failure is not None for example in examples):
        return Exit.VERIFICATION_FAILED
    return Exit.OK


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=offered)
@options("explain")
def explain(
    files: tuple[str, ...],
    request: Path,
    state: Mapping[str, str],
    no_test_values: bool,
    verbose: bool,
) -> None:
    """Print which rule would fire on a request, and the first test that each other rule fails."""
    try:
        in_force = load(files, test_values=False)
    except ScenarioRefused as refused:
        stop(Exit.USAGE, str(refused))
    if not no_test_values:
        # They are asked last, as a server does.
        in_force += load([], test_values=True)
    from mockserver.web.routes import operation_of

    try:
        document = loads(bounded(request, _MOST_BYTES), unique=True)
        if not isinstance(document, dict):
            raise ValueError("wanted a JSON object")
        state_of_file = document.get("state") or {}
        # A state of another type is left as it is: the reader of requests refuses it in words.
        if state and isinstance(state_of_file, dict):
            document["state"] = {**state_of_file, **state}
        lines = explained(
            in_force, document, now=machine_now(), op_of=operation_of, is_verbose=verbose
        )
    except (MalformedJson, OSError, ValueError) as fault:
        raise click.UsageError(f"--request: {request}: {fault}") from None
    click.echo("\n".join(lines))


FIRST = "first-scenario"
"""The shipped scenario that is a first one to edit."""

SCHEMA = "scenario.schema.json"
"""The file of the schema, which the first line of a scenario names to editors."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@click.command()
@click.argument("name", default=FIRST, required=False, shell_complete=offered)
@options("init")
def init(name: str, agents: bool) -> None:
    """Write the scenario NAME.yaml and the schema for editors into this folder: a copy of the
    shipped scenario of that name, or a first one to edit.

    A scenario is never overwritten; the schema is. Exit code 2 when NAME.yaml exists or cannot be
    written.
    """
    if agents:
        if name != FIRST:
            raise click.UsageError("got NAME and --agents, only one of them is allowed")
        click.echo(_write_agents(Path("AGENTS.md")))
        return
    if _NAME.fullmatch(name) is None:
        raise click.UsageError(
            f"NAME: got {name[:120]!r}, allowed: letters, digits, '.', '_', '-', at most 100"
        )
    stem = name.removesuffix(".yaml")
    hint = ""
    try:
        text = shipped_file(stem).read_text("utf-8")
    except ScenarioRefused:
        # Any name may be meant for a new scenario; one that is misspelt is told, not refused.
        hint = nearest(stem, (known for known, _, _ in shipped()))
        first = shipped_file(FIRST).read_text("utf-8")
        text = first.replace(f"name: {FIRST}", f"name: {stem}", 1)
    path = Path(f"{stem}.yaml")
    schema = Path(SCHEMA)
    new_schema = schema_text()
    if schema.exists():
        # One of ours, of whatever version, has our id.
        schema_id = json.loads(new_schema)["$id"]
        if schema_id not in schema.read_text("utf-8", errors="replace"):
            raise click.UsageError(
                f"{schema} exists and is not a scenario schema; move it away first"
            )
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        schema.write_text(new_schema, encoding="utf-8")
    except FileExistsError:
        raise click.UsageError(f"{path} exists; choose another NAME") from None
    except OSError as problem:
        raise click.UsageError(f"{path}: {problem.strerror}") from None
    click.echo(f"wrote {path} and {schema}")
    if hint:
        click.echo(f"no shipped scenario is called {stem}{hint} This is a first one to edit.")
    click.echo(f"check it:  mockserver check {path}\nserve it:  mockserver --scenario {path}")


def _write_agents(path: Path) -> str:
    """Put the section for coding agents into a file, in the place of an earlier one; all other text
    stays, as such a file belongs to the project and has the advice of other tools too. What was
    done, in words; ends the command when it cannot be done."""
    file_of_section = Path(__file__).with_name("agents.md")
    section = file_of_section.read_text("utf-8").strip()
    try:
        text = ""
        if path.exists():
            # As bytes, so that line ends of others stay as they are.
            text = path.read_bytes().decode()
        new_text = _with_section(text, section, path)
        if new_text == text:
            return f"{path} has it already"
        path.write_bytes(new_text.encode())
    except UnicodeDecodeError:
        raise click.UsageError(f"{path}: it is not UTF-8 text") from None
    except OSError as problem:
        raise click.UsageError(f"{path}: {problem.strerror}") from None
    return f"wrote the section of mockserver in {path}"


def _with_section(text: str, section: str, path: Path) -> str:
    """A text with a section in the place of an earlier one, or else at the end after an empty line.
    The first and the last line of a section are its marks."""
    begin_mark, *_, end_mark = section.splitlines()
    head, has_begin, rest = text.partition(begin_mark)
    if has_begin:
        _, has_end, tail = rest.partition(end_mark)
        # Where the section ends, and the user's own text goes on, cannot be guessed.
        if not has_end:
            raise click.UsageError(f"{path}: wanted '{end_mark}' after '{begin_mark}'")
        return f"{head}{section}{tail}"
    if not text:
        return f"{section}\n"
    gap = "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}{section}\n"
