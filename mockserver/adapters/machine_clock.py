"""The machine and this process on it: the one place where real time enters, and beside the settings
the one that asks what the process was started with."""

import os
import re
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


_NEAR = ("127.0.0.1", "localhost")
"""Where a program finds the server that it was started beside. Not ``::1``, which some libraries
take for a host with a port, and refuse."""


def environment() -> Mapping[str, str]:
    """The variables that the programs started here inherit. Behind a proxy this machine is excepted
    from it: no proxy reaches the server of a program."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return os.environ
    lower, upper = os.environ.get("no_proxy"), os.environ.get("NO_PROXY")
    # Libraries that know both spellings ask for one first: where one is given alone, neither may
    # hide it.
    own = {
        "no_proxy": upper if lower is None else lower,
        "NO_PROXY": lower if upper is None else upper,
    }
    return {**os.environ, **{name: _with_near(known or "") for name, known in own.items()}}


def _with_near(excepted: str) -> str:
    """A list of hosts that are asked without a proxy, with this machine; a star excepts all, and
    only alone."""
    hosts = re.split(r"[,\s]+", excepted.strip())
    if hosts == ["*"]:
        return excepted
    parts = [excepted.strip(" ,"), *(host for host in _NEAR if host not in hosts)]
    return ",".join(filter(None, parts))


def process_name() -> str:
    """A text that no other process has which runs now, on this machine or, as far as hosts have
    names, on others."""
    return f"{gethostname()}-{os.getpid()}"


def write_whole(file: Path, content: bytes, mode: int) -> None:
    """Write a file in one step, whole or not at all: another process may read it at the same
    moment. Raises ``OSError``."""
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
