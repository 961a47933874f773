"""The laws of the house: how heavy it may be, what it must not do, how many steps a charge may take.

Each has its numbers in a constant. A commit that raises one says why; one that gets below it lowers it.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FrameType
from typing import TypeGuard

import pytest

from tests.driving import Api, card_charge
from tools.imports import MODULES, PACKAGE, dotted, imports, layer_of, nodes, parsed, statements

MOST_LINES = 46_935
"""Lines of all modules of the package."""
DOCSTRINGS = 0.13
"""Least share of docstrings, in lines, of the lines of code."""

MOST_PAUSING = 10
"""Modules that may do work in steps between which others are served."""

MOST_POSITIONAL = 6
"""Parameters that may be given by their place, and arguments that are."""

MOST_CALLS, MOST_FILES, MOST_CHANGES = 89, 34, 31
"""Of the third of three equal charges of a card, without a network: calls of functions of the package, files they are
in, and how often one layer calls another or returns to it."""

TRICKS = {"exec", "eval", "CodeType", "meta_path", "setswitchinterval"}
TRICKS_LEFT: Mapping[str, frozenset[str]] = {}
"""Tricks that are still there, by module."""

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


def beyond(found: Mapping[str, set[str]], allowed: Mapping[str, frozenset[str]]) -> dict[str, set[str]]:
    """What is found and not allowed, by module."""
    return {module: left for module, names in found.items() if (left := names - allowed.get(module, frozenset()))}


def functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (one for one in statements(node) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


@cache
def docstring_lines(source: str) -> set[int]:
    """Lines of texts that stand as statements: docstrings of modules, classes, functions and constants."""
    return {
        line
        for node in statements(parsed(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def code_lines(source: str) -> set[int]:
    """Lines that hold anything but blanks, comments and docstrings."""
    found = {number for number, line in enumerate(source.splitlines(), 1) if line.split("#")[0].strip()}
    return found - docstring_lines(source)


def test_the_package_is_not_heavier_than_it_was() -> None:
    assert sum(len(path.read_text("utf-8").splitlines()) for path in MODULES) <= MOST_LINES


def test_what_is_public_is_explained() -> None:
    sources = [path.read_text("utf-8") for path in MODULES]
    told, code = (sum(len(lines(source)) for source in sources) for lines in (docstring_lines, code_lines))
    assert told / code >= DOCSTRINGS


def test_lines_are_counted_as_a_reader_counts_them() -> None:
    source = '"""One.\n\nTwo.\n"""\n\n# three\nx = (\n    1\n)\n"""Of x."""\n\n\n'
    source += 'def f():\n    """Of f."""\n    return x  # five\n'
    assert len(docstring_lines(source)) == 6
    assert code_lines(source) == {7, 8, 9, 13, 15}


def pauses(source: str) -> bool:
    """Whether a module does work in steps, by whatever name: it has a generator that gives nothing, drives such work,
    or lets the loop serve others."""
    for node in nodes(source):
        match node:
            case ast.ImportFrom(module="mockserver.domain.cooperative"):
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr="sleep"), args=[ast.Constant(value=0)]):
                return True
            case _:
                pass
    return any(gives_nothing(function) for function in functions(parsed(source)))


def gives_nothing(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is a generator of nothing, and neither a context manager nor a part of a test session."""
    decorators = " ".join(ast.unparse(one) for one in function.decorator_list)
    if re.search(r"contextmanager|hookimpl|fixture", decorators):
        return False
    said = ast.unparse(function.returns) if function.returns else ""
    inner = {id(node) for one in functions(function) if one is not function for node in ast.walk(one)}
    yields = [node for node in ast.walk(function) if isinstance(node, ast.Yield) and id(node) not in inner]
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


def tricks(source: str) -> set[str]:
    """Ways to make or change code while it runs that a module uses."""
    found: set[str] = set()
    for one in nodes(source):
        match one:
            case ast.Name(id=name) | ast.alias(name=name) if name in TRICKS:
                found.add(name)
            case ast.Attribute(attr=name) if name in TRICKS - {"eval", "exec"}:
                found.add(name)
            case _:
                pass
    return found


def test_no_module_makes_or_changes_code() -> None:
    assert beyond({dotted(path): tricks(path.read_text("utf-8")) for path in MODULES}, TRICKS_LEFT) == {}


@pytest.mark.parametrize("source", ["exec(text)", "from types import CodeType", "sys.meta_path.insert(0, one)"])
def test_a_trick_is_found(source: str) -> None:
    assert tricks(source) != set()
    assert tricks("pattern.eval(text)\nexecute(text)") == set()


def state(module: ast.Module) -> set[str]:
    """Names of a module that its functions change: by ``global``, a method, an item, an attribute. What a cache of
    ``functools`` remembers of a pure function is no state, and a decimal context adds numbers."""
    outer = {
        name.id
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and not ast.unparse(node.value or node).startswith("Context(")
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    outer |= {
        alias.asname or alias.name for node in module.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    return {name for function in functions(module) for name in _changed(function) & (outer - _local(function))}


def _local(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    given = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    made = {one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return (given | made) - {name for one in ast.walk(function) if isinstance(one, ast.Global) for name in one.names}


def _changed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Global(names=names):
                found |= set(names)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in CHANGING:
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


def crowded(source: str) -> list[str]:
    """Functions with too many parameters by place, and calls with too many arguments, with their lines."""
    found = []
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
            if len(given) - (given[:1] in (["self"], ["cls"])) > MOST_POSITIONAL:
                found.append(f"line {node.lineno}: def {node.name}")
        elif isinstance(node, ast.Call) and len(node.args) > MOST_POSITIONAL and not _is_list(node):
            found.append(f"line {node.lineno}: {ast.unparse(node.func)}(...)")
    return found


def _is_list(call: ast.Call) -> bool:
    """Whether the arguments are all of one kind: names, or things to be gathered."""
    return ast.unparse(call.func) in ("attrgetter", "itemgetter", "asyncio.gather", "zip")


def test_what_is_many_has_names() -> None:
    found = {dotted(path): listed for path in MODULES if (listed := crowded(path.read_text("utf-8")))}
    assert found == {}


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("f(1, 2, 3, 4, 5, 6, 7)", 1),
        ("def f(a, b, c, d, e, f, g): ...", 1),
        ("class A:\n    def f(self, a, b, c, d, e, f): ...", 0),
        ("def f(a, b, c, d, e, f, *, g): ...", 0),
        ("f(1, 2, 3, 4, 5, 6, g=7)", 0),
    ],
)
def test_a_crowd_of_arguments_is_found(source: str, count: int) -> None:
    assert len(crowded(source)) == count


def test_what_promises_nothing_is_taken_in_known_versions() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    groups = (project["dependencies"], *project["optional-dependencies"].values())
    wanted = {re.split(r"[^\w-]", one)[0]: one for group in groups for one in group}
    used = {
        name.split(".")[0]
        for path in MODULES
        for _, name in imports(path.read_text("utf-8"), dotted(path), package=path.name == "__init__.py")
        if INTERNALS.match(name) and not name.startswith("mockserver")
    }
    assert "uvicorn" in used
    assert [name for name in used if "<" not in wanted[name]] == []


class Way:
    """What a profiler sees of a call: every function of the package, in order."""

    def __init__(self) -> None:
        self.calls = self.changes = 0
        self.files: set[str] = set()
        self._layer = ""

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event not in ("call", "return") or not path.startswith(str(PACKAGE)):
            return
        self.calls += event == "call"
        self.files.add(path)
        shown = frame.f_back if event == "return" else frame
        file = Path(shown.f_code.co_filename if shown else path)
        layer = layer_of(dotted(file)) if file.is_relative_to(PACKAGE) else self._layer
        self.changes += layer != self._layer
        self._layer = layer


def test_the_way_of_a_charge_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    api, way = Api(fast_lane=False), Way()
    charge = card_charge(reference="order-1")
    for _ in range(2):
        assert api.post("/charge/card", charge).status == 201
    before = sys.getprofile()
    sys.setprofile(way)
    try:
        third = api.post("/charge/card", charge)
    finally:
        sys.setprofile(before)
    assert third.status == 201
    with capsys.disabled():
        print(f"\na charge: {way.calls} calls, {len(way.files)} files, {way.changes} changes of layer")
    told = (PACKAGE.parent / "docs" / "architecture.md").read_text("utf-8")
    assert [path for path in way.files if Path(path).relative_to(PACKAGE.parent).as_posix() not in told] == []
    assert (way.calls <= MOST_CALLS, len(way.files) <= MOST_FILES, way.changes <= MOST_CHANGES) == (True, True, True)


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
