"""What this process is and what it was started with: beside the settings, the one place that asks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from socket import gethostname


def environment() -> Mapping[str, str]:
    """The variables that the programs started here inherit."""
    return os.environ


def process_name() -> str:
    """A text that no other process has which runs now, on this machine or, as far as hosts have names, on others."""
    return f"{gethostname()}-{os.getpid()}"
