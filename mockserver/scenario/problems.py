"""What is wrong with a scenario file: every problem at its line and column, all of them at once, up
to ``MOST_FAULTS``: who has more has them from one cause, and nobody waits until all are worded.

Those who check a part name it by its path in the file, such as ``("rules", 2, "when")``. The reader
of YAML has remembered where each path stands (``Positions``); a path that it has not seen, as of a
key that is missing, is told at the part around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from operator import attrgetter
from typing import TypeAlias

from mockserver.domain.errors import MOST_FAULTS, MockserverError, Refused
from mockserver.domain.masking import mask_text, printable
from mockserver.domain.record import mutable, record, replace
from mockserver.scenario.patterns import Patterns

Path: TypeAlias = tuple[str | int, ...]
Positions: TypeAlias = Mapping[Path, tuple[int, int]]

MOST_TOLD = MOST_FAULTS + 1
"""Lines of a refusal: the faults, and that there are more."""

MOST_BYTES = 2_000_000
"""Bytes of a scenario's text."""

MOST_RULES = 1_000
"""Rules of a scenario."""


def path_text(path: Sequence[str | int]) -> str:
    """``rules[2].when.op``, as a person would write it."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}"
    return text.removeprefix(".")


@record
class ScenarioProblem:
    """One fault of a file. Lines and columns count from 1; ``path`` is the place in words, empty
    for the whole file."""

    file: str
    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        """As compilers write it, so that editors and CI systems find the place. It quotes the file,
        which may hold card numbers and bytes that steer a terminal."""
        words = self.message
        if self.path:
            words = f"{self.path}: {words}"
        return printable(f"{self.file}:{self.line}:{self.column}: {mask_text(words)}")


class ScenarioRefused(MockserverError):
    """A scenario file that cannot be used. ``problems`` holds every fault, in the order of the
    file."""

    def __init__(self, problems: Sequence[ScenarioProblem]) -> None:
        self.problems = tuple(sorted(problems, key=attrgetter("file", "line", "column")))
        lines = [str(problem) for problem in self.problems[:MOST_TOLD]]
        if len(self.problems) > MOST_TOLD:
            lines.append(f"... and {len(self.problems) - MOST_TOLD} more")
        super().__init__("\n".join(lines))


def more_follow(file: str, line: int, column: int) -> ScenarioProblem:
    """What stands in the place of faults beyond the first ``MOST_FAULTS``, where the next one was:
    without it a file would seem right once these are mended."""
    words = f"more faults follow, of which at most {MOST_FAULTS} are told"
    return ScenarioProblem(file, line, column, "", words)


@mutable
class Problems:
    """The ``faults`` of one file so far; ``patterns`` compiles the patterns of its tests. ``base``
    is the part that paths begin at: all parts of a file add to one list. ``was_taken`` says that a
    sandbox has the file from a version that refused less: it stays in force, so what is only
    refused since then is no fault."""

    file: str
    positions: Positions
    faults: list[ScenarioProblem] = field(default_factory=list)
    patterns: Patterns = field(default_factory=Patterns)
    base: Path = ()
    was_taken: bool = False

    def below(self, *path: str | int) -> Problems:
        """The same list, for faults of one part: paths begin there."""
        return replace(self, base=(*self.base, *path))

    def add(self, path: Path, message: str) -> None:
        """Remember a fault at the place of ``path``, or of the nearest part around it that has a
        place. Raises ``ScenarioRefused`` where enough are known: the rest of the file is not looked
        at."""
        line, column = self.place(path)
        if len(self.faults) >= MOST_FAULTS:
            raise ScenarioRefused([*self.faults, more_follow(self.file, line, column)])
        self.faults.append(
            ScenarioProblem(self.file, line, column, path_text((*self.base, *path)), message)
        )

    def add_all(self, faults: Iterable[tuple[Path, str]]) -> None:
        """Remember several faults, each at its path."""
        for path, message in faults:
            self.add(path, message)

    def place(self, path: Path = ()) -> tuple[int, int]:
        """Line and column of a part, from 1."""
        path = (*self.base, *path)
        while path and path not in self.positions:
            path = path[:-1]
        # A file that came as plain data, as by the control API, has no places.
        return self.positions.get(path, (1, 1))

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """Turn a ``ValueError`` or a refusal of what is done inside ``with`` into a fault at
        ``path``."""
        try:
            yield
        except ValueError as problem:
            self.add(path, str(problem))
        except Refused as refused:
            # Details name fields of a request, which a file does not have.
            words = str(refused)
            if refused.details:
                words = "; ".join(refused.details.values())
            self.add(path, words)
