"""One story told to two servers: to one that keeps everything in memory, and to one with a store
that ends again and again. Every answer must be the same."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from mockserver.store.schema import INDEX, StoredRows
from tests.driving import Api, Reply

VIEWS = (
    "/__admin/state?secrets=true",
    "/__admin/journal?limit=1000",
    "/__admin/webhooks?limit=1000",
    "/__admin/rules",
    "/__admin/inbox",
    "/__admin/inbox/shop",
    "/__admin/findings",
    "/__admin/sandboxes",
    "/__admin/scenarios",
    "/__admin/assumptions",
    "/__admin/marks",
    "/__admin/clock",
    "/__admin/timeline",
)
"""What a sandbox is, as far as anybody can see."""


def listed(rows: StoredRows) -> list[tuple[str, int, bytes]]:
    """Rows as a list: part, number and content."""
    return [
        (part, *row)
        for part, some in rows.items()
        for row in zip(some.numbers, some.texts, strict=True)
    ]


def number_of(db: sqlite3.Connection, key: str) -> int:
    """The number of the sandbox of a key in a store."""
    for number, line in db.execute("SELECT key, line FROM lines WHERE part = ?", (INDEX,)):
        if json.loads(line)[0] == key:
            return int(number)
    raise LookupError(key)


class Kept(Api):
    """A caller of a server with a store, and of the next one that opens its file."""

    def __init__(self, path: Path, key: str | None = "sk_tests", **more: Any) -> None:
        self._more = {**more, "waits": True, "store": str(path)}
        super().__init__(key, **self._more)

    def restart(self) -> None:
        """The server ends between two steps, as if killed, and another opens its file. What a
        webhook has come to is written by then: it would be sent again."""
        store: Any = self.app.world.store
        self._loop().run_until_complete(store.all_kept(store.failures))
        self.kill()
        super().__init__(self.key, **self._more)

    def kill(self) -> None:
        """Nothing is written any more."""
        store: Any = self.app.world.store
        store._writer.shutdown()
        store._file.close()


class Twins(Api):
    """Tells both; the one with the store ends after every ``every`` calls."""

    def __init__(self, path: Path, every: int = 1, **more: Any) -> None:
        super().__init__(**more)
        self.kept = Kept(path, **more)
        self._every = every
        self._calls = 0

    def call(self, method: str, target: str, *args: Any, **more: Any) -> Reply:
        """The answer of both."""
        self._calls += 1
        if not self._calls % self._every:
            self.kept.restart()
        reply = super().call(method, target, *args, **more)
        again = self.kept.call(method, target, *args, **more)
        assert (again.status, again.raw) == (reply.status, reply.raw), (method, target)
        assert again.headers == reply.headers, (method, target)
        return reply

    def look(self, *keys: str) -> None:
        """See everything that there is to be seen of some sandboxes."""
        for view in VIEWS:
            for key in keys or (self.key,):
                self.call("GET", view, key=key)
