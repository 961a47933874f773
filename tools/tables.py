"""The tables of README.md and of the pages in docs, printed from the tables that the product is
made of."""

from __future__ import annotations

import ast
import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from graphlib import TopologicalSorter
from typing import Any

import click
import yaml

from mockserver.assumptions import ROWS, Assumed, Profile
from mockserver.cli import COMMANDS, main
from mockserver.domain.cards import TEST_CARDS
from mockserver.domain.codes import Code
from mockserver.domain.reading import camel
from mockserver.domain.record import read_table
from mockserver.domain.states import TABLES, mermaid
from mockserver.explore.failures import FAULTS, OWN_AXES, Fault
from mockserver.findings.catalogue import CATALOGUE as FINDINGS
from mockserver.scenario.operations import OPERATIONS
from mockserver.scenario.paths import stored_in
from mockserver.scenario.provider_outcome import CATALOGUE, REFUSALS
from mockserver.scenario.reference import SECTIONS, Key, json_schema, parts_of
from mockserver.scenario.request_fields import testable
from mockserver.scenario.stored_fields import STORED, names_of
from mockserver.settings import SETTINGS
from mockserver.web.control.metrics import METRICS
from mockserver.web.control.routes import CONTROL_ROUTES
from mockserver.web.pages import PAGE_ROUTES
from mockserver.web.routes import ROUTES
from mockserver.wire.profile import profile_of
from tools.additions import diff_of
from tools.imports import INNER_HOUSE, PACKAGE, graph, layer_of

ROOT = PACKAGE.parent


def markdown(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def code(text: str) -> str:
    """``text`` in Markdown's code marks; nothing for nothing."""
    return f"`{text}`" if text else ""


def unseen() -> str:
    """What no walk of ``mockserver drift`` shows."""
    rows = read_table("unseen", lambda key, reason: [code(key), reason], PACKAGE / "drift")
    return markdown(["assumption", "why"], rows)


def settings() -> str:
    """Every option of the server."""
    rows = [
        [code(row.flag), code(row.variable), code(row.show(row.default)), row.help]
        for row in SETTINGS
    ]
    return markdown(["option", "variable", "default", "meaning"], rows)


def routes() -> str:
    """Every operation of the payments API."""
    rows = [[f"`{row.method} {row.path}`", code(row.op), row.summary] for row in ROUTES]
    return markdown(["call", "operation", "does"], rows)


def control() -> str:
    """Every call of the control API."""
    return markdown(
        ["call", "does"], ([f"`{row.method} {row.path}`", row.summary] for row in CONTROL_ROUTES)
    )


def clients() -> str:
    """Which client has which situation of the contract."""
    with (PACKAGE.parent / "clients" / "results.csv").open(encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    return markdown(names, rows)


def metrics() -> str:
    """Every metric of a server."""
    rows = [
        [code(row.name), row.kind, ", ".join(map(code, row.labels)), row.help] for row in METRICS
    ]
    return markdown(["metric", "kind", "labels", "meaning"], rows)


def states() -> str:
    """The states of a charge as a diagram, and how to see the others."""
    word = profile_of(Assumed(Profile.DOCUMENTED)).word
    return f"```mermaid\n{mermaid(TABLES['charge'], word)}\n```"


_YES = {True: "yes", False: "no", None: ""}


def outcomes() -> str:
    """What a pretend provider can say."""
    rows = [
        [
            code(name),
            str(row.error_code),
            code(row.gateway_code or ""),
            _YES[row.is_retryable],
            row.meaning,
        ]
        for name, row in CATALOGUE.items()
    ]
    return markdown(["outcome", "errorCode", "gatewayCode", "retryable", "meaning"], rows)


_CARDS_OF_THEIR_OWN = {
    "declined_after_storing": ("do_not_honour", "can be stored; every later charge is declined"),
    "invalid_number": (
        "",
        "fails the check digit: refused with code 5, never reaches a provider",
    ),
}


def test_values() -> str:
    """The card numbers that decide what the provider says."""
    rows = []
    for card, number in TEST_CARDS.items():
        # Most cards have the name of what becomes of their charges.
        outcome = card if card in CATALOGUE else "approved"
        words = CATALOGUE[outcome].meaning
        if card in _CARDS_OF_THEIR_OWN:
            outcome, words = _CARDS_OF_THEIR_OWN[card]
        error = 5 if not outcome else CATALOGUE[outcome].error_code
        rows.append([code(number), words, code(outcome), str(error or "")])
    return markdown(["card number", "effect of a charge", "outcome", "errorCode"], rows)


def assumptions() -> str:
    """How each open question is settled."""
    rows = []
    for row in ROWS.values():
        documented, sdk = str(row.kind.show(row.documented)), str(row.kind.show(row.sdk))
        rows.append(
            [
                code(row.key),
                row.question,
                code(documented),
                "same" if documented == sdk else code(sdk),
            ]
        )
    return markdown(["key", "question", "documented", "sdk"], rows)


def pages() -> str:
    """What a browser can open."""
    shown = (
        [f"`{row.path}`", row.summary]
        for row in PAGE_ROUTES
        if row.method == "GET" and "static" not in row.path
    )
    return markdown(["address", "shows"], shown)


def action() -> str:
    """The inputs of the action for GitHub Actions, by what each of its modes takes."""
    document = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    rows = (
        [code(name), code(row["default"]) if row["default"] else "-", row["description"]]
        for name, row in document["inputs"].items()
    )
    return markdown(["input", "default", "means"], rows)


def findings() -> str:
    """What clients do wrong."""
    rows = [
        [f"[`{kind.name}`](#{kind.name})", kind.severity.word, kind.title]
        for kind in FINDINGS.values()
    ]
    return markdown(["finding", "severity", "what went wrong"], rows)


def faults() -> str:
    """What ``mockserver explore`` tries at each call, in the order of its reports."""

    rows = [[code(fault.name), fault.at, fault.what, _is_tried(fault)] for fault in FAULTS.values()]
    return markdown(["fault", "at", "what happens", "default"], rows)


def _is_tried(fault: Fault) -> str:
    """Whether a fault is tried unasked, or by which option of its own."""
    if fault.at in OWN_AXES:
        return f"`--{fault.at}`"
    return "yes" if fault.is_usual else "no"


def corpus() -> str:
    """The shops with a planted bug each, and by what it is found."""
    in_words = {
        "baseline": "no fault",
        "replay": "a scenario",
        "seeds": "two faults at once, `--seeds`",
    }
    rows = []
    for name, row in yaml.safe_load((ROOT / "tests/corpus/corpus.yaml").read_text("utf-8")).items():
        # Of each, what is found under which fault.
        bare, with_books = row.get("bare", {}), row.get("books", {})
        where = [in_words.get(fault, fault) for fault in (*bare, *with_books)]
        link = f"[`{name}`](../tests/corpus/{name})"
        findings_of = (map(code, found.values()) for found in (bare, with_books))
        rows.append([row["bug"], link, *map(_each_once, (where, *findings_of))])
    return markdown(["bug", "shop", "under", "found", "found with `--books`"], rows)


def _each_once(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def finding_pages() -> str:
    """Each finding with its exact conditions, what it costs, what to do, and what a client does
    wrong and right."""
    parts = []
    for kind in FINDINGS.values():
        silent = f"\n\nSilent when: {kind.silent}" if kind.silent else ""
        parts.append(
            f"### `{kind.name}`\n\n{kind.title} ({kind.severity.word}). "
            f"{kind.why}\n\n{kind.advice}\n\n"
            f"Raised when: {kind.raised}{silent}\n\n"
            f"Wrong:\n\n```text\n{kind.wrong}\n```\n\nRight:\n\n```text\n{kind.right}\n```"
        )
    return "\n\n".join(parts)


def _layers() -> dict[str, set[str]]:
    """Every part of the package with the parts that it imports, those first that import none.
    ``mockserver`` itself only hands out what ``web`` makes."""
    found: dict[str, set[str]] = {}
    for module, imported in graph().items():
        names = [layer_of(name) for name in (module, *imported)]
        if names[0] != "root":
            found.setdefault(names[0], set()).update(set(names[1:]) - {"root", names[0]})
    order = TopologicalSorter(
        {name: sorted(below) for name, below in sorted(found.items())}
    ).static_order()
    return {name: found[name] for name in order}


def _reached(name: str, layers: Mapping[str, set[str]]) -> set[str]:
    """The layers below one, however far."""
    return {further for below in layers[name] for further in (below, *_reached(below, layers))}


def inner_house() -> str:
    """The parts of the sandbox as a diagram."""
    inner = {name: below & INNER_HOUSE for name, below in _layers().items() if name in INNER_HOUSE}
    return _diagram(inner)


def rooms() -> str:
    """The rooms around the sandbox as a diagram, in which that is one box."""
    found: dict[str, set[str]] = {_HOUSE: set()}
    for name, below in _layers().items():
        if name not in INNER_HOUSE:
            found[name] = {_HOUSE if layer in INNER_HOUSE else layer for layer in below}
    return _diagram(found)


_HOUSE = "house"


def _diagram(layers: Mapping[str, set[str]]) -> str:
    """Layers, the lowest first, as a diagram: an arrow means imports. What is reached by a longer
    way has no arrow of its own."""
    lines = ["flowchart TD"]
    for name in reversed(layers):
        packages = sorted(path.parent.name for path in PACKAGE.glob(f"{name}/*/__init__.py"))
        shown = "the inner house" if name == _HOUSE else "<br>".join([name, *packages])
        lines.append(f'    {name}["{shown}"]')
        longer = {far for below in layers[name] for far in _reached(below, layers)}
        lines += [f"    {name} --> {below}" for below in sorted(layers[name] - longer)]
    return "\n".join(["```mermaid", *lines, "```"])


def inner_layers() -> str:
    """What each part of the sandbox holds."""
    return _table_of(name for name in _layers() if name in INNER_HOUSE)


def room_layers() -> str:
    """What each room around the sandbox holds."""
    return _table_of(name for name in _layers() if name not in INNER_HOUSE)


def _table_of(names: Iterable[str]) -> str:
    """What some layers hold, in the words of their own documentation, and what they import: the
    highest first."""
    layers, rows = _layers(), []
    for name in reversed(list(names)):
        below = layers[name]
        path = PACKAGE / name / "__init__.py"
        path = path if path.exists() else path.parent.with_suffix(".py")
        words = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        place = path.relative_to(PACKAGE.parent)
        rows.append(
            [
                code(str(place.parent if place.name == "__init__.py" else place)),
                words.partition("\n\n")[0].replace("\n", " ").replace("``", "`"),
                ", ".join(sorted(below)),
            ]
        )
    return markdown(["where", "holds", "imports"], rows)


def scenario_words() -> str:
    """Every part of a scenario file with its words, as a map of the sections that follow."""
    rows = []
    for section in SECTIONS:
        anchor = re.sub(r"[^a-z0-9 _-]", "", section.name.lower()).replace(" ", "-")
        first, _, _ = section.means.partition(". ")
        words = ", ".join(code(key.name) for key in section.keys)
        rows.append([f"[{section.name}](#{anchor})", f"{first.rstrip('.')}", words])
    return markdown(["part", "is", "words"], rows)


def scenario_keys() -> str:
    """Every key of the scenario language, part by part."""
    printed, schema = [], json_schema()
    for section in SECTIONS:
        last = section.keys[-1].name
        part = next(
            (part for part in parts_of(schema, section) if last in part["properties"]), None
        )
        if part is None:
            raise LookupError(
                f"{section.name}: the schema has no key {last}, which reference.md describes"
            )
        rows = [
            [code(key.name), key.means, _without(part, key), code(flow(key.example))]
            for key in section.keys
        ]
        table = markdown(["key", "means", "without it", "example"], rows)
        printed.append(f"### {section.name}\n\n{section.means}\n\n{table}")
    return "\n\n".join(printed)


def _without(part: Mapping[str, Any], key: Key) -> str:
    """What holds where a part leaves a key out."""
    if key.default or key.name in part.get("required", ()):
        return key.default or "required"
    default = part["properties"][key.name].get("default")
    return "" if default is None else code(flow(default).removesuffix("\n..."))


def flow(value: object) -> str:
    """Plain data as one line of YAML."""
    return yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False).strip()


def error_codes() -> str:
    """Every error code, and the outcomes that answer with it."""
    names: dict[int, list[str]] = {}
    for name, row in CATALOGUE.items():
        names.setdefault(row.error_code or 0, []).append(name)
    own = {refusal: f"every decline of {code(op)}" for op, refusal in REFUSALS.items()}
    rows = []
    for number in sorted(Code):
        found = names.get(number, [])
        retryable = {_YES[CATALOGUE[name].is_retryable] for name in found}
        rows.append(
            [
                str(int(number)),
                number.message,
                " or ".join(sorted(retryable)),
                own.get(number) or ", ".join(map(code, found)),
            ]
        )
    return markdown(["code", "message", "retryable", "outcomes that answer it"], rows)


def all_states() -> str:
    """Every state diagram but that of a charge."""
    word = profile_of(Assumed(Profile.DOCUMENTED)).word
    drawn = [
        f"## {name.replace('_', ' ').capitalize()}\n\n```mermaid\n{mermaid(table, word)}\n```"
        for name, table in TABLES.items()
        if name != "charge"
    ]
    return "\n\n".join(drawn)


def commands() -> str:
    """Every command as its help describes it."""
    width = 100
    root = click.Context(main, info_name="mockserver", **main.context_settings)
    printed = []
    for name, command in _all_commands():
        context = click.Context(
            command, root, info_name=name, terminal_width=width, max_content_width=width
        )
        words = command.get_help(context)
        if any(param.name == SETTINGS[0].name for param in command.params):
            # A command that runs a server takes every setting, which have a table of their own.
            words = words.partition("Options:")[0] + "Options: all settings, and -h, --help"
            settings_of_server = {row.name for row in SETTINGS}
            own = [param for param in command.params if param.name not in settings_of_server]
            for record in filter(None, (param.get_help_record(context) for param in own)):
                flag, text = record
                words += f"\n  {flag}  {text}"
        printed.append(f"## mockserver {name}\n\n```text\n{words}\n```")
    return "\n\n".join(printed)


def tools() -> str:
    """Every tool for coding agents."""
    folder = ROOT / "mockserver" / "mcp"
    with (folder / "tools.csv").open(encoding="utf-8", newline="") as file:
        rows = [[code(row["name"]), row["about"]] for row in csv.DictReader(file)]
    return markdown(["tool", "does"], rows)


def recipe(what: str) -> str:
    """An addition as a diff."""
    return f"```diff\n{diff_of(what)}```"


def _all_commands() -> Iterator[tuple[str, click.Command]]:
    """Every command in the order of the help; a group comes before its commands."""
    for name in (row.name for rows in COMMANDS.values() for row in rows):
        command = main.get_command(click.Context(main), name)
        if command is None:
            raise LookupError(f"no command is called {name}")
        yield name, command
        if isinstance(command, click.Group):
            for inner, subcommand in command.commands.items():
                yield f"{name} {inner}", subcommand


def request_fields() -> str:
    """What the request of each operation holds that rules can name, and the stored objects that are
    there."""
    rows = []
    for op, row in OPERATIONS.items():
        members = ", ".join(map(code, testable(op))) or "nothing"
        objects = ", ".join(code(camel(kind)) for kind in stored_in({op})) or "nothing"
        rows.append([code(op), row.meaning, members, objects])
    return markdown(["operation", "is", "`request.` and", "`state.` and"], rows)


def state_fields() -> str:
    """What stored objects hold that rules can name."""
    rows = [
        [code(f"state.{camel(kind)}."), ", ".join(map(code, names_of(rows)))]
        for kind, rows in STORED.items()
    ]
    return markdown(["object", "and"], rows)


PRINT: Mapping[str, Callable[[], str]] = {
    "settings": settings,
    "action": action,
    "routes": routes,
    "control": control,
    "clients": clients,
    "unseen": unseen,
    "metrics": metrics,
    "states": states,
    "outcomes": outcomes,
    "error-codes": error_codes,
    "all-states": all_states,
    "commands": commands,
    "tools": tools,
    "assumptions": assumptions,
    "test-values": test_values,
    "scenario-words": scenario_words,
    "scenario-keys": scenario_keys,
    "request-fields": request_fields,
    "state-fields": state_fields,
    "pages": pages,
    "findings": findings,
    "finding-pages": finding_pages,
    "faults": faults,
    "corpus": corpus,
    "inner-house": inner_house,
    "inner-layers": inner_layers,
    "rooms": rooms,
    "room-layers": room_layers,
    "recipe-outcome": partial(recipe, "an outcome of a provider, by name"),
    "recipe-field": partial(recipe, "a field of a charge"),
    "recipe-setting": partial(recipe, "a setting"),
    "recipe-assumption": partial(recipe, "an assumption"),
    "recipe-finding": partial(recipe, "a finding"),
}
