"""The servers of commands: one that runs already, or one that is started for a command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import httpx

from mockserver.adapters import local_server
from mockserver.adapters.exit_codes import Exit
from mockserver.commands.ending import stop
from mockserver.engine.sandbox import masked_key
from mockserver.remote import ControlRefused, RemoteSandbox

_OPTIONS = ("--journal-limit", "100000", "--log-level", "error")


@contextmanager
def started(words: Sequence[str], folder: Path) -> Iterator[str]:
    """The address of a server that ends with this block. Ends the command when it cannot be started; only where the
    user has given the options, its exit code is the user's."""
    try:
        url, process = local_server.start([*_OPTIONS, *words], folder)
    except local_server.CannotStart as problem:
        stop((words and problem.code) or Exit.NOT_READY, str(problem))
    try:
        yield url
    finally:
        # The command has ended and is judged: no answer is on its way.
        process.kill()
        process.wait()


@contextmanager
def served(url: str, key: str, refused: Exit, admin_token: str | None = None) -> Iterator[RemoteSandbox]:
    """A sandbox of a running server. Ends the command when none answers, with ``refused`` when it refuses a call."""
    try:
        with closing(RemoteSandbox(url, key, admin_token=admin_token)) as sandbox:
            yield sandbox
    except ControlRefused as problem:
        stop(refused, str(problem))
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        stop(Exit.NOT_READY, f"no server at {url}: {problem}; `mockserver` starts one")


def check_reached(sandbox: RemoteSandbox) -> None:
    """End the command (exit code 2) when no request has reached the sandbox that it is to judge, as with a key that is
    misspelt: an unused sandbox has no findings. Raises as ``RemoteSandbox.call``."""
    if not is_reached(sandbox):
        used = ", ".join(others(sandbox)) or "none"
        stop(Exit.USAGE, f"no request has reached this sandbox ({masked_key(sandbox.secret_key)}); keys in use: {used}")


def is_reached(sandbox: RemoteSandbox) -> bool:
    # A test that moves the clock of the wrong sandbox has asked nothing of it.
    page = sandbox.call("GET", "/__admin/journal", params={"q": "-op:clock.* -is:due", "limit": 1})
    return bool(page["count"] or page["dropped"])


def others(sandbox: RemoteSandbox) -> list[str]:
    """The masked keys of the other sandboxes of its server that were used."""
    own, rows = masked_key(sandbox.secret_key), sandbox.rows("/__admin/sandboxes", "sandboxes")
    return [row["key"] for row in rows if row["requests"] and row["key"] != own]
