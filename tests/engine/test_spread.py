"""A dictionary in parts holds what a plain one holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.engine import spread
from mockserver.engine.spread import Spread

KEYS = st.integers(0, 30) | st.text(max_size=2)
CALLS = st.lists(st.tuples(st.sampled_from(["put", "put", "put", "delete", "copy"]), KEYS, st.integers()), max_size=60)


@pytest.mark.parametrize("most", [0, 5, 100])
@given(calls=CALLS)
def test_it_holds_what_a_plain_one_holds(most: int, calls: list[tuple[str, object, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spread, "_MOST", most)
        found: Spread[object, int] = Spread()
        plain: dict[object, int] = {}
        for call, key, value in calls:
            if call == "put":
                found[key] = plain[key] = value
            elif call == "copy":
                left, found = found, found.copy()
                left[key] = value
            elif key in plain:
                del found[key], plain[key]
            else:
                with pytest.raises(KeyError):
                    del found[key]
            assert (len(found), found.get(key), key in found) == (len(plain), plain.get(key), key in plain)
        assert {key: found[key] for key in found} == plain
        assert {key: value for part in found.parts for key, value in part.items()} == plain


def test_no_part_is_large() -> None:
    found: Spread[str, int] = Spread()
    for number in range(200_000):
        found[f"id-{number}"] = number
    assert (len(found), len(found.parts)) == (200_000, 64)
    assert max(map(len, found.parts)) < 4_000
