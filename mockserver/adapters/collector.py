"""The garbage collector, kept off the requests' time."""

from __future__ import annotations

import gc
from dataclasses import field
from typing import Any

from mockserver.domain.record import mutable

_NEVER = 2**31 - 1

_LONGEST = 2
"""Times what a lot should have, up to which it is looked through."""

_MOST_HELD = 8
"""Things that each object of such a lot may hold, on average: a walk comes to each of them. Charges have two; a
list of 500,000 rows, which a search makes, would take 50 ms."""

_HOLD = (list, dict, tuple, set)


@mutable
class Collector:
    """Bounds how long a collection takes, whatever is stored.

    A full collection walks every stored object: with 100,000 charges it stops the only thread for a fifth of a second,
    and it comes when allocation happens to cross a threshold, which is in the middle of a request. Stored
    objects are not garbage, so they are moved out of the collector's sight (``gc.freeze``): all that start-up made at
    once, and then each lot of ``every`` new objects when the interpreter would look through it. So no collection walks
    more than one lot, which takes some milliseconds.

    Freezing pins cyclic garbage. Requests leave none as a rule, and neither do sandboxes that are dropped: so only one
    of ``sample`` lots is looked through before it is frozen; while garbage is found, each of them is. The interpreter
    counts what is made less what is freed, so a lot may have hundreds of thousands of objects; such a lot is frozen
    unseen, and so is one with very long lists.
    """

    every: int = 8_000
    sample: int = 20
    _lots: int = field(init=False)

    def __post_init__(self) -> None:
        self._lots = self.sample

    def start(self) -> None:
        """Freeze what start-up made, and stand by."""
        gc.freeze()
        gc.callbacks.append(self._met)
        gc.set_threshold(self.every, _NEVER, _NEVER)
        gc.enable()

    def stop(self) -> None:
        """Stand by no longer."""
        gc.callbacks.remove(self._met)

    def _met(self, phase: str, found: dict[str, Any]) -> None:
        """A collection begins or has ended. An explicit one (of generation 2) is not counted."""
        if found["generation"] == 2:
            return
        if phase == "start":
            self._lots -= 1
            if not self._lots and self._is_long(gc.get_objects(generation=0)):
                self._lots = 1
            if self._lots:
                # Then there is nothing to look through.
                gc.freeze()
        elif not self._lots:
            self._lots = 1 if found["collected"] else self.sample
            gc.freeze()

    def _is_long(self, lot: list[Any]) -> bool:
        """Whether a walk through a lot takes tens of milliseconds."""
        if len(lot) > _LONGEST * self.every:
            return True
        return sum(len(one) for one in lot if type(one) in _HOLD) > _MOST_HELD * self.every
