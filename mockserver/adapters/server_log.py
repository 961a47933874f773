"""The log: lines about the start, a reload and what libraries say; and a line for each request.

A request is put into words when it has been answered, and a thread writes the words a little later. The text is kept
instead of the request: otherwise everything that a request made would stay in memory until it is written. A slow
terminal holds no answer up; when the reader of the log falls behind by more than the bound, lines are dropped and
counted.
"""

import asyncio
import json
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeAlias

from mockserver.adapters.machine_clock import machine_now
from mockserver.domain.clock import iso
from mockserver.domain.masking import mask_text
from mockserver.settings import LOG_LEVELS, LogRecord, Settings

Echo: TypeAlias = Callable[..., None]
"""Prints one line, on standard output or, with ``err=True``, on standard error."""


class ServerLog:
    """Prints lines as ``--log-format`` and ``--log-level`` want them: addresses on standard output, the others on
    standard error."""

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
        if LOG_LEVELS.index(level) >= self._least:
            # A log on a disk that is full must not stop what it reports.
            with suppress(OSError):
                self.echo(line, err=True)

    def _worded(self, line: str, name: str = "message") -> str:
        if not self._as_json:
            return line if name == "message" else f"{name}: {line}"
        return json.dumps({"time": iso(machine_now())[:23] + "Z", name: line}, separators=(",", ":"))


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
    """Call it with each request. Lines go to standard error; what is below ``--log-level`` is left out."""

    def __init__(self, echo: Echo, settings: Settings) -> None:
        self._echo = echo
        self._as_json = settings.log_format == "json"
        self._left_out = LOG_LEVELS[: LOG_LEVELS.index(settings.log_level)]
        self._texts: deque[str] = deque()
        self._dropped = 0
        self._flushing = False
        self._work: SimpleQueue[bool] = SimpleQueue()  # what waits is to be written; False ends it
        self._thread = threading.Thread(target=self._run, name="request-log", daemon=True)
        self._thread.start()

    def __call__(self, record: LogRecord) -> None:
        """Note a request. Must be called in the event loop."""
        if self._left_out and record.level in self._left_out:
            return
        if len(self._texts) >= MOST_WAITING:
            self._dropped += 1
            return
        self._texts += record.lines(as_json=self._as_json)
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    def close(self) -> None:
        """Write what is waiting, for at most a second."""
        self._flush()
        self._work.put(False)
        self._thread.join(1)

    def _flush(self) -> None:
        self._flushing = False
        if self._dropped:
            self._texts.append(f'{{"dropped": {self._dropped}}}' if self._as_json else f"{self._dropped} lines dropped")
            self._dropped = 0
        self._work.put(True)

    def _run(self) -> None:
        while self._work.get():
            texts = [self._texts.popleft() for _ in range(len(self._texts))]
            try:
                if texts:
                    self._echo("\n".join(texts), err=True)
            except OSError:
                self._dropped += len(texts)
