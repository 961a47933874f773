"""The catalogue: every finding with its severity, what it means and what to do.

It is one text, ``catalogue.md``, a section for each finding: judges raise by its names, faces show
its words, and documentation and tests are made from it. So a finding that is raised is always
documented, with an example of a client that raises it and one of a client that does not.

Source: docs/findings.md, Each finding.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY
from enum import IntEnum
from pathlib import Path
from typing import Any

from mockserver.domain.errors import nearest
from mockserver.domain.masking import printable
from mockserver.domain.record import record


class Severity(IntEnum):
    """How bad a finding is; the order counts."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        return self.name.lower()


SEVERITIES: Mapping[str, Severity] = {severity.word: severity for severity in Severity}
"""Severities by the name that interfaces use, least first."""


@record
class FindingKind:
    """One section of ``catalogue.md``, which says what each text is for."""

    _: KW_ONLY
    name: str
    severity: Severity
    title: str
    why: str
    advice: str
    raised: str
    silent: str = ""
    wrong: str
    right: str


def _kind(section: str) -> FindingKind:
    """A section of the page: its heading, then ``- field: text``, a text over several lines
    indented."""
    name, _, facts = section.replace("\n  ", " ").partition("\n\n- ")
    texts = dict(fact.split(": ", 1) for fact in facts.rstrip().split("\n- "))
    return FindingKind(name=name, severity=SEVERITIES[texts.pop("severity")], **texts)


_PAGE = Path(__file__).with_suffix(".md").read_text("utf-8")
CATALOGUE: Mapping[str, FindingKind] = {
    kind.name: kind for kind in map(_kind, _PAGE.split("\n## ")[1:])
}
"""Every finding by its name."""


def kind_of(name: str) -> FindingKind:
    """The row of a name. Raises ``ValueError`` with the nearest known name."""
    if name not in CATALOGUE:
        raise ValueError(
            f"got '{name[:40]}', wanted the name of a finding{nearest(name[:40], CATALOGUE)}"
        )
    return CATALOGUE[name]


def severity_of(word: str) -> Severity:
    """The severity of a name. Raises ``ValueError`` with those that are allowed."""
    if word not in SEVERITIES:
        raise ValueError(
            f"got '{word[:40]}'{nearest(word[:40], SEVERITIES)}, allowed: {', '.join(SEVERITIES)}"
        )
    return SEVERITIES[word]


def reaches(row: Mapping[str, Any], least: str) -> bool:
    """Whether a finding, as the control API shows it, is of at least a severity. Raises as
    ``severity_of``."""
    return severity_of(row["severity"]) >= severity_of(least)


def lines_of(row: Mapping[str, Any]) -> list[str]:
    """A finding, as the control API shows it, in lines for people."""
    times = ""
    if row["count"] > 1:
        times = f" ({row['count']} times)"
    lines = [
        f"{row['severity']} {row['finding']}: {row['title']}{times}",
        *(f"    {what}: {subject}" for what, subject in row["about"].items()),
        *(f"    {place(line)}  {line['line']}" for line in row["evidence"]),
        f"    why: {row['why']}",
        f"    advice: {row['advice']}",
    ]
    return [printable(line) for line in lines]


def place(line: Mapping[str, Any]) -> str:
    """Where a line of evidence is: a webhook or a journal entry. One of a webhook has an entry too,
    which is what sent it, and says less."""
    if line["webhook"] is not None:
        return f"webhook {line['webhook']}"
    if line["entry"] is not None:
        return f"journal {line['entry']}"
    return "-"
