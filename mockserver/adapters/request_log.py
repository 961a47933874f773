"""The request log: a request is put into words when it has been answered, and a thread writes the words a little later.

The text is kept instead of the request: otherwise everything that a request made would stay in memory until it is
written. A slow terminal holds no answer up; when the reader of the log falls behind by
more than the bound, lines are dropped and counted.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable

from mockserver.settings import LOG_LEVELS, LogRecord

FLUSH_SECONDS = 0.02
MOST_WAITING = 100_000


class RequestLog:
    """Call it with each request; ``write`` takes text to be shown at once.

    What is below the level ``least`` is left out.
    """

    def __init__(self, write: Callable[[str], None], *, as_json: bool, least: str = "info") -> None:
        self._write = write
        self._as_json = as_json
        self._left_out = LOG_LEVELS[: LOG_LEVELS.index(least)]
        self._texts: deque[str] = deque()
        self._dropped = 0
        self._flushing = False
        self._work = threading.Semaphore(0)
        self._closing = False
        self._thread: threading.Thread | None = None

    def __call__(self, told: LogRecord) -> None:
        """Note a request. Must be called in the event loop."""
        if self._left_out and told.level in self._left_out:
            return
        if len(self._texts) >= MOST_WAITING:
            self._dropped += 1
            return
        self._texts += told.lines(as_json=self._as_json)
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    def close(self) -> None:
        """Write what is waiting, for at most a second."""
        self._flush()
        self._closing = True
        self._work.release()
        if self._thread is not None:
            self._thread.join(1)

    def _flush(self) -> None:
        self._flushing = False
        if self._dropped:
            self._texts.append(f'{{"dropped": {self._dropped}}}' if self._as_json else f"{self._dropped} lines dropped")
            self._dropped = 0
        if not self._texts:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="request-log", daemon=True)
            self._thread.start()
        self._work.release()

    def _run(self) -> None:
        while not self._closing or self._texts:
            self._work.acquire()
            texts = [self._texts.popleft() for _ in range(len(self._texts))]
            if texts:
                self._write("\n".join(texts) + "\n")
