"""The report of an exploration as text, JSON and one HTML file. Source: docs/explore.md, What it
runs.

The HTML needs no network and no script: each cell of the matrix is a link to its story on the same
page, so a keyboard is enough.
"""

import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from mockserver.domain.figures import money_text
from mockserver.domain.masking import mask_text
from mockserver.explore.exploration import Exploration
from mockserver.explore.failures import FAULTS, OWN_AXES, SURVIVED, TRIED, UNSAFE, Coverage
from mockserver.explore.fault_table import COMPENSATING
from mockserver.explore.kept import Cell
from mockserver.explore.verdicts import Verdict

T = TypeVar("T")

OTHER_MONEY = "two runs without any fault moved different money: only findings and books judge"


def word(verdict: Verdict) -> str:
    """A verdict as the table shows it."""
    return verdict.upper() if verdict is Verdict.UNSAFE else verdict.value


def _groups(points: Sequence[str], cells: Mapping[tuple[str, str], object]) -> dict[str, list[str]]:
    """The faults with a cell, by their place in an operation's life."""
    tried = [
        fault for name, fault in FAULTS.items() if any((point, name) in cells for point in points)
    ]
    return {
        at: [fault.name for fault in tried if fault.at == at]
        for at in dict.fromkeys(one.at for one in tried)
    }


def _rows(
    points: Sequence[str], faults: Sequence[str], cells: Mapping[tuple[str, str], T]
) -> list[tuple[str, list[T | None]]]:
    """The cells of each point with any, fault by fault; None where nothing was tried."""
    rows = [(point, [cells.get((point, name)) for name in faults]) for point in points]
    return [(point, row) for point, row in rows if any(row)]


def _tables(
    points: Sequence[str], words: Mapping[tuple[str, str], str]
) -> Iterator[list[list[str]]]:
    """A table for each place in an operation's life: points down, its faults across, the word of
    each cell."""
    for at, faults in _groups(points, words).items():
        shown = [
            [point, *(cell or "." for cell in row)] for point, row in _rows(points, faults, words)
        ]
        yield [[at, *faults], *shown]


def tables(points: Sequence[str], words: Mapping[tuple[str, str], str]) -> list[str]:
    """The lines of these tables. What has no word was not tried."""
    return [line for table in _tables(points, words) for line in (*_aligned(table), "")]


def text(made: Exploration, options: Sequence[str] = ()) -> str:
    """For people: the tables, then what did harm or needs a look, with findings, and how to see the
    worst of it alone, under the same ``options``. A single fault under which the command failed
    itself stands in the tables only: it noticed."""
    worst = _worst_first([cell for cell in made.cells if not _is_quiet(cell)])
    told = [*_listed(worst), *_repeated(made)]
    lines = [*_matrix(made), *legend({cell.verdict for cell in made.cells}), *told]
    if told:
        lines.append("")
    if worst:
        words = mask_text(shlex.join([*options, "--", *made.command]))
        lines += [f"To see one alone: mockserver explore --replay {worst[0].name} {words}", ""]
    return "\n".join([*lines, *_untried(made), *summary(made)])


def legend(verdicts: Collection[str]) -> list[str]:
    """What the verdicts in a table mean, in one line with an empty one below; nothing for none."""
    words = [f"{word(one)} = {_IN_SHORT[one]}" for one in reversed(Verdict) if one in verdicts]
    return [f"verdicts: {'; '.join(words)}; . = not tried", ""] if words else []


def _matrix(made: Exploration) -> list[str]:
    """The tables of the runs with one fault."""
    words = {
        (cell.point, cell.fault): _word_in(made, cell) for cell in made.cells if cell.is_single
    }
    return tables(list(map(str, made.baseline.points)), words)


def _listed(cells: Sequence[Cell]) -> Iterator[str]:
    """A line for each cell, with those faults below that were drawn for it, and what it did with
    money. Doubts that are alike but for the fault are told once."""
    groups = _alike(cells)
    if not groups:
        return
    columns = [
        [word(cell.verdict), cell.name, end_of(cell), ", ".join(cell.found)] for cell, _ in groups
    ]
    for (cell, others), line in zip(groups, _aligned(columns), strict=True):
        yield line
        if cell.is_drawn:
            drawn = " and ".join(f"{fault} at {point}" for point, fault in cell.injections)
            yield f"    {drawn}"
        yield from (f"    {words}" for words in cell.money)
        if others:
            yield f"    so are {_and_others(others)}"


def _alike(cells: Sequence[Cell]) -> list[tuple[Cell, list[Cell]]]:
    """Each cell with those after it that say the same: the same doubt about the same call, in the
    same words, under another fault."""
    groups: dict[object, tuple[Cell, list[Cell]]] = {}
    for cell in cells:
        is_doubt = cell.verdict is Verdict.DOUBTFUL and cell.is_single
        says = (cell.point, cell.exit, *cell.found, "", *cell.money) if is_doubt else cell.name
        if says in groups:
            groups[says][1].append(cell)
        else:
            groups[says] = (cell, [])
    return list(groups.values())


def _and_others(cells: Sequence[Cell]) -> str:
    return f"{len(cells)} more: {', '.join(cell.fault for cell in cells)}"


def _repeated(made: Exploration) -> Iterator[str]:
    """What many runs have in common, once, with the first of them: warnings, and what the books
    excuse."""
    runs = len(made.cells)
    for name, cells in warnings(made).items():
        yield f"warning   {name} in {len(cells)} of {runs} runs: {cells[0]}"
    for words, cells in excused(made).items():
        yield f"note      {words} in {len(cells)} of {runs} runs: {cells[0]} (--invariant)"


def _untried(made: Exploration) -> list[str]:
    """What makes sense at a call and is tried only when it is asked for; of a swarm nothing."""
    tried = [FAULTS[by] for cell in made.cells for _, by in cell.injections]
    if made.left_out or any(cell.is_drawn for cell in made.cells):
        return []
    ops = {at.partition("#")[0] for cell in made.cells for at, _ in cell.injections}
    points = [point for point in made.baseline.points if point.op in ops]
    able = [one for one in FAULTS.values() if any(map(one.fits, points))]
    rare = [
        one.name for one in able if not one.is_usual and one.at not in OWN_AXES and one not in tried
    ]
    axes = [
        f"--{at}" for at in OWN_AXES if at in {one.at for one in able} - {one.at for one in tried}
    ]
    later = ["--settle"] if any(cell.is_due for cell in made.cells) else []
    words = [*([f"{', '.join(rare)} (--faults all)"] if rare else []), *axes, *later]
    return [f"Not tried: {', '.join(words)}", ""] if words else []


def warnings(made: Exploration) -> dict[str, list[str]]:
    """The findings of severity warning, each with the names of the cells that have it."""
    found: dict[str, list[str]] = {}
    for cell in made.cells:
        for name in dict.fromkeys(
            row["finding"] for row in cell.findings if row["severity"] == "warning"
        ):
            found.setdefault(name, []).append(cell.name)
    return found


def excused(made: Exploration) -> dict[str, list[str]]:
    """What the shop's books agree on though no run without a fault does it, each with the cells in
    which they do."""
    found: dict[str, list[str]] = {}
    for cell in made.cells:
        for words in cell.money if cell.verdict is Verdict.SURVIVED else ():
            found.setdefault(words, []).append(cell.name)
    return found


def rows(made: Exploration) -> list[Mapping[str, Any]]:
    """What did harm or needs a look, the worst first, as findings: those of the runs, and the
    verdicts that no finding of severity error explains."""
    found: list[Mapping[str, Any]] = []
    for cell in _worst_first(made.cells):
        about = {"cell": cell.name}
        bad = [row for row in cell.findings if row["severity"] != "note"]
        found += [{**row, "about": {**about, **row["about"]}} for row in bad]
        if cell.verdict in _NAMED and not any(row["severity"] == "error" for row in bad):
            found.append(
                {
                    "finding": f"explore-{cell.verdict.value}",
                    "severity": _NAMED[cell.verdict],
                    "title": f"{cell.name} is {cell.verdict.value}",
                    "why": _SHOWN[cell.verdict][1],
                    "advice": f"mockserver explore --replay {cell.name} shows it alone",
                    "about": about,
                    "evidence": [
                        {"entry": None, "webhook": None, "line": words} for words in cell.money
                    ],
                    "count": 1,
                }
            )
    return found


def markdown(made: Exploration) -> str:
    """For a pull request or the summary of a step: the figures, what needs a look, and the matrix
    folded away."""
    worst, runs = (
        _worst_first([cell for cell in made.cells if not _is_quiet(cell)]),
        len(made.cells),
    )
    lines = ["## Every failure, tried", "", *(f"- {line}" for line in summary(made)), ""]
    if worst:
        lines += ["| verdict | cell | end | findings and money |", "| --- | --- | --- | --- |"]
        lines += _worst_rows(worst)
        lines.append("")
    for name, cells in warnings(made).items():
        lines.append(f"- warning: `{name}` in {len(cells)} of {runs} runs: `{cells[0]}`")
    for said, cells in excused(made).items():
        lines.append(f"- note: {said} in {len(cells)} of {runs} runs: `{cells[0]}` (`--invariant`)")
    lines += ["", "<details><summary>The matrix</summary>", ""]
    words = {(cell.point, cell.fault): word(cell.verdict) for cell in made.cells if cell.is_single}
    for table in _tables(list(map(str, made.baseline.points)), words):
        head, *others = (f"| {' | '.join(row)} |" for row in table)
        lines += [head, "| --- " * len(table[0]) + "|", *others, ""]
    return "\n".join([*lines, "</details>", "", *legend({cell.verdict for cell in made.cells})])


def _worst_rows(cells: Sequence[Cell]) -> Iterator[str]:
    """The rows of the table of what needs a look."""
    for cell, others in _alike(cells):
        told = [*cell.found, *cell.money]
        if others:
            told.append(f"so are {_and_others(others)}")
        yield f"| {word(cell.verdict)} | `{cell.name}` | {end_of(cell)} | {_escaped(told)} |"


def _escaped(words: Sequence[str]) -> str:
    return "<br>".join(one.replace("|", "\\|").replace("<", "&lt;") for one in words)


def _word_in(made: Exploration, cell: Cell) -> str:
    """The verdict on a cell, and what it was before."""
    was = made.was(cell)
    return (
        word(cell.verdict)
        if was in (None, cell.verdict)
        else f"{word(cell.verdict)} (was {word(was)})"
    )


def _is_quiet(cell: Cell) -> bool:
    """Whether a cell needs no line of its own."""
    if cell.verdict is Verdict.FAILED and cell.exit == 0:
        # The command was content: why its books could not be read must be said.
        return False
    quiet = (Verdict.SURVIVED, Verdict.FAILED, Verdict.NOT_REACHED, Verdict.HEALED)
    if cell.is_drawn:
        return cell.verdict in quiet
    return cell.verdict in quiet[: 2 if cell.is_single or _is_making_good(cell) else 1]


def summary(made: Exploration) -> list[str]:
    """How many of each verdict, and what was not tried."""
    counts = Counter(cell.verdict for cell in made.cells)
    said = ", ".join(f"{counts[one]} {one}" for one in Verdict if counts[one]) or "none"
    calls = len(made.baseline.calls)
    runs = len(made.cells)
    changed = [
        (cell.verdict.rank, was.rank) for cell in made.cells if (was := made.was(cell)) is not None
    ]
    lines = [
        f"{runs} run{'s' * (runs != 1)} with faults at {calls} call{'s' * (calls != 1)}: {said}"
    ]
    lines += _unforeseen(made)
    lines += _taken_unjudged(made)
    lines += [coverage(made).words] if runs else []
    lines += _other_money(made)
    if made.before is not None:
        better, worse = (
            sum(now < was for now, was in changed),
            sum(now > was for now, was in changed),
        )
        lines.append(f"compared with {made.before.file}: {better} better, {worse} worse")
    if made.left_out:
        why = "--budget" if made.why == "budget" else made.why
        names = ", ".join(one.name for one in made.left_out[:5])
        more = f" and {len(made.left_out) - 5} more" if len(made.left_out) > 5 else ""
        lines.append(f"not tried ({why}): {len(made.left_out)}: {names}{more}")
    return lines + _second_faults(made)


def _other_money(made: Exploration) -> Iterator[str]:
    """That the run without a fault is no measure for money, and why."""
    reference = made.baseline.reference
    if reference.money is None:
        yield f"{OTHER_MONEY} ({reference.unlike})" if reference.unlike else OTHER_MONEY


def _second_faults(made: Exploration) -> list[str]:
    """How many runs had a second fault where the command makes good, and how many more there would
    be."""
    tried, left = sum(map(_is_making_good, made.cells)), made.beyond_limit
    lines = [f"with a second fault where a refund or void makes good: {tried}"] if tried else []
    if left:
        names = ", ".join(one.name for one in left[:3])
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        lines.append(f"second faults not tried (--pairs): {len(left)}: {names}{more}")
    return lines


def _is_making_good(cell: Cell) -> bool:
    """Whether the second of two faults has struck a refund or a void."""
    ops = [point.partition("#")[0] for point, _ in cell.injections]
    return not cell.is_drawn and len(ops) == 2 and ops[1] in COMPENSATING


def _unforeseen(made: Exploration) -> list[str]:
    """How many calls of a swarm were struck that the run without a fault does not make."""
    known = set(map(str, made.baseline.points))
    drawn = [
        cell for cell in made.cells if cell.is_drawn and cell.verdict is not Verdict.NOT_REACHED
    ]
    count = sum(point not in known for cell in drawn for point, _ in cell.injections)
    said = f"struck beyond the calls of the run without a fault: {count}"
    return [said] if drawn else []


def _taken_unjudged(made: Exploration) -> Iterator[str]:
    """What runs that failed have taken, where no books say whether the shop knows."""
    failed = sum(cell.verdict is Verdict.FAILED for cell in made.cells)
    currencies = dict.fromkeys(currency for cell in made.cells for currency in cell.taken)
    for currency in currencies:
        sums = [Decimal(cell.taken[currency]) for cell in made.cells if currency in cell.taken]
        amount = money_text(sum(sums, Decimal()), currency)
        yield f"{failed} failed, {amount} taken in {len(sums)}: --books would judge them"


_STATES = {
    Verdict.UNSAFE: UNSAFE,
    Verdict.SURVIVED: SURVIVED,
    Verdict.HEALED: SURVIVED,
    Verdict.FAILED: SURVIVED,
}


def coverage(made: Exploration) -> Coverage:
    """Which failures struck, of all that there are for the operations that the command uses."""
    # Of several faults of a seed only some may have struck.
    known = [cell for cell in made.cells if not (cell.is_drawn and "+" in cell.fault)]
    struck = (
        (point.partition("#")[0], fault, _STATES.get(cell.verdict, TRIED))
        for cell in known
        if cell.verdict is not Verdict.NOT_REACHED
        for point, fault in cell.injections
    )
    return Coverage.of({point.op for point in made.baseline.points}, struck)


def as_json(made: Exploration, scenarios: Mapping[str, Path], options: Sequence[str] = ()) -> str:
    """The JSON report; ``options`` are those under which a cell comes again."""
    report = {
        "command": list(map(mask_text, made.command)),
        "options": list(map(mask_text, options)),
        "seed": made.seed,
        "baseline": {
            "calls": [
                {"point": str(point), "status": status} for point, status in made.baseline.calls
            ],
            "seconds": round(made.baseline.seconds, 3),
        },
        "cells": [
            {
                "name": cell.name,
                "point": cell.point,
                "fault": cell.fault,
                "verdict": cell.verdict.value,
                **({} if made.before is None else {"was": made.before.verdict(cell.name)}),
                "exit": cell.exit,
                "findings": cell.found,
                "money": list(cell.money),
                "seconds": cell.seconds,
                "scenario": str(scenarios[cell.name]) if cell.name in scenarios else None,
            }
            for cell in made.cells
        ],
        "coverage": coverage(made).shown(),
        "left_out": [
            {"point": one.point, "fault": one.fault, "why": why}
            for why, left in ((made.why, made.left_out), ("--pairs", made.beyond_limit))
            for one in left
        ],
    }
    return json.dumps(report, indent=2)


def end_of(cell: Cell) -> str:
    """How its command ended."""
    return "not done in time" if cell.exit is None else f"exit {cell.exit}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


_NAMED = {Verdict.UNSAFE: "error", Verdict.HUNG: "error", Verdict.DOUBTFUL: "warning"}
"""Verdicts that are reported as findings, by their severity."""

_SHOWN = {
    Verdict.UNSAFE: (
        "!",
        "a finding of severity error, or money that moved wrongly, whatever the exit code",
    ),
    Verdict.HUNG: ("…", "not done in time"),
    Verdict.DOUBTFUL: (
        "?",
        "money is less, elsewhere, held or not in the books: only the shop can say (--books)",
    ),
    Verdict.FAILED: (
        "✗",
        "the command ended with an error, and no money was seen to move wrongly",
    ),
    Verdict.NOT_REACHED: ("○", "the fault never struck: the calls came otherwise"),
    Verdict.HEALED: ("♥", "the books were wrong at first, and right when everything had settled"),
    Verdict.SURVIVED: (
        "✓",
        "exit code 0, and the money is that of the run without a fault, or the books agree",
    ),
}
"""The sign of each verdict on the page, and what it means."""

_IN_SHORT: Mapping[str, str] = {
    Verdict.UNSAFE: "money moved wrongly, or an error was found",
    Verdict.HUNG: "not done in time",
    Verdict.DOUBTFUL: "exit code 0, and less money or elsewhere: only the books can say (--books)",
    Verdict.FAILED: "ended with an error: it noticed",
    Verdict.NOT_REACHED: "the fault never struck",
    Verdict.HEALED: "wrong at first, right in the end",
    Verdict.SURVIVED: "the money is right",
}
"""What each verdict means, in a line with all others."""


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
    single = {(cell.point, cell.fault): cell for cell in made.cells if cell.is_single}
    groups = _groups(points, single)
    faults = [name for names in groups.values() for name in names]
    counts = Counter(cell.verdict for cell in made.cells)
    covered, worst, costs = coverage(made), _worst_first(made.cells), dict[str, list[Cell]]()
    for cell in worst:
        for told in cell.money:
            costs.setdefault(told, []).append(cell)
    return environment.get_template("report.html").render(
        command=mask_text(shlex.join(made.command)),
        made=made,
        summary=summary(made),
        groups=[(at, len(names)) for at, names in groups.items()],
        faults=[FAULTS[name] for name in faults],
        rows=_rows(points, faults, single),
        pairs=_worst_first([cell for cell in made.cells if not cell.is_single]),
        cells=worst,
        costs=costs,
        signs={verdict: sign for verdict, (sign, _) in _SHOWN.items()},
        legend=[(verdict, meaning, counts[verdict]) for verdict, (_, meaning) in _SHOWN.items()],
        coverage=covered,
        columns=[name for name in FAULTS if any(name in names for names in covered.rows.values())],
        marks={"never tried": "·", TRIED: "?", SURVIVED: "✓", UNSAFE: "!"},
    )


def _worst_first(cells: Sequence[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: -cell.verdict.rank)
