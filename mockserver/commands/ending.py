"""How a command ends before it is done: for a reason, or by a signal.

A command that tries a client, or walks through another server, must put away what it has made when
somebody presses Ctrl-C: processes, sandboxes, charges. So a signal becomes an exception where the
command stands, whose ``finally`` does that. A second signal must not break off the putting away:
after the first all are ignored. Who cannot wait has ``kill -9``.
"""

import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, TypeAlias, TypeVar

import click

T = TypeVar("T")

Handler: TypeAlias = Callable[[int, FrameType | None], object] | int | None
"""What the system calls for a signal, or one of the numbers that stand for a default."""


def stop(code: int, words: str) -> NoReturn:
    """End the command with an exit code and the reason, which goes to standard error: what reads
    the output takes it for a result."""
    click.echo(words, err=True)
    sys.exit(code)


def heeded_signals() -> dict[int, Handler]:
    """The signals that ask to end, Ctrl-C, SIGTERM and SIGHUP, each with its handler of now. One
    that is ignored is left out, and stays so (``nohup``)."""
    import signal

    handlers: dict[int, Handler] = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        # Windows lacks one.
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            handlers[number] = signal.getsignal(number)
    return handlers


@contextmanager
def interruptions() -> Iterator[None]:
    """What asks to end raises ``KeyboardInterrupt``, once: SIGTERM and SIGHUP too, which would end
    the process before anything was put away."""

    def interrupt() -> NoReturn:
        raise KeyboardInterrupt

    with _once(interrupt):
        yield


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, which a signal that asks to end cancels, so that it ends at an ``await``:
    ``interruptions`` raises anywhere, also within a step of the loop or of a library, which is left
    half done then. Raises ``KeyboardInterrupt`` when it was cancelled."""
    import asyncio

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)

        def cancel() -> None:
            # A handler may run in the midst of any step of the loop, and wakes one that sleeps.
            loop.call_soon_threadsafe(task.cancel)

        with _once(cancel):
            try:
                return loop.run_until_complete(task)
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None


@contextmanager
def _once(act: Callable[[], object]) -> Iterator[None]:
    """The first signal that asks to end does something within this block, and those after it
    nothing."""
    import signal

    earlier_handlers = heeded_signals()

    def handle(*_: object) -> None:
        for number in earlier_handlers:
            signal.signal(number, signal.SIG_IGN)
        act()

    for number in earlier_handlers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, earlier in earlier_handlers.items():
            # After a signal all are ignored, to the end of the command.
            if signal.getsignal(number) is handle:
                signal.signal(number, earlier)
