"""What goes into the file of a store together, or not at all: lines of sandboxes.

All that a store has is lines of one table. A line belongs to a sandbox, by its number, and there to
a part, such as its charges; in the part its key orders it. The number ``SERVER`` is no sandbox: its
parts are the index of the sandboxes, by their numbers, and the texts of scenarios. So what a commit
does is put lines and drop lines, and one that puts a line of the index and drops another replaces a
sandbox by another, however many lines they have.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any, NamedTuple, TypeAlias

from mockserver.domain.codes import Code
from mockserver.domain.errors import MockserverError, NotKept
from mockserver.domain.masking import mask_text
from mockserver.domain.record import mutable, record
from mockserver.engine.line_reading import plain_of
from mockserver.engine.lines import line_of

SERVER = 0
"""The number of what belongs to no sandbox."""

INDEX = "sandboxes"
"""The part of ``SERVER`` that has a line for each sandbox, by its number."""

SCENARIOS = "scenarios"
"""The part of ``SERVER`` that has the texts of scenarios."""

SETTLED = "settled"
"""The part that every sandbox has: what seldom changes in it."""

HEAD = "head"
"""The part of the small things that change with most steps."""

PAGES = "pages"
"""The part whose keys are ids of objects that have a page at an address without a key."""

WAIT = 5
"""Seconds that a client is asked to wait when its request could not be stored."""

NONSENSE = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)
"""What reading lines raises that make no sense. Their sums are right, so they are as they were
written: by another version perhaps, or by hand."""

_MOST_TOLD = 300
"""Characters of a fault that a refusal repeats: some faults quote a line, which may be long."""


class PartRows:
    """The lines of one part by their keys. Their ``texts`` become plain data one by one, as they
    are iterated: all together would take ten times the memory. One that is not JSON raises
    ``ValueError``."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.texts: list[bytes] = []

    def add(self, numbers: Iterable[int], texts: Iterable[bytes]) -> None:
        """Add lines behind those that there are."""
        self.numbers += numbers
        self.texts += texts

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """The key and the plain data of each line."""
        for number, text in zip(self.numbers, self.texts, strict=True):
            yield number, plain_of(text)


StoredRows: TypeAlias = Mapping[str, PartRows]
"""The lines of each part of a sandbox."""


class Unreadable(MockserverError):
    """Something in the file that cannot be read. The text says what."""


class DamagedSandbox(NotKept):
    """What the file holds of a sandbox cannot be read: ``text`` says why, with quotes masked."""

    def __init__(self, place: str, fault: Exception | None = None) -> None:
        why = place if fault is None else f"{place}: {type(fault).__name__}: {fault}"
        self.text = mask_text(why[:_MOST_TOLD])
        words = f"what the store holds of this sandbox cannot be read: {self.text}"
        super().__init__(Code.TRANSACTION_ERROR, {"Store": words}, WAIT)


@contextmanager
def damage_in(part: str) -> Iterator[None]:
    """What reading a part raises because it makes no sense becomes ``DamagedSandbox``, with its
    name."""
    try:
        yield
    except NONSENSE as fault:
        raise DamagedSandbox(part, fault) from fault


class NotWritten(MockserverError):
    """A commit that did not succeed: nothing of it is in the file. The text says why."""


class StoredSandbox(NamedTuple):
    """A sandbox as the index knows it, its fields in the order of its line. ``due`` is the
    machine's time at which something is to be done in it, ``used`` and ``touched`` as the sandbox
    has them."""

    number: int
    key: str
    name: str | None
    used: int
    touched: int
    due: int | None

    @classmethod
    def read(cls, number: int, line: bytes) -> "StoredSandbox":
        """A sandbox of its line. Raises ``ValueError`` or ``TypeError`` for nonsense."""
        sandbox = cls(number, *plain_of(line))
        if type(sandbox.key) is not str:
            raise ValueError("a sandbox without a key")
        return sandbox


@mutable
class Commit:
    """What is written together, or not at all: lines that are new or have another content, by
    sandbox, part and key, and lines that are gone, by sandbox and part from one key to another.
    ``scenarios`` are the places of those whose texts are among the lines."""

    puts: list[tuple[int, str, int | str, bytes]] = field(default_factory=list)
    drops: list[tuple[int, str, int, int]] = field(default_factory=list)
    scenarios: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """Bytes of its lines."""
        return sum(len(line) for _, _, _, line in self.puts)

    def put_sandbox(self, sandbox: StoredSandbox) -> None:
        """The index has this sandbox."""
        number, *values = sandbox
        self.puts.append((SERVER, INDEX, number, line_of(values)))

    def drop_sandbox(self, number: int) -> None:
        """The index has the sandbox of this number no longer. Its lines are cleared away later."""
        self.drops.append((SERVER, INDEX, number, number))


@record
class Changes:
    """What has changed in the sandbox of a number, as it goes into a commit."""

    commit: Commit
    number: int

    def put(self, part: str, key: int, value: object) -> None:
        """A line with a value."""
        self.commit.puts.append((self.number, part, key, line_of(value)))

    def drop(self, part: str, key: int) -> None:
        """A line is gone."""
        self.commit.drops.append((self.number, part, key, key))

    def cut(self, part: str, last: int) -> None:
        """The lines of a part up to a key are gone."""
        self.commit.drops.append((self.number, part, 0, last))
