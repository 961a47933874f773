"""Runs a command and ends it with everything that it has started. Source: docs/explore.md, What it runs.

The command leads a session of its own, which is ended as a whole. What left that session is found, where there is a
``/proc``, by a mark in the environment that it inherited.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread, Timer

from mockserver.domain.record import record

GRACE_SECONDS = 1.0
"""How long a command may take to end when it is asked to, before it is killed."""

MARK = "MOCKSERVER_EXPLORE_RUN"
"""The variable that marks the processes of one run."""

_PROC = Path("/proc")


@record
class Ended:
    """How a command ended: its exit code, negative for a signal, None when it had not ended in time; real seconds."""

    exit: int | None
    seconds: float

    def __str__(self) -> str:
        return "not done in time" if self.exit is None else f"exit code {self.exit}"


Beside = Callable[[Callable[[], bool], Callable[[], object]], None]
"""What is done while a command runs, with what says whether it still does and what kills it with all its processes."""


class Interrupted(Exception):
    """The commands were asked to end."""


class Commands:
    """The commands that run now, each in a thread of its caller. ``environ`` is what they inherit."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self._running: set[_Running] = set()
        self._lock = Lock()
        self._is_over = False
        self._before: Set[str] = _processes()

    @contextmanager
    def run(
        self,
        argv: Sequence[str],
        given: Mapping[str, str],
        mark: str,
        output: Path,
        timeout: float,
        *,
        errors: Path | None = None,
        beside: Beside = lambda is_running, kill: None,
        adds: bool = False,
    ) -> Iterator[Ended]:
        """Run a command to its end, or for ``timeout`` seconds; what it started goes on until the block is left. Its
        output goes to a file, behind what is there when it ``adds``; what it writes to standard error too unless there
        is another for that. ``beside`` is called when it has begun, in the thread of the caller.

        What it is ``given`` stands in its environment and fills its words, ``mark`` names the run. Raises ``OSError``
        for an unknown program, ``Interrupted`` when all commands were asked to end meanwhile.
        """
        began = time.monotonic()
        with ExitStack() as files, self._lock:
            if self._is_over:
                raise Interrupted
            # What ran when the last command had ended is none of its processes.
            before = self._before
            process = subprocess.Popen(
                [filled(word, given) for word in argv],
                env={**self._environ, **variables_of(given), MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=files.enter_context(output.open("ab" if adds else "wb")),
                stderr=files.enter_context(errors.open("wb")) if errors is not None else subprocess.STDOUT,
                start_new_session=True,
            )
            running = _Running(process, before)
            self._running.add(running)
        # Waiting with a timeout would look again every so often, and so come late.
        patience = Timer(timeout, running.end)
        patience.start()
        try:
            beside(lambda: process.poll() is None, lambda: running.clear(mark))
            code = process.wait()
            patience.cancel()
            self._check()
            yield Ended(None if running.was_ended else code, time.monotonic() - began)
        finally:
            patience.cancel()
            now = running.clear(mark)
            process.wait()
            with self._lock:
                self._before = now
                self._running.discard(running)
        self._check()

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


class _Running:
    """A command with the session that it leads."""

    def __init__(self, process: subprocess.Popen[bytes], before: Set[str]) -> None:
        self._process = process
        self._before = before
        self._has_ended = Event()
        self.was_ended = False

    def end(self) -> None:
        """Ask it to end, and kill it when it does not."""
        self.was_ended = True
        self._signal(signal.SIGTERM)
        if not self._has_ended.wait(GRACE_SECONDS):
            self._signal(signal.SIGKILL)

    def clear(self, mark: str) -> Set[str]:
        """Kill what a command has left behind that has ended; all processes that ran then."""
        self._has_ended.set()
        self._signal(signal.SIGKILL)
        end = time.monotonic() + GRACE_SECONDS
        # One may have begun another after they were counted.
        while (left := _marked(mark, (now := _processes()) - self._before)) and time.monotonic() < end:
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        return now

    def _signal(self, number: signal.Signals) -> None:
        with suppress(OSError):
            os.killpg(self._process.pid, number)


def _processes() -> set[str]:
    """The numbers of all processes, where they can be known."""
    try:
        return set(filter(str.isdecimal, os.listdir(_PROC)))
    except OSError:
        return set()


def _marked(mark: str, numbers: Set[str]) -> list[int]:
    """Those of some processes that inherited a mark, as far as this user may see them."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for number in numbers:
        with suppress(OSError):
            if wanted in (_PROC / number / "environ").read_bytes().split(b"\0"):
                found.append(int(number))
    return found


def variables_of(given: Mapping[str, str]) -> dict[str, str]:
    """The same as variables of its environment."""
    return {f"MOCKSERVER_{name.upper()}": value for name, value in given.items()}


def filled(word: str, given: Mapping[str, str]) -> str:
    """A word of the command with what stands for ``{url}`` and the like."""
    for name, value in given.items():
        word = word.replace(f"{{{name}}}", value)
    return word
