"""Sandboxes, and how they began, out of the file of a store. It is called in a thread: a large one takes seconds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import chain

from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import NotKept
from mockserver.engine.config import Beginning
from mockserver.engine.kept.commits import KeptFile, KeptSandbox, Unreadable
from mockserver.engine.kept.keeping import DamagedSandbox, Keeping
from mockserver.engine.kept.restoring import BEGINNING, kept_beginning, kept_sandbox
from mockserver.engine.sandbox import Sandbox
from mockserver.web.store_room import StoreRoom

WAIT = 5
"""Seconds that a client is asked to wait whose request the store could not take."""


def sandbox_of(kept: KeptSandbox, file: KeptFile, room: StoreRoom, real: Micros) -> tuple[Sandbox, Keeping]:
    """The sandbox that is kept. Raises ``NotKept`` (43) for rows that cannot be read."""
    with _readable():
        return kept_sandbox(kept.key, room.by_part(file.rows(kept.world)), room, real)


def beginnings_of(some: Sequence[KeptSandbox], file: KeptFile, room: StoreRoom) -> dict[str, Beginning]:
    """How sandboxes began, by key; their content is not read. Raises ``NotKept`` (43)."""
    found = {}
    for kept in some:
        with _readable():
            rows = chain.from_iterable(file.rows_of_part(kept.world, part) for part in BEGINNING)
            found[kept.key] = kept_beginning(room.by_part(rows), room)
    return found


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (Unreadable, DamagedSandbox) as damage:
        words = f"what the store holds of this sandbox cannot be read: {damage}"
        raise NotKept(Code.TRANSACTION_ERROR, {"Store": words}, WAIT) from None
