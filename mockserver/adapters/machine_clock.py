"""The machine's clock: the one place where real time enters."""

from __future__ import annotations

import time

from mockserver.domain.clock import Micros


def machine_now() -> Micros:
    """Microseconds since the epoch, by the machine."""
    return time.time_ns() // 1_000
