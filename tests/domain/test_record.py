"""Records behave as the dataclasses that they are, though their methods are shared."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from inspect import signature
from typing import Any
from weakref import ref

import pytest

from mockserver.domain.record import declared, entity, mutable, record, replace


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


def every_kind() -> type:
    """A class with every kind of field."""

    class Every:
        needed: int
        given: int = 7
        made: list[int] = field(default_factory=list)
        own: int = field(default=9, init=False)
        own_made: dict[str, int] = field(default_factory=dict, init=False)
        late: int = field(init=False)
        _: KW_ONLY
        word: str
        named: str = "n"
        named_made: set[int] = field(default_factory=set)

        def __post_init__(self) -> None:
            self.late = self.needed + 1

    return Every


OURS, STANDARD = mutable(every_kind()), dataclass(slots=True)(every_kind())
NAMES = [one.name for one in fields(STANDARD)]


@record
class Empty:
    """Nothing."""


@record
class Spoken:
    """Has words of its own."""

    x: int

    def __repr__(self) -> str:
        return "own"


@record
class Farther(Point):
    """A point with a third number."""

    z: int = 0


@pytest.mark.parametrize(
    ("places", "names"),
    [
        ((1,), {"word": "w"}),
        ((1, 2, [3]), {"word": "w", "named": "m", "named_made": {4}}),
        ((), {"needed": 1, "made": [], "word": "w"}),
    ],
)
def test_a_constructor_sets_what_that_of_the_standard_library_sets(places: Any, names: Any) -> None:
    made, plain = OURS(*places, **names), STANDARD(*places, **names)
    assert [getattr(made, name) for name in NAMES] == [getattr(plain, name) for name in NAMES]


def test_what_a_factory_makes_is_made_for_each() -> None:
    assert OURS(1, word="w").made is not OURS(1, word="w").made
    assert OURS(1, word="w").own_made is not OURS(1, word="w").own_made


@pytest.mark.parametrize("call", [lambda cls: cls(), lambda cls: cls(1), lambda cls: cls(1, word="", own=1)])
def test_a_constructor_refuses_what_that_of_the_standard_library_refuses(call: Callable[[type], object]) -> None:
    with pytest.raises(TypeError) as standard:
        call(STANDARD)
    with pytest.raises(TypeError) as ours:
        call(OURS)
    assert str(ours.value) == str(standard.value)


def test_constructors_of_one_shape_do_not_mix_their_names_and_defaults() -> None:
    assert [one.name for one in signature(Point).parameters.values()] == ["x", "y", "secret", "note"]
    assert (Point(1).y, Plain(1).y, Farther(1, z=3).z, Spoken(5).x) == (2, 2, 3, 5)
    assert OURS.__init__.__qualname__ == STANDARD.__init__.__qualname__


@pytest.mark.parametrize(("mine", "other"), [((1,), (1, 2)), ((1,), (2,)), ((1, 2, "a"), (1, 2, "b"))])
def test_records_compare_as_dataclasses_do(mine: tuple[object, ...], other: tuple[object, ...]) -> None:
    assert (Point(*mine) == Point(*other)) is (Plain(*mine) == Plain(*other))  # type: ignore[arg-type]


def test_a_field_that_does_not_compare_makes_no_difference() -> None:
    assert Point(1, note="a") == Point(1, note="b")
    assert hash(Point(1, note="a")) == hash(Point(1, note="b"))
    assert Point(1) != Plain(1)
    assert Point(1) != Farther(1)
    assert Empty() == Empty()


def test_a_record_shows_what_a_dataclass_shows() -> None:
    assert repr(Point(1, secret="s")) == repr(Plain(1, secret="s")).replace("Plain", "Point")
    assert repr(Empty()) == "Empty()"
    assert repr(Spoken(1)) == "own"


@entity
class Thing:
    """Has a name."""

    name: str
    parts: list[int] = field(default_factory=list)


@dataclass(slots=True, weakref_slot=True, eq=False)
class PlainThing:
    """The same, as the standard library makes it."""

    name: str
    parts: list[int] = field(default_factory=list)


@pytest.mark.parametrize("kind", [Thing, PlainThing])
def test_an_entity_is_equal_to_itself_alone(kind: type[Thing] | type[PlainThing]) -> None:
    one, other = kind("a"), kind("a")
    assert (one == one, one == other, len({one, other}), ref(one)()) == (True, False, 2, one)
    assert repr(one).endswith("Thing(name='a', parts=[])")
    assert not hasattr(one, "__dict__")


def test_what_fields_are_given_is_known_without_what_describes_them() -> None:
    assert list(declared(Farther)) == [one.name for one in fields(Farther)]
    assert [declared(Farther)[name] for name in ("x", "y", "z")] == [MISSING, 2, 0]


def test_records_are_found_in_sets_and_values_that_change_are_not() -> None:
    assert len({Point(1), Point(1), Point(2), Empty(), Empty()}) == 3
    with pytest.raises(TypeError):
        hash(OURS(1, word="w"))
    with pytest.raises(TypeError):
        hash(Plain(1))


def test_a_record_has_no_further_fields() -> None:
    with pytest.raises(AttributeError):
        Point(1).other = 1  # type: ignore[attr-defined]


def test_a_record_can_be_copied() -> None:
    assert copy(Point(1, 5, "s")) == deepcopy(Point(1, 5, "s")) == Point(1, 5, "s")


def test_replace_gives_a_copy_with_other_values() -> None:
    before = Point(1, 5, "s", "n")
    assert replace(before, x=3) == Point(3, 5, "s")
    assert (before.x, replace(before, x=3).note) == (1, "n")


def test_a_thread_that_comes_second_gets_what_the_first_has_made() -> None:
    @record
    class Late:
        a: int
        b: int = 1

    found_before = vars(Late)["__init__"]
    Late(5)
    made = Late.__new__(Late)
    found_before.__get__(made, Late)(6)
    assert (made.a, made.b) == (6, 1)
