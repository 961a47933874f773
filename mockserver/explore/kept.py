"""What came of the runs of an exploration, as a folder keeps it, so that it can go on later
(``--resume``), and as an earlier report shows it (``--baseline``).

An exploration may take an hour, and be ended at any instant. So each cell is a line of
``cells.jsonl`` that is added when its run has ended; a line that was cut is dropped when the folder
is read again. What was explored stands in the first line: cells of another command, seed or server
would be counted as cells of this one.

Source: docs/explore.md, What it runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from mockserver.domain.masking import mask_text
from mockserver.domain.record import record
from mockserver.explore.command import Ended
from mockserver.explore.failures import PointRow
from mockserver.explore.fault_table import SEED, name_of
from mockserver.explore.run_answers import FindingRow
from mockserver.explore.verdicts import Verdict


@record
class Cell:
    """What came of one run: plain data, so that it can be kept. ``file`` is the name of its files,
    ``calls`` are the points of the run (``InjectionPoint.row``), ``scenario`` is the text of the
    file that reproduces it, ``output`` the end of what the command printed, both empty when it
    survived. ``money`` says in money what happened; ``taken`` is what a run that failed has taken,
    by currency, where no books have judged it. ``is_due``: something was still to settle when it
    was judged."""

    file: str
    point: str
    fault: str
    verdict: Verdict
    exit: int | None
    seconds: float
    findings: Sequence[FindingRow]
    timeline: str
    calls: Sequence[PointRow]
    scenario: str = ""
    output: str = ""
    money: Sequence[str] = ()
    taken: Mapping[str, str] = field(default_factory=dict)
    is_due: bool = False

    @property
    def name(self) -> str:
        """The name of what was tried: ``charge.create#1/lost_answer``."""
        return name_of(self.file, self.point, self.fault)

    @property
    def is_drawn(self) -> bool:
        """Whether it is a run of a swarm."""
        return self.file.startswith(SEED)

    @property
    def seed(self) -> int:
        """The seed of a run of a swarm, else 0."""
        if not self.is_drawn:
            return 0
        return int(self.file.removeprefix(SEED))

    @property
    def is_single(self) -> bool:
        """Whether it is one fault at one call: a cell of the matrix. What a seed drew has one name
        however few faults it has."""
        return not self.is_drawn and "+" not in self.fault

    @property
    def injections(self) -> list[tuple[str, str]]:
        """Each call with the fault that struck it."""
        return list(zip(self.point.split("+"), self.fault.split("+"), strict=True))

    @property
    def found(self) -> list[str]:
        """The names of its findings, each once."""
        return list(dict.fromkeys(row["finding"] for row in self.findings))


class NoReport(Exception):
    """A file is no report of an exploration: the text says so."""


@record
class Before:
    """The cells of an earlier report, by name, as it has them; ``file`` is where it stands.
    ``command`` and ``options`` are what was explored, masked as the report has it; earlier versions
    kept no options."""

    file: Path
    cells: Mapping[str, Mapping[str, Any]]
    command: Sequence[str] = ()
    options: Sequence[str] = ()

    @classmethod
    def read(cls, file: Path) -> Before:
        """The report in a file. Raises ``NoReport``, and ``OSError``."""
        try:
            report = json.loads(file.read_text("utf-8"))
            cells = {}
            for row in report["cells"]:
                # Earlier versions kept no names.
                name = row.get("name") or f"{row['point']}/{row['fault']}"
                cells[str(name)] = row
                # Raises for a word that is no verdict.
                Verdict(row["verdict"])
            command = [str(word) for word in report.get("command", ())]
            options = [str(word) for word in report.get("options", ())]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise NoReport(f"{file} is no report.json of an exploration") from None
        return cls(file, cells, command, options)

    def verdict(self, name: str) -> Verdict | None:
        """What a cell was; None for one that was not tried."""
        if name not in self.cells:
            return None
        return Verdict(self.cells[name]["verdict"])

    def words(self, name: str) -> str:
        """How a cell ended and what was found, in words."""
        row = self.cells[name]
        # Only the code is asked for: the report has no seconds that say how it ended.
        ended = Ended(row.get("exit"), seconds=0)
        words = f"{row['verdict']}, {ended}"
        reasons = [*row.get("findings", ()), *row.get("money", ())]
        if reasons:
            words += f": {', '.join(map(str, reasons))}"
        return words


CELLS = "cells.jsonl"


class OtherExploration(Exception):
    """The folder holds another exploration, or something else: the text says how it differs."""


class ExplorationFolder:
    """The folder of one exploration, with each cell, its scenario file and its output. It is made
    when it does not exist. ``cells.jsonl`` has a line that says what was explored, with the options
    of its server (``serve``), then one for each cell, written as it comes."""

    def __init__(
        self,
        folder: Path,
        command: Sequence[str],
        seed: int,
        client_timeout: str,
        serve: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._cells = folder / CELLS
        self._head: dict[str, object] = {
            "command": list(map(mask_text, command)),
            "seed": seed,
            "client timeout": client_timeout,
        }
        if serve:
            # Only then: folders of earlier versions, which had no such options, go on as they are.
            self._head["server"] = list(serve)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep others out, where the system has locks: two would mix their cells. Raises
        ``OtherExploration`` when one is at work there."""
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
        """The file that reproduces a cell; None for one that survived."""
        if not cell.scenario:
            return None
        return self.folder / f"{cell.file}.yaml"

    def begin(self) -> None:
        """Begin anew: what the last exploration kept here goes. Its files would be taken for what
        this one has found."""
        if self._cells.exists():
            _, cells = self._read()
            self._remove(cells)
        self._cells.write_text(_line(self._head), "utf-8")

    def resume(self) -> list[Cell]:
        """The cells of an earlier exploration of the same. Raises ``OtherExploration``."""
        if not self._cells.exists():
            self.begin()
            return []
        head, cells = self._read()
        # Also what only one of both has: without --scenario there is no ``server``.
        for name in dict.fromkeys((*self._head, *head)):
            had, wanted = head.get(name), self._head.get(name)
            if had != wanted:
                raise OtherExploration(
                    f"{self._cells} is of another {name}: it has {had!r}, now {wanted!r}"
                )
        return cells

    def keep(self, cell: Cell) -> None:
        """Add a cell."""
        for suffix, text in ((".yaml", cell.scenario), (".log", cell.output)):
            if text:
                (self.folder / f"{cell.file}{suffix}").write_text(text, "utf-8")
        with self._cells.open("a", encoding="utf-8") as file:
            file.write(_line(asdict(cell)))

    def settle(self, dropped: Collection[Cell]) -> None:
        """It has ended: write the cells without what was dropped, and in an order that does not
        depend on the machine, so that the same exploration leaves the same folder."""
        head, cells = self._read()
        gone = {cell.file for cell in dropped}
        self._remove(cell for cell in cells if cell.file in gone)
        # Of a run that was made smaller the last line counts.
        left = {cell.file: cell for cell in cells if cell.file not in gone}
        ordered = sorted(left.values(), key=lambda cell: (cell.seed, cell.file))
        rows = [head, *(asdict(cell) for cell in ordered)]
        self._cells.write_text("".join(map(_line, rows)), "utf-8")

    def _remove(self, cells: Iterable[Cell]) -> None:
        """Remove the scenario and the output of cells; other files of the folder stay."""
        for cell in cells:
            for suffix in (".yaml", ".log"):
                (self.folder / f"{cell.file}{suffix}").unlink(missing_ok=True)

    def _read(self) -> tuple[dict[str, object], list[Cell]]:
        """What was explored, and the cells that are kept. Raises ``OtherExploration``."""
        lines = self._cells.read_text("utf-8", "replace").splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            # The last time it was ended in the middle of a line.
            lines.pop()
            self._cells.write_text("".join(lines), "utf-8")
        try:
            head, *rows = [json.loads(line) for line in lines]
            if not isinstance(head, dict):
                raise TypeError
            cells = [_cell_of(row) for row in rows]
        except (ValueError, TypeError, KeyError):
            raise OtherExploration(
                f"{self._cells} is not a file of an exploration; remove it or choose another --out"
            ) from None
        return head, cells


def _cell_of(row: Mapping[str, Any]) -> Cell:
    """The cell of a line. Raises ``ValueError``, ``TypeError`` or ``KeyError`` for anything
    else."""
    cell = Cell(**{**row, "verdict": Verdict(row["verdict"])})
    if Path(cell.file).name != cell.file:
        # Files are removed by that name: it must not lead out of the folder.
        raise ValueError
    return cell


def _line(value: object) -> str:
    return json.dumps(value) + "\n"
