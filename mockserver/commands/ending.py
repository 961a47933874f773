"""How a command ends before it is done: for a reason, or by a signal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click


def stop(code: int, words: str) -> NoReturn:
    """End the command with an exit code and the reason."""
    click.echo(words, err=True)
    sys.exit(code)


@contextmanager
def interruptions() -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP raise ``KeyboardInterrupt``, once: what ends then is not interrupted again. A signal
    that is ignored already stays so (``nohup``)."""
    import signal

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: found for number in numbers if (found := signal.getsignal(number)) is not signal.SIG_IGN}

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
