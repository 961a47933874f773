"""The ``mockserver`` command: every face of the product that is not HTTP (docs/cli.md).

The command must start fast: it stands in scripts, and a test suite may start it hundreds of times.
So no command is imported before somebody asks for it. Their names, places and summaries are a table
(``commands/commands.csv``), of which the help is made. Here stand the few that need nothing but the
settings, ``serve`` among them, which may be left out.

Options of a server come from the settings table. Exit codes are those of
:class:`mockserver.adapters.exit_codes.Exit`.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from mockserver import __version__
from mockserver.adapters.exit_codes import Exit
from mockserver.commands.completion import offered
from mockserver.commands.ending import interruptions, stop
from mockserver.domain.record import read_grouped, record, replace
from mockserver.settings import (
    SETTINGS,
    Setting,
    Settings,
    SettingsError,
    data_directory,
    read_address,
    resolve,
    trace_protocol,
    unknown_variables,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from mockserver.adapters.server_log import ServerLog
    from mockserver.assumptions import Assumed
    from mockserver.server.garbage import Collector

POLL_SECONDS = 0.05
"""How often ``healthcheck`` looks: a server starts in a fifth of a second, and a script waits."""


@record
class _Row:
    """One command; ``place`` is what ``pkgutil.resolve_name`` finds it by."""

    group: str
    name: str
    place: str
    ends: str
    """``in order`` where a signal interrupts the command, which then puts away what it has made."""
    summary: str


COMMANDS: Mapping[str, Sequence[_Row]] = read_grouped(
    "commands", _Row, Path(__file__).parent / "commands"
)
"""All commands by their groups, so that the help imports none of them."""
MAIN_OPTIONS = ("host", "port", "scenario", "clock", "seed", "profile")
"""Options of ``serve`` that the root's help shows."""

_OWN_OPTIONS = ("--help", "-h", "--version")
_FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})
"""Errors of a disk that has no room."""


class ServeByDefault(click.Group):
    """A group whose command may be left out: ``mockserver --port 0`` is ``mockserver serve --port
    0``, as that is what nearly everybody wants. Commands are imported when they are asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args:
            is_for_serve = args[0].startswith("-") and args[0] not in _OWN_OPTIONS
        else:
            # While the shell completes a first word, that is the name of a command.
            is_for_serve = not ctx.resilient_parsing
        if is_for_serve:
            args = ["serve", *args]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name, imported now; for a name that is none all of them, of which click
        suggests one."""
        from pkgutil import resolve_name

        all_rows = list(chain.from_iterable(COMMANDS.values()))
        named = [row for row in all_rows if row.name == cmd_name]
        for row in named or all_rows:
            if row.ends:
                # From now on: to import one takes a while.
                ctx.with_resource(interruptions())
            if row.name not in self.commands:
                self.add_command(resolve_name(row.place))
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, from the table: ``self.commands`` has only what was imported."""
        return sorted(row.name for row in chain.from_iterable(COMMANDS.values()))

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. An interruption that it does not see to itself, such as one that comes
        before it has begun, ends it with the exit code of one; so does a disk that is full, where
        its output goes."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            stop(Exit.INTERRUPTED, "interrupted")
        except OSError as problem:
            if problem.errno not in _FULL:
                raise
            stop(Exit.INTERNAL, f"what was to be printed could not be written: {problem.strerror}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in groups, each with its whole summary, where click would cut it and list
        all by the alphabet; then the few options that a first run needs."""
        # Columns begin at the same place in all groups.
        widest = max(map(len, self.list_commands(ctx)))
        for title, rows in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(row.name.ljust(widest), row.summary) for row in rows])
        serve = self.commands["serve"]
        main_options = [option for option in serve.params if option.name in MAIN_OPTIONS]
        records = [option.get_help_record(ctx) for option in main_options]
        with formatter.section("Main options of serve (mockserver serve --help shows all)"):
            formatter.write_dl([record for record in records if record is not None])


def _option(setting: Setting) -> click.Option:
    """The option of a setting. It has no default and reads nothing: both are left to
    ``Settings.load``, which must see whether the option was given before it looks at the
    environment."""
    words = f"{setting.help} [{setting.variable}; default: {setting.show(setting.default)}]"
    return click.Option(
        [setting.flag, setting.name],
        help=words,
        is_flag=setting.is_switch,
        multiple=setting.is_list,
        metavar=setting.metavar or "TEXT",
        shell_complete=offered,
    )


OPTIONS = [_option(setting) for setting in SETTINGS]
"""Every option of the settings table."""


def load(flags: Mapping[str, object]) -> Settings:
    """The settings of a command. A refusal becomes a usage error, exit code 2. Every command that
    takes them refuses what ``serve`` refuses, so ``config`` can check a set-up without a server."""
    try:
        return Settings.load(flags, os.environ)
    except SettingsError as refusal:
        raise click.UsageError(str(refusal)) from None


@click.group(
    cls=ServeByDefault,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(__version__, message="%(version)s")
def main() -> None:
    """A local, stateful sandbox of the payFURL payments API and its white labels. Without a
    command: serve.

    Exit codes: 0 success or stopped by a signal, 1 internal error or a finding, 2 bad usage,
    setting, scenario or store, 3 port or store in use, 4 verification failed, 5 not ready in time,
    130 interrupted.
    """


@main.command(params=[*OPTIONS])
def serve(**flags: object) -> None:
    """Serve until a signal stops it."""
    from mockserver.server.garbage import Collector

    # What start-up makes stays: looking through it for garbage, over and over, would take a sixth
    # of its time.
    collector = Collector()
    # Pydantic would look for plugins in the lists of all that is installed, and there is none for
    # us.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    settings = load(flags)
    if settings.tether:
        from mockserver.adapters.local_server import tether

        tether()
    if settings.mcp:
        from mockserver.mcp import require

        require()
    from mockserver.adapters.server_log import ServerLog

    log = ServerLog(click.echo, settings)
    for sentence in unknown_variables(os.environ):
        log.warning(sentence)
    sys.exit(_served(settings, log, collector))


def _served(settings: Settings, log: ServerLog, collector: Collector) -> int:
    """Serve to the end; the exit code. It listens before it builds the application: a port that is
    in use is told at once, and a port of 0 is known to the application."""
    from mockserver.domain.errors import MockserverError
    from mockserver.server import serving
    from mockserver.web.app import create_app

    try:
        listeners = serving.listen(settings)
        traces = _traces(log)
        app = create_app(listeners.settings, traces=traces)
    except (serving.CannotListen, MockserverError) as refusal:
        log.error(str(refusal))
        # A port or a store in use, and a damaged store, have codes of their own.
        return getattr(refusal, "exit_code", Exit.USAGE)
    if settings.mcp:
        from mockserver.mcp.http import mount

        mount(app)
    # Hints for a person: a program that reads JSON lines has no use for them.
    if settings.log_format == "text":
        log.info(f"control page: {listeners.settings.near_address}/__admin")
        log.info(f"try: curl -H 'x-secretkey: sk_demo' {listeners.settings.near_address}/charge")
    code = serving.serve(app, listeners, echo=click.echo, collector=collector)
    if traces is not None:
        from mockserver.adapters.trace_export import close_export

        # The last spans are on their way to a collector that may hang: who presses Ctrl-C again
        # does not wait for them.
        with suppress(KeyboardInterrupt):
            close_export(traces)
    return code


def _traces(log: ServerLog) -> Any:
    """What makes and sends spans, None when they go nowhere. Orchestrators set such variables for
    all that they start, so what is wrong with them stops no server."""
    protocol = trace_protocol(os.environ)
    if protocol is None:
        return None
    from mockserver.adapters.trace_export import CannotTrace, open_export

    try:
        return open_export(log, __version__, protocol)
    except CannotTrace as fault:
        log.warning(f"no traces are sent: {fault}")
        return None


def _commands_offered(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names of commands, as behind ``mockserver`` itself."""
    return main.shell_complete(ctx.find_root(), incomplete)


@main.command(name="help")
@click.argument("command", nargs=-1, shell_complete=_commands_offered)
@click.pass_context
def help_of(ctx: click.Context, command: tuple[str, ...]) -> None:
    """Print this help, or with COMMAND that of a command."""
    # COMMAND may be several words, ``store info``: each is looked up in the group before it.
    within = ctx.find_root()
    for name in command:
        group = within.command
        if not isinstance(group, click.Group):
            raise click.UsageError(
                f"{within.command_path} has no commands of its own, got {name!r}"
            )
        _, subcommand, _ = group.resolve_command(within, [name])
        within = click.Context(subcommand or group, info_name=name, parent=within)
    click.echo(within.get_help())


@main.command()
def version() -> None:
    """Print the version."""
    click.echo(__version__)


@main.command(params=[*OPTIONS])
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def config(as_json: bool, **flags: object) -> None:
    """Print every setting with its value and where it came from."""
    load(flags)
    rows = []
    for chosen in resolve(flags, os.environ):
        setting = chosen.setting
        value = setting.plain(chosen.value)
        if not as_json:
            # For people, as they would write it.
            value = setting.show(chosen.value)
        rows.append(
            {
                "flag": setting.flag,
                "variable": setting.variable,
                "value": value,
                "source": chosen.source,
            }
        )
    from mockserver.commands.printed_tables import show

    show(rows, header=False, as_json=as_json)


@main.command(params=[*OPTIONS])
@click.option(
    "--within",
    type=click.FloatRange(0, 3600),
    default=3.0,
    show_default=True,
    help="Seconds to wait for readiness.",
)
@click.option("--url", metavar="URL", help="Address of the server, instead of --host and --port.")
def healthcheck(within: float, url: str | None, **flags: object) -> None:
    """Wait for a running server to be ready: exit code 0, or 5 when it is not ready in time.

    The options are those of serve: give those of the server. With --port 0 the port is read from
    --port-file.
    """
    settings = load(flags)
    address = None
    if url is not None:
        try:
            address = read_address(url)
        except ValueError as fault:
            raise click.UsageError(f"--url: {fault}") from None
    end = time.monotonic() + within
    while True:
        problem = _why_not_ready(address, settings)
        if problem is None:
            click.echo("ready")
            return
        if time.monotonic() >= end:
            stop(Exit.NOT_READY, problem)
        time.sleep(POLL_SECONDS)


def _why_not_ready(url: str | None, settings: Settings) -> str | None:
    """Why a server is not ready, None when it is; without an address that of the settings. With
    port 0 the file is read anew each time: the server writes it when it has its port."""
    from http.client import HTTPException

    if url is None:
        port = settings.port
        if not port:
            try:
                port = int(Path(settings.port_file or "").read_text())
            except (OSError, ValueError):
                return "not ready: --port is 0 and --port-file names no file with a port"
        url = replace(settings, port=port).near_address
    try:
        status, body = _get(f"{url}/readyz", settings)
    except (OSError, HTTPException) as problem:
        return f"not ready: {url}: {problem}"
    if status != 200:
        return f"not ready: {url} answered {status}: {body}"
    return None


def _get(url: str, settings: Settings) -> tuple[int, str]:
    """Status and beginning of an answer; of https also where this user's own authority vouches for
    the server."""
    from http.client import HTTPConnection, HTTPSConnection

    parts = urlsplit(url)
    # Python's own client: a health check runs every few seconds, and httpx takes longer to load
    # than to ask.
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=2)
    if parts.scheme == "https":
        import ssl

        context = ssl.create_default_context()
        authority = data_directory(settings, os.environ) / "ca.pem"
        if authority.exists():
            context.load_verify_locations(authority)
        connection = HTTPSConnection(parts.hostname or "", parts.port, timeout=2, context=context)
    with closing(connection):
        connection.request("GET", parts.path)
        answer = connection.getresponse()
        return answer.status, answer.read(2_000).decode("utf-8", "replace")


@main.command(params=[*OPTIONS])
def openapi(**flags: object) -> None:
    """Print the payments API as an OpenAPI 3.1 document, in the words of the profile."""
    from mockserver.web.openapi import document

    settings = load(flags)
    _print(document(_assumed(settings), settings.url))


@main.command(params=[*OPTIONS])
def asyncapi(**flags: object) -> None:
    """Print the webhooks as an AsyncAPI 3.0 document, in the words of the profile."""
    from mockserver.web.openapi import asyncapi as document

    settings = load(flags)
    _print(document(_assumed(settings)))


def _assumed(settings: Settings) -> Assumed:
    """The answers of the profile, whose words and fields a document has."""
    from mockserver.assumptions import Assumed, Profile

    return Assumed(Profile(settings.profile))


def _print(document: object) -> None:
    import json

    click.echo(json.dumps(document, indent=2))


@main.command(params=[*OPTIONS])
def ca(**flags: object) -> None:
    """Print the certificate (PEM) of the local authority that signs the TLS certificate; made on
    first use."""
    # Clients may be told to trust it before a server has started.
    settings = load(flags)
    from mockserver.adapters.tls import authority_pem

    try:
        pem = authority_pem(data_directory(settings, os.environ))
    except (OSError, ValueError) as problem:
        stop(Exit.USAGE, f"--data-dir: {problem}")
    click.echo(pem, nl=False)
