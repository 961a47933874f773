"""Exit codes of the command line, and the end of a server."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from enum import IntEnum
from typing import NoReturn


class Exit(IntEnum):
    """Exit codes of the command line (docs/cli.md)."""

    STOPPED = 0
    INTERNAL = 1
    FOUND = 1
    USAGE = 2
    PORT_IN_USE = 3
    IN_USE = 3
    BASELINE = 3
    VERIFICATION_FAILED = 4
    NOT_READY = 5
    INTERRUPTED = 130


class ServerEnded(SystemExit):
    """A server has ended, and nothing is left to do for threads."""

    code: int


def leave(code: int) -> NoReturn:
    """End the process as ``sys.exit`` does, but leave its memory to the operating system: to take apart all that a
    server holds took 25 million instructions, as many as a hundred of its answers, and more the more it held. Nothing
    may be left to do for threads."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # None where the process was started without it.
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
    os._exit(code)
