"""The deliveries of a sandbox: those under way, and the newest of those that have ended.

Source: control document, Control API (``/__admin/webhooks``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from mockserver.domain.delivery import Delivery, DeliveryState

MOST_UNDER_WAY = 10_000
"""Deliveries that may be under way at once: more are dropped and counted."""

_ENDED = frozenset({DeliveryState.DELIVERED, DeliveryState.GIVEN_UP})


class DeliveryLog:
    """Deliveries by id, oldest first; ``limit`` of the ended ones are kept, ``dropped`` counts those that are not.

    ``refused`` counts those that were never planned because too many were under way. ``outbox`` holds the ids of those
    that are to be sent by now; ``held`` those that wait for another to overtake them, by receiver. ``changes`` counts
    what has happened to deliveries.
    """

    __slots__ = ("_by_id", "_ended", "changes", "dropped", "held", "limit", "outbox", "refused")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.changes = 0
        self.dropped = 0
        self.refused = 0
        self.outbox: deque[str] = deque()
        self.held: dict[str, list[str]] = {}
        self._by_id: dict[str, Delivery] = {}
        self._ended: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Delivery]:
        return iter(tuple(self._by_id.values()))

    @property
    def has_room(self) -> bool:
        """Whether one more may be under way."""
        return len(self._by_id) - len(self._ended) < MOST_UNDER_WAY

    def add(self, delivery: Delivery) -> None:
        """Keep a new delivery."""
        self._by_id[delivery.delivery_id] = delivery
        self.note_changed(delivery)

    def note_changed(self, delivery: Delivery) -> None:
        """Something has happened to a delivery."""
        self.changes += 1
        delivery.changed = self.changes

    def get(self, delivery_id: str) -> Delivery | None:
        """The delivery of an id, while it is kept."""
        return self._by_id.get(delivery_id)

    def note_ended(self, delivery: Delivery) -> None:
        """A delivery has ended; the oldest of the ended ones beyond the limit go."""
        self._ended.append(delivery.delivery_id)
        while len(self._ended) > self.limit:
            oldest = self._by_id.get(self._ended.popleft())
            # One that was sent again since is under way, and stands at the end of the queue when it ends anew.
            if oldest is not None and oldest.state in _ENDED and oldest.delivery_id not in self._ended:
                del self._by_id[oldest.delivery_id]
                self.dropped += 1

    def forget(self) -> None:
        """Drop everything: a copy of a sandbox sends nothing a second time."""
        self.outbox.clear()
        self.held.clear()
        self._by_id.clear()
        self._ended.clear()
