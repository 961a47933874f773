"""The product for coding agents: tools and resources of the Model Context Protocol (docs/mcp.md).

Two doors: ``mockserver mcp`` (``stdio.py``) over standard input and output, and ``/mcp`` of a
server (``http.py``). Only they import the package ``mcp``, which the extra of that name installs,
and only when they are asked for.
"""

from importlib.util import find_spec

import click

from mockserver.adapters.extras import how_to_add


def require() -> None:
    """Raise ``click.UsageError`` where the package ``mcp`` is missing, or older than 2."""
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise click.UsageError(f"the package mcp is not installed: {how_to_add('mcp')}")
