"""The log: lines about the start, a reload and what libraries say; and a line for each request.

A request is put into words when it has been answered, and a thread writes the words a little later.
The text is kept instead of the request: otherwise everything that a request made would stay in
memory until it is written. A slow terminal holds no answer up, whatever the line is about; when the
reader of the log falls behind by more than the bound, lines are dropped and counted.
"""

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TypeAlias

from mockserver.adapters.machine_clock import machine_now
from mockserver.domain.clock import iso
from mockserver.domain.masking import mask_text
from mockserver.settings import LOG_LEVELS, LogRecord, Settings

Echo: TypeAlias = Callable[..., None]
"""Prints one line, on standard output or, with ``err=True``, on standard error."""


class ServerLog:
    """Prints lines as ``--log-format`` and ``--log-level`` want them: addresses on standard output,
    the others on standard error."""

    def __init__(self, echo: Echo, settings: Settings) -> None:
        self.echo = echo
        self._as_json = settings.log_format == "json"
        self._least = LOG_LEVELS.index(settings.log_level)

    def address(self, line: str) -> None:
        """Where the server listens: logged at every level, because scripts wait for it."""
        self.echo(self._worded(line))

    def info(self, line: str) -> None:
        self._write("info", self._worded(line))

    def warning(self, line: str) -> None:
        self._write("warning", self._worded(line, "warning"))

    def error(self, line: str) -> None:
        self._write("error", self._worded(line))

    def _write(self, level: str, line: str) -> None:
        """Print a line on standard error, unless its level is below the least."""
        if LOG_LEVELS.index(level) >= self._least:
            # A log on a disk that is full must not stop what it reports.
            with suppress(OSError):
                self.echo(line, err=True)

    def _worded(self, line: str, name: str = "message") -> str:
        """A line of the log; ``name`` is that of its member in JSON, and its first word in text."""
        if not self._as_json:
            return line if name == "message" else f"{name}: {line}"
        to_the_millisecond = iso(machine_now())[:23] + "Z"
        return json.dumps({"time": to_the_millisecond, name: line}, separators=(",", ":"))


class LibraryMessages(logging.Handler):
    """Prints what is logged with ``logging``, in the form of all other lines."""

    def __init__(self, log: ServerLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record, with the traceback that it may have."""
        say = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        # An error that nobody foresaw may quote what a client has sent.
        say(mask_text(self.format(record)))

    def take_over(self, *names: str) -> None:
        """Print what these loggers get, in place of all other handlers."""
        for logger in map(logging.getLogger, names):
            logger.handlers, logger.propagate = [self], False


FLUSH_SECONDS = 0.05
MOST_WAITING = 100_000


class RequestLog:
    """Call it with each request. Lines go to standard error; what is below ``--log-level`` is left
    out. ``echo`` takes what else is said while requests are answered."""

    def __init__(self, echo: Echo, settings: Settings) -> None:
        self._echo = echo
        self._as_json = settings.log_format == "json"
        self._left_out = LOG_LEVELS[: LOG_LEVELS.index(settings.log_level)]
        self._waiting: SimpleQueue[str] = SimpleQueue()
        # Lines that found no room; the thread that writes counts those that it could not write.
        self._refused = 0
        self._counting = Lock()
        self._closing = Event()
        self._thread = Thread(target=self._run, name="request-log", daemon=True)
        self._thread.start()

    def __call__(self, record: LogRecord) -> None:
        """Note a request."""
        if self._left_out and record.level in self._left_out:
            return
        for line in record.lines(as_json=self._as_json):
            self.echo(line, err=True)

    def echo(self, line: str, *, err: bool = False) -> None:
        """Print a line, one for standard error a little later as long as this is not closed. Its
        order with the requests stays so."""
        if not err or self._closing.is_set():
            self._echo(line, err=err)
        elif self._waiting.qsize() < MOST_WAITING:
            self._waiting.put(line)
        else:
            with self._counting:
                self._refused += 1

    def close(self) -> None:
        """Write what is waiting, for at most a second."""
        self._closing.set()
        self._waiting.put("")  # wakes the thread
        self._thread.join(1)

    def _run(self) -> None:
        """Write what waits, until it is closed: the thread of this log."""
        # Lines that could not be written, and of all that are lost those that the log has told of.
        unwritten = reported = 0
        while not self._closing.is_set() or not self._waiting.empty():
            lines = self._gathered()
            texts = list(lines)
            dropped = self._refused + unwritten - reported
            if dropped:
                text = f'{{"dropped": {dropped}}}' if self._as_json else f"{dropped} lines dropped"
                texts.append(text)
            try:
                if texts:
                    self._echo("\n".join(texts), err=True)
                reported += dropped
            except OSError:
                unwritten += len(lines)

    def _gathered(self) -> list[str]:
        """The next line, and what comes soon after it: to be woken for each would cost more than
        the writing."""
        lines = [self._waiting.get()]
        self._closing.wait(FLUSH_SECONDS)
        lines += [self._waiting.get() for _ in range(self._waiting.qsize())]
        return [line for line in lines if line]
