"""How a command ends before it is done: for a reason, or by a signal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click


def stop(code: int, words: str) -> NoReturn:
    """End the command with an exit code and the reason."""
    click.echo(words, err=True)
    sys.exit(code)


def heeded() -> dict[int, Any]:
    """The signals that ask to end, Ctrl-C, SIGTERM and SIGHUP, with what they do now. One that is ignored stays so
    (``nohup``)."""
    import signal

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return {number: found for number in numbers if (found := signal.getsignal(number)) is not signal.SIG_IGN}


@contextmanager
def interruptions() -> Iterator[None]:
    """What asks to end raises ``KeyboardInterrupt``, once: what ends then is not interrupted again."""
    import signal

    before = heeded()

    def interrupt(*_: object) -> NoReturn:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in before:
        signal.signal(number, interrupt)
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is interrupt:
            signal.signal(number, handler)
