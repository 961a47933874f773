"""The imports of the package, read from its source: those inside functions and for type checkers
included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "mockserver"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


INNER_HOUSE = frozenset(
    [
        "adapters",
        "assumptions",
        "domain",
        "engine",
        "scenario",
        "server",
        "settings",
        "version",
        "web",
        "wire",
        "root",
    ],
)
"""The parts of the package that a sandbox consists of: they know nothing of the rooms around them,
but where ``pyproject.toml`` says so."""


def dotted(path: Path) -> str:
    """The name of the module in a file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> str:
    """The part of the package that a module belongs to: the first name below ``mockserver``, else
    ``root``."""
    parts = module.split(".")
    return "root" if len(parts) == 1 or parts[1] == "__main__" else parts[1]


parsed = cache(ast.parse)


@cache
def nodes(source: str) -> Sequence[ast.AST]:
    """Every node of a source, for the many tests that look at each."""
    return tuple(ast.walk(parsed(source)))


@cache
def imports(source: str, module: str, *, package: bool = False) -> Sequence[tuple[int, str]]:
    """Line and absolute dotted name of every module that ``source`` imports."""
    found: list[tuple[int, str]] = []
    for node in statements(parsed(source)):
        if isinstance(node, ast.Import):
            found += ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")
            base: list[str] = []
            if node.level:
                # One dot means the package that the module is in: of a package that is itself.
                base = above[: len(above) - node.level + package]
            origin = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                name = f"{origin}.{alias.name}"
                found.append((node.lineno, name if name in _names() else origin))
    return found


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement, however deep: a tenth of all nodes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield child
            yield from statements(child)


@cache
def graph() -> Mapping[str, frozenset[str]]:
    """Every module of the package, with those of the package that it imports."""
    return {
        dotted(path): frozenset(
            name
            for _, name in imports(
                path.read_text("utf-8"), dotted(path), package=path.name == "__init__.py"
            )
            if name in _names()
        )
        for path in MODULES
    }


@cache
def _names() -> frozenset[str]:
    """Every module of the package: what is imported from one may be a module or a name in it."""
    return frozenset(map(dotted, MODULES))
