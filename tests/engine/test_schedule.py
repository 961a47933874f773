"""The schedule: what comes due, in which order, and what never does."""

from random import Random

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


def test_the_earliest_are_reported_in_order_and_stay() -> None:
    random, schedule = Random(5), Schedule(0, [])
    for number in range(500):
        schedule.plan(random.randrange(100), Due.SETTLEMENT, f"charge-{number}")
        if number < 20 or number % 20 == 0:
            wanted = sorted(schedule.entries)
            for most in (0, 1, 7, number, number + 1, 1_000):
                assert schedule.earliest(most) == wanted[:most]
    assert Schedule(0, []).earliest(5) == []


def test_the_earliest_are_taken_in_order() -> None:
    random, schedule = Random(5), Schedule(0, [])
    for number in range(50):
        schedule.plan(random.randrange(20), Due.SETTLEMENT, f"charge-{number}")
    wanted = sorted(schedule.entries)
    assert [*schedule.take(30), *schedule.take(30)] == wanted
    assert schedule.entries == []
