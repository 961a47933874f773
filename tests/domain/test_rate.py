"""The bucket: a second's worth at once, an even rate afterwards, each key by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.domain.clock import SECOND
from mockserver.domain.rate import RateLimit

NOW = 1_930_154_400 * SECOND


@pytest.mark.parametrize("per_second", [1, 3, 7, 1_000])
def test_a_second_s_worth_is_taken_at_once_and_then_one_by_one(per_second: int) -> None:
    limit = RateLimit(per_second)
    assert [limit.take("a", NOW) for _ in range(per_second)] == [0] * per_second
    wait = limit.take("a", NOW)
    assert wait == -(-SECOND // per_second)
    assert limit.take("a", NOW + wait - 1) == 1
    assert limit.take("a", NOW + wait) == 0
    assert limit.take("a", NOW + wait) > 0
    assert limit.take("b", NOW) == 0


def test_a_full_bucket_holds_no_more_than_a_second_s_worth() -> None:
    limit = RateLimit(2)
    limit.take("a", NOW)
    assert [limit.take("a", NOW + 60 * SECOND) for _ in range(3)] == [0, 0, SECOND // 2]


def test_a_clock_that_is_put_back_shuts_nobody_out() -> None:
    limit = RateLimit(1)
    assert limit.take("a", NOW) == 0
    assert limit.take("a", NOW - 3_600 * SECOND) == 0
    assert limit.take("a", NOW - 3_600 * SECOND) == SECOND


@given(st.integers(1, 50), st.lists(st.integers(0, SECOND // 3), max_size=200))
def test_never_more_than_the_rate_in_the_long_run(per_second: int, gaps: list[int]) -> None:
    limit, now, taken = RateLimit(per_second), NOW, 0
    for gap in gaps:
        now += gap
        taken += limit.take("a", now) == 0
    assert taken <= per_second + (now - NOW) * per_second // SECOND
