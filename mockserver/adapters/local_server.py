"""A server of this product as a child process, for programs that test with one."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from mockserver.settings import PREFIX

START_SECONDS = 30.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.01


class CannotStart(Exception):
    """The server did not become ready; the text holds what it said, ``code`` is its exit code when
    it ended."""

    def __init__(self, words: str, code: int | None = None) -> None:
        self.code = code
        super().__init__(words)


def start(args: Sequence[str], folder: Path) -> tuple[str, subprocess.Popen[bytes]]:
    """Start a server with some options on a free port of the loopback address and wait until it is
    ready: its address, without a trailing slash, and its process. It ends with this process,
    however that ends.

    The environment's ``MOCKSERVER_`` variables do not count. ``folder`` gets the log. Raises
    :class:`CannotStart` with what it printed.
    """
    __tracebackhide__ = True
    port_file, log_file = folder / "port", folder / "log"
    command = [sys.executable, "-P", "-m", "mockserver", "serve", "--tether"]
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", "0", "--port-file", str(port_file), *args],
            env=child_environment(),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Ctrl-C is for the program, which still asks the server what has happened.
            start_new_session=True,
        )
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        if port_file.exists():
            return f"http://127.0.0.1:{port_file.read_text().strip()}", process
        time.sleep(POLL_SECONDS)
    exit_code = process.poll()
    process.kill()
    process.wait()
    how = f"was not ready within {START_SECONDS:.0f} s"
    if exit_code is not None:
        how = f"ended with exit code {exit_code}"
    log_text = log_file.read_text("utf-8", "replace").strip()
    raise CannotStart(f"mockserver {' '.join(args)} {how}:\n{log_text}", exit_code)


def child_environment() -> dict[str, str]:
    """The environment in which this product runs as a child: without the ``MOCKSERVER_`` variables
    of this process."""
    root = Path(__file__).resolve().parents[2]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    if str(root) in sys.path and root.name not in ("site-packages", "dist-packages"):
        # A checkout that is not installed is known to this process only.
        folders = [str(root), environ.get("PYTHONPATH")]
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    return environ


def stop(process: subprocess.Popen[bytes]) -> None:
    """Let answers finish and wait for the end. Its input is closed too: where a signal does not
    reach it, it ends by ``tether``."""
    assert process.stdin is not None  # noqa: S101 - narrows the type: it was started with a pipe
    process.stdin.close()
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def tether() -> None:
    """Stop this process as at a signal when its standard input ends. A test run that is killed
    cannot stop the server that it has started; the operating system closes the pipe for it."""

    def stop_at_end_of_input() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=stop_at_end_of_input, name="tether", daemon=True).start()
