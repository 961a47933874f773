"""What a scenario holds in one sandbox, until it is released. Source: docs/scenario-language.md, transport."""

from __future__ import annotations

from collections.abc import Callable

from mockserver.domain.record import mutable
from mockserver.scenario.transport import HoldUntil


@mutable
class Holding:
    """``held`` counts what waits for its release, ``is_all`` says that everything else waits with it; ``waiting`` are
    the calls that wait for the next one that moves money, of which ``came`` have come; ``releases`` counts releases."""

    held: int = 0
    is_all: bool = False
    waiting: int = 0
    came: int = 0
    releases: int = 0

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
