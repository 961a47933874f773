"""What the tests of the control API share."""

from __future__ import annotations

import pytest

from tests.control.driving import Shop


@pytest.fixture
def shop() -> Shop:
    """A caller of a fresh application whose clock stands at 1 March 2031, 10:00."""
    return Shop()
