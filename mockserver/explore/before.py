"""An earlier report, with which a new one is compared. Source: docs/explore.md, Before and after."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mockserver.domain.record import record
from mockserver.explore.trial import Verdict


class NoReport(Exception):
    """A file is no report of an exploration: the text says so."""


@record
class Before:
    """The cells of an earlier report, by name, as it has them; ``file`` is where it stands."""

    file: Path
    cells: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, file: Path) -> Before:
        """The report in a file. Raises ``NoReport``, and ``OSError``."""
        try:
            rows = json.loads(file.read_text("utf-8"))["cells"]
            cells = {str(row.get("name") or f"{row['point']}/{row['fault']}"): row for row in rows}
            for row in cells.values():
                Verdict(row["verdict"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise NoReport(f"{file} is no report.json of an exploration") from None
        return cls(file, cells)

    def verdict(self, name: str) -> Verdict | None:
        """What a cell was; None for one that was not tried."""
        row = self.cells.get(name)
        return None if row is None else Verdict(row["verdict"])

    def words(self, name: str) -> str:
        """How a cell ended and what was found, in words."""
        row = self.cells[name]
        code = row.get("exit")
        end = "not done in time" if code is None else f"exit code {code}"
        told = [*row.get("findings", ()), *row.get("money", ())]
        return f"{row['verdict']}, {end}" + (f": {', '.join(map(str, told))}" if told else "")
