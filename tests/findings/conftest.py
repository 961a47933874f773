"""What several tests of findings begin with."""

import pytest

from tests.findings.story import Story


@pytest.fixture
def story() -> Story:
    """A sandbox in which nothing has happened yet."""
    return Story()
