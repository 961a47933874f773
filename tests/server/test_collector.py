"""No collection of garbage walks what is stored: that is frozen lot by lot, a sample of which is
looked through."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from mockserver.server.garbage import Collector

EVERY = 500


@pytest.fixture
def collector() -> Iterator[Collector]:
    thresholds = gc.get_threshold()
    collector = Collector(every=EVERY, sample=3)
    collector.start()
    yield collector
    gc.callbacks.remove(collector.meet)
    gc.unfreeze()
    gc.freeze()
    gc.set_threshold(*thresholds)


class Cyclic:
    """Garbage as soon as only itself refers to it."""

    def __init__(self) -> None:
        self.self = self


def garbage() -> weakref.ref[Cyclic]:
    return weakref.ref(Cyclic())


def lots(count: int) -> list[list[int]]:
    """What is made and kept while so many lots fill up."""
    kept: list[list[int]] = []
    end = gc.get_stats()[0]["collections"] + count
    while gc.get_stats()[0]["collections"] < end:
        kept.append([len(kept)])
    return kept


@pytest.mark.usefixtures("collector")
def test_what_start_up_made_and_each_lot_of_new_objects_are_frozen() -> None:
    frozen = gc.get_freeze_count()
    assert frozen > 1_000
    kept = lots(7)
    assert gc.get_freeze_count() >= frozen + len(kept) - EVERY
    assert sum(gc.get_count()) <= 2 * EVERY


@pytest.mark.usefixtures("collector")
def test_no_collection_walks_more_than_a_lot() -> None:
    walked: list[int] = []

    def note(phase: str, _: object) -> None:
        if phase == "start":
            walked.append(len(gc.get_objects()))

    gc.callbacks.append(note)
    try:
        kept = lots(20)
    finally:
        gc.callbacks.remove(note)
    assert len(walked) >= 20
    # Lists that stand in no lot yet, and the callbacks' own.
    assert max(walked) <= EVERY + 100 < len(kept)


@pytest.mark.parametrize("before", range(3))
@pytest.mark.usefixtures("collector")
def test_a_lot_that_grew_while_others_were_freed_is_not_walked(before: int) -> None:
    walked: list[int] = []
    freed = [[number] for number in range(20 * EVERY)]
    kept = lots(before)

    def note(phase: str, _: object) -> None:
        if phase == "start":
            walked.append(len(gc.get_objects()))

    gc.callbacks.append(note)
    try:
        # As an import does: each object that is made takes the place of one that goes.
        while freed:
            freed.pop()
            kept.append([0])
        kept += lots(6)
    finally:
        gc.callbacks.remove(note)
    assert max(walked) <= 3 * EVERY


@pytest.mark.usefixtures("collector")
def test_a_lot_with_a_very_long_list_is_not_walked() -> None:
    kept = lots(2)
    unseen, rows = garbage(), [None] * (10 * EVERY)
    kept += lots(1)
    assert unseen() is not None
    del rows
    seen = garbage()
    kept += lots(1)
    assert seen() is None


@pytest.mark.usefixtures("collector")
def test_a_sample_is_looked_through_and_everything_while_there_is_garbage() -> None:
    kept = lots(2)
    sampled = garbage()
    kept += lots(1)
    assert sampled() is None
    followed = garbage()
    kept += lots(1)
    assert followed() is None
    kept += lots(1)
    pinned = garbage()
    kept += lots(1)
    assert pinned() is not None
    # A person who asks for a whole collection gets one, of what is not frozen.
    asked = garbage()
    gc.collect()
    assert asked() is None
