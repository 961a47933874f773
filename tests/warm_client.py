"""``python -I -S warm_client.py socket -m module args``: asks the process of ``tests.warm`` behind the socket to run a
module, and ends as it ends. So do ``file.py args`` and ``-u -c program``, as execnet starts its workers; anything else
is given to Python itself.
"""

import marshal
import os
import signal
import socket
import sys


def main(address: str, *args: str) -> int:
    is_file = args[:1] != () and args[0].endswith(".py")
    if not is_file and args[:1] != ("-m",) and args[:2] != ("-u", "-c"):
        os.execv(sys.executable, [sys.executable, *args])
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        asked = marshal.dumps((args if is_file else args[1:], os.getcwd(), dict(os.environ)))
        socket.send_fds(line, [len(asked).to_bytes(8, "big")], [0, 1, 2])
        line.sendall(asked)
        pid = int.from_bytes(line.recv(8), "big")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        code = int.from_bytes(line.recv(8), "big", signed=True)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
