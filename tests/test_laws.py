"""The laws of the house that no linter knows: what a module must not do.

Weight is not a law: ``python -m tools.weight`` prints it.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import TypeGuard

import pytest

from tests.driving import Api, card_charge
from tools.imports import MODULES, PACKAGE, dotted, imports, layer_of, nodes, parsed, statements
from tools.weight import python_weight, table_weight

MOST_PAUSING = 6
"""Modules that may do work in steps between which others are served."""

STATE_LEFT: Mapping[str, frozenset[str]] = {}
"""Names of modules of the domain that functions still change, by module."""

INTERNALS = re.compile(r"^(uvicorn\.(protocols|lifespan|server)\b|\w+(\.\w+)*\._)")
"""Modules of other projects that promise nothing from one version to the next."""

CHANGING = {
    "add",
    "append",
    "appendleft",
    "clear",
    "discard",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "setdefault",
}
CHANGING |= {"update", "sort", "reverse", "move_to_end", "popleft"}
"""Methods that change a list, a dictionary or a set."""


def tree(path: Path) -> ast.Module:
    return parsed(path.read_text("utf-8"))


def beyond(
    found: Mapping[str, set[str]], allowed: Mapping[str, frozenset[str]]
) -> dict[str, set[str]]:
    """What is found and not allowed, by module."""
    return {
        module: left
        for module, names in found.items()
        if (left := names - allowed.get(module, frozenset()))
    }


def functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (
        one for one in statements(node) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def pauses(source: str) -> bool:
    """Whether a module does work in steps, by whatever name: it has a generator that gives nothing,
    drives such work, or lets the loop serve others."""
    for node in nodes(source):
        match node:
            case ast.ImportFrom(module="mockserver.domain.cooperative"):
                return True
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="asyncio"), attr="sleep"),
                args=[ast.Constant(value=0)],
            ):
                return True
            case _:
                pass
    return any(gives_nothing(function) for function in functions(parsed(source)))


def gives_nothing(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is a generator of nothing, and neither a context manager nor a part of a
    test session."""
    decorators = " ".join(ast.unparse(one) for one in function.decorator_list)
    if re.search(r"contextmanager|hookimpl|fixture", decorators):
        return False
    said = ast.unparse(function.returns) if function.returns else ""
    inner = {
        id(node) for one in functions(function) if one is not function for node in ast.walk(one)
    }
    yields = [
        node for node in ast.walk(function) if isinstance(node, ast.Yield) and id(node) not in inner
    ]
    nothing = any(one.value is None or ast.unparse(one.value) == "None" for one in yields)
    return nothing or bool(re.match(r"(Cooperative\b|(Generator|Iterator)\[None\b)", said))


def test_few_modules_work_in_steps() -> None:
    found = [dotted(path) for path in MODULES if pauses(path.read_text("utf-8"))]
    assert len(found) <= MOST_PAUSING, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "does"),
    [
        ("from mockserver.domain.cooperative import Cooperative", True),
        ("async def f():\n    await asyncio.sleep(0)", True),
        ("def f(x) -> Generator[None, None, int]:\n    yield from x", True),
        ("def f(x):\n    for one in x:\n        yield", True),
        ("def f(x) -> Iterator[int | None]:\n    yield 1\n    yield None", True),
        ("async def f():\n    await asyncio.sleep(1)", False),
        ("def f(x) -> Iterator[int]:\n    yield 1", False),
    ],
)
def test_work_in_steps_is_known_by_what_it_does(source: str, does: bool) -> None:
    assert pauses(source) is does


def state(module: ast.Module) -> set[str]:
    """Names of a module that its functions change: by ``global``, a method, an item, an attribute.
    What a cache of ``functools`` remembers of a pure function is no state, and a decimal context
    adds numbers."""
    outer = {
        name.id
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and not ast.unparse(node.value or node).startswith("Context(")
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    outer |= {
        alias.asname or alias.name
        for node in module.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return {
        name
        for function in functions(module)
        for name in _changed(function) & (outer - _local(function))
    }


def _local(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    given = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    made = {
        one.id
        for one in ast.walk(function)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    return (given | made) - {
        name for one in ast.walk(function) if isinstance(one, ast.Global) for name in one.names
    }


def _changed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Global(names=names):
                found |= set(names)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if (
                attr in CHANGING
            ):
                found.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                found.add(name)
            case _:
                pass
    return found


def test_the_domain_remembers_nothing() -> None:
    domain = [path for path in MODULES if layer_of(dotted(path)) == "domain"]
    assert beyond({dotted(path): state(tree(path)) for path in domain}, STATE_LEFT) == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("X = 1\ndef f():\n    global X\n    X = 2", {"X"}),
        ("X = []\ndef f():\n    X.append(1)", {"X"}),
        ("X: dict = {}\nclass A:\n    def f(self):\n        X[1] = 2", {"X"}),
        ("from a import X\ndef f():\n    X.count += 1", {"X"}),
        ("X = []\ndef f(X):\n    X.append(1)", set()),
        ("X = []\ndef f():\n    return X.index(1)", set()),
        ("X = []\nX.append(1)", set()),
    ],
)
def test_state_of_a_module_is_found(source: str, found: set[str]) -> None:
    assert state(ast.parse(source)) == found


def test_what_promises_nothing_is_taken_in_known_versions() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    groups = (project["dependencies"], *project["optional-dependencies"].values())
    wanted = {re.split(r"[^\w-]", one)[0]: one for group in groups for one in group}
    used = {
        name.split(".")[0]
        for path in MODULES
        for _, name in imports(
            path.read_text("utf-8"), dotted(path), package=path.name == "__init__.py"
        )
        if INTERNALS.match(name) and not name.startswith("mockserver")
    }
    assert "uvicorn" in used
    assert [name for name in used if "<" not in wanted[name]] == []


class FilesCalled:
    """What a profiler sees of a call: the files of the package that it goes through."""

    def __init__(self) -> None:
        self.files: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(PACKAGE)):
            self.files.add(Path(path).relative_to(PACKAGE.parent).as_posix())


def test_the_page_names_every_file_that_a_charge_goes_through() -> None:
    api, called = Api(), FilesCalled()
    charge = card_charge(reference="order-1")
    assert api.post("/charge/card", charge).status == 201
    before = sys.getprofile()
    sys.setprofile(called)
    try:
        second = api.post("/charge/card", charge)
    finally:
        sys.setprofile(before)
    assert second.status == 201
    assert len(called.files) > 10
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text("utf-8")
    assert [path for path in sorted(called.files) if path not in page] == []


FORMER_NAMES = re.compile(
    "Remembered|Slices|Readings|Lodger|JournalRoom|StoreRoom|Surroundings|Keeping|KeptForm|Shelf|Heard|WholeCycle|hush|"
    "shielding|fitting|Draws|Strike|Laboratory|Doubt|LooseEnds|habits|outline_of|_bury|_await|_NOBODY"
)
"""Names that a reader had to be told; each has one of the field's own now."""


def named(source: str) -> set[str]:
    """The classes, functions and constants that a module makes."""
    module = parsed(source)
    made = {node.name for node in statements(module) if isinstance(node, ast.ClassDef)}
    made |= {function.name for function in functions(module)}
    return made | {name.id for name in nodes(source) if is_made(name)}


def is_made(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def test_former_names_do_not_come_back() -> None:
    made = {name for path in MODULES for name in (*named(path.read_text("utf-8")), path.stem)}
    assert [name for name in sorted(made) if FORMER_NAMES.fullmatch(name)] == []


def test_a_name_is_found_wherever_it_is_made() -> None:
    assert named("class A:\n    def b(self): ...\nC = 1\nfor d in (): pass") == {"A", "b", "C", "d"}


def test_a_line_break_and_an_explanation_weigh_nothing() -> None:
    packed = 'x = f("a", 1)\n'
    explained = '"""Why."""\n\n# Because.\nx = f(\n    "a",\n    1\n)\n"""What x is."""\n'
    assert python_weight(packed)[0] == python_weight(explained)[0] == 8
    assert (python_weight(packed)[1], python_weight(explained)[1]) == (1, 4)
    assert table_weight("op,charge.create\n") == 4
