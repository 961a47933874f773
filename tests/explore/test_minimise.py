"""Delta debugging: what is left fails, and none of it can be left out."""

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from mockserver.explore.minimise import minimise

SIZES = st.integers(1, 60)


class Asked:
    """A failure that remembers what was asked of it."""

    def __init__(self, fails: Callable[[frozenset[int]], bool]) -> None:
        self.fails = fails
        self.subsets: list[tuple[int, ...]] = []

    def __call__(self, things: Sequence[int]) -> bool:
        self.subsets.append(tuple(things))
        return self.fails(frozenset(things))


@given(st.data(), SIZES)
def test_the_culprits_of_a_failure_are_left_and_nothing_else(
    data: st.DataObject, size: int
) -> None:
    culprits = data.draw(st.frozensets(st.integers(0, size - 1), min_size=1, max_size=4))
    asked = Asked(lambda things: culprits <= things)
    assert minimise(range(size), asked) == sorted(culprits)


@given(st.data(), st.integers(1, 12))
def test_none_of_what_is_left_can_be_left_out_whatever_fails(
    data: st.DataObject, size: int
) -> None:
    whole = frozenset(range(size))
    failing = data.draw(st.sets(st.frozensets(st.integers(0, size - 1), min_size=1))) | {whole}
    left = minimise(range(size), Asked(failing.__contains__))
    assert frozenset(left) in failing
    assert left == sorted(left)
    if len(left) > 1:
        assert not any(frozenset(left) - {one} in failing for one in left)


@given(st.integers(0, 59))
def test_one_culprit_among_many_takes_few_runs(culprit: int) -> None:
    asked = Asked(lambda things: culprit in things)
    assert minimise(range(60), asked) == [culprit]
    assert len(asked.subsets) <= 12


@given(st.data(), SIZES)
def test_no_subset_is_tried_twice_and_the_same_ones_every_time(
    data: st.DataObject, size: int
) -> None:
    culprits = data.draw(st.frozensets(st.integers(0, size - 1), min_size=1, max_size=4))
    first, second = (Asked(lambda things: culprits <= things) for _ in range(2))
    minimise(range(size), first)
    minimise(range(size), second)
    assert first.subsets == second.subsets
    assert len(set(first.subsets)) == len(first.subsets)
    assert () not in first.subsets
    assert all(len(subset) < size for subset in first.subsets)


def test_one_thing_is_left_as_it_is() -> None:
    asked = Asked(lambda things: True)
    assert minimise(["only"], asked) == ["only"]
    assert asked.subsets == []
