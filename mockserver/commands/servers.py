"""The servers of commands: one that runs already, or one that is started for a command.

A command that judges (findings, books, a run) must not find nothing because it has asked the wrong
server or a misspelt key: an empty sandbox looks like a client without faults. So every failure to
ask ends the command with an exit code of its own, and ``check_reached`` refuses an unused sandbox.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from mockserver.adapters import local_server
from mockserver.adapters.exit_codes import Exit
from mockserver.commands.ending import stop
from mockserver.remote import ControlRefused, RemoteSandbox

_OPTIONS = ("--journal-limit", "100000", "--log-level", "error")
"""A run is judged by all its calls, so the journal keeps them; the output is the command's, so the
server is silent. What the user gives comes after these and counts instead."""


def words_of(options: Mapping[str, object]) -> list[str]:
    """Options of ``serve``, by the names of their parameters, as words of a command: a switch that
    is off and what was not given have no word."""
    words: list[str] = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        match value:
            case None | False:
                pass
            case True:
                words.append(option)
            case tuple():
                for text in value:
                    words += (option, text)
            case _:
                words += (option, str(value))
    return words


@contextmanager
def started(words: Sequence[str], folder: Path) -> Iterator[str]:
    """The address of a server, started with these options, that ends with this block. Ends the
    command when it cannot be started."""
    try:
        url, process = local_server.start([*_OPTIONS, *words], folder)
    except local_server.CannotStart as problem:
        code: int = Exit.NOT_READY
        if words and problem.code:
            # The user has given the options: what is wrong with them is the user's.
            code = problem.code
        stop(code, str(problem))
    try:
        yield url
    finally:
        # The command has ended and is judged: no answer is on its way.
        process.kill()
        process.wait()


@contextmanager
def served(
    url: str, key: str, refused: Exit, admin_token: str | None = None
) -> Iterator[RemoteSandbox]:
    """A sandbox of a running server. Ends the command when none answers, with ``refused`` when it
    refuses a call: what a refusal means, a mistake of the user's or not, depends on the command."""
    try:
        with closing(RemoteSandbox(url, key, admin_token=admin_token)) as sandbox:
            yield sandbox
    except ControlRefused as problem:
        stop(refused, str(problem))
    except Exception as problem:
        # Loaded for a failure alone, as the engine is below: each takes longer than the call.
        from httpx import HTTPError, InvalidURL

        if not isinstance(problem, (HTTPError, InvalidURL)):
            raise
        stop(Exit.NOT_READY, f"no server at {url}: {problem}; `mockserver` starts one")


def check_reached(sandbox: RemoteSandbox) -> None:
    """End the command (exit code 2) when no request has reached the sandbox that it is to judge, as
    with a key that is misspelt: an unused sandbox has no findings. Raises as
    ``RemoteSandbox.call``."""
    if not is_reached(sandbox):
        keys = used_keys(sandbox)
        others = ", ".join(keys.others) or "none"
        stop(Exit.USAGE, f"no request has reached this sandbox ({keys.own}); keys in use: {others}")


def is_reached(sandbox: RemoteSandbox) -> bool:
    """Whether a request has reached a sandbox: a client's, in its journal or dropped from it."""
    # A test that moves the clock has asked nothing, nor has work that came due by that.
    page = sandbox.call("GET", "/__admin/journal", params={"q": "-op:clock.* -is:due", "limit": 1})
    return bool(page["count"] or page["dropped"])


class UsedKeys(NamedTuple):
    """The key of a sandbox, and those of the ``others`` of its server that were used. Masked, as
    they end in logs of CI."""

    own: str
    others: list[str]


def used_keys(sandbox: RemoteSandbox) -> UsedKeys:
    """The keys of a server, for a sandbox that no request has reached: one of the others is the one
    that was meant."""
    from mockserver.engine.sandbox import masked_key

    own = masked_key(sandbox.secret_key)
    others = []
    for row in sandbox.rows("/__admin/sandboxes", "sandboxes"):
        if row["requests"] and row["key"] != own:
            others.append(row["key"])
    return UsedKeys(own, others)
