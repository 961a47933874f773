"""The root of the command line: what ``mockserver --help`` shows, and that ``serve`` may be left out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import click

from mockserver.adapters.exit_codes import Exit

GROUPS: Mapping[str, Sequence[str]] = {
    "Run a server": ("serve", "healthcheck", "config", "store", "sample", "ca"),
    "Write scenarios": ("init", "scenarios", "check", "explain", "outcomes", "schema"),
    "Test a client": ("findings", "explore", "shrink"),
    "Look up": ("routes", "states", "assumptions", "openapi", "asyncapi", "version"),
}
MAIN_OPTIONS = ("host", "port", "scenario", "clock", "seed", "profile")
"""Options of ``serve`` that the root's help shows."""

_LONGEST = 200


class ServeByDefault(click.Group):
    """A group whose command may be left out: ``mockserver --port 0`` is ``mockserver serve --port 0``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ("--help", "-h", "--version")):
            args = ["serve", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. An interruption that it does not see to itself, such as one that comes before it has begun,
        ends it with the exit code of one."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(Exit.INTERRUPTED)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in groups, each with its whole first sentence; then the options that matter first."""
        widest = max(map(len, self.commands))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(widest), self.commands[name].get_short_help_str(_LONGEST))
                        for name in names
                        if name in self.commands
                    ]
                )
        serve = self.commands["serve"]
        records = [one.get_help_record(ctx) for one in serve.params if one.name in MAIN_OPTIONS]
        with formatter.section("Main options of serve (mockserver serve --help shows all)"):
            formatter.write_dl([record for record in records if record is not None])
