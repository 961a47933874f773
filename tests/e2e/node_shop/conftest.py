"""The shop is started once for all tests, with the address and key of the session's sandbox."""

import os
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shop(mockserver_session):
    """The address of the running shop."""
    environ = {
        **os.environ,
        "MOCKSERVER_URL": mockserver_session.url,
        "MOCKSERVER_SECRET_KEY": mockserver_session.secret_key,
    }
    script = Path(__file__).with_name("shop.mjs")
    with subprocess.Popen(
        ["node", script], env=environ, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process.stdout.readline().strip()
        process.terminate()
