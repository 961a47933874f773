"""The summary of a job in GitHub Actions: Markdown that is shown on the page of a run, beside the
annotations. The runner names a file for it, to which every step adds its part.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mockserver.adapters.machine_clock import environment
from mockserver.commands.books import table_of

_FILE = "GITHUB_STEP_SUMMARY"
MOST_ORDERS = 200
"""Rows of money in a summary: GitHub refuses one of more than a megabyte."""


def add_to_summary(told: str, money: Mapping[str, Any]) -> None:
    """Add what was found, in words, and the money of a sandbox; nothing where no runner asks."""
    file = environment().get(_FILE)
    if not file:
        return
    found = f"```text\n{told or 'no findings'}\n```"
    with Path(file).open("a", encoding="utf-8") as summary:
        summary.write("\n\n".join(["### mockserver", found, *_money(table_of(money))]) + "\n\n")


def _money(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The money as a table of Markdown, amounts to the right."""
    if not rows:
        return []
    names = list(rows[0])
    marks = ["---" if name in ("order", "currency") else "---:" for name in names]
    lines = [_line(names), _line(marks)]
    lines += [_line([_cell(text) for text in row.values()]) for row in rows[:MOST_ORDERS]]
    left = len(rows) - MOST_ORDERS
    return ["\n".join(lines), *([f"... and {left} more rows"] if left > 0 else [])]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """A shop's text as it is, whatever Markdown would make of it."""
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text
