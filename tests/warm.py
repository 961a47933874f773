"""Processes that begin with everything imported: what takes most of the time of a short one.

Each is a process of its own, forked from one that has done nothing but importing, or, for a server of a program, from
that program.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import SimpleNamespace
from typing import IO

from mockserver.adapters import local_server

_IMPORTED = [
    *("pytest", "httpx", "uvicorn", "mockserver.web.app", "mockserver.adapters.server", "mockserver.remote"),
    # What most servers import when they are first asked.
    *(f"mockserver.web.control.{name}" for name in ("clock", "clock_moves", "findings", "journal", "scenarios")),
    *("mockserver.web.endpoints.charges", "mockserver.adapters.strict_yaml", "mockserver.domain.search_words"),
]


@cache
def _context() -> ForkServerContext:
    context = get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    return context


def run(
    main: Callable[[Sequence[str]], int], args: Sequence[str], folder: Path, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """The exit code of ``main(args)``, called in a folder, and what it printed. ``main`` is a module's function."""
    told, errors = folder / ".stdout", folder / ".stderr"
    process = _context().Process(target=_begin, args=(main, list(args), folder, dict(environ), told, errors))
    process.start()
    process.join(120)
    if process.exitcode is None:
        process.kill()
        raise TimeoutError(f"{args} took longer than two minutes")
    done = subprocess.CompletedProcess(args, process.exitcode, told.read_text(), errors.read_text())
    told.unlink()
    errors.unlink()
    return done


def _begin(
    main: Callable[[Sequence[str]], int],
    args: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    told: Path,
    errors: Path,
) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    for path, number in ((told, 1), (errors, 2)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    sys.path.insert(0, str(folder))
    sys.argv = [sys.argv[0], *args]
    local_server.__dict__["subprocess"] = SimpleNamespace(**{**vars(subprocess), "Popen": Forked})
    sys.exit(main(args))


class Forked:
    """As much of ``subprocess.Popen`` as ``local_server`` uses, for ``python -P -m module args``."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        stdin: int,
        stdout: IO[bytes],
        stderr: int,
        start_new_session: bool,
    ) -> None:
        assert (command[1:3], stdin, stderr, start_new_session) == (["-P", "-m"], subprocess.PIPE, subprocess.STDOUT, 1)
        reading, writing = os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            code: object = 70
            try:
                _become(env, reading, stdout.fileno())
                sys.argv = [command[3], *command[4:]]
                runpy.run_module(command[3], run_name="__main__")
            except SystemExit as ended:
                code = ended.code or 0
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code if isinstance(code, int) else 1)
        os.close(reading)
        self.stdin = os.fdopen(writing, "wb")

    def poll(self) -> int | None:
        return self._ended(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int:
        end = time.monotonic() + (3600 if timeout is None else timeout)
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("a server", timeout or 0)
            time.sleep(0.002)
        return code

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _ended(self, flag: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, flag)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def _become(environ: Mapping[str, str], reading: int, writing: int) -> None:
    """Leave everything of the program behind but what it has imported."""
    os.setsid()
    for source, number in ((reading, 0), (writing, 1), (writing, 2)):
        os.dup2(source, number)
    os.closerange(3, 4096)
    os.environ.clear()
    os.environ.update(environ)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w", 1), os.fdopen(2, "w", 1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
