"""Long work during which others are served: a generator that pauses now and then, and returns what
it has made."""

from collections.abc import Generator, Iterator
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")

Cooperative: TypeAlias = Generator[None, None, T]


class Pauses(Generic[T]):
    """The pauses of some work, one after the other; ``made`` is what the work has made when they
    are over."""

    made: T

    def __init__(self, work: Cooperative[T]) -> None:
        self._work = work

    def __iter__(self) -> Iterator[None]:
        self.made = yield from self._work


def run_to_end(work: Cooperative[T]) -> T:
    """What the work makes, without a pause."""
    pauses = Pauses(work)
    for _ in pauses:
        pass
    return pauses.made
