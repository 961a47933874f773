"""The bound of all journals together (``--journal-memory``): the largest give up their oldest
entries first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.engine.journal import Journal, JournalEntry, JournalQuota, size_of
from tests.driving import Api

ENTRY = 3_000


def note(journal: Journal, length: int = 0) -> None:
    journal.note(
        JournalEntry(
            journal.last + 1,
            0,
            "x",
            method="GET",
            path="/",
            raw=b"x" * length,
            status=200,
        )
    )


def held(journals: list[Journal]) -> int:
    return sum(size_of(entry) for journal in journals for entry in journal.entries)


def journals(quota: JournalQuota, count: int, limit: int = 1_000) -> list[Journal]:
    made = [Journal(limit, 0) for _ in range(count)]
    for journal in made:
        quota.enter(journal)
    return made


def test_a_quiet_journal_keeps_its_story_beside_a_busy_one() -> None:
    quota = JournalQuota(40 * ENTRY)
    quiet, busy = journals(quota, 2)
    for _ in range(4):
        note(quiet)
    for _ in range(500):
        note(busy)
    assert (len(quiet.entries), quiet.dropped) == (4, 0)
    assert (len(busy.entries), busy.dropped, busy.given_up) == (36, 464, 464)
    assert [entry.number for entry in busy.entries] == list(range(465, 501))
    assert busy.get(464) is None
    assert busy.get(465) is busy.entries[0]


def test_an_entry_shows_no_body() -> None:
    journal, secret = Journal(10, 0), b'{"ccv":"987"}'
    journal.note(JournalEntry(1, 7, "charge.create", method="POST", raw=secret, status=201))
    (entry,) = journal.entries
    assert "987" not in repr(entry)
    assert "number=1, at=7, op=charge.create" in repr(entry)


def test_large_bodies_count_for_what_they_are() -> None:
    quota = JournalQuota(1_000_000)
    small, large = journals(quota, 2)
    for _ in range(50):
        note(small)
        note(large, 100_000)
    assert len(small.entries) == 50
    assert 5 <= len(large.entries) <= 8


def test_what_is_larger_than_the_room_is_not_kept() -> None:
    quota = JournalQuota(10_000)
    [journal] = journals(quota, 1)
    note(journal, 50_000)
    assert (len(journal.entries), journal.size, quota.held, quota.dropped) == (0, 0, 0, 1)


def test_one_large_entry_pushes_out_thousands_of_small_ones() -> None:
    quota = JournalQuota(2_000 * ENTRY)
    [journal] = journals(quota, 1, limit=5_000)
    for _ in range(1_900):
        note(journal)
    note(journal, 1_990 * ENTRY)
    assert journal.entries[-1].number == 1_901
    assert journal.dropped == quota.dropped > 1_800
    assert quota.held == journal.size == held([journal]) <= quota.most


def test_a_large_body_is_answered_where_it_pushes_out_many_entries() -> None:
    api = Api(journal_memory=1_000_000)
    for _ in range(300):
        api.get("/charge/unknown")
    notes = {f"note-{number}": "x" * 2_000 for number in range(490)}
    made = api.try_charge(metadata=notes)
    assert made.status == 201
    assert api.get(f"/charge/{made.body['chargeId']}").body["metadata"] == notes


def test_a_journal_that_left_gives_its_room_back_and_is_counted_no_longer() -> None:
    quota = JournalQuota(100 * ENTRY)
    gone, stays = journals(quota, 2)
    note(gone)
    note(stays)
    quota.leave(gone)
    quota.leave(gone)
    assert quota.held == ENTRY
    note(gone)
    assert quota.held == ENTRY
    assert gone.size == 2 * ENTRY


@given(
    st.integers(0, 5),
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([0, 10, 5_000, 200_000]), st.booleans()),
        max_size=120,
    ),
)
def test_the_count_is_always_that_of_the_entries(
    limit: int, steps: list[tuple[int, int, bool]]
) -> None:
    quota = JournalQuota(150_000)
    made = journals(quota, 5, limit)
    for place, length, replace in steps:
        if replace:
            quota.leave(made[place])
            made[place] = Journal(limit, 0)
            quota.enter(made[place])
        note(made[place], length)
        assert quota.held == held(made) == sum(journal.size for journal in made) <= quota.most
        assert all(journal.dropped >= journal.given_up for journal in made)


def test_a_thousand_sandboxes_together_keep_to_the_bound() -> None:
    api = Api(journal_memory=1_000_000)
    for place in range(300):
        for _ in range(2):
            api.call("GET", "/charge", key=f"sk_{place}")
    sandboxes = list(api.app.world.sandboxes)
    assert held([sandbox.journal for sandbox in sandboxes]) <= 1_000_000
    assert (
        sum(sandbox.journal.dropped for sandbox in sandboxes)
        == api.app.world.sandboxes.quota.dropped
        > 200
    )


def test_a_reset_gives_the_room_back(api: Api) -> None:
    for _ in range(3):
        api.try_charge()
    quota = api.app.world.sandboxes.quota
    assert quota.held > 3 * ENTRY
    api.call("POST", "/__admin/reset")
    assert quota.held == 0
    api.try_charge()
    state = api.call("GET", "/__admin/state").body
    api.call("PUT", "/__admin/state", state)
    assert quota.held == 0


class Kept:
    """A log that is kept."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def __call__(self, told: Any) -> None:
        self.told.append(told)

    def lines(self) -> list[str]:
        return [line for one in self.told for line in one.lines(as_json=False)]


def test_the_log_counts_what_was_dropped_and_does_not_repeat_itself() -> None:
    api = Api(journal_memory=20_000)
    api.app.world.log = log = Kept()
    for _ in range(130):
        api.call("GET", "/charge")
    told = [line for line in log.lines() if "--journal-memory" in line]
    assert len(told) == 3
    assert [
        line[line.index("; ") :][: len("; 1 of") + place] for place, line in enumerate(told)
    ] == [
        "; 1 of",
        "; 10 of",
        "; 100 of",
    ]
    assert not any("--journal-limit" in line for line in log.lines())


@pytest.mark.parametrize("call", ["fork", "verify"])
def test_what_needs_the_whole_story_says_why_it_is_lost(call: str) -> None:
    api = Api(journal_memory=20_000)
    for _ in range(30):
        api.call("GET", "/charge")
    if call == "fork":
        told = api.call("POST", "/__admin/fork", {"to": "sk_copy", "at": 30}).body["details"]["At"]
    else:
        told = api.call(
            "POST",
            "/__admin/verify",
            {"requests": [{"op": "charge.search", "count": {"exactly": 30}}]},
        ).raw.decode()
    assert "20000 bytes (--journal-memory)" in told


def test_inboxes_keep_to_the_bound_too() -> None:
    api = Api(journal_memory=3_000_000)
    api.try_charge()
    for number in range(60):
        assert api.call("POST", f"/__inbox/{number % 7}", raw=b"x" * 200_000).status == 200
    sandbox = next(iter(api.app.world.sandboxes))
    assert sandbox.inboxes.size <= 3_000_000
    assert sandbox.journal.dropped == 0, "the largest gives first"
    kept = [
        message["id"]
        for name in range(7)
        for message in api.call("GET", f"/__admin/inbox/{name}").body["messages"]
    ]
    assert sorted(kept) == list(range(61 - len(kept), 61))
    assert api.call("GET", "/__admin/inbox/0").body["dropped"] == 60 - len(kept) > 40
    for name in range(7):
        api.call("DELETE", f"/__admin/inbox/{name}")
    assert sandbox.inboxes.size == 0
    api.call("POST", "/__inbox/0", raw=b"x" * 200_000)
    api.call("POST", "/__admin/reset")
    assert api.app.world.sandboxes.quota.held == 0


def test_an_inbox_of_a_journal_that_keeps_nothing_keeps_nothing() -> None:
    api = Api(journal_limit=0)
    assert api.call("POST", "/__inbox/x", raw=b"x").body == {
        "received": True,
        "signature": "missing",
    }
    assert api.call("GET", "/__admin/inbox/x").body == {
        "name": "x",
        "count": 0,
        "dropped": 1,
        "messages": [],
    }


def test_the_changes_that_outlive_their_requests_count_and_go_with_them() -> None:
    api = Api(journal_limit=2)
    sandbox = api.app.world.sandboxes.open("sk_tests", 0)
    charges = [api.charge()["chargeId"] for _ in range(60)]
    journal = sandbox.journal
    assert journal.stories.of(charges[19]) == []
    assert [change.event.what for change in journal.stories.of(charges[20])] == ["paid"]
    before, entries = journal.size, sum(size_of(entry) for entry in journal.entries)
    assert before > entries
    while journal.give_up_oldest():
        pass
    assert (journal.size, journal.stories.of(charges[-1])) == (0, [])
