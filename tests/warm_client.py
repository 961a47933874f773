"""``python -I -S warm_client.py socket -m module args``: asks the process of ``tests.warm`` behind
the socket to run a module, and ends as it ends. So do ``file.py args``, ``-c program`` and ``-u -c
program``, as execnet starts its workers; anything else is given to Python itself.

Tests start thousands of these, and to import ``socket`` and ``signal`` takes as long as all else
that one does: it uses what stands below them.
"""

import marshal
import posix
import sys
from _signal import SIG_DFL, SIGHUP, SIGINT, SIGTERM, signal
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

_STREAMS = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))


def main(address: str, *given: str) -> int:
    # It makes no difference here whether the folder is looked through.
    args = given[1:] if given[:1] == ("-P",) else given
    is_whole = args[:1] == ("-c",) or (args[:1] != () and args[0].endswith(".py"))
    if not is_whole and args[:1] != ("-m",) and args[:2] != ("-u", "-c"):
        posix.execv(sys.executable, [sys.executable, *given])
    pid = 0
    early: list[int] = []

    def hand_on(number: int, _: object) -> None:
        """Hand a signal on; before the module runs, as soon as it does."""
        if pid:
            posix.kill(pid, number)
        else:
            early.append(number)

    # Before anything is asked for: the module may be ready before this process has its turn again.
    for number in (SIGINT, SIGTERM, SIGHUP):
        signal(number, hand_on)
    line = socket(AF_UNIX, SOCK_STREAM)
    line.connect(address)
    asked = marshal.dumps((args if is_whole else args[1:], posix.getcwd(), posix.environ))
    line.sendmsg([len(asked).to_bytes(8, "big")], [(SOL_SOCKET, SCM_RIGHTS, _STREAMS)])
    line.sendall(asked)
    pid = int.from_bytes(line.recv(8), "big")
    if pid:
        for number in early:
            posix.kill(pid, number)
    code = int.from_bytes(line.recv(8), "big", signed=True)
    if code < 0:
        signal(-code, SIG_DFL)
        posix.kill(posix.getpid(), -code)
    return code


if __name__ == "__main__":
    posix._exit(main(*sys.argv[1:]) & 0xFF)
