"""``python -m mockserver.commands.tethered ...``: the command, tied to the process that started it.

When standard input ends, the server stops as at a signal. A test run that is killed cannot stop the server it started;
the operating system closes the pipe for it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from mockserver.__main__ import main


def _stop_at_end_of_input() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    signal.raise_signal(signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_stop_at_end_of_input, name="tether", daemon=True).start()
    main()
