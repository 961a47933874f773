"""Runs a command and ends it with everything that it has started. Source: docs/explore.md, What it
runs.

A command may start others, and leave them behind: a server for its tests, a worker, a browser. They
must go on until the run has been judged, as a webhook may still reach one; and none may live on
into the next run, whose port or database it would hold. So a command is run as a block (``with``),
and what it started is ended when the block is left.

It leads a session of its own, which is ended as a whole. A process may leave that session, as
daemons do. Where there is a ``/proc`` such ones are found by a mark in the environment that they
inherited (``MARK``). To read the environment of every process of the machine after each of a
thousand runs would take longer than many a command: so only those are looked at that were not there
when the last command ended.

A command is waited for without a timeout. A wait with one would look again every so often, and come
late hundreds of times; so a timer ends a command that takes too long, and the wait ends by that.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread, Timer
from typing import IO, NotRequired, TypedDict, Unpack

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
        if self.exit is None:
            return "not done in time"
        return f"exit code {self.exit}"


class Interrupted(Exception):
    """The commands were asked to end."""


class Running:
    """A command that was begun, with the session that it leads; ``mark`` is that of its processes,
    ``before`` are those that were there before it."""

    def __init__(self, process: subprocess.Popen[bytes], mark: str, before: Set[str]) -> None:
        self.process = process
        self._mark = f"{MARK}={mark}".encode()
        self._before = before
        self._is_killed = Event()
        self.was_ended = False

    def end(self) -> None:
        """Ask it to end, so that it may close its database, and kill it when it does not."""
        self.was_ended = True
        self._signal(signal.SIGTERM)
        if not self._is_killed.wait(GRACE_SECONDS):
            self._signal(signal.SIGKILL)

    def kill(self) -> Set[str]:
        """Kill it, and what it has started. Returns the numbers of all processes that ran then."""
        # ``end`` may be waiting in another thread: by its turn the session may be another's.
        self._is_killed.set()
        self._signal(signal.SIGKILL)
        end = time.monotonic() + GRACE_SECONDS
        while True:
            now = processes()
            left = self._marked(now - self._before)
            if not left or time.monotonic() >= end:
                return now
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            # One of them may have begun another after they were counted: so they are counted again.

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to its session, if there is one left."""
        with suppress(OSError):
            os.killpg(self.process.pid, number)

    def _marked(self, numbers: Set[str]) -> list[int]:
        """Those of some processes that inherited its mark, as far as this user may see them: others
        have ended meanwhile, or are none of ours."""
        found = []
        for number in numbers:
            with suppress(OSError):
                variables = (_PROC / number / "environ").read_bytes().split(b"\0")
                if self._mark in variables:
                    found.append(int(number))
        return found


def _do_nothing(running: Running) -> None:
    """What goes on beside a command where nothing has to."""


class _Way(TypedDict):
    """How a command is run (``Commands.run``)."""

    placeholders: Mapping[str, str]
    output: Path
    timeout: float
    errors: NotRequired[Path]


class Commands:
    """The commands that run now, each in a thread of its caller. ``environ`` is what they inherit,
    ``_before`` are the processes that were there when the last command had ended."""

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
        placeholders: Mapping[str, str],
        output: Path,
        timeout: float,
        *,
        errors: Path | None = None,
        beside: Callable[[Running], None] = _do_nothing,
    ) -> Iterator[Ended]:
        """Run a command to its end, or for ``timeout`` seconds; what it started goes on until the
        block is left. Its output goes to a file, what it writes to standard error too unless there
        is another for that. ``beside`` is called when it has begun, in the thread of the
        caller: it may kill the command, or run another beside it.

        What stands in for ``placeholders`` fills its words, and is in its environment too, as some
        programs read no words and some no environment. Raises ``OSError`` for
        an unknown program, ``Interrupted`` when all commands were asked to end meanwhile.
        """
        began = time.monotonic()
        running = self._begin(argv, placeholders, output, errors)
        patience = Timer(timeout, running.end)
        # Should a signal strike before the block, this process must not wait for it at its end.
        patience.daemon = True
        try:
            patience.start()
            beside(running)
            code: int | None = running.process.wait()
            # What it left running must not be ended for the time that the judging takes.
            patience.cancel()
            self._check()
            if running.was_ended:
                # The code is that of its end by force.
                code = None
            yield Ended(code, time.monotonic() - began)
        finally:
            patience.cancel()
            # Also what it has left running, though it ended by itself.
            now = running.kill()
            running.process.wait()
            with self._lock:
                self._before = now
                self._running.discard(running)
        self._check()

    def done(self, argv: Sequence[str], **way: Unpack[_Way]) -> Ended:
        """How a command ended, and with it all that it had started; ``way`` and what is raised as
        with ``run``."""
        with self.run(argv, **way) as ended:
            return ended

    def _begin(
        self,
        argv: Sequence[str],
        placeholders: Mapping[str, str],
        output: Path,
        errors: Path | None,
    ) -> Running:
        """Begin a command. None may begin once all were asked to end, or it would be left over: so
        both happen under the lock."""
        with ExitStack() as files, self._lock:
            self._check()
            # What ran when the last command had ended is none of its processes.
            before, mark = self._before, str(output)
            output_file = files.enter_context(output.open("wb"))
            error_file: IO[bytes] | int = subprocess.STDOUT
            if errors is not None:
                error_file = files.enter_context(errors.open("wb"))
            process = subprocess.Popen(
                [filled(word, placeholders) for word in argv],
                env={**_AS_IT_COMES, **self._environ, **variables_of(placeholders), MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=output_file,
                stderr=error_file,
                start_new_session=True,
            )
            running = Running(process, mark, before)
            self._running.add(running)
        return running

    def _check(self) -> None:
        """Raises ``Interrupted`` once all commands were asked to end: what one of them has come to
        since is no result."""
        if self._is_over:
            raise Interrupted

    def end_all(self) -> None:
        """End every command that runs, and let none begin."""
        with self._lock:
            self._is_over = True
            running = list(self._running)
        # Each may take its time to end: none waits for another.
        for command in running:
            Thread(target=command.end, daemon=True).start()

    def close(self) -> None:
        """Kill what still runs. A signal that ends the caller may strike at any step, also between
        the beginning of a command and the block that would end it."""
        with self._lock:
            running = list(self._running)
        for command in running:
            command.kill()
            command.process.wait()


def processes() -> set[str]:
    """The numbers of all processes, as texts; none where they cannot be known."""
    try:
        return {name for name in os.listdir(_PROC) if name.isdecimal()}
    except OSError:
        return set()


def variables_of(placeholders: Mapping[str, str]) -> dict[str, str]:
    """What stands in for placeholders, as variables of the environment: ``MOCKSERVER_URL``."""
    return {f"MOCKSERVER_{name.upper()}": value for name, value in placeholders.items()}


def filled(word: str, placeholders: Mapping[str, str]) -> str:
    """A word of the command with what stands in for placeholders, such as ``{url}``: for
    programs that read no environment, as curl in a line of its own."""
    for name, value in placeholders.items():
        word = word.replace(f"{{{name}}}", value)
    return word
