"""Prints how heavy the package is, in tokens by room: ``python -m tools.weight``.

A token of Python is a name, an operator, a number or a text; comments, docstrings and blanks weigh
nothing, so that neither a line break nor an explanation costs anything. A token of a table is a
word or a mark of a CSV file that steers what the code does; the lists of ``mockserver/domain/data``
(countries, currencies, time zones) steer nothing.

The last column is tokens for each line of code, where the best-read projects have 5 to 7.5. No test
holds a number.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Iterable
from io import StringIO
from pathlib import Path

from tools.imports import INNER_HOUSE, MODULES, PACKAGE, dotted, layer_of

_COUNTED = {tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING}
_TABLE_TOKEN = re.compile(r"\w+|[^\w\s,]")


def python_weight(source: str) -> tuple[int, int]:
    """The tokens of a module, and the lines that have one."""
    documentation = _documentation_lines(source)
    counted = [
        token
        for token in tokenize.generate_tokens(StringIO(source).readline)
        if token.type in _COUNTED and token.start[0] not in documentation
    ]
    return len(counted), len({token.start[0] for token in counted})


def _documentation_lines(source: str) -> set[int]:
    """Lines of the texts that stand as statements of their own."""
    return {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def table_weight(text: str) -> int:
    """The tokens of a table."""
    return len(_TABLE_TOKEN.findall(text))


def _room(path: Path) -> str:
    """The part of the package that a module or a table belongs to."""
    return layer_of(dotted(path.with_suffix(".py")))


def _tables() -> Iterable[Path]:
    """The tables that steer something."""
    return (path for path in sorted(PACKAGE.rglob("*.csv")) if path.parent.name != "data")


def report() -> str:
    """Tokens by room, the heaviest first, and the sums of the inner house and of the rooms around
    it."""
    python, lines, tables = Counter[str](), Counter[str](), Counter[str]()
    for path in MODULES:
        tokens, code_lines = python_weight(path.read_text("utf-8"))
        python[_room(path)] += tokens
        lines[_room(path)] += code_lines
    for path in _tables():
        tables[_room(path)] += table_weight(path.read_text("utf-8"))
    rooms = sorted(python, key=lambda room: -python[room] - tables[room])
    printed = [f"{'room':20}{'Python':>10}{'tables':>10}{'lines':>10}{'a line':>10}"]
    for room in rooms:
        printed.append(_row(room, python[room], tables[room], lines[room]))
    parts = {
        "inner house": [room for room in rooms if room in INNER_HOUSE],
        "rooms around it": [room for room in rooms if room not in INNER_HOUSE],
        "all": rooms,
    }
    for part, held in parts.items():
        sums = [sum(counted[room] for room in held) for counted in (python, tables, lines)]
        printed.append(_row(part, *sums))
    return "\n".join(printed)


def _row(room: str, python: int, tables: int, lines: int) -> str:
    return f"{room:20}{python:>10,}{tables:>10,}{lines:>10,}{python / max(lines, 1):>10.1f}"


if __name__ == "__main__":
    print(report())
