"""Python that begins with everything imported: what takes most of the time of a short process.

Each is a process of its own, with the folder, the environment and the streams of what starts it,
forked from one that has imported everything and checked a scenario. What such a process starts by
``sys.executable`` is forked from it in turn.
"""

import atexit
import gc
import marshal
import os
import re
import runpy
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NoReturn

from _pytest.config import default_plugins
from click.testing import CliRunner

import mockserver
from mockserver.cli import main

_PYTHON = sys.executable
ROOT = Path(__file__).resolve().parents[1]
_OTHERS = (
    "certifi",
    "encodings.idna",
    "httpcore",
    "pdb",
    "unittest",
    "uvicorn.loops.uvloop",
    "xml.etree.ElementTree",
)
"""What is imported when it is first asked for."""


def python() -> list[str]:
    """The command that stands for ``python`` before ``-m module args`` or ``file.py args``; Python
    itself where processes cannot be watched."""
    if not hasattr(os, "pidfd_open"):
        return [_PYTHON]
    return _client(_address())


def program() -> str:
    """A program that is that command."""
    return str(Path(_address()).with_name("python")) if hasattr(os, "pidfd_open") else _PYTHON


def path() -> str:
    """A ``PATH`` on which ``python`` is that program."""
    return f"{Path(program()).parent}{os.pathsep}{os.environ['PATH']}"


def _client(address: str) -> list[str]:
    return [_PYTHON, "-I", "-S", str(Path(__file__).with_name("warm_client.py")), address]


def workers(count: int) -> list[str]:
    """What makes pytest-xdist start so many workers by ``python``."""
    return ["--dist", "load", "--tx", f"{count}*popen//python={shlex.join(python())}"]


def started(module: str, *args: str, **how: Any) -> subprocess.Popen[Any]:
    """``python -m module args``, ``how`` as for ``subprocess.Popen``. Its id is that of a process
    that ends as it ends, and hands its signals on."""
    return subprocess.Popen(
        [*python(), "-m", module, *args], **{"stdin": subprocess.DEVNULL, **how}
    )


@cache
def _address() -> str:
    """The socket of a process that has imported everything and ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    address = str(folder / "socket")
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(_client(address))} "$@"\n')
    program.chmod(0o755)
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [_PYTHON, "-m", "tests.warm", address],
        cwd=ROOT,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.read(1) == b"."
    _kept.append(process)
    return address


_kept: list[subprocess.Popen[bytes]] = []


@dataclass
class _Running:
    """A process, what tells that it has ended, and the line of what asked for it."""

    pid: int
    watched: int
    line: socket.socket

    def end(self) -> None:
        """End it, unless it has ended, and tell how it ended."""
        os.kill(self.pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        with self.line, suppress(OSError):
            self.line.sendall(code.to_bytes(8, "big", signed=True))
        os.close(self.watched)


def _listen(address: str) -> None:
    _use_everything()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        os.write(1, b".")
        every: dict[int, _Running] = {}
        """By what becomes readable when it has ended, and when what asked for it has."""
        # Standard input ends with the process that started this one.
        while 0 not in (readable := select.select([listener, 0, *every], [], [])[0]):
            for place in readable:
                if place is listener and (one := _begun_on(listener.accept()[0], address)):
                    every |= dict.fromkeys((one.watched, one.line.fileno()), one)
                elif place in every:
                    one = every[place]
                    del every[one.watched], every[one.line.fileno()]
                    one.end()
    for one in {one.pid: one for one in every.values()}.values():
        one.end()
    shutil.rmtree(os.path.dirname(address))


def _use_everything() -> None:
    """Import the product and pytest, and check a scenario, by which most of what is made at its
    first use is made."""
    ours = (found.name for found in walk_packages(mockserver.__path__, "mockserver."))
    theirs = (f"_pytest.{name}" for name in default_plugins)
    for name in (*ours, *theirs, *_OTHERS):
        # pytest imports its plugins itself, ``-m`` its module; OpenTelemetry, which MCP has too,
        # reads the environment when imported.
        if not re.search(r"\.(__main__|pytest_\w+|tracing)$|\.mcp\.", name):
            import_module(name)
    checked = CliRunner().invoke(main, ["check", "declines-by-reason"])
    assert checked.exit_code == 0, checked.output
    assert threading.active_count() == 1, "a fork has no other threads"


def _begun_on(line: socket.socket, address: str) -> _Running | None:
    """What a line asks for, started; nothing where what asks has been killed meanwhile."""
    size, streams, _, _ = socket.recv_fds(line, 8, 3)
    asked = line.makefile("rb").read(int.from_bytes(size, "big"))
    if not asked or len(asked) < int.from_bytes(size, "big"):
        line.close()
        return None
    pid = os.fork()
    if pid == 0:
        args, folder, environ = marshal.loads(asked)
        _become(
            folder,
            {os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()},
            streams,
            address,
        )
        _run(args)
    for stream in streams:
        os.close(stream)
    with suppress(OSError):
        line.sendall(pid.to_bytes(8, "big"))
    return _Running(pid, os.pidfd_open(pid), line)


def _become(folder: str, environ: Mapping[str, str], streams: Sequence[int], address: str) -> None:
    """Leave everything of the process behind but what it has imported."""
    os.chdir(folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 4096)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, closefd=False) for number in (1, 2))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[:1] = [folder, *filter(None, environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.executable = str(Path(address).with_name("python"))


def _run(args: Sequence[str]) -> NoReturn:
    """Run a module, a file, or a program behind ``-c``, and end as Python does, but leave it to the
    system to free what is imported: Python takes it apart piece by piece, in a copy of every page,
    which takes 50 ms, twice what a short command does."""
    code: object = 0
    try:
        sys.argv = list(args)
        if args[0] == "-c":
            del sys.argv[1]
            exec(args[1], vars(sys.modules["__main__"]))
        elif args[0].endswith(".py"):
            sys.path.insert(0, os.path.dirname(args[0]))
            runpy.run_path(args[0], run_name="__main__")
        else:
            runpy.run_module(args[0], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
    except BaseException as failure:
        sys.excepthook(type(failure), failure, failure.__traceback__)
        code = failure
    finally:
        # What Python does first when it ends: threads finish, and what was to be done at the end is
        # done.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
        if isinstance(code, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        os._exit(code & 0xFF if isinstance(code, int) else 1)


if __name__ == "__main__":
    _listen(sys.argv[1])
