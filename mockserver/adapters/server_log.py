"""Log lines that are not about a request: start, reload, and messages of the libraries."""

from __future__ import annotations

import json
import logging
from typing import Protocol

from mockserver.adapters.machine_clock import machine_now
from mockserver.domain.clock import iso
from mockserver.settings import LOG_LEVELS, Settings


class Echo(Protocol):
    """Prints one line, on standard output or on standard error."""

    def __call__(self, line: str, *, err: bool = False) -> None: ...


class ServerLog:
    """Prints lines as ``--log-format`` and ``--log-level`` want them: addresses on standard output, the others on
    standard error."""

    def __init__(self, echo: Echo, settings: Settings) -> None:
        self._echo = echo
        self._as_json = settings.log_format == "json"
        self._least = LOG_LEVELS.index(settings.log_level)

    def address(self, line: str) -> None:
        """Where the server listens: logged at every level, because scripts wait for it."""
        self._echo(self._worded("message", line) if self._as_json else line)

    def info(self, line: str) -> None:
        """A normal event."""
        self._tell("info", self._worded("message", line) if self._as_json else line)

    def warning(self, line: str) -> None:
        """A warning."""
        self._tell("warning", self._worded("warning", line) if self._as_json else f"warning: {line}")

    def error(self, line: str) -> None:
        """An error."""
        self._tell("error", self._worded("message", line) if self._as_json else line)

    def _tell(self, level: str, line: str) -> None:
        if LOG_LEVELS.index(level) >= self._least:
            self._echo(line, err=True)

    def _worded(self, name: str, line: str) -> str:
        return json.dumps({"time": iso(machine_now())[:23] + "Z", name: line}, separators=(",", ":"))


class Complaints(logging.Handler):
    """Prints what is logged with ``logging``, in the form of all other lines."""

    def __init__(self, log: ServerLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record, with the traceback that it may have."""
        say = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        say(self.format(record))

    def take_over(self) -> None:
        """Be the only one who prints what the server and the sender of webhooks log."""
        for name in ("uvicorn", "mockserver"):
            logger = logging.getLogger(name)
            logger.handlers = [self]
            logger.propagate = False
