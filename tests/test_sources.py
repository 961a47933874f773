"""Every source that the code names is a place in the repository: a page, its section, and the row
or number there; and what it calls an assumption is one, not a fact that is settled for good."""

import ast
import csv
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from mockserver.assumptions import ROWS
from tools.imports import MODULES, PACKAGE, nodes, parsed, statements

ROOT = PACKAGE.parent
SPEC = {
    "service document": "docs/spec/service.md",
    "published facts": "docs/spec/published-facts.md",
}
"""What tables and sentences call the two pages of facts."""
SENTENCE = re.compile(r"\bSources?:\s+(.*?)(?:\.\s+(?=[A-Z`])|\.?$)")
SHORT = re.compile(rf"\b({'|'.join(SPEC)}), ([^;()\"]+)")
SETTLED_ROW = re.compile(r"^\| `([\w.]+)` \|", re.MULTILINE)
CITED = re.compile(
    r"\b(assumption|settled fact)s? ((?:``[\w.*]+``(?:, | and |; )?)+)", re.IGNORECASE
)
"""What docstrings cite by name: rows of the assumptions, and what docs/assumptions.md has as settled
for good."""

PAGE = re.compile(r"^(docs/[\w/-]+\.md)(?:, |\b)")
OUTSIDE = (
    "assumption",
    "settled fact",
    "OpenTelemetry",
    "W3C",
    "published practice",
    "countries ISO",
    "the command line's",
    "the published format",
    "the published algorithm",
)
"""Beginnings of sources that are not pages of the repository."""
GONE = re.compile(r"\b(control|findings|explore|store) document\b")


@cache
def sections(page: str) -> dict[str, str]:
    """The text below each heading of a page, by its words in small letters; that of the page by
    ``""``."""
    text = (ROOT / page).read_text("utf-8")
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {
        "": text,
        **{
            name.strip("`").lower(): body
            for name, body in zip(parts[1::2], parts[2::2], strict=True)
        },
    }


def section_of(page: str, name: str) -> str | None:
    """The section with this heading, or with this number before its heading."""
    below = sections(page)
    if name.lower() in below:
        return name.lower()
    return next(
        (one for one in below if re.match(r"[\d.]+$", name) and one.startswith(f"{name} ")), None
    )


def numbers(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def unresolved(page: str, places: str) -> list[str]:
    """The places that ``page`` does not have; what follows a colon or stands in brackets is a
    remark."""
    if not (ROOT / page).is_file():
        return [page]
    now, missing = "", []
    for piece in re.split(
        r",? and (?=\d)|, (?:and )?", re.sub(r"\([^()]*\)", "", places).split(":")[0].strip()
    ):
        place = piece.strip().strip("`.")
        for one in [place] if section_of(page, place) else re.split(r" and | / ", place):
            found, now = resolve(page, now, one)
            missing += [] if found else [f"{page}: {one!r}"]
    return missing


def resolve(page: str, now: str, place: str) -> tuple[bool, str]:
    """Whether a place is there, and the section that the next place may be in."""
    if (section := section_of(page, place)) is not None:
        return True, section
    if rows := re.match(r"(?:([\d.]+) )?(row|rule)s? (\d[\d-]*)", place):
        now = (section_of(page, rows[1]) or now) if rows[1] else now
        line = r"^\| {}[ab]? \|" if rows[2] == "row" else r"^{}\. "
        return all(
            re.search(line.format(n), sections(page)[now], re.MULTILINE) for n in numbers(rows[3])
        ), now
    if re.fullmatch(r"\d[\d-]*", place):
        return all(
            re.search(rf"^({n}\.|\| {n}[ab]? \|) ", sections(page)[now], re.MULTILINE)
            for n in numbers(place)
        ), now
    if number := re.match(r"\d[\d.]* ", place):
        return section_of(page, number[0].strip()) is not None, now
    return place.lower() in sections(page)[now].lower(), now


@cache
def settled_facts() -> list[str]:
    return SETTLED_ROW.findall(sections("docs/assumptions.md")["settled for good"])


def uncited(text: str) -> list[str]:
    """The names that a text cites as an assumption or as a settled fact, and that are none."""
    return [
        name
        for kind, names in CITED.findall(text)
        for name in re.findall(r"``([^`]+)``", names)
        if not any(fnmatch(key, name) for key in (ROWS if kind[0] in "aA" else settled_facts()))
    ]


def bad_sentence(sentence: str) -> list[str]:
    """What a ``Source:`` names that is not there."""
    missing, page = [], ""
    for clause in re.split(r"; (?![^(]*\))", sentence):
        if found := PAGE.match(clause):
            page = found[1]
            missing += unresolved(page, clause[found.end() :])
            missing += [
                f"{page}: {code}"
                for code in re.findall(r"``([^`:]+)[^`]*``", clause)
                if code not in sections(page)[""]
            ]
        elif CITED.match(clause):
            missing += uncited(clause)
        elif not clause.startswith(OUTSIDE):
            missing += unresolved(page, clause) if page else [clause]
    return missing


def docstrings() -> Iterator[tuple[Path, str]]:
    """Every text that stands as a statement, with its lines joined, paragraph by paragraph."""
    for path in MODULES:
        for node in statements(parsed(path.read_text("utf-8"))):
            match node:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield from (
                        (path, " ".join(paragraph.split())) for paragraph in text.split("\n\n")
                    )
                case _:
                    pass


def test_every_source_of_a_docstring_is_in_the_repository() -> None:
    found = [(path, sentence) for path, text in docstrings() for sentence in SENTENCE.findall(text)]
    assert len(found) > 90
    wrong = {str(path): missing for path, sentence in found if (missing := bad_sentence(sentence))}
    assert wrong == {}


def test_every_fact_that_a_sentence_or_a_table_names_is_in_the_repository() -> None:
    tables = [
        (path, row)
        for path in PACKAGE.rglob("*.csv")
        for row in csv.reader(path.open(encoding="utf-8"))
    ]
    cells = [(path, cell) for path, row in tables for cell in row]
    constants = [
        (path, node.value)
        for path in MODULES
        for node in nodes(path.read_text("utf-8"))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    found = [
        (path, name, places)
        for path, text in (*cells, *constants)
        for name, places in SHORT.findall(" ".join(text.split()))
    ]
    assert len(found) > 100
    wrong = {
        str(path): missing
        for path, name, places in found
        if (missing := unresolved(SPEC[name], places))
    }
    assert wrong == {}


def test_every_assumption_and_settled_fact_that_a_docstring_cites_is_one() -> None:
    found = [(path, text) for path, text in docstrings() if CITED.search(text)]
    assert len(found) > 60
    assert {str(path): missing for path, text in found if (missing := uncited(text))} == {}


def test_no_document_is_named_that_is_not_in_the_repository() -> None:
    assert [str(path) for path, text in docstrings() if GONE.search(text)] == []


def test_every_page_of_facts_leads_somewhere() -> None:
    pages = sorted((ROOT / "docs" / "spec").glob("*.md"))
    assert {str(page.relative_to(ROOT)) for page in pages} == set(SPEC.values())
    for page in pages:
        links = re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "docs/spec/nothing.md",
        "docs/spec/service.md, Nothing",
        "docs/spec/service.md, What the service does, 13",
        "docs/spec/service.md, Limits; Nothing",
        "docs/spec/published-facts.md, 4.9",
        "docs/spec/published-facts.md, 1.1 rows 76-78",
        "docs/spec/published-facts.md, 8 row 36",
        "docs/control-api.md (``/__admin/nothing``)",
        "assumption ``nothing.at_all``",
        "assumption ``keys``",
        "settled fact ``keys.both``",
        "the wiki",
    ],
)
def test_a_source_that_is_nowhere_is_found(sentence: str) -> None:
    assert bad_sentence(sentence) != []


@pytest.mark.parametrize(
    "sentence",
    [
        "docs/security.md",
        "docs/spec/service.md, Charges, and States and transitions; What the service does, 6-9",
        "docs/spec/published-facts.md, 0 (rules 3 and 5), 1.0, 1.1 rows 11-13, 8 row 4 and 10",
        "docs/control-api.md (``/__admin/state``); assumptions ``charge.*``, ``failover``",
        "assumptions ``link.*``; settled facts ``link.url``, ``keys``",
    ],
)
def test_a_source_that_is_there_is_not_reported(sentence: str) -> None:
    assert bad_sentence(sentence) == []
