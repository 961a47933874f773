"""The summary of a job in GitHub Actions: Markdown that is shown on the page of a run, beside the
annotations. The runner names a file for it, to which every step adds its part.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mockserver.adapters.machine_clock import environment
from mockserver.commands.books import table_of
from mockserver.remote import JsonObject

_FILE = "GITHUB_STEP_SUMMARY"
MOST_ORDERS = 200
"""Rows of money in a summary: GitHub refuses one of more than a megabyte."""


def add_to_summary(words: str, money: JsonObject) -> None:
    """Add what was found, in words, and the money of a sandbox; nothing where no runner names a
    file, as on a developer's machine. Other steps have written to it, so this is put behind."""
    file = environment().get(_FILE)
    if not file:
        return
    paragraphs = ["### mockserver", f"```text\n{words or 'no findings'}\n```"]
    paragraphs += _money(table_of(money))
    with Path(file).open("a", encoding="utf-8") as summary:
        summary.write("\n\n".join(paragraphs) + "\n\n")


def _money(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The money as paragraphs of Markdown: a table, amounts to the right, and what it leaves out;
    none without rows."""
    if not rows:
        return []
    names = list(rows[0])
    # A colon behind a column puts it to the right: all but names are amounts.
    marks = ["---" if name in ("order", "currency") else "---:" for name in names]
    lines = [_line(names), _line(marks)]
    lines += [_line([_cell(text) for text in row.values()]) for row in rows[:MOST_ORDERS]]
    paragraphs = ["\n".join(lines)]
    left_out = len(rows) - MOST_ORDERS
    if left_out > 0:
        paragraphs.append(f"... and {left_out} more rows")
    return paragraphs


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """A shop's text as it is, whatever Markdown would make of it."""
    # The backslash first: those before the other marks must stay single.
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text
