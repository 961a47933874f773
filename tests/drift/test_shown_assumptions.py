"""A new assumption needs a call of the walk that shows it, or the reason why none can.

Whether it is named by ``mockserver drift`` and cured by the profile, with each of its answers, is in
``test_settling.py``.
"""

import pytest

from mockserver.assumptions import ROWS
from mockserver.drift.differences import compare
from tests.drift.test_settling import CASES, RUN, UNSEEN, played

SHOWN = sorted({key for key, _ in CASES})


def test_every_assumption_is_shown_by_the_walk_or_listed_with_a_reason() -> None:
    silent = set(ROWS) - set(SHOWN) - set(UNSEEN)
    assert silent == set(), (
        "each needs another answer in VALUES of test_settling.py, or its reason in "
        "mockserver/drift/unseen.csv"
    )
    assert set(UNSEEN) <= set(ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("key", SHOWN)
def test_a_call_of_the_walk_shows_an_assumption(key: str) -> None:
    value = next(value for own, value in CASES if own == key)
    assert compare(played({key: value}), played({}), RUN), (
        f"a server with another {key} answers every call of mockserver/drift/walk.yaml alike: "
        "add a call that shows it, or its reason to mockserver/drift/unseen.csv"
    )
