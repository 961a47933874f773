"""What is remembered is what is made anew, within its bound."""

import pytest

from mockserver.domain.bounded_cache import BoundedCache


def test_what_is_remembered_is_what_is_made_and_made_once() -> None:
    made: list[int] = []
    squares = BoundedCache[int, int](3, lambda number: made.append(number) or number**2)  # type: ignore[func-returns-value]
    assert [squares[number] for number in (1, 2, 1, 2, 3, 1)] == [1, 4, 1, 4, 9, 1]
    assert made == [1, 2, 3]


def test_no_more_is_remembered_than_the_bound_allows() -> None:
    squares = BoundedCache[int, int](3, lambda number: number**2)
    for number in range(100):
        assert squares[number] == number**2
        assert len(squares) <= 3


def test_what_cannot_be_made_is_not_remembered() -> None:
    halves = BoundedCache[int, float](3, lambda number: 1 / number)
    with pytest.raises(ZeroDivisionError):
        halves[0]
    assert not halves


def test_what_does_not_fit_is_made_anew() -> None:
    made: list[str] = []
    upper = BoundedCache[str, str](
        3, lambda text: made.append(text) or text.upper(), lambda text: len(text) < 4
    )  # type: ignore[func-returns-value]
    assert [upper[text] for text in ("ab", "long", "long", "ab")] == ["AB", "LONG", "LONG", "AB"]
    assert (made, list(upper)) == (["ab", "long", "long"], ["ab"])
