"""The longest step of a server's event loop, in CPU time: others wait for at least so long, on
whatever machine.

    python -m benchmarks.steps FILE serve ...

Runs ``mockserver serve ...`` on an event loop of Python's own, whose steps can be timed. On SIGUSR1
it writes the milliseconds of the longest step since the last signal to ``FILE``, and what that step
ran.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any


class Steps:
    """Times every step of all loops, and reports to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._longest = (0.0, "")
        plain, clock = asyncio.Handle._run, time.thread_time

        def timed(handle: Any) -> None:
            begun = clock()
            plain(handle)
            taken = clock() - begun
            if taken > self._longest[0]:
                self._longest = taken, repr(handle)

        asyncio.Handle._run = timed  # type: ignore[method-assign]
        signal.signal(signal.SIGUSR1, self._report)

    def _report(self, *_: object) -> None:
        taken, what = self._longest
        self._longest = 0.0, ""
        beside = self._path.with_suffix(".new")
        beside.write_text(f"{taken * 1e3:.1f} {what}\n")
        beside.replace(self._path)


def longest(path: Path, pid: int) -> tuple[float, str]:
    """The milliseconds of the longest step of a server since this was last asked, and what it
    ran."""
    # A step that has answered may still have something to do.
    time.sleep(0.1)
    path.unlink(missing_ok=True)
    os.kill(pid, signal.SIGUSR1)
    while not path.exists():
        time.sleep(0.01)
    taken, _, what = path.read_text().partition(" ")
    return float(taken), what.strip()


def busy(pid: int) -> float:
    """The seconds of CPU time that all threads of a server have taken."""
    return (
        sum(
            int(one.read_text().split()[0]) for one in Path(f"/proc/{pid}/task").glob("*/schedstat")
        )
        / 1e9
    )


def main() -> None:
    """Serve."""
    from mockserver.cli import main as command

    sys.modules["uvloop"] = None  # type: ignore[assignment]
    file, sys.argv[1:] = sys.argv[1], sys.argv[2:]
    _steps = Steps(Path(file))
    command()


if __name__ == "__main__":
    main()
