"""Processes that begin with everything imported: what takes most of the time of a short one.

Each is a process of its own, forked from one that has done nothing but importing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path

_IMPORTED = ["pytest", "httpx", "uvicorn", "mockserver.web.app", "mockserver.adapters.server"]


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
    sys.exit(main(args))
