"""Checked scenario files in the forms that people and CI systems read: text, JSON, JUnit XML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.etree import ElementTree

from mockserver.adapters.scenario_check import ExampleReport
from mockserver.commands.finding_reports import plain
from mockserver.scenario.problems import ScenarioProblem


@dataclass(frozen=True, slots=True)
class Checked:
    """A file: its warnings, and how its examples went, or why it or its sandbox is refused."""

    file: str
    warnings: tuple[str, ...]
    examples: tuple[ExampleReport, ...] = ()
    refusal: str | None = None


def unread(problems: Sequence[ScenarioProblem]) -> list[Checked]:
    """The files that could not be read, each with all its problems; these are in the order of the files."""
    files = groupby(problems, key=lambda problem: problem.file)
    return [Checked(file, (), refusal="\n".join(map(str, found))) for file, found in files]


def lines(checked: Checked, *, is_verbose: bool) -> Iterator[tuple[str, bool]]:
    """Its lines for people, and whether each says a fault: a failing example shows its calls, others when asked."""
    for warning in checked.warnings:
        yield warning, True
    if checked.refusal is not None:
        yield f"{checked.file}:1: {checked.refusal}", True
    for example in checked.examples:
        is_fault = example.failure is not None
        yield str(example), is_fault
        for message in example.messages if is_fault or is_verbose else ():
            yield f"    {message}", is_fault


def as_json(files: Sequence[Checked]) -> str:
    """All of it as a JSON list, file by file."""
    rows = [
        {
            "file": checked.file,
            "warnings": checked.warnings,
            "refusal": checked.refusal,
            "examples": [
                {
                    "name": example.example,
                    "line": example.line,
                    "ok": example.failure is None,
                    "failure": example.failure,
                    "calls": example.messages,
                }
                for example in checked.examples
            ],
        }
        for checked in files
    ]
    return json.dumps(rows, indent=2)


def junit(files: Sequence[Checked]) -> str:
    """One suite a file, one case an example; a file that is refused, or whose sandbox is, is an error."""
    suites = ElementTree.Element("testsuites")
    for checked in files:
        failed = sum(example.failure is not None for example in checked.examples)
        suite = ElementTree.SubElement(
            suites,
            "testsuite",
            name=checked.file,
            tests=str(len(checked.examples) or 1),
            failures=str(failed),
            errors=str(int(checked.refusal is not None)),
        )
        if checked.refusal is not None:
            case = ElementTree.SubElement(suite, "testcase", classname=checked.file, name="opens")
            ElementTree.SubElement(case, "error", message=plain(checked.refusal))
        for example in checked.examples:
            case = ElementTree.SubElement(suite, "testcase", classname=checked.file, name=plain(example.example))
            if example.failure is not None:
                failure = ElementTree.SubElement(case, "failure", message=plain(example.failure))
                failure.text = plain("\n".join((str(example), *example.messages)))
        if checked.warnings:
            ElementTree.SubElement(suite, "system-err").text = plain("\n".join(checked.warnings))
    ElementTree.indent(suites)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + ElementTree.tostring(suites, encoding="unicode")
