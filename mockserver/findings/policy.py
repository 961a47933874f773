"""The limits that findings are judged by (scenario key ``findings``)."""

from collections.abc import Iterable

from mockserver.domain.clock import DAY, SECOND, Micros
from mockserver.domain.record import record, updated


@record
class Policy:
    """``allow`` are kinds that are not raised. More than ``retry_limit`` declined tries of a card
    within ``retry_window`` (sandbox time) are too many. ``timeout`` is the longest wait for an
    answer and ``slow_receiver`` the longest time of a receiver, both real; ``poll_limit`` are the
    reads of one object in a second. As they are published, unless given."""

    allow: frozenset[str] = frozenset()
    retry_limit: int = 15
    retry_window: Micros = 30 * DAY
    timeout: Micros = 30 * SECOND
    slow_receiver: Micros = 5 * SECOND
    poll_limit: int = 10

    def limited_by(self, limits: Iterable[object]) -> "Policy":
        """With the limits that scenarios set: of what several of them say, the last one counts."""
        policy = self
        for said in limits:
            policy = updated(policy, said)
        return policy
