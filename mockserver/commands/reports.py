"""Findings, explorations and checks of scenarios as text, JSON, JUnit XML, SARIF 2.1.0 and GitHub
workflow commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mockserver import __version__
from mockserver.findings.catalogue import CATALOGUE, FindingKind, lines_of, place

if TYPE_CHECKING:
    from mockserver.commands.scenario_check import Checked, ExampleReport
    from mockserver.explore.exploration import Exploration
    from mockserver.explore.verdicts import Verdict

Row = Mapping[str, Any]

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def text(rows: Sequence[Row]) -> str:
    """For people: each finding with its evidence and advice."""
    if not rows:
        return "no findings"
    return "\n\n".join("\n".join(lines_of(row)) for row in rows)


def junit(rows: Sequence[Row]) -> str:
    """One test case for each kind of the catalogue: failed by an error, with the rest of it as
    output."""
    by_kind: dict[str, list[Row]] = {name: [] for name in CATALOGUE}
    for row in rows:
        by_kind.setdefault(row["finding"], []).append(row)
    cases = []
    for name, found in by_kind.items():
        case = _case("mockserver.findings", name)
        if any(row["severity"] == "error" for row in found):
            _say(case, "failure", text(found), message=found[0]["title"], type=name)
        elif found:
            _say(case, "system-out", text(found))
        cases.append(case)
    return _document([_suite("mockserver findings", cases)])


def _case(classname: str, name: str, **more: str) -> Element:
    return Element("testcase", {"classname": plain(classname), "name": plain(name), **more})


def _say(case: Element, what: str, inside: str, **attributes: str) -> None:
    """Add an element to a test case: how it failed, or what it printed."""
    SubElement(case, what, {name: plain(value) for name, value in attributes.items()}).text = plain(
        inside
    )


def _suite(name: str, cases: Sequence[Element], **more: int) -> Element:
    """A suite of JUnit with its test cases, counted."""
    failures, errors = (
        sum(case.find(what) is not None for case in cases) for what in ("failure", "error")
    )
    counts = {"tests": len(cases), "failures": failures, "errors": errors, **more}
    suite = Element(
        "testsuite", {"name": name, **{what: str(count) for what, count in counts.items()}}
    )
    suite.extend(cases)
    return suite


def explored(made: Exploration, scenarios: Mapping[str, Path], least: Verdict) -> str:
    """One test case for each cell: failed when its verdict is at least ``least``, skipped when
    nothing was tried."""
    from mockserver.explore.report import end_of

    cases = []
    for cell in made.cells:
        case = _case(f"explore.{cell.point}", cell.fault, time=f"{cell.seconds:.3f}")
        if made.is_red(cell, least):
            message = f"{cell.verdict}: {', '.join(cell.found) or end_of(cell)}"
            where = f"scenario: {scenarios[cell.name]}\n" if cell.name in scenarios else ""
            _say(
                case,
                "failure",
                f"{where}{cell.timeline}\n{cell.output}",
                message=message,
                type=cell.verdict.value,
            )
        cases.append(case)
    for one in made.left_out:
        cases.append(_case(f"explore.{one.point}", one.fault))
        _say(cases[-1], "skipped", "", message=made.why)
    return _document([_suite("mockserver explore", cases, skipped=len(made.left_out))])


def sarif(rows: Sequence[Row]) -> str:
    """SARIF 2.1.0, as code scanning services take it."""
    others = {row["finding"]: row for row in rows if row["finding"] not in CATALOGUE}
    names = [*CATALOGUE, *others]
    rules = [*map(_rule, CATALOGUE.values()), *map(_rule_of, others.values())]
    driver = {"name": "mockserver", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "results": [_result(row, names.index(row["finding"])) for row in rows],
    }
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def github(rows: Sequence[Row]) -> str:
    """Workflow commands that show each finding as an annotation of the run."""
    return "\n".join(
        f"::{_COMMANDS[row['severity']]} title={_property(row['finding'] + ': ' + row['title'])}::"
        f"{_message(chr(10).join(lines_of(row)[1:]))}"
        for row in rows
    )


def _rule(kind: FindingKind) -> dict[str, object]:
    return {
        "id": kind.name,
        "shortDescription": {"text": kind.title},
        "fullDescription": {"text": f"{kind.why} Raised when: {kind.raised}"},
        "help": {"text": kind.advice},
        "defaultConfiguration": {"level": kind.severity.word},
    }


def _rule_of(row: Row) -> dict[str, object]:
    """A rule that the catalogue does not know: a verdict."""
    level = {"level": row["severity"]}
    return {
        "id": row["finding"],
        "shortDescription": {"text": row["why"]},
        "defaultConfiguration": level,
    }


def _result(row: Row, rule_index: int) -> dict[str, object]:
    places = [
        {"kind": "member", "fullyQualifiedName": f"{what} {subject}"}
        for what, subject in row["about"].items()
    ]
    evidence = "\n".join(f"{place(line)}  {line['line']}" for line in row["evidence"])
    result: dict[str, object] = {
        "ruleId": row["finding"],
        "ruleIndex": rule_index,
        "level": row["severity"],
        "message": {"text": f"{row['title']}. {row['advice']}\n{evidence}"},
        "occurrenceCount": row["count"],
        "partialFingerprints": {"finding/v1": "/".join([row["finding"], *row["about"].values()])},
    }
    if places:
        result["locations"] = [{"logicalLocations": places}]
    return result


def _document(suites: Sequence[Element]) -> str:
    whole = Element("testsuites")
    whole.extend(suites)
    indent(whole)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + tostring(whole, encoding="unicode")


def plain(words: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(char for char in words if char in "\t\n" or char.isprintable())


def _property(words: str) -> str:
    return _message(words).replace(":", "%3A").replace(",", "%2C")


def _message(words: str) -> str:
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


REPORTS: Mapping[str, Callable[[Sequence[Row]], str]] = {
    function.__name__: function for function in (text, junit, sarif, github)
}
"""Every form but JSON, which is the answer of the control API itself."""


def checks_lines(checked: Checked, *, is_verbose: bool) -> Iterator[tuple[str, bool]]:
    """Its lines for people, and whether each says a fault: a failing example shows its calls,
    others when asked, and what rules it met where that was asked for."""
    for warning in checked.warnings:
        yield warning, True
    if checked.refusal is not None:
        yield f"{checked.file}:1: {checked.refusal}", True
    for example in checked.examples:
        is_fault = example.failure is not None
        yield str(example), is_fault
        for message in (*example.messages, *example.idle) if is_fault or is_verbose else ():
            yield f"    {message}", is_fault
        for line in example.asked:
            yield f"    {line}", is_fault
        for name, line in example.findings:
            # Examples make many mistakes on purpose, but none that is one of spelling.
            if is_verbose or name == "unknown-field":
                yield f"    finding {name}: {line}", False


def checks_json(files: Sequence[Checked]) -> str:
    """All of it as a JSON list, file by file."""
    rows = []
    for one in files:
        head = {"file": one.file, "warnings": one.warnings, "refusal": one.refusal}
        rows.append({**head, "examples": list(map(_example, one.examples))})
    return json.dumps(rows, indent=2)


def _example(made: ExampleReport) -> dict[str, object]:
    how = {
        "ok": made.failure is None,
        "failure": made.failure,
        "calls": made.messages,
        "idle": made.idle,
    }
    return {"name": made.example, "line": made.line, **how, "rules": made.asked}


def checks_junit(files: Sequence[Checked]) -> str:
    """One suite a file, one case an example; a file that is refused, or whose sandbox is, is an
    error."""
    suites = []
    for checked in files:
        cases = []
        if checked.refusal is not None:
            cases.append(_case(checked.file, "opens"))
            _say(cases[-1], "error", "", message=checked.refusal)
        for example in checked.examples:
            cases.append(_case(checked.file, example.example))
            if example.failure is not None:
                told = "\n".join((str(example), *example.messages, *example.asked))
                _say(cases[-1], "failure", told, message=example.failure)
        suite = _suite(checked.file, cases, tests=len(cases) or 1)
        if checked.warnings:
            SubElement(suite, "system-err").text = plain("\n".join(checked.warnings))
        suites.append(suite)
    return _document(suites)
