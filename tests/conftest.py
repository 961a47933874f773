"""What all tests share: an environment without the developer's own settings."""

from __future__ import annotations

import os

import pytest

from mockserver.settings import PREFIX


@pytest.fixture(autouse=True, scope="session")
def _no_settings_from_outside() -> None:
    """Remove the variables that would change defaults, for this process and all that it starts."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-golden`` writes the kept answers of ``tests/golden`` anew."""
    parser.addoption("--update-golden", action="store_true", help="write the answers of tests/golden anew")
