"""Commands that print the tables the product is made of, as text for people and as JSON or Mermaid
for documents."""

import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import click

from mockserver.commands.options import options

_UNWRAPPED = 1_000_000
"""Characters of a line that no row has."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
"""The option of every command that can print its rows as JSON."""


def show(rows: Sequence[Mapping[str, Any]], *, header: bool = True, as_json: bool = False) -> None:
    """Print rows of one shape in columns: wrapped to the width of a terminal, otherwise each row in
    one line, so that ``grep`` finds whole rows."""
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None, show_header=header, header_style="", padding=(0, 2, 0, 0), pad_edge=False
    )
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        # As Text, what stands in brackets is no markup.
        table.add_row(*map(Text, row.values()))
    if sys.stdout.isatty():
        Console().print(table)
        return
    console = Console(width=_UNWRAPPED, color_system=None)
    for line in console.render_lines(table, pad=False):
        click.echo("".join(part.text for part in line).rstrip())


@click.command()
@click.argument("subject", required=False)
@options("states")
def states(subject: str | None, as_mermaid: bool, profile: str) -> None:
    """Print every state with the events that leave it; with SUBJECT of that kind only."""
    from mockserver.assumptions import Assumed, Profile
    from mockserver.domain.states import TABLES, mermaid
    from mockserver.wire.profile import profile_of

    if subject is not None and subject not in TABLES:
        raise click.UsageError(f"SUBJECT: got {subject!r}, allowed: {', '.join(TABLES)}")
    # The profiles name some states differently.
    word = profile_of(Assumed(Profile(profile))).word
    chosen = list(TABLES)
    if subject is not None:
        chosen = [subject]
    if as_mermaid:
        diagrams = [f"%% {name}\n{mermaid(TABLES[name], word)}" for name in chosen]
        click.echo("\n\n".join(diagrams))
        return
    rows: list[dict[str, str]] = []

    def add(subject: str, state: str, event: str, after: str) -> None:
        rows.append({"subject": subject, "state": state, "event": event, "next": after})

    for name in chosen:
        table = TABLES[name]
        for beginning, after in table.begins.items():
            # What begins by being made, in one way only, has no event to name.
            add(name, "(new)", str(beginning or "-"), word(after))
        for state, moves in table.moves.items():
            for event, after in moves.items():
                add(name, word(state), event.value, word(after))
            if not moves:
                # Rows are moves: without this one a final state would have none.
                add(name, word(state), "-", "(final)")
    show(rows)


@click.command()
@as_json
def assumptions(as_json: bool) -> None:
    """Print how each question that the service's document leaves open is settled, by profile."""
    from mockserver.assumptions import ROWS

    rows = [
        {
            "key": row.key,
            "documented": str(row.kind.show(row.documented)),
            "sdk": str(row.kind.show(row.sdk)),
            "question": row.question,
            "allowed": row.kind.allowed,
            "evidence": row.evidence,
        }
        for row in ROWS.values()
    ]
    if not as_json:
        # Too wide for a terminal.
        for row in rows:
            del row["allowed"]
    show(rows, as_json=as_json)


@click.command()
@as_json
def routes(as_json: bool) -> None:
    """Print every path: method, path, name of the operation, key and source.

    `mockserver operations` goes by the names that rules use.
    """
    from mockserver.web.routes import ROUTES

    rows = [
        {
            "method": row.method,
            "path": row.path,
            "op": row.op,
            "auth": "public or secret key" if row.is_public else "secret key",
            "source": row.source,
        }
        for row in ROUTES
    ]
    show(rows, as_json=as_json)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME|GLOB]...")
@as_json
def operations(names: tuple[str, ...], as_json: bool) -> None:
    """Print every operation that a rule may name: what it is, the calls that ask for it, and the
    members that `when` and `key` may use there; of webhooks the events that a rule sees.

    `mockserver routes` goes by the paths.
    """
    from mockserver.scenario.operations import OPERATIONS, operations_like
    from mockserver.web.control.description import operation_description

    chosen: set[str] = set()
    try:
        for name in names or ["*"]:
            chosen |= operations_like(name)
    except ValueError as unknown:
        raise click.UsageError(str(unknown)) from None
    # In the order of the table, whatever that of the names.
    rows = [operation_description(op) for op in OPERATIONS if op in chosen]
    if as_json:
        show(rows, as_json=True)
        return
    for row in rows:
        click.echo(f"{row['op']}: {row['means']}")
        _print_names("calls", row["calls"])
        _print_names("request", row["request"])
        _print_names("state", row["state"])
        _print_names("also", row["also"])
        _print_names("events", row["events"])


def _print_names(title: str, names: Sequence[str]) -> None:
    """Print some names of an operation, over several lines if need be; nothing without any."""
    if not names:
        return
    lines = textwrap.fill(
        f"{title}: {', '.join(names)}",
        118,
        initial_indent="  ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    click.echo(lines)
