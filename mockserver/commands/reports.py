"""Findings, explorations and checks of scenarios as text, JSON, JUnit XML, SARIF 2.1.0 and GitHub
workflow commands.

Texts of clients stand in all of them, such as references of orders, and may hold anything. Each
form escapes them by its own rules, so that a reference can neither break a report nor add a line to
it: XML has characters that it cannot hold at all, workflow commands end at a line end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mockserver import __version__
from mockserver.findings.catalogue import CATALOGUE, FindingKind, lines_of, place

if TYPE_CHECKING:
    from mockserver.commands.scenario_check import Checked, ExampleReport
    from mockserver.explore.exploration import Exploration
    from mockserver.explore.run_answers import FindingRow
    from mockserver.explore.verdicts import Verdict

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
"""Workflow commands by severity."""

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def text(rows: Sequence[FindingRow]) -> str:
    """For people: each finding with its evidence and advice."""
    if not rows:
        return "no findings"
    return "\n\n".join("\n".join(lines_of(row)) for row in rows)


def junit(rows: Sequence[FindingRow]) -> str:
    """One test case for each kind of finding, so that a CI can follow each by its name from run to
    run. An error fails it; warnings and notes are output of a case that passes, as JUnit knows
    nothing between the two."""
    by_kind: dict[str, list[FindingRow]] = {name: [] for name in CATALOGUE}
    for row in rows:
        by_kind.setdefault(row["finding"], []).append(row)
    cases = []
    for name, of_kind in by_kind.items():
        case = _case("mockserver.findings", name)
        if any(row["severity"] == "error" for row in of_kind):
            _add(case, "failure", text(of_kind), message=of_kind[0]["title"], type=name)
        elif of_kind:
            _add(case, "system-out", text(of_kind))
        cases.append(case)
    return _document([_suite("mockserver findings", cases)])


def _case(classname: str, name: str, **attributes: str) -> Element:
    """A test case of JUnit."""
    return Element("testcase", {"classname": plain(classname), "name": plain(name), **attributes})


def _add(case: Element, tag: str, content: str, **attributes: str) -> None:
    """Add an element to a test case: how it failed, or what it printed."""
    plain_attributes = {name: plain(value) for name, value in attributes.items()}
    SubElement(case, tag, plain_attributes).text = plain(content)


def _suite(name: str, cases: Sequence[Element], **other_counts: int) -> Element:
    """A suite of JUnit with its test cases, counted: readers show these counts, and do not count
    themselves. ``other_counts`` add to them or replace one."""
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        **other_counts,
    }
    texts = {attribute: str(count) for attribute, count in counts.items()}
    suite = Element("testsuite", {"name": name, **texts})
    suite.extend(cases)
    return suite


def explored(exploration: Exploration, scenarios: Mapping[str, Path], least: Verdict) -> str:
    """One test case for each cell: failed when its verdict is at least ``least``, skipped when the
    exploration ended before it was tried. ``scenarios`` are the files that repeat cells, by the
    cells' names."""
    from mockserver.explore.report import end_of

    cases = []
    for cell in exploration.cells:
        case = _case(f"explore.{cell.point}", cell.fault, time=f"{cell.seconds:.3f}")
        if exploration.is_red(cell, least):
            # What it found, or where nothing was found how it ended.
            reason = ", ".join(cell.found) or end_of(cell)
            message = f"{cell.verdict}: {reason}"
            content = f"{cell.timeline}\n{cell.output}"
            if cell.name in scenarios:
                content = f"scenario: {scenarios[cell.name]}\n{content}"
            _add(case, "failure", content, message=message, type=cell.verdict.value)
        cases.append(case)
    for trial in exploration.left_out:
        case = _case(f"explore.{trial.point}", trial.fault)
        _add(case, "skipped", "", message=exploration.why)
        cases.append(case)
    return _document([_suite("mockserver explore", cases, skipped=len(exploration.left_out))])


def sarif(rows: Sequence[FindingRow]) -> str:
    """SARIF 2.1.0, as code scanning services take it."""
    # Rows of an exploration are about its verdicts, which the catalogue does not have: each of
    # these is a rule too, in the words of the last row that has it.
    verdicts = {row["finding"]: row for row in rows if row["finding"] not in CATALOGUE}
    names = [*CATALOGUE, *verdicts]
    rules = list(map(_rule, CATALOGUE.values()))
    rules += map(_rule_of_verdict, verdicts.values())
    driver = {"name": "mockserver", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "results": [_result(row, names.index(row["finding"])) for row in rows],
    }
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def github(rows: Sequence[FindingRow]) -> str:
    """Workflow commands that show each finding as an annotation of the run."""
    return "\n".join(map(_workflow_command, rows))


def _workflow_command(row: FindingRow) -> str:
    """A finding as a command to the runner, which shows it on the page of the run: ``::error
    title=...::...``."""
    level = _COMMANDS[row["severity"]]
    title = _property(f"{row['finding']}: {row['title']}")
    # The first line is the title again.
    message = _message("\n".join(lines_of(row)[1:]))
    return f"::{level} title={title}::{message}"


def _rule(kind: FindingKind) -> dict[str, object]:
    """A kind of finding as a rule of SARIF. All rules stand in each report, also those that found
    nothing: a service shows by them what was looked for."""
    return {
        "id": kind.name,
        "shortDescription": {"text": kind.title},
        "fullDescription": {"text": f"{kind.why} Raised when: {kind.raised}"},
        "help": {"text": kind.advice},
        "defaultConfiguration": {"level": kind.severity.word},
    }


def _rule_of_verdict(row: FindingRow) -> dict[str, object]:
    """The verdict of a row as a rule of SARIF."""
    return {
        "id": row["finding"],
        "shortDescription": {"text": row["why"]},
        "defaultConfiguration": {"level": row["severity"]},
    }


def _result(row: FindingRow, rule_index: int) -> dict[str, object]:
    """A finding as a result of SARIF. Its place is the objects that it is about, as no line of
    code is known."""
    # By the fingerprint a service knows a finding from the run before. Counts and journal numbers
    # change from run to run, so the kind and the objects alone are in it.
    fingerprint = "/".join([row["finding"], *row["about"].values()])
    places = [
        {"kind": "member", "fullyQualifiedName": f"{kind} {subject}"}
        for kind, subject in row["about"].items()
    ]
    evidence = "\n".join(f"{place(fact)}  {fact['line']}" for fact in row["evidence"])
    result: dict[str, object] = {
        "ruleId": row["finding"],
        "ruleIndex": rule_index,
        "level": row["severity"],
        "message": {"text": f"{row['title']}. {row['advice']}\n{evidence}"},
        "occurrenceCount": row["count"],
        "partialFingerprints": {"finding/v1": fingerprint},
    }
    if places:
        result["locations"] = [{"logicalLocations": places}]
    return result


def _document(suites: Sequence[Element]) -> str:
    """A whole document of JUnit, as text: the declaration names the encoding in which every report
    is written."""
    root = Element("testsuites")
    root.extend(suites)
    indent(root)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + tostring(root, encoding="unicode")


def plain(words: str) -> str:
    """Without the characters that XML cannot hold: a reader refuses the whole document for one."""
    return "".join(char for char in words if char in "\t\n" or char.isprintable())


def _property(words: str) -> str:
    """Words as a property of a workflow command can hold them: commas part properties, and a colon
    ends them."""
    return _message(words).replace(":", "%3A").replace(",", "%2C")


def _message(words: str) -> str:
    """Words as the message of a workflow command can hold them, in one line. The percent sign comes
    first: those of the line ends must stay."""
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


REPORTS: Mapping[str, Callable[[Sequence[FindingRow]], str]] = {
    "text": text,
    "junit": junit,
    "sarif": sarif,
    "github": github,
}
"""Every form but JSON, which is the answer of the control API itself."""


class CheckLine(NamedTuple):
    """A line of a check for people. One that says a fault goes to standard error."""

    words: str
    is_fault: bool


def checks_lines(checked: Checked, *, is_verbose: bool) -> Iterator[CheckLine]:
    """The lines of a file. A failing example shows its calls, others when asked, and what rules it
    met where that was asked for."""
    for warning in checked.warnings:
        yield CheckLine(warning, is_fault=True)
    if checked.refusal is not None:
        yield CheckLine(f"{checked.file}:1: {checked.refusal}", is_fault=True)
    for example in checked.examples:
        is_fault = example.failure is not None
        yield CheckLine(str(example), is_fault)
        if is_fault or is_verbose:
            for message in (*example.messages, *example.idle):
                yield CheckLine(f"    {message}", is_fault)
        for line in example.rules_asked:
            yield CheckLine(f"    {line}", is_fault)
        for name, line in example.findings:
            # Examples make many mistakes on purpose, but none that is one of spelling.
            if is_verbose or name == "unknown-field":
                yield CheckLine(f"    finding {name}: {line}", is_fault=False)


def checks_json(files: Sequence[Checked]) -> str:
    """All of it as a JSON list, file by file."""
    rows = [
        {
            "file": checked.file,
            "warnings": checked.warnings,
            "refusal": checked.refusal,
            "examples": list(map(_example, checked.examples)),
        }
        for checked in files
    ]
    return json.dumps(rows, indent=2)


def _example(report: ExampleReport) -> dict[str, object]:
    """How one example went. The findings are left out, as an example makes mistakes on purpose."""
    return {
        "name": report.example,
        "line": report.line,
        "ok": report.failure is None,
        "failure": report.failure,
        "calls": report.messages,
        "idle": report.idle,
        "rules": report.rules_asked,
    }


def checks_junit(files: Sequence[Checked]) -> str:
    """One suite a file, one case an example; a file that is refused, or whose sandbox is, is an
    error."""
    suites = []
    for checked in files:
        cases = []
        if checked.refusal is not None:
            case = _case(checked.file, "opens")
            _add(case, "error", "", message=checked.refusal)
            cases.append(case)
        for example in checked.examples:
            case = _case(checked.file, example.example)
            if example.failure is not None:
                lines = (str(example), *example.messages, *example.rules_asked)
                _add(case, "failure", "\n".join(lines), message=example.failure)
            cases.append(case)
        # A file without examples has been checked too: readers of JUnit fail a run of 0 tests.
        suite = _suite(checked.file, cases, tests=len(cases) or 1)
        if checked.warnings:
            SubElement(suite, "system-err").text = plain("\n".join(checked.warnings))
        suites.append(suite)
    return _document(suites)
