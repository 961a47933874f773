"""The report of an exploration as text, JSON and one HTML file. Source: docs/explore.md, What it
runs.

A thousand runs have a few things to say, most of them many times. So the tables show everything in
a word a cell; a line of its own has only what did harm or needs a look (``_is_quiet``), and what
many cells say alike is said once, with the first of them (``_alike``, ``warnings``, ``excused``).
What was *not* tried is always said: a matrix without red cells is no proof of more than it tried.

The HTML needs no network and no script: each cell of the matrix is a link to its story on the same
page, so a keyboard is enough.
"""

import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple, TypeVar

from mockserver.domain.figures import money_text
from mockserver.domain.masking import mask_text
from mockserver.domain.record import record
from mockserver.explore.exploration import Exploration
from mockserver.explore.failure_coverage import SURVIVED, TRIED, UNSAFE, Coverage, Struck
from mockserver.explore.failures import FAULTS, OWN_AXES
from mockserver.explore.fault_table import COMPENSATING, Trial
from mockserver.explore.kept import Cell
from mockserver.explore.run_answers import FindingRow
from mockserver.explore.verdicts import Verdict

T = TypeVar("T")

OTHER_MONEY = "two runs without any fault moved different money: only findings and books judge"


def word(verdict: Verdict) -> str:
    """A verdict as the table shows it."""
    if verdict is Verdict.UNSAFE:
        # The one that must be seen among hundreds.
        return verdict.upper()
    return verdict.value


def _groups(points: Sequence[str], cells: Mapping[tuple[str, str], object]) -> dict[str, list[str]]:
    """The faults with a cell, by their place in an operation's life: a table for each is narrow,
    and faults that a client meets alike stand side by side."""
    groups: dict[str, list[str]] = {}
    for name, fault in FAULTS.items():
        if any((point, name) in cells for point in points):
            groups.setdefault(fault.at, []).append(name)
    return groups


def _rows(
    points: Sequence[str], faults: Sequence[str], cells: Mapping[tuple[str, str], T]
) -> list[tuple[str, list[T | None]]]:
    """The cells of each point with any, fault by fault; None where nothing was tried."""
    rows = []
    for point in points:
        row = [cells.get((point, name)) for name in faults]
        if any(row):
            rows.append((point, row))
    return rows


def _tables(
    points: Sequence[str], words: Mapping[tuple[str, str], str]
) -> Iterator[list[list[str]]]:
    """A table for each place in an operation's life: points down, its faults across, the word of
    each cell. One table of forty faults would be wider than a terminal."""
    for at, faults in _groups(points, words).items():
        table = [[at, *faults]]
        for point, cells in _rows(points, faults, words):
            table.append([point, *(cell or "." for cell in cells)])
        yield table


def tables(points: Sequence[str], words: Mapping[tuple[str, str], str]) -> list[str]:
    """The lines of these tables, with an empty one below each. What has no word was not tried."""
    lines = []
    for table in _tables(points, words):
        lines += [*_aligned(table), ""]
    return lines


def text(exploration: Exploration, options: Sequence[str] = ()) -> str:
    """For people: the tables, then what did harm or needs a look, with findings, and how to see the
    worst of it alone, under the same ``options``. A single fault under which the command failed
    itself stands in the tables only: it noticed."""
    worst = _needing_a_look(exploration)
    lines = [*_matrix(exploration), *legend(_verdicts(exploration))]
    told = [*_listed(worst), *_repeated(exploration)]
    if told:
        lines += [*told, ""]
    if worst:
        words = mask_text(shlex.join([*options, "--", *exploration.command]))
        lines += [f"To see one alone: mockserver explore --replay {worst[0].name} {words}", ""]
    return "\n".join([*lines, *_untried(exploration), *summary(exploration)])


def _verdicts(exploration: Exploration) -> set[Verdict]:
    """The verdicts that there are."""
    return {cell.verdict for cell in exploration.cells}


def legend(verdicts: Collection[str]) -> list[str]:
    """What the verdicts in a table mean, in one line with an empty one below; nothing for none."""
    meanings = [
        f"{word(verdict)} = {_SHOWN[verdict].in_short}"
        for verdict in reversed(Verdict)
        if verdict in verdicts
    ]
    if not meanings:
        return []
    return [f"verdicts: {'; '.join(meanings)}; . = not tried", ""]


def _matrix(exploration: Exploration) -> list[str]:
    """The tables of the runs with one fault."""
    words = {
        (cell.point, cell.fault): _word_in(exploration, cell)
        for cell in exploration.cells
        if cell.is_single
    }
    return tables(_points_of(exploration), words)


def _points_of(exploration: Exploration) -> list[str]:
    """The calls of the run without a fault, as cells name them."""
    return [str(point) for point in exploration.baseline.points]


def _listed(cells: Sequence[Cell]) -> Iterator[str]:
    """A line for each cell, with those faults below that were drawn for it, and what it did with
    money. Doubts that are alike but for the fault are told once."""
    groups = _alike(cells)
    if not groups:
        return
    table = []
    for group in groups:
        cell = group.first
        table.append([word(cell.verdict), cell.name, end_of(cell), ", ".join(cell.found)])
    for group, line in zip(groups, _aligned(table), strict=True):
        cell = group.first
        yield line
        if cell.is_drawn:
            drawn = " and ".join(f"{fault} at {point}" for point, fault in cell.injections)
            yield f"    {drawn}"
        yield from (f"    {words}" for words in cell.money)
        if group.others:
            yield f"    {group.others_in_words}"


@record
class _Alike:
    """Cells that say the same: the first of them, and the others."""

    first: Cell
    others: list[Cell]

    @property
    def others_in_words(self) -> str:
        faults = ", ".join(cell.fault for cell in self.others)
        return f"so are {len(self.others)} more: {faults}"


def _alike(cells: Sequence[Cell]) -> list[_Alike]:
    """The cells, those together that say the same: the same doubt about the same call, in the same
    words, under another fault. What did harm is told cell by cell: each has its own story."""
    groups: dict[object, _Alike] = {}
    for cell in cells:
        says: object = cell.name
        if cell.verdict is Verdict.DOUBTFUL and cell.is_single:
            says = (cell.point, cell.exit, tuple(cell.found), tuple(cell.money))
        if says in groups:
            groups[says].others.append(cell)
        else:
            groups[says] = _Alike(cell, [])
    return list(groups.values())


def _repeated(exploration: Exploration) -> Iterator[str]:
    """What many runs have in common, once, with the first of them: warnings, and what the books
    excuse."""
    runs = len(exploration.cells)
    for name, cells in warnings(exploration).items():
        yield f"warning   {name} in {len(cells)} of {runs} runs: {cells[0]}"
    for words, cells in excused(exploration).items():
        yield f"note      {words} in {len(cells)} of {runs} runs: {cells[0]} (--invariant)"


def _untried(exploration: Exploration) -> list[str]:
    """What makes sense at a call and is tried only when it is asked for. Nothing of a swarm, which
    tries what it draws; nor where a budget has left out more than that."""
    if exploration.left_out or any(cell.is_drawn for cell in exploration.cells):
        return []
    tried, tried_axes, tried_ops = set[str](), set[str](), set[str]()
    for cell in exploration.cells:
        for point, name in cell.injections:
            tried.add(name)
            tried_axes.add(FAULTS[name].at)
            tried_ops.add(_op_of(point))
    # Calls that --ops has left out are not wanted.
    points = [point for point in exploration.baseline.points if point.op in tried_ops]
    possible = [fault for fault in FAULTS.values() if any(map(fault.fits, points))]
    rare = [
        fault.name
        for fault in possible
        if fault.name not in tried and not fault.is_usual and fault.at not in OWN_AXES
    ]
    possible_axes = {fault.at for fault in possible}
    words = []
    if rare:
        words.append(f"{', '.join(rare)} (--faults all)")
    words += [f"--{axis}" for axis in OWN_AXES if axis in possible_axes - tried_axes]
    if any(cell.is_due for cell in exploration.cells):
        words.append("--settle")
    if not words:
        return []
    return [f"Not tried: {', '.join(words)}", ""]


def _op_of(point: str) -> str:
    """The operation of a call: ``charge.create`` of ``charge.create#1``."""
    return point.partition("#")[0]


def warnings(exploration: Exploration) -> dict[str, list[str]]:
    """The findings of severity warning, each with the names of the cells that have it."""
    found: dict[str, list[str]] = {}
    for cell in exploration.cells:
        names = [row["finding"] for row in cell.findings if row["severity"] == "warning"]
        for name in dict.fromkeys(names):
            found.setdefault(name, []).append(cell.name)
    return found


def excused(exploration: Exploration) -> dict[str, list[str]]:
    """What the shop's books agree on though no run without a fault does it, each with the cells in
    which they do."""
    found: dict[str, list[str]] = {}
    survived = [cell for cell in exploration.cells if cell.verdict is Verdict.SURVIVED]
    for cell in survived:
        # A cell that survived says no more of money than what was excused.
        for words in cell.money:
            found.setdefault(words, []).append(cell.name)
    return found


def rows(exploration: Exploration) -> list[FindingRow]:
    """What did harm or needs a look, the worst first, as findings: so everything that shows or
    reports findings can take an exploration. Those of the runs, and a row for each verdict that no
    finding of severity error explains."""
    found: list[FindingRow] = []
    for cell in _worst_first(exploration.cells):
        bad = [row for row in cell.findings if row["severity"] != "note"]
        for row in bad:
            found.append({**row, "about": {"cell": cell.name, **row["about"]}})
        is_explained = any(row["severity"] == "error" for row in bad)
        if _SHOWN[cell.verdict].severity and not is_explained:
            found.append(_verdict_row(cell))
    return found


def _verdict_row(cell: Cell) -> FindingRow:
    """A verdict as a finding; its evidence is what it says in money."""
    return {
        "finding": f"explore-{cell.verdict.value}",
        "severity": _SHOWN[cell.verdict].severity,
        "title": f"{cell.name} is {cell.verdict.value}",
        "why": _SHOWN[cell.verdict].meaning,
        "advice": f"mockserver explore --replay {cell.name} shows it alone",
        "about": {"cell": cell.name},
        "evidence": [{"entry": None, "webhook": None, "line": words} for words in cell.money],
        "count": 1,
    }


def markdown(exploration: Exploration) -> str:
    """For a pull request or the summary of a step: the figures, what needs a look, and the matrix
    folded away."""
    worst = _needing_a_look(exploration)
    runs = len(exploration.cells)
    figures = [f"- {line}" for line in summary(exploration)]
    lines = ["## Every failure, tried", "", *figures, ""]
    if worst:
        lines += ["| verdict | cell | end | findings and money |", "| --- | --- | --- | --- |"]
        lines += _worst_rows(worst)
        lines.append("")
    for name, cells in warnings(exploration).items():
        lines.append(f"- warning: `{name}` in {len(cells)} of {runs} runs: `{cells[0]}`")
    for said, cells in excused(exploration).items():
        lines.append(f"- note: {said} in {len(cells)} of {runs} runs: `{cells[0]}` (`--invariant`)")
    lines += ["", "<details><summary>The matrix</summary>", ""]
    words = {
        (cell.point, cell.fault): word(cell.verdict) for cell in exploration.cells if cell.is_single
    }
    for table in _tables(_points_of(exploration), words):
        head, *others = (f"| {' | '.join(row)} |" for row in table)
        columns = len(table[0])
        lines += [head, "| --- " * columns + "|", *others, ""]
    return "\n".join([*lines, "</details>", "", *legend(_verdicts(exploration))])


def _worst_rows(cells: Sequence[Cell]) -> Iterator[str]:
    """The rows of the table of what needs a look."""
    for group in _alike(cells):
        cell = group.first
        told = [*cell.found, *cell.money]
        if group.others:
            told.append(group.others_in_words)
        yield f"| {word(cell.verdict)} | `{cell.name}` | {end_of(cell)} | {_escaped(told)} |"


def _escaped(lines: Sequence[str]) -> str:
    """Lines of one cell of a table in Markdown, which may say what a shop has printed."""
    return "<br>".join(line.replace("|", "\\|").replace("<", "&lt;") for line in lines)


def _word_in(exploration: Exploration, cell: Cell) -> str:
    """The verdict on a cell, and what it was in the earlier report, if one was given."""
    was = exploration.was(cell)
    if was is None or was is cell.verdict:
        return word(cell.verdict)
    return f"{word(cell.verdict)} (was {word(was)})"


def _needing_a_look(exploration: Exploration) -> list[Cell]:
    """The cells that have a line of their own, the worst first."""
    return _worst_first([cell for cell in exploration.cells if not _is_quiet(cell)])


def _is_quiet(cell: Cell) -> bool:
    """Whether a cell needs no line of its own: nothing is wrong, or the table says enough."""
    if cell.verdict is Verdict.FAILED and cell.exit == 0:
        # The command was content: why its books could not be read must be said.
        return False
    if cell.verdict is Verdict.SURVIVED:
        return True
    if cell.is_drawn:
        # Of hundreds of seeds only those are told that did harm.
        return cell.verdict in (Verdict.FAILED, Verdict.NOT_REACHED, Verdict.HEALED)
    if cell.verdict is not Verdict.FAILED:
        return False
    # A single fault stands in the table. Second faults where the command makes good may be dozens,
    # and are counted in the end. Of other pairs nothing else says that they failed.
    return cell.is_single or _is_making_good(cell)


_MOST_NAMED = 5


def summary(exploration: Exploration) -> list[str]:
    """How many of each verdict, and what was not tried."""
    counts = Counter(cell.verdict for cell in exploration.cells)
    verdicts = [f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]]
    runs = _counted(len(exploration.cells), "run")
    calls = _counted(len(exploration.baseline.calls), "call")
    lines = [f"{runs} with faults at {calls}: {', '.join(verdicts) or 'none'}"]
    lines += _unforeseen(exploration)
    lines += _taken_unjudged(exploration)
    if exploration.cells:
        lines.append(coverage(exploration).words)
    lines += _other_money(exploration)
    lines += _compared_with_before(exploration)
    if exploration.left_out:
        # What was interrupted, or ended by a first red run, has no option to be named.
        why = "--budget" if exploration.why == "budget" else exploration.why
        names = _named_trials(exploration.left_out, _MOST_NAMED)
        lines.append(f"not tried ({why}): {len(exploration.left_out)}: {names}")
    lines += _second_faults(exploration)
    return lines


def _counted(count: int, what: str) -> str:
    """So many of a thing: ``1 run``, ``2 runs``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _named_trials(trials: Sequence[Trial], most: int) -> str:
    """The names of the first of some trials, and how many more there are."""
    names = ", ".join(trial.name for trial in trials[:most])
    more = len(trials) - most
    if more > 0:
        return f"{names} and {more} more"
    return names


def _compared_with_before(exploration: Exploration) -> Iterator[str]:
    """How many cells are better, and worse, than in an earlier report."""
    if exploration.before is None:
        return
    better = worse = 0
    for cell in exploration.cells:
        was = exploration.was(cell)
        if was is None:
            continue
        if cell.verdict.rank < was.rank:
            better += 1
        elif cell.verdict.rank > was.rank:
            worse += 1
    yield f"compared with {exploration.before.file}: {better} better, {worse} worse"


def _other_money(exploration: Exploration) -> Iterator[str]:
    """That the run without a fault is no measure for money, and why."""
    reference = exploration.baseline.reference
    if reference.money is not None:
        return
    if reference.unlike:
        yield f"{OTHER_MONEY} ({reference.unlike})"
    else:
        yield OTHER_MONEY


def _second_faults(exploration: Exploration) -> Iterator[str]:
    """How many runs had a second fault where the command makes good, and how many more there would
    be."""
    tried, left = sum(map(_is_making_good, exploration.cells)), exploration.beyond_limit
    if tried:
        yield f"with a second fault where a refund or void makes good: {tried}"
    if left:
        yield f"second faults not tried (--pairs): {len(left)}: {_named_trials(left, 3)}"


def _is_making_good(cell: Cell) -> bool:
    """Whether the second of two faults has struck a refund or a void."""
    if cell.is_drawn or len(cell.injections) != 2:
        return False
    second_point, _ = cell.injections[1]
    return _op_of(second_point) in COMPENSATING


def _unforeseen(exploration: Exploration) -> Iterator[str]:
    """How many calls of a swarm were struck that the run without a fault does not make."""
    known = set(_points_of(exploration))
    # A cell that was not reached lists all that was drawn, and nothing of it has struck.
    struck = [
        cell
        for cell in exploration.cells
        if cell.is_drawn and cell.verdict is not Verdict.NOT_REACHED
    ]
    if not struck:
        return
    count = sum(point not in known for cell in struck for point, _ in cell.injections)
    yield f"struck beyond the calls of the run without a fault: {count}"


def _taken_unjudged(exploration: Exploration) -> Iterator[str]:
    """What runs that failed have taken, where no books say whether the shop knows: this much was
    not judged, and a reader may think that it was."""
    failed = sum(cell.verdict is Verdict.FAILED for cell in exploration.cells)
    taken: dict[str, list[Decimal]] = {}
    for cell in exploration.cells:
        for currency, amount in cell.taken.items():
            taken.setdefault(currency, []).append(Decimal(amount))
    for currency, amounts in taken.items():
        total = money_text(sum(amounts, Decimal()), currency)
        yield f"{failed} failed, {total} taken in {len(amounts)}: --books would judge them"


def coverage(exploration: Exploration) -> Coverage:
    """Which failures struck, of all that there are for the operations that the command uses."""
    struck = []
    for cell in exploration.cells:
        # Which of several faults of a seed has decided its verdict is not known.
        is_unclear = cell.is_drawn and "+" in cell.fault
        if is_unclear or cell.verdict is Verdict.NOT_REACHED:
            continue
        for point, fault in cell.injections:
            struck.append(Struck(_op_of(point), fault, _SHOWN[cell.verdict].coverage))
    return Coverage.of({point.op for point in exploration.baseline.points}, struck)


def as_json(
    exploration: Exploration, scenarios: Mapping[str, Path], options: Sequence[str] = ()
) -> str:
    """The JSON report, by which a later exploration is compared (``kept.Before``); ``scenarios``
    are the files that repeat cells, ``options`` those under which a cell comes again."""
    left_out = [_left_out_row(trial, exploration.why) for trial in exploration.left_out]
    left_out += [_left_out_row(trial, "--pairs") for trial in exploration.beyond_limit]
    report = {
        "command": list(map(mask_text, exploration.command)),
        "options": list(map(mask_text, options)),
        "seed": exploration.seed,
        "baseline": {
            "calls": [
                {"point": str(point), "status": status}
                for point, status in exploration.baseline.calls
            ],
            "seconds": round(exploration.baseline.seconds, 3),
        },
        "cells": [
            _cell_row(exploration, cell, scenarios.get(cell.name)) for cell in exploration.cells
        ],
        "coverage": coverage(exploration).shown(),
        "left_out": left_out,
    }
    return json.dumps(report, indent=2)


def _left_out_row(trial: Trial, why: str) -> Mapping[str, str]:
    """What was not tried, for the JSON report."""
    return {"point": trial.point, "fault": trial.fault, "why": why}


def _cell_row(exploration: Exploration, cell: Cell, scenario: Path | None) -> Mapping[str, object]:
    """A cell for the JSON report; ``was`` stands there where there is an earlier one."""
    row: dict[str, object] = {
        "name": cell.name,
        "point": cell.point,
        "fault": cell.fault,
        "verdict": cell.verdict.value,
    }
    if exploration.before is not None:
        row["was"] = exploration.before.verdict(cell.name)
    return row | {
        "exit": cell.exit,
        "findings": cell.found,
        "money": list(cell.money),
        "seconds": cell.seconds,
        "scenario": None if scenario is None else str(scenario),
    }


def end_of(cell: Cell) -> str:
    """How its command ended."""
    if cell.exit is None:
        return "not done in time"
    return f"exit {cell.exit}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines, with columns as wide as their widest word."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


class _Shown(NamedTuple):
    """How a verdict is shown: on the page by its ``sign`` and what it means, ``in_short`` below
    tables. ``severity`` is that of the finding as which it is reported, empty where it is none;
    ``coverage`` is how the failure counts under which it was reached."""

    sign: str
    in_short: str
    meaning: str
    severity: str = ""
    coverage: str = TRIED


_SHOWN = {
    Verdict.UNSAFE: _Shown(
        sign="!",
        in_short="money moved wrongly, or an error was found",
        meaning="a finding of severity error, or money that moved wrongly, whatever the exit code",
        severity="error",
        coverage=UNSAFE,
    ),
    Verdict.HUNG: _Shown(
        sign="…", in_short="not done in time", meaning="not done in time", severity="error"
    ),
    Verdict.DOUBTFUL: _Shown(
        sign="?",
        in_short="exit code 0, and less money or elsewhere: only the books can say (--books)",
        meaning="money is less, elsewhere, held or not in the books: only the shop can say "
        "(--books)",
        severity="warning",
    ),
    Verdict.FAILED: _Shown(
        sign="✗",
        in_short="ended with an error: it noticed",
        meaning="the command ended with an error, and no money was seen to move wrongly",
        coverage=SURVIVED,
    ),
    Verdict.NOT_REACHED: _Shown(
        sign="○",
        in_short="the fault never struck",
        meaning="the fault never struck: the calls came otherwise",
    ),
    Verdict.HEALED: _Shown(
        sign="♥",
        in_short="wrong at first, right in the end",
        meaning="the books were wrong at first, and right when everything had settled",
        coverage=SURVIVED,
    ),
    Verdict.SURVIVED: _Shown(
        sign="✓",
        in_short="the money is right",
        meaning="exit code 0, and the money is that of the run without a fault, or the books agree",
        coverage=SURVIVED,
    ),
}


def page(exploration: Exploration) -> str:
    """The HTML file. What several cells say in money stands there once (``costs``), with the
    cells."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("mockserver.explore"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    points = _points_of(exploration)
    single = {(cell.point, cell.fault): cell for cell in exploration.cells if cell.is_single}
    groups = _groups(points, single)
    faults = [name for names in groups.values() for name in names]
    counts = Counter(cell.verdict for cell in exploration.cells)
    covered, worst = coverage(exploration), _worst_first(exploration.cells)
    covered_names = {name for names in covered.rows.values() for name in names}
    costs: dict[str, list[Cell]] = {}
    for cell in worst:
        for told in cell.money:
            costs.setdefault(told, []).append(cell)
    return environment.get_template("report.html").render(
        command=mask_text(shlex.join(exploration.command)),
        exploration=exploration,
        summary=summary(exploration),
        groups=[(at, len(names)) for at, names in groups.items()],
        faults=[FAULTS[name] for name in faults],
        rows=_rows(points, faults, single),
        pairs=_worst_first([cell for cell in exploration.cells if not cell.is_single]),
        cells=worst,
        costs=costs,
        signs={verdict: shown.sign for verdict, shown in _SHOWN.items()},
        legend=[(verdict, shown.meaning, counts[verdict]) for verdict, shown in _SHOWN.items()],
        coverage=covered,
        columns=[name for name in FAULTS if name in covered_names],
        marks={"never tried": "·", TRIED: "?", SURVIVED: "✓", UNSAFE: "!"},
    )


def _worst_first(cells: Sequence[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: -cell.verdict.rank)
