"""Keeps the garbage collector from stalling a loaded server: stored objects are never walked.

A full collection of 100,000 charges stops the only thread for a fifth of a second. So everything
that is there is moved out of the collector's sight (``gc.freeze``): first what start-up made, then
each lot of new objects as it fills up. One lot in ``sample`` is looked through before; while
garbage is found, each is. What takes long to walk is frozen unseen.

That is safe because nothing here needs the collector: objects that refer to each other in a circle
are hardly ever made (tests/web/test_no_garbage.py), and all others are freed when the last
reference to them goes, frozen or not.
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
        """Python begins or has ended a collection, as it tells ``gc.callbacks``. One of another
        generation than 0 was asked for by hand, and is left alone."""
        if found["generation"] != 0:
            return
        if phase == "start":
            # So many lots until one is looked through; 0 for this one.
            self._left -= 1
            if self._left or self._is_long(gc.get_objects(generation=0)):
                self._left = self._left or 1
                gc.freeze()  # then there is nothing to look through
        elif not self._left:
            self._left = 1 if found["collected"] else self.sample
            gc.freeze()

    def _is_long(self, lot: list[Any]) -> bool:
        """Whether it takes long to look through a lot: it has many objects, or a few that hold very
        many, such as the table of a large sandbox."""
        held = sum(len(item) for item in lot if type(item) in (list, dict, tuple, set))
        return len(lot) > 2 * self.every or held > 8 * self.every  # charges hold two things each
