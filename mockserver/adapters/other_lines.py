"""Lines of the log that tell of no request: start, reload, and what the libraries underneath complain of."""

from __future__ import annotations

import json
import logging
from typing import Protocol

from mockserver.adapters.machine_clock import machine_now
from mockserver.domain.clock import iso

_MARK = "warning: "


class Echo(Protocol):
    """Prints one line, on standard output or on standard error."""

    def __call__(self, line: str, *, err: bool = False) -> None: ...


class InJson:
    """Prints lines of standard error as JSON, as the request log does with ``--log-format json``."""

    def __init__(self, echo: Echo) -> None:
        self._echo = echo

    def __call__(self, line: str, *, err: bool = False) -> None:
        if err:
            told = {"warning": line.removeprefix(_MARK)} if line.startswith(_MARK) else {"message": line}
            line = json.dumps({"time": iso(machine_now())[:23] + "Z", **told}, separators=(",", ":"))
        self._echo(line, err=err)


class Complaints(logging.Handler):
    """Prints what is logged with ``logging``, in the form of all other lines."""

    def __init__(self, echo: Echo) -> None:
        super().__init__(logging.WARNING)
        self._echo = echo

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record, with the traceback that it may have."""
        self._echo(f"{_MARK}{self.format(record)}", err=True)

    def take_over(self) -> None:
        """Be the only one who prints what the server and the sender of webhooks log."""
        for name in ("uvicorn", "mockserver"):
            logger = logging.getLogger(name)
            logger.handlers = [self]
            logger.propagate = False
