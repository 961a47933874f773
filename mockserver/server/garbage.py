"""Keeps the garbage collector from stalling a loaded server: stored objects are never walked.

A full collection of 100,000 charges stops the only thread for a fifth of a second. So everything
that is there is moved out of the collector's sight (``gc.freeze``): first what start-up made, then
each lot of new objects as it fills up. One lot in ``sample`` is looked through before; while
garbage is found, each is. What takes long to walk is frozen unseen.
"""

import gc
from typing import Any


class Collector:
    """Bounds a collection to one lot, of ``every`` objects more than were freed; off until
    ``start`` is called."""

    def __init__(self, every: int = 8_000, sample: int = 20) -> None:
        gc.disable()
        self.every, self.sample, self._left = every, sample, sample

    def start(self) -> None:
        """Freeze what start-up made, and stand by."""
        gc.freeze()
        gc.callbacks.append(self.meet)
        gc.set_threshold(self.every, 2**31 - 1, 2**31 - 1)
        gc.enable()

    def meet(self, phase: str, found: dict[str, Any]) -> None:
        """A collection begins or has ended; one of generation 2 was asked for, and is left
        alone."""
        if phase == "start" and found["generation"] == 0:
            self._left -= 1
            if self._left or self._is_long(gc.get_objects(generation=0)):
                self._left = self._left or 1
                gc.freeze()  # then there is nothing to look through
        elif found["generation"] == 0 and not self._left:
            self._left = 1 if found["collected"] else self.sample
            gc.freeze()

    def _is_long(self, lot: list[Any]) -> bool:
        held = sum(len(one) for one in lot if type(one) in (list, dict, tuple, set))
        return len(lot) > 2 * self.every or held > 8 * self.every  # charges hold two things each
