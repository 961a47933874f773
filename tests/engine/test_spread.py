"""A dictionary in parts holds what a plain one holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.engine import spread
from mockserver.engine.spread import Spread

KEYS = st.integers(0, 30) | st.text(max_size=2)
KINDS = st.sampled_from(["put", "put", "put", "delete", "copy", "drop"])
CALLS = st.lists(st.tuples(KINDS, KEYS, st.integers(0, 9)), max_size=60)


@pytest.mark.parametrize("most", [0, 5, 100])
@given(calls=CALLS)
def test_each_copy_holds_what_a_plain_one_holds(most: int, calls: list[tuple[str, object, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spread, "_MOST", most)
        held: list[tuple[Spread[object, int], dict[object, int]]] = [(Spread(), {})]
        for call, key, value in calls:
            found, plain = held[value % len(held)]
            if call == "put":
                plain[key] = value
                found.put(key, value)
            elif call == "copy":
                held.append((found.copy(), plain.copy()))
            elif call == "drop" and len(held) > 1:
                held.remove((found, plain))
                shorten(found)
            elif key in plain:
                del found[key], plain[key]
            else:
                with pytest.raises(KeyError):
                    del found[key]
            for found, plain in held:
                assert (len(found), found.get(key), key in found) == (len(plain), plain.get(key), key in plain)
        for found, plain in held:
            assert {key: found[key] for key in found} == plain
            assert {key: value for part in found.parts for key, value in part.items()} == plain


def shorten(found: Spread[object, int]) -> None:
    """As a sandbox that is gone gives its memory back."""
    while found:
        found.shorten(2)


def test_no_part_is_large() -> None:
    found: Spread[str, int] = Spread()
    for number in range(200_000):
        found.put(f"id-{number}", number)
    assert (len(found), len(found.parts)) == (200_000, 64)
    assert max(map(len, found.parts)) < 4_000


def test_a_copy_has_the_parts_that_nobody_writes() -> None:
    found: Spread[str, int] = Spread()
    for number in range(50_000):
        found.put(f"id-{number}", number)
    copy = found.copy()
    copy.put("id-1", 0)
    found.put("id-2", 0)
    shared = [part is other for part, other in zip(found.parts, copy.parts, strict=True)]
    assert 1 <= shared.count(False) <= 2
    assert (found["id-1"], copy["id-2"], found["id-2"], copy["id-1"]) == (1, 2, 0, 0)


def test_what_is_given_back_piece_by_piece_stays_in_a_copy() -> None:
    found: Spread[str, int] = Spread()
    for number in range(50_000):
        found.put(f"id-{number}", number)
    copy = found.copy()
    found.put("id-1", 0)
    turns = 0
    while found:
        found.shorten(100)
        turns += 1
    assert 64 < turns < 80
    assert [copy[f"id-{number}"] for number in range(50_000)] == list(range(50_000))
