"""The layer table of the architecture, read from the imports of every module."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.rows import each
from tools.imports import MODULES, dotted, graph, imports, layer_of

SOURCES = {path: path.read_text("utf-8") for path in MODULES}
LONGEST_MODULE = 400
VAGUE = re.compile(r"(^|_)(utils?|helpers?|common|managers?|services?|handlers?|misc)(_|$)")


@dataclass(frozen=True, slots=True)
class Layer:
    """What the modules of one layer may import: other layers, and third-party packages."""

    layers: frozenset[str]
    packages: frozenset[str]


def layer(layers: str = "", packages: str = "") -> Layer:
    return Layer(frozenset(layers.split()), frozenset(packages.split()))


BELOW_WEB = "domain findings scenario engine wire settings assumptions"
ONE_SUBJECT = """batches charges clock customers findings info journal payment_links payment_methods
payto providers sandboxes scenarios shrink sources subscriptions three_ds tokens transfers vault
webhook_subscriptions webhooks"""
"""Names of modules that stand in several layers: resources of both APIs, and commands."""
LAYERS = {
    "domain": layer("domain"),
    "assumptions": layer("domain assumptions"),
    "findings": layer("domain findings"),
    "option_values": layer("option_values"),
    "settings": layer("domain settings option_values"),
    "scenario": layer("domain findings scenario settings assumptions", "pydantic pydantic_core re2"),
    "engine": layer("domain findings scenario engine settings assumptions"),
    "wire": layer("domain wire settings assumptions", "pydantic_core orjson"),
    "web": layer(f"{BELOW_WEB} web", "starlette jinja2 orjson prometheus_client opentelemetry"),
    "adapters": layer(
        "domain scenario engine settings assumptions adapters",
        "yaml httpx uvicorn uvloop httptools cryptography trustme opentelemetry",
    ),
    "explore": layer("domain scenario findings explore remote timeline adapters", "jinja2 httpx"),
    "cli": layer(f"{BELOW_WEB} option_values web adapters root cli commands", "click"),
    "commands": layer(f"{BELOW_WEB} web adapters root cli commands remote explore timeline", "click faker httpx rich"),
    "remote": layer("engine adapters", "httpx"),
    "timeline": layer("remote"),
    "pytest_plugin": layer(
        f"{BELOW_WEB} web adapters root remote timeline pytest_plugin pytest_findings pytest_explore pytest_baseline",
        "pytest httpx",
    ),
    "pytest_explore": layer("domain adapters explore commands remote pytest_findings pytest_baseline", "pytest httpx"),
    "pytest_baseline": layer("remote", "pytest httpx"),
    "pytest_findings": layer(f"{BELOW_WEB} commands remote", "pytest"),
    "root": layer("settings web cli adapters"),
}
# The one module that puts the parts together may also name the adapters.
ASSEMBLY = {"mockserver.web.app": layer(f"{BELOW_WEB} web adapters root", "starlette jinja2 orjson opentelemetry")}

BANNED = {
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
    "time.time",
    "time.time_ns",
    "time.sleep",
    "uuid.uuid1",
    "uuid.uuid4",
    "os.environ",
    "os.getenv",
    "os.getpid",
    "os.urandom",
}
BANNED_MODULES = {"random", "secrets"}
EDGES = {"adapters", "settings", "cli"}


def circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """The modules of a circle of imports, in order; empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as fault:
        found: list[str] = fault.args[1]
        return found
    return []


def trespasses(source: str, module: str, *, package: bool = False) -> list[str]:
    """Every import of ``source`` that the table does not allow to ``module``."""
    allowed = ASSEMBLY.get(module) or LAYERS[layer_of(module)]
    found = []
    for line, name in imports(source, module, package=package):
        top = name.split(".")[0]
        if top == "mockserver":
            if layer_of(name) not in allowed.layers:
                found.append(f"{module}:{line} may not import {name}")
        elif top not in sys.stdlib_module_names and top not in allowed.packages:
            found.append(f"{module}:{line} may not import the package {top}")
    return found


def impurities(source: str) -> list[str]:
    """Every use of real time, chance or the environment, with its line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if f"{owner}.{name}" in BANNED:
                found.append(f"line {node.lineno}: {owner}.{name}")
            case ast.Attribute(value=ast.Attribute(attr=owner), attr=name) if f"{owner}.{name}" in BANNED:
                found.append(f"line {node.lineno}: {owner}.{name}")
            case ast.ImportFrom(module=str(owner), names=names):
                full = [f"{owner}.{alias.name}" for alias in names]
                found += [f"line {node.lineno}: {name}" for name in full if name in BANNED]
                found += [f"line {node.lineno}: {owner}"] if owner in BANNED_MODULES else []
            case ast.Import(names=names):
                found += [f"line {node.lineno}: {alias.name}" for alias in names if alias.name in BANNED_MODULES]
            case _:
                pass
    return found


def test_every_module_imports_only_what_its_layer_may() -> None:
    found = [
        trespass
        for path, source in SOURCES.items()
        for trespass in trespasses(source, dotted(path), package=path.name == "__init__.py")
    ]
    assert found == []


def test_every_module_takes_time_chance_and_environment_as_arguments() -> None:
    inner = {dotted(path): source for path, source in SOURCES.items() if layer_of(dotted(path)) not in EDGES}
    assert len(inner) > 200
    assert {module: found for module, source in inner.items() if (found := impurities(source))} == {}


def test_every_module_fits_on_a_few_screens_and_has_a_telling_name() -> None:
    lines = {dotted(path): len(source.splitlines()) for path, source in SOURCES.items()}
    assert {module: count for module, count in lines.items() if count > LONGEST_MODULE} == {}
    assert [module for module in lines if any(VAGUE.search(part) for part in module.split("."))] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(graph()) == []


def test_a_circle_is_found_through_imports_for_type_checkers_and_inside_functions() -> None:
    sources = {
        "mockserver.domain.money": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import cards",
        "mockserver.domain.cards": "def late():\n    from mockserver.domain.ids import Ids",
        "mockserver.domain.ids": "import mockserver.domain.money",
    }
    found = {module: [name for _, name in imports(source, module)] for module, source in sources.items()}
    assert set(circle(found)) == set(sources)
    assert circle({**found, "mockserver.domain.ids": []}) == []


def test_only_modules_about_one_subject_have_one_name() -> None:
    names = Counter(path.stem for path in MODULES if path.name != "__init__.py")
    assert {name for name, count in names.items() if count > 1} == set(ONE_SUBJECT.split())


def test_no_two_public_classes_have_one_name() -> None:
    classes = [
        (name, dotted(path))
        for path, source in SOURCES.items()
        for name in re.findall(r"^class (\w+)", source, re.MULTILINE)
    ]
    names = Counter(name for name, _ in classes if not name.startswith("_"))
    assert len(names) > 300
    assert [(name, module) for name, module in classes if names[name] > 1] == []


def test_every_module_belongs_to_a_layer() -> None:
    assert {layer_of(dotted(path)) for path in MODULES} <= set(LAYERS)


@each(
    ("module", "source"),
    [
        ("mockserver.domain.money", "import pydantic"),
        ("mockserver.domain.money", "from mockserver.engine import store"),
        ("mockserver.domain.money", "def late():\n    import httpx"),
        ("mockserver.domain.money", "from mockserver import web"),
        ("mockserver.domain.money", "from ..engine import store"),
        ("mockserver.engine.charges", "from mockserver.wire.charges import read"),
        ("mockserver.wire.charges", "import starlette"),
        ("mockserver.web.auth", "from mockserver.adapters.tls import authority"),
        ("mockserver.adapters.server", "from mockserver.web.app import create_app"),
        ("mockserver.assumptions", "import mockserver.settings"),
    ],
)
def test_a_trespass_is_found(module: str, source: str) -> None:
    assert len(trespasses(source, module)) == 1


@each(
    ("module", "source"),
    [
        ("mockserver.domain.money", "from decimal import Decimal"),
        ("mockserver.domain.money", "from . import cards"),
        ("mockserver.engine.charges", "from mockserver.scenario import director"),
        ("mockserver.wire.charges", "from pydantic_core import SchemaValidator"),
        ("mockserver.web.app", "from mockserver.adapters.ticker import Ticker"),
        ("mockserver.cli", "import click"),
    ],
)
def test_an_allowed_import_is_not_reported(module: str, source: str) -> None:
    assert trespasses(source, module) == []


@each(
    "source",
    [
        "import time\ntime.time()",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import datetime\ndatetime.now()",
        "from time import sleep",
        "import random",
        "from secrets import token_hex",
        "from uuid import uuid4",
        "import os\nos.environ['A']",
        "from os import getpid",
    ],
)
def test_an_impurity_is_found(source: str) -> None:
    assert len(impurities(source)) == 1


@each("name", ["utils", "charge_helpers", "common", "session_manager", "handlers"])
def test_a_vague_name_is_found(name: str) -> None:
    assert VAGUE.search(name)


@pytest.mark.parametrize("name", ["charges", "commonwealth", "serviceable"])
def test_a_telling_name_is_not_reported(name: str) -> None:
    assert not VAGUE.search(name)
