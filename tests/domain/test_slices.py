"""Long work in slices."""

from __future__ import annotations

from typing import Any
from weakref import ref

from mockserver.domain.slices import let_go


class Kept(list[Any]):
    """A list that says whether it is still there."""


def test_a_large_value_is_given_back_bit_by_bit() -> None:
    leaves = [Kept() for _ in range(30_000)]
    seen = [ref(one) for one in leaves]
    values: list[object] = [{"a": leaves[:10_000], "b": [{"c": leaves[10_000:]}]}]
    del leaves
    there, most = 30_000, 0
    for _ in let_go(values):
        left = sum(1 for one in seen if one() is not None)
        there, most = left, max(most, there - left)
    assert not any(one() is not None for one in seen)
    assert most <= 5_000


def test_what_somebody_else_has_too_stays_as_it_is() -> None:
    shared: dict[str, Any] = {"a": [1, 2, {"b": [3]}]}
    for _ in let_go([shared]):
        pass
    assert shared == {"a": [1, 2, {"b": [3]}]}
