"""The report of an exploration as one HTML file that needs no network and no script. Source: explore document, Report.

Each cell of the matrix is a link to its story on the same page, so a keyboard is enough.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from mockserver.domain.masking import mask_text
from mockserver.explore.exploration import Cell, Exploration
from mockserver.explore.faults import FAULTS
from mockserver.explore.report import matrix, summary
from mockserver.explore.verdict import Verdict

_SIGNS = {
    Verdict.SURVIVED: "✓",
    Verdict.NOT_REACHED: "○",
    Verdict.FAILED: "✗",
    Verdict.HUNG: "…",
    Verdict.UNSAFE: "!",
}
_MEANINGS = {
    Verdict.UNSAFE: "money moved wrongly, whatever the exit code",
    Verdict.HUNG: "not done in time",
    Verdict.FAILED: "the command noticed: loud, and no harm done",
    Verdict.NOT_REACHED: "the fault never struck: the calls came otherwise",
    Verdict.SURVIVED: "exit code 0, and no finding of severity error",
}


def page(made: Exploration) -> str:
    """The file."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("mockserver.explore"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    points = [str(point) for point in made.baseline.points]
    tables = matrix(points, made.cells)
    rows = [
        (point, [cell for _, _, table in tables for cell in table[place]])
        for place, point in enumerate(points)
        if any(cell for _, _, table in tables for cell in table[place])
    ]
    counts = Counter(cell.verdict for cell in made.cells)
    return environment.get_template("report.html").render(
        command=mask_text(shlex.join(made.command)),
        seed=made.seed,
        baseline=made.baseline,
        summary=summary(made),
        groups=[(at, len(faults)) for at, faults, _ in tables],
        faults=[FAULTS[name] for _, faults, _ in tables for name in faults],
        rows=rows,
        pairs=_worst_first([cell for cell in made.cells if len(cell.strikes) > 1]),
        cells=_worst_first(made.cells),
        signs=_SIGNS,
        legend=[(verdict, meaning, counts[verdict]) for verdict, meaning in _MEANINGS.items()],
        left_out=made.left_out,
        survived=Verdict.SURVIVED,
    )


def _worst_first(cells: Sequence[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: -list(Verdict).index(cell.verdict))
