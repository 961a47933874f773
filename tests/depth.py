"""How much a test tries: what meets every rule in every run, and far more with ``--deep``, as
before a release."""

from typing import TypeVar

T = TypeVar("T")
_is_deep = False


def dig() -> None:
    """Let ``tries`` give the larger number from now on; called before any test is collected."""
    global _is_deep
    _is_deep = True


def tries(quick: T, deep: T) -> T:
    """How much to try."""
    return deep if _is_deep else quick
