"""The product for coding agents: tools and resources of the Model Context Protocol (docs/mcp.md).

Two doors: ``mockserver mcp`` (``command.py``) over standard input and output, and ``mount``, ``/mcp`` of a server. Only
they import the package ``mcp``, which the extra of that name installs, and only when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockserver.web.app import Application


class NotInstalled(Exception):
    """The package ``mcp`` is not installed; the text says what to install."""


def require() -> None:
    """Raise ``NotInstalled`` where the package ``mcp`` is missing, or older than what is written for here."""
    from importlib.util import find_spec

    # A version before 2 has no such package.
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise NotInstalled("the package mcp is not installed: pip install 'payfurl-mockserver[mcp]'")


def mount(app: Application) -> None:
    """Let an application answer at ``/mcp``. Raises ``NotInstalled``."""
    require()
    from mockserver.mcp.http import mount as mounted

    mounted(app)
