"""The product for coding agents: tools and resources of the Model Context Protocol (docs/mcp.md).

An agent that writes payment code opens a sandbox, runs the code under failures, reads what went
wrong and mends it. It needs few tools with plain texts as answers, as all that it reads takes room
in its memory. It may be led by whatever it reads, a comment in a file or an answer of a stranger's
server, and may send on whatever it is told. So its good will is not relied on: what is answered is
masked, and commands run only where the user has allowed it, in folders that ``--allow`` names.

Two doors: ``mockserver mcp`` (``stdio.py``) over standard input and output, and ``/mcp`` of a
server (``http.py``), where no tool runs a command. Only they import the package ``mcp``, which the
extra of that name installs, and only when they are asked for. What the tools are is a table
(``tools.py``); ``server_tools.py`` has those that ask a server, ``explore_tools.py`` those that run
a command, ``protocol.py`` puts them into the words of the protocol.
"""

from importlib.util import find_spec

import click

from mockserver.adapters.extras import how_to_add


def require() -> None:
    """Raise ``click.UsageError`` where the package ``mcp`` is missing, or older than 2."""
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise click.UsageError(f"the package mcp is not installed: {how_to_add('mcp')}")
