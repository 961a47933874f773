"""The machine and this process on it: the one place where real time enters, and beside the settings the one that asks
what the process was started with."""

import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from socket import gethostname

from mockserver.domain.clock import Micros


def machine_now() -> Micros:
    """Microseconds since the epoch, by the machine."""
    return time.time_ns() // 1_000


def environment() -> Mapping[str, str]:
    """The variables that the programs started here inherit."""
    return os.environ


def process_name() -> str:
    """A text that no other process has which runs now, on this machine or, as far as hosts have names, on others."""
    return f"{gethostname()}-{os.getpid()}"


def write_whole(file: Path, content: bytes, mode: int) -> None:
    """Write a file in one step, whole or not at all: another process may read it at the same moment. Raises
    ``OSError``."""
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}")
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
        os.chmod(temporary, mode)
        os.replace(temporary, file)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
