"""The deliveries of a sandbox: those under way, and the newest of those that have ended.

A delivery is no value: it changes in place with each of its tries, and keeps its id. So who keeps
or shows deliveries is told the ids of those that have changed (``on_change``), or looks at what
has a higher ``changed`` than what it has seen.

Source: docs/control-api.md (``/__admin/webhooks``).
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from operator import attrgetter

from mockserver.domain.delivery import Delivery
from mockserver.domain.states import DeliveryState

MOST_UNDER_WAY = 10_000
"""Deliveries that may be under way at once: more are dropped and counted."""

ENDED = frozenset({DeliveryState.DELIVERED, DeliveryState.GIVEN_UP})
"""How deliveries end; one that has may be sent again."""


class DeliveryLog:
    """Deliveries by id, oldest first; ``limit`` of the ended ones are kept, ``dropped`` counts
    those that are not.

    ``refused`` counts those that were never planned because too many were under way. ``outbox``
    holds the ids of those that are to be sent by now, ``sending`` also those that are being sent;
    ``held`` those that wait for another to overtake them, by whose, ``unanswered`` those that wait
    until the step that caused them has been answered; ``blocking``, by receiver, the one for which
    others wait. ``changes`` counts what has happened to deliveries; ``on_change`` is called for
    each that has changed or is dropped, by its id."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.changes = 0
        self.dropped = 0
        self.refused = 0
        self.outbox: deque[str] = deque()
        self.held: dict[str, list[str]] = {}
        self.unanswered: set[str] = set()
        self.blocking: dict[str, str] = {}
        self._by_id: dict[str, Delivery] = {}
        self.sending: dict[str, None] = {}
        self._ended: dict[str, None] = {}
        self.on_change: Callable[[str], None] | None = None

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Delivery]:
        return iter(tuple(self._by_id.values()))

    @property
    def has_room(self) -> bool:
        """Whether another delivery may be under way."""
        return len(self._by_id) - len(self._ended) < MOST_UNDER_WAY

    def is_blocked(self, delivery: Delivery) -> bool:
        """Whether a delivery waits for another to the same receiver to end. The one that blocks
        does not wait for itself: it may be tried again."""
        return self.blocking.get(delivery.url, delivery.delivery_id) != delivery.delivery_id

    def add(self, delivery: Delivery) -> None:
        """Keep a delivery that has been planned."""
        self._by_id[delivery.delivery_id] = delivery
        self.note_changed(delivery)

    def note_changed(self, delivery: Delivery) -> None:
        """Something has happened to a delivery; the oldest of the ended ones beyond the limit
        go."""
        delivery_id = delivery.delivery_id
        self.changes += 1
        delivery.changed = self.changes
        # One that is sent again is under way, and stands at the end of the queue when it ends anew.
        self._ended.pop(delivery_id, None)
        self.sending.pop(delivery_id, None)
        if delivery.state is DeliveryState.SENDING:
            self.sending[delivery_id] = None
        elif delivery.state in ENDED:
            self._ended[delivery_id] = None
        changed = [delivery_id]
        while len(self._ended) > self.limit:
            oldest = next(iter(self._ended))
            del self._ended[oldest], self._by_id[oldest]
            self.dropped += 1
            changed.append(oldest)
        if self.on_change is not None:
            for changed_id in changed:
                self.on_change(changed_id)

    def get(self, delivery_id: str) -> Delivery | None:
        """The delivery of an id, as long as it is kept."""
        return self._by_id.get(delivery_id)

    def take_over(self, deliveries: Iterable[Delivery]) -> None:
        """Go on with the deliveries of a store, oldest first: those that were being tried are tried
        again."""
        self._by_id = {delivery.delivery_id: delivery for delivery in deliveries}
        by_change = sorted(self._by_id.values(), key=attrgetter("changed"))
        self._ended, self.sending, self.blocking = {}, {}, {}
        for delivery in by_change:
            if delivery.state in ENDED:
                self._ended[delivery.delivery_id] = None
                continue
            is_being_tried = delivery.state is DeliveryState.SENDING
            if is_being_tried:
                self.sending[delivery.delivery_id] = None
            # One blocks from its first try on, until it has ended.
            has_begun = is_being_tried or bool(delivery.tries)
            if delivery.blocks and has_begun:
                self.blocking[delivery.url] = delivery.delivery_id
        self.outbox = deque(self.sending)

    def resume(self, under_way: Collection[str]) -> None:
        """Let everything go out that is to be sent by now and is not ``under_way``: of a sandbox
        that has lost its key nothing is sent."""
        left = [delivery_id for delivery_id in self.sending if delivery_id not in under_way]
        self.outbox = deque(left)
