"""What a scenario holds in one sandbox, until it is released, and which calls are under way.

Source: docs/scenario-language.md, transport.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from mockserver.domain.record import mutable
from mockserver.scenario.transport import HoldUntil


@mutable
class Holding:
    """``held`` counts what waits for its release, ``is_all`` says that everything else waits with it; ``waiting`` are
    the calls that wait for the next one that moves money, of which ``came`` have come; ``releases`` counts releases.
    ``in_flight`` are the steps that are not answered yet, where a rule looks at them, by what distinguishes them."""

    held: int = 0
    is_all: bool = False
    waiting: int = 0
    came: int = 0
    releases: int = 0
    in_flight: dict[int, Any] = field(default_factory=dict)

    def begin(self, until: HoldUntil) -> Callable[[], bool]:
        """Hold something until it is released; what says whether it is."""
        self.held += 1
        self.is_all = self.is_all or until is HoldUntil.ALL
        before = self.releases
        return lambda: self.releases > before

    def release(self) -> int:
        """Let everything go on; how much was held."""
        held, self.held, self.is_all = self.held, 0, False
        self.releases += 1
        return held
