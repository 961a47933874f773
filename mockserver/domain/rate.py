"""How many calls each key may make in a second: a bucket that holds a second's worth and fills up
evenly.

Time is an argument; instants and waits are microseconds. Everything is counted in whole numbers, so
a bucket neither leaks nor gains by rounding. Source: settled fact ``rate_limit``; the command
line's ``--rate-limit``.
"""

from mockserver.domain.clock import SECOND, Micros


class RateLimit:
    """At most ``per_second`` calls at once, and as many a second in the long run, for each key by
    itself."""

    def __init__(self, per_second: int) -> None:
        self.per_second = per_second
        # Instants are multiplied by the rate, which makes the share of time that one call takes a
        # whole number.
        self._room = per_second * SECOND
        self._full_at: dict[str, int] = {}

    def forget(self, key: str) -> None:
        """A key is no longer used: its bucket is full again."""
        self._full_at.pop(key, None)

    def take(self, key: str, now: Micros) -> Micros:
        """Take one call out of a key's bucket: 0, or how long until there is one; then nothing was
        taken."""
        here = now * self.per_second
        full_at = self._full_at.get(key, here)
        # No bucket takes longer than a second to fill: if this one would, the machine's clock was
        # put back.
        if not here < full_at <= here + self._room:
            full_at = here
        missing = full_at + SECOND - here - self._room
        if missing > 0:
            return -(-missing // self.per_second)
        self._full_at[key] = full_at + SECOND
        return 0
