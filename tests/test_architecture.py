"""The architecture, read from the imports of every module. ``pyproject.toml`` has its layers, as
contracts."""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Any

import pytest

from tools.imports import INNER_HOUSE, MODULES, PACKAGE, dotted, graph, imports, layer_of

SOURCES = {path: path.read_text("utf-8") for path in MODULES}
VAGUE = re.compile(r"(^|_)(utils?|helpers?|common|managers?|services?|handlers?|misc)(_|$)")


ONE_SUBJECT = (
    """batches books charges clock customers findings journal payment_links payment_methods"""
    """ payto providers routes sandboxes scenarios shrink sources subscriptions tokens transfers vault"""
    """ webhook_subscriptions webhooks"""
)
"""Names of modules that stand in several layers: resources of both APIs, and commands."""
PACKAGES = {
    "domain": "",
    "assumptions": "",
    "findings": "",
    "books": "",
    "settings": "",
    "scenario": "pydantic pydantic_core re2",
    "engine": "orjson",
    "wire": "pydantic pydantic_core orjson",
    "web": "pydantic starlette jinja2 orjson prometheus_client opentelemetry",
    "store": "",
    "adapters": "yaml httpx cryptography trustme opentelemetry",
    "server": "starlette uvicorn uvloop httptools",
    "explore": "jinja2 httpx",
    "drift": "httpx pydantic yaml",
    "cli": "click",
    "commands": "click faker httpx rich",
    "mcp": "click httpx mcp mcp_types starlette",
    "remote": "httpx",
    "pytest_plugin": "pytest httpx",
    "pytest_explore": "pytest httpx",
    "pytest_learn": "pytest httpx",
    "pytest_findings": "pytest",
    "version": "",
    "root": "",
}
"""Packages of others that the modules of each layer may import."""


def circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """The modules of a circle of imports, in order; empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as fault:
        return fault.args[1]
    return []


def foreign(source: str, module: str) -> list[str]:
    """Every package that ``source`` imports and its layer may not."""
    found = (
        {name.split(".")[0] for _, name in imports(source, module)}
        - {"mockserver"}
        - sys.stdlib_module_names
    )
    return sorted(found - set(PACKAGES[layer_of(module)].split()))


@cache
def import_graph() -> Any:
    """All imports of the package, as the contracts see them."""
    import grimp

    return grimp.build_graph("mockserver", cache_dir=None)


def broken(*extra: tuple[str, str]) -> list[str]:
    """The contracts that the package breaks, with some imports more than it has."""
    # Loading the linter takes longer than collecting these tests.
    from importlinter.application.use_cases import read_user_options
    from importlinter.configuration import configure
    from importlinter.contracts.forbidden import ForbiddenContract
    from importlinter.contracts.layers import LayersContract

    configure()
    options = read_user_options(str(PACKAGE.parent / "pyproject.toml"))
    found = []
    for given in options.contracts_options:
        graph = deepcopy(import_graph())
        for importer, imported in extra:
            graph.add_import(importer=importer, imported=imported)
        kind = {"layers": LayersContract, "forbidden": ForbiddenContract}[given["type"]]
        contract = kind(
            name=given["name"], session_options=options.session_options, contract_options=given
        )
        found += [] if contract.check(graph, verbose=False).kept else [given["name"]]
    return found


def scripts() -> dict[str, set[str]]:
    """The modules of the control page, with those that they import."""
    files = {
        path.name: path.read_text("utf-8") for path in (PACKAGE / "web" / "static").glob("*.js")
    }
    said = re.compile(
        r"""^(?:import|export)\b[^;]*?["']\./([\w-]+\.js)["']|\bimport\(["']\./([\w-]+\.js)["']\)""",
        re.MULTILINE,
    )
    return {
        name: {one or other for one, other in said.findall(text)}
        for name, text in files.items()
        if name.startswith("admin")
    }


def test_every_layer_imports_only_what_its_contracts_allow() -> None:
    assert broken() == []


def test_the_inner_house_is_what_the_contracts_say() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    sources = {one["name"]: one.get("source_modules", []) for one in contracts}
    closed = sources["The inner house knows nothing of the rooms around it"]
    by_door = sources[
        "The web and the server know observers and the store by what the engine says of them"
    ]
    named = {layer_of(module) for module in (*closed, *by_door)}
    # These two import nothing.
    assert named | {"root", "version"} == INNER_HOUSE


def test_every_module_imports_only_the_packages_of_its_layer() -> None:
    found = {dotted(path): foreign(source, dotted(path)) for path, source in SOURCES.items()}
    assert {module: names for module, names in found.items() if names} == {}


def test_every_module_has_a_telling_name() -> None:
    modules = map(dotted, SOURCES)
    assert [
        module for module in modules if any(VAGUE.search(part) for part in module.split("."))
    ] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(graph()) == []


def test_the_functions_that_the_architecture_names_are_there() -> None:
    text = (PACKAGE.parent / "docs" / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| [^|]+ \| `(mockserver/[\w/]+\.py)` \| `(\w+)` \|$", text, re.MULTILINE)
    assert len(rows) > 15
    sources = {str(path.relative_to(PACKAGE.parent)): source for path, source in SOURCES.items()}
    assert [
        row
        for row in rows
        if not re.search(rf"^ *(async )?def {row[1]}\(", sources[row[0]], re.MULTILINE)
    ] == []


def test_no_scripts_import_each_other_in_a_circle() -> None:
    found = scripts()
    assert len(found) > 15
    assert sum(map(len, found.values())) > 50
    assert "admin-editor.js" in found["admin-scenarios.js"]
    assert circle(found) == []


def test_a_circle_is_found_through_imports_for_type_checkers_and_inside_functions() -> None:
    sources = {
        "mockserver.domain.money": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from "
        ". import cards",
        "mockserver.domain.cards": "def late():\n    from mockserver.domain.ids import Ids",
        "mockserver.domain.ids": "import mockserver.domain.money",
    }
    found = {
        module: [name for _, name in imports(source, module)] for module, source in sources.items()
    }
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
    assert {layer_of(dotted(path)) for path in MODULES} <= set(PACKAGES)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("domain.money", "engine.charges"),
        ("domain.money", "assumptions"),
        ("domain.facts", "findings.ledger"),
        ("scenario.scenario", "findings.catalogue"),
        ("scenario.scenario", "books.comparison"),
        ("engine.sandbox", "findings.watch"),
        ("engine.sandbox", "books.totals"),
        ("adapters.scenario_files", "findings.catalogue"),
        ("findings.watch", "books.totals"),
        ("wire.resources", "books.orders"),
        ("adapters.webhook_dispatcher", "store.writer"),
        ("web.shell", "store.writer"),
        ("web.watching", "findings.watch"),
        ("web.control.journal", "books.orders"),
        ("web.control.verify", "store.file"),
        ("server.lane", "findings.watch"),
        ("mcp.server_tools", "engine.sandbox"),
        ("mcp.http", "web.shell"),
        ("store.parts", "findings.catalogue"),
        ("engine.charges", "wire.resources"),
        ("engine.charges", "web.shell"),
        ("wire.resources", "findings.watch"),
        ("wire.resources", "engine.charges"),
        ("web.guard", "adapters.tls"),
        ("adapters.server", "web.app"),
        ("adapters.server", "wire.resources"),
        ("assumptions", "settings"),
        ("explore.trial", "web.app"),
        ("remote", "explore.trial"),
        ("web.app", "commands.explore"),
    ],
)
def test_a_trespass_is_found(importer: str, imported: str) -> None:
    assert broken((f"mockserver.{importer}", f"mockserver.{imported}")) != []


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("domain.money", "domain.cards"),
        ("engine.charges", "scenario.director"),
        ("web.app", "adapters.webhook_dispatcher"),
        ("web.app", "findings.watch"),
        ("web.control.books", "books.orders"),
        ("findings.watch", "engine.observer"),
        ("mcp.http", "web.app"),
        ("commands.explore", "web.app"),
    ],
)
def test_an_allowed_import_is_not_reported(importer: str, imported: str) -> None:
    assert broken((f"mockserver.{importer}", f"mockserver.{imported}")) == []


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("mockserver.domain.money", "import pydantic", ["pydantic"]),
        ("mockserver.domain.money", "def late():\n    import httpx", ["httpx"]),
        ("mockserver.domain.money", "from decimal import Decimal", []),
        ("mockserver.wire.resources", "import starlette", ["starlette"]),
        ("mockserver.wire.resources", "from pydantic import BaseModel", []),
        ("mockserver.cli", "import click", []),
    ],
)
def test_a_package_of_others_is_found(module: str, source: str, found: list[str]) -> None:
    assert foreign(source, module) == found


@pytest.mark.parametrize(
    "name", ["utils", "charge_helpers", "common", "session_manager", "handlers"]
)
def test_a_vague_name_is_found(name: str) -> None:
    assert VAGUE.search(name)


@pytest.mark.parametrize("name", ["charges", "commonwealth", "serviceable"])
def test_a_telling_name_is_not_reported(name: str) -> None:
    assert not VAGUE.search(name)
