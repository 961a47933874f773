"""Records, mutable ones and entities: how they compare, hash and show themselves."""

from dataclasses import field

import pytest

from mockserver.domain.record import entity, mutable, record


@record
class Place:
    """A record."""

    name: str
    floor: int = 0
    note: str = field(default="", compare=False)
    extra: list[int] = field(default_factory=list, hash=False)


@record
class Nothing:
    """A record without fields."""


@mutable
class Counter:
    """A value that changes."""

    count: int


@entity
class Room:
    """Equal to itself alone."""

    name: str


def test_records_are_equal_and_hash_alike_by_the_fields_that_count() -> None:
    here = Place("a", 1, note="seen")
    assert here == Place("a", 1, note="not seen")
    assert hash(here) == hash(Place("a", 1, extra=[5]))
    assert here != Place("a", 2)
    assert here != Place("a", 1, extra=[5])
    assert Nothing() == Nothing()
    assert {here: 1}[Place("a", 1)] == 1


def test_values_of_other_types_are_not_equal() -> None:
    assert Counter(1) == Counter(1)
    assert Counter(1) != Counter(2)
    assert Counter(1) != Place("a", 1)
    assert Place("a") != ("a", 0, "", [])


def test_what_changes_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter(1))


def test_an_entity_is_equal_to_itself_alone() -> None:
    room = Room("a")
    assert room == room
    assert room != Room("a")
    assert len({room, Room("a")}) == 2


def test_all_are_shown_by_their_fields() -> None:
    assert repr(Place("a", 1)) == "Place(name='a', floor=1, note='', extra=[])"
    assert repr(Counter(1)) == "Counter(count=1)"
    assert repr(Room("a")) == "Room(name='a')"
