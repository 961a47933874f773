"""A sandbox goes on from its store as one that was never interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.control.test_state import fill, fill_everything
from tests.store.twins import Twins


@pytest.mark.parametrize("every", [1, 7])
def test_everything_that_there_is_comes_back(tmp_path: Path, every: int) -> None:
    twins = Twins(tmp_path / "s.db", every)
    fill(twins)
    twins.look()
    fill_everything(twins)
    for by in ("1ms", "60ms", "2d", "70d"):
        twins.advance(by)
        twins.look()
