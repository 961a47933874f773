"""The schedule: what comes due, in which order, and what never does."""

from __future__ import annotations

from mockserver.domain.clock import LATEST
from mockserver.engine.due import WORK
from mockserver.engine.schedule import Due, Schedule


def test_work_comes_due_by_time_and_then_in_the_order_of_its_planning() -> None:
    schedule = Schedule(0, [])
    for at, subject in ((20, "late"), (10, "first"), (10, "second")):
        schedule.plan(at, Due.SETTLEMENT, subject)
    assert not schedule.is_due(9)
    assert schedule.next_due(9) is None
    taken = [schedule.next_due(20) for _ in range(3)]
    assert [entry.subject for entry in taken if entry is not None] == ["first", "second", "late"]
    assert (schedule.ran, schedule.is_due(20)) == (3, False)


def test_what_lies_beyond_the_calendar_is_counted_and_never_kept() -> None:
    schedule = Schedule(0, [])
    schedule.plan(LATEST, Due.VAULT_EXPIRY, "kept")
    schedule.plan(LATEST + 1, Due.VAULT_EXPIRY, "dropped")
    assert (schedule.order, [entry.subject for entry in schedule.entries]) == (2, ["kept"])


def test_every_kind_of_due_work_is_done_and_has_a_subject() -> None:
    assert set(WORK) == set(Due)
