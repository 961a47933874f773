"""Runs a day of a shop in a process that has everything imported already: a hundred starts of
Python would take long.

    python ready.py     prints a port of the loopback address; a line to it has a day, a URL, a key and a folder

What the day returns is the answer; its last line is the exit code. The day ends with its caller,
however that ends.
"""

import os
import signal
import socket
import sys
import traceback
from pathlib import Path
from threading import Thread

sys.path[:0] = [os.path.dirname(__file__), *os.environ["SHOPS"].split(os.pathsep)]

import days  # noqa: E402 - it lies in none of the usual places


def main():
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            caller, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                work(caller)
                os._exit(0)
            caller.close()
            while ended():
                pass


def work(caller):
    """Take a day from the caller and tell how it went."""
    with caller, caller.makefile("rw") as talk:
        day, url, key, folder = talk.readline().split()
        Thread(target=end_with, args=(caller,), daemon=True).start()
        code = 0
        try:
            said = getattr(days, day)(url, key, Path(folder))
            talk.write(f"{said}\n" if said else "")
        except BaseException:
            traceback.print_exc(file=talk)
            code = 1
        talk.write(f"{code}\n")


def end_with(caller):
    """Nothing comes from the caller any more, but its end."""
    caller.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


def ended():
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return 0


main()
