"""``mockserver mcp``: a coding agent starts it and speaks to it over standard input and output
(docs/mcp.md)."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.commands.options import options
from mockserver.commands.servers import started
from mockserver.mcp import require

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server


@click.command()
@options("mcp")
def mcp(allow: tuple[Path, ...], url: str | None, admin_token: str | None) -> None:
    """Serve a coding agent over standard input and output (Model Context Protocol), with a sandbox
    server of its own.

    Needs the extra mcp, and says how to add it where it is missing. Exit codes: 2 without it, 5
    when no server starts.
    """
    require()
    from mockserver.mcp.explore_tools import Folders, JoinedServer, explore_tools
    from mockserver.mcp.protocol import protocol_server
    from mockserver.mcp.server_tools import Line, server_tools

    with ExitStack() as open_while_served:
        folder = Path(
            open_while_served.enter_context(tempfile.TemporaryDirectory(prefix="mockserver-"))
        )
        address = url
        if address is None:
            address = open_while_served.enter_context(started((), folder))
        tools = [*server_tools(Line(address, admin_token))]
        if allow:
            folders = Folders([folder.resolve() for folder in allow])
            # Explorations without a server of the user's start their own.
            joined = None
            if url is not None:
                joined = JoinedServer(url, admin_token)
            tools += explore_tools(folders, joined)
        server = protocol_server(tools, address, explores=bool(allow))
        try:
            asyncio.run(_serve(server))
            return
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
    # A thread of the package still reads standard input, and an orderly end would wait for that.
    os._exit(Exit.INTERRUPTED)


async def _serve(server: Server[Any]) -> None:
    """Answer until standard input ends."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (requests, answers):
        await server.run(requests, answers, server.create_initialization_options())
