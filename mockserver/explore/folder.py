"""What a folder keeps of an exploration, so that it can go on later: each cell, its scenario file and its output.

``cells.jsonl`` has a line that says what was explored, then one for each cell, written as it comes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from mockserver.domain.masking import mask_text
from mockserver.explore.exploration import Cell
from mockserver.explore.verdicts import Verdict

CELLS = "cells.jsonl"


class OtherExploration(Exception):
    """The folder holds another exploration, or something else: the text says how it differs."""


class ExplorationFolder:
    """The folder of one exploration. It is made when it does not exist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._cells = folder / CELLS

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep others out, where the system has locks. Raises ``OtherExploration`` when one is at work there."""
        try:
            from fcntl import LOCK_EX, LOCK_NB, flock
        except ImportError:
            yield
            return
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            try:
                flock(handle, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                raise OtherExploration(f"another exploration is at work in {self.folder}") from None
            yield
        finally:
            os.close(handle)

    def scenario_of(self, cell: Cell) -> Path | None:
        """The file that reproduces a cell."""
        return self.folder / f"{cell.file}.yaml" if cell.scenario else None

    def begin(self, command: Sequence[str], seed: int, client_timeout: str) -> None:
        """Begin anew: what the last exploration kept here goes."""
        if self._cells.exists():
            self._remove(self._read()[1])
        self._cells.write_text(_line(_head(command, seed, client_timeout)), "utf-8")

    def resume(self, command: Sequence[str], seed: int, client_timeout: str) -> list[Cell]:
        """The cells of an earlier exploration of the same. Raises ``OtherExploration``."""
        if not self._cells.exists():
            self.begin(command, seed, client_timeout)
            return []
        head, cells = self._read()
        for name, wanted in _head(command, seed, client_timeout).items():
            if head.get(name) != wanted:
                raise OtherExploration(f"{self._cells} is of another {name}: it has {head.get(name)!r}, now {wanted!r}")
        return cells

    def keep(self, cell: Cell) -> None:
        """Add a cell."""
        for suffix, text in ((".yaml", cell.scenario), (".log", cell.output)):
            if text:
                (self.folder / f"{cell.file}{suffix}").write_text(text, "utf-8")
        with self._cells.open("a", encoding="utf-8") as file:
            file.write(_line(asdict(cell)))

    def settle(self, dropped: Collection[Cell]) -> None:
        """It has ended: without what was dropped, and in an order that does not depend on the machine."""
        head, cells = self._read()
        gone = {cell.file for cell in dropped}
        self._remove(cell for cell in cells if cell.file in gone)
        # Of a run that was made smaller the last line counts.
        left = {cell.file: cell for cell in cells if cell.file not in gone}
        ordered = sorted(left.values(), key=lambda cell: (cell.seed, cell.file))
        self._cells.write_text("".join(map(_line, (head, *map(asdict, ordered)))), "utf-8")

    def _remove(self, cells: Iterable[Cell]) -> None:
        for cell in cells:
            for suffix in (".yaml", ".log"):
                (self.folder / f"{cell.file}{suffix}").unlink(missing_ok=True)

    def _read(self) -> tuple[dict[str, object], list[Cell]]:
        lines = self._cells.read_text("utf-8", "replace").splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            # The last time it was ended in the middle of a line.
            lines.pop()
            self._cells.write_text("".join(lines), "utf-8")
        try:
            head, *rows = [json.loads(line) for line in lines]
            cells = [Cell(**{**row, "verdict": Verdict(row["verdict"])}) for row in rows]
            if not isinstance(head, dict) or any(Path(cell.file).name != cell.file for cell in cells):
                raise ValueError
        except (ValueError, TypeError, KeyError):
            raise OtherExploration(
                f"{self._cells} is not a file of an exploration; remove it or choose another --out"
            ) from None
        return head, cells


def _head(command: Sequence[str], seed: int, client_timeout: str) -> dict[str, object]:
    return {"command": list(map(mask_text, command)), "seed": seed, "client timeout": client_timeout}


def _line(value: object) -> str:
    return json.dumps(value) + "\n"
