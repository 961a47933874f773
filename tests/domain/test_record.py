"""Records are dataclasses with slots: what each kind compares by, and what a request's values change in one."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import field
from weakref import ref

import pytest

from mockserver.domain.record import entity, mutable, or_kept, record, replace, updated


@record
class Point:
    """Two numbers and a note."""

    x: int
    y: int = 2
    note: str = field(default="", compare=False)


@mutable
class Count:
    """A number that changes."""

    number: int = 0


@entity
class Thing:
    """Has a name."""

    name: str


@record
class Given:
    """What a request may give."""

    x: int | None = None
    other: int | None = None


def test_records_compare_and_hash_by_their_fields() -> None:
    assert len({Point(1), Point(1, note="n"), Point(2)}) == 2
    assert (Point(1) == Point(1, note="n"), Point(1) == Point(2)) == (True, False)
    assert deepcopy(Point(1, 5)) == Point(1, 5)


def test_values_that_change_compare_and_have_no_hash() -> None:
    assert Count(1) == Count(1)
    with pytest.raises(TypeError):
        hash(Count())


def test_an_entity_is_equal_to_itself_alone() -> None:
    one, other = Thing("a"), Thing("a")
    assert (one == one, one == other, len({one, other}), ref(one)()) == (True, False, 2, one)


@pytest.mark.parametrize("value", [Point(1), Count(), Thing("a")])
def test_no_kind_has_further_fields(value: Point | Count | Thing) -> None:
    with pytest.raises(AttributeError):
        value.further = 1  # type: ignore[union-attr]


def test_a_copy_takes_what_is_given_and_keeps_the_rest() -> None:
    before = Point(1, 5, "n")
    assert replace(before, x=3) == Point(3, 5)
    assert updated(before, Given(x=4, other=9)) == Point(4, 5)
    assert updated(before, Given()) == before
    assert (or_kept(None, 1), or_kept(2, 1)) == (1, 2)
