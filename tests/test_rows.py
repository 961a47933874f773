"""A test of many rows tries all of them and names those that fail."""

from __future__ import annotations

import pytest

from tests.rows import each


def test_every_row_is_tried_and_each_that_fails_is_named() -> None:
    tried = []

    @each(("given", "wanted"), [(1, 1), (1, 2), pytest.param(3, 3, id="three"), pytest.param(3, 4, id="four")])
    @each("times", [1, 2])
    def test_equal(given: int, wanted: int, times: int) -> None:
        tried.append((given, wanted, times))
        assert given * times == wanted * times

    with pytest.raises(ExceptionGroup, match="2 of 4 rows fail") as refused:
        test_equal()
    assert len(tried) == 8
    assert [failure.__notes__ for failure in refused.value.exceptions] == [
        ["at row 1: given=1, wanted=2"],
        ["at row 3: four"],
    ]


def test_a_refusal_that_did_not_come_is_a_failure() -> None:
    @each("text", ["1", "x"], ids=["one", "letter"])
    def test_refused(text: str) -> None:
        with pytest.raises(ValueError, match="invalid"):
            int(text)

    with pytest.raises(BaseExceptionGroup) as refused:
        test_refused()
    assert [failure.__notes__ for failure in refused.value.exceptions] == [["at row 0: one"]]
