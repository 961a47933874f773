"""Runs a command and ends it with everything that it has started. Source: docs/explore.md, What it
runs.

A command may start others, and leave them behind: a server for its tests, a worker, a browser. They
must go on until the run has been judged, as a webhook may still reach one; and none may live on
into the next run, whose port or database it would hold. So the command leads a session of its own,
which is ended as a whole when the block that ran it is left. What left that session is found, where
there is a ``/proc``, by a mark in the environment that it inherited: only processes that were not
there when the last command ended are looked at.

It is waited for without a timeout, which would look again every so often and come late hundreds of
times; a timer ends a command that takes too long.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread, Timer
from typing import Any

from mockserver.domain.record import record

GRACE_SECONDS = 1.0
"""How long a command may take to end when it is asked to, before it is killed."""

MARK = "MOCKSERVER_EXPLORE_RUN"
"""The variable that marks the processes of one command: it names the file of the output."""

_AS_IT_COMES = {"PYTHONUNBUFFERED": "1"}
"""So that what a command printed stands before the exception that ended it."""

_PROC = Path("/proc")


@record
class Ended:
    """How a command ended: its exit code, negative for a signal, None when it had not ended in
    time; real seconds."""

    exit: int | None
    seconds: float

    def __str__(self) -> str:
        return "not done in time" if self.exit is None else f"exit code {self.exit}"


class Interrupted(Exception):
    """The commands were asked to end."""


class Running:
    """A command that was begun, with the session that it leads; ``mark`` is that of its processes,
    ``before`` are those that were there before it."""

    def __init__(self, process: subprocess.Popen[bytes], mark: str, before: Set[str]) -> None:
        self.process = process
        self._mark = f"{MARK}={mark}".encode()
        self._before = before
        self._has_ended = Event()
        self.was_ended = False

    def end(self) -> None:
        """Ask it to end, and kill it when it does not."""
        self.was_ended = True
        self._signal(signal.SIGTERM)
        if not self._has_ended.wait(GRACE_SECONDS):
            self._signal(signal.SIGKILL)

    def kill(self) -> Set[str]:
        """Kill it, and what it has started; all processes that ran then."""
        self._has_ended.set()
        self._signal(signal.SIGKILL)
        end = time.monotonic() + GRACE_SECONDS
        # One may have begun another after they were counted.
        while (
            left := self._marked((now := processes()) - self._before)
        ) and time.monotonic() < end:
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        return now

    def _signal(self, number: signal.Signals) -> None:
        with suppress(OSError):
            os.killpg(self.process.pid, number)

    def _marked(self, numbers: Set[str]) -> list[int]:
        """Those of some processes that inherited its mark, as far as this user may see them."""
        found = []
        for number in numbers:
            with suppress(OSError):
                if self._mark in (_PROC / number / "environ").read_bytes().split(b"\0"):
                    found.append(int(number))
        return found


class Commands:
    """The commands that run now, each in a thread of its caller. ``environ`` is what they
    inherit."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self._running: set[Running] = set()
        self._lock = Lock()
        self._is_over = False
        self._before: Set[str] = processes()

    @contextmanager
    def run(
        self,
        argv: Sequence[str],
        given: Mapping[str, str],
        output: Path,
        timeout: float,
        *,
        errors: Path | None = None,
        beside: Callable[[Running], None] = lambda running: None,
    ) -> Iterator[Ended]:
        """Run a command to its end, or for ``timeout`` seconds; what it started goes on until the
        block is left. Its output goes to a file, what it writes to standard error too unless there
        is another for that. ``beside`` is called when it has begun, in the thread of the caller.

        What it is ``given`` stands in its environment and fills its words. Raises ``OSError`` for
        an unknown program, ``Interrupted`` when all commands were asked to end meanwhile.
        """
        began = time.monotonic()
        running = self._begun(argv, given, output, errors)
        # Waiting with a timeout would look again every so often, and so come late.
        patience = Timer(timeout, running.end)
        patience.start()
        try:
            beside(running)
            code = running.process.wait()
            patience.cancel()
            self._check()
            yield Ended(None if running.was_ended else code, time.monotonic() - began)
        finally:
            patience.cancel()
            now = running.kill()
            running.process.wait()
            with self._lock:
                self._before = now
                self._running.discard(running)
        self._check()

    def done(self, argv: Sequence[str], **way: Any) -> Ended:
        """How a command ended, and with it all that it had started; ``way`` and what is raised as
        with ``run``."""
        with self.run(argv, **way) as ended:
            return ended

    def _begun(
        self, argv: Sequence[str], given: Mapping[str, str], output: Path, errors: Path | None
    ) -> Running:
        with ExitStack() as files, self._lock:
            self._check()
            # What ran when the last command had ended is none of its processes.
            before, mark = self._before, str(output)
            process = subprocess.Popen(
                [filled(word, given) for word in argv],
                env={**_AS_IT_COMES, **self._environ, **variables_of(given), MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=files.enter_context(output.open("wb")),
                stderr=files.enter_context(errors.open("wb"))
                if errors is not None
                else subprocess.STDOUT,
                start_new_session=True,
            )
            running = Running(process, mark, before)
            self._running.add(running)
        return running

    def _check(self) -> None:
        if self._is_over:
            raise Interrupted

    def end_all(self) -> None:
        """End every command that runs, and let none begin."""
        with self._lock:
            self._is_over = True
            running = list(self._running)
        for one in running:
            Thread(target=one.end, daemon=True).start()


def processes() -> set[str]:
    """The numbers of all processes, where they can be known."""
    try:
        return set(filter(str.isdecimal, os.listdir(_PROC)))
    except OSError:
        return set()


def variables_of(given: Mapping[str, str]) -> dict[str, str]:
    """The same as variables of its environment."""
    return {f"MOCKSERVER_{name.upper()}": value for name, value in given.items()}


def filled(word: str, given: Mapping[str, str]) -> str:
    """A word of the command with what stands for ``{url}`` and the like."""
    for name, value in given.items():
        word = word.replace(f"{{{name}}}", value)
    return word
