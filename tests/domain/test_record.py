"""Records behave as the dataclasses that they are, though some of their methods are shared."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from mockserver.domain.record import record, replace


@record
class Point:
    """Two numbers and a secret."""

    x: int
    y: int = 2
    secret: str = field(default="", repr=False)
    note: str = field(default="", compare=False)


@dataclass(slots=True)
class Plain:
    """The same, as the standard library makes it."""

    x: int
    y: int = 2
    secret: str = field(default="", repr=False)
    note: str = field(default="", compare=False)


@record
class Empty:
    """Nothing."""


@record
class Spoken:
    """Has words of its own."""

    x: int

    def __repr__(self) -> str:
        return "own"


@pytest.mark.parametrize(("mine", "other"), [((1,), (1, 2)), ((1,), (2,)), ((1, 2, "a"), (1, 2, "b"))])
def test_records_compare_as_dataclasses_do(mine: tuple[object, ...], other: tuple[object, ...]) -> None:
    assert (Point(*mine) == Point(*other)) is (Plain(*mine) == Plain(*other))  # type: ignore[arg-type]


def test_a_field_that_does_not_compare_makes_no_difference() -> None:
    assert Point(1, note="a") == Point(1, note="b")
    assert Point(1) != Plain(1)
    assert Empty() == Empty()


def test_a_record_shows_what_a_dataclass_shows() -> None:
    assert repr(Point(1, secret="s")) == repr(Plain(1, secret="s")).replace("Plain", "Point")
    assert repr(Empty()) == "Empty()"
    assert repr(Spoken(1)) == "own"


def test_a_record_has_no_hash_and_no_further_fields() -> None:
    with pytest.raises(TypeError):
        hash(Point(1))
    with pytest.raises(AttributeError):
        Point(1).other = 1  # type: ignore[attr-defined]


def test_replace_gives_a_copy_with_other_values() -> None:
    before = Point(1, 5, "s", "n")
    assert replace(before, x=3) == Point(3, 5, "s")
    assert (before.x, replace(before, x=3).note) == (1, "n")
