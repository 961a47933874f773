"""YAML cut down to JSON: what a person meant, or a refusal that says what to write instead.

Plain words become ``true``, ``false``, ``null``, whole numbers and exact decimals only where YAML 1.2 (core) and JSON
agree; ``18:05``, ``012345``, ``NO`` and dates stay texts; ``1e3``, ``0x1F``, ``.inf`` and numbers of more than 15
digits are refused with "quote this". No tags, no merge keys, no keys twice, no anchors beyond a small limit. JSON is
a subset and takes the same way.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import field
from decimal import Decimal
from typing import Any

import yaml

from mockserver.domain.record import mutable
from mockserver.scenario.problems import Path, ScenarioProblem, ScenarioRefused

MAX_CHARACTERS = 2_000_000
MAX_DEPTH = 40
MAX_NODES = 200_000
MAX_ALIASES = 100
MAX_DIGITS = 15

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)?\.[0-9]+|[-+]?(?:0|[1-9][0-9]*)\.")
_DOUBTFUL = re.compile(
    r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+|0[xXoObB][0-9a-fA-F_]+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_STRANGE_BREAK = re.compile("[\u0085\u2028\u2029]")
_PAIRS = re.compile(r"\\(\\*)u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@mutable
class Document:
    """The plain data of a file and the line and column (from 1) of every part."""

    data: object
    positions: dict[Path, tuple[int, int]]


def read(text: str, file: str) -> Document:
    """The one document of a text. Raises ``ScenarioRefused`` with every problem found, or the first that ends the
    reading.
    """
    if len(text) > MAX_CHARACTERS:
        raise ScenarioRefused(
            [_problem(file, None, f"got {len(text)} characters, at most {MAX_CHARACTERS} are allowed")]
        )
    strange = _STRANGE_BREAK.search(text)
    if strange is not None:
        before = text[: strange.start()]
        place = ScenarioProblem(
            file,
            before.count("\n") + 1,
            len(before) - before.rfind("\n"),
            "",
            f"got the character U+{ord(strange[0]):04X}, which YAML takes for the end of a line; write it as an escape",
        )
        raise ScenarioRefused([place])
    reader = _Reader(file)
    try:
        return reader.document(_events(text))
    except yaml.MarkedYAMLError as problem:
        words = " ".join(part for part in (problem.context, problem.problem) if part)
        if _is_tab(text, problem.problem_mark):
            words = "got a tab, and only spaces indent a line"
        elif _is_misindented(text, problem):
            words += " - is the line indented like its neighbours?"
        raise ScenarioRefused([_problem(file, problem.problem_mark, f"not valid YAML: {words}")]) from None
    except yaml.YAMLError as problem:
        first = str(problem).splitlines()[0]
        raise ScenarioRefused([_problem(file, None, f"not valid YAML: {first}")]) from None


def _events(text: str) -> Iterator[Any]:
    yield from yaml.parse(_PAIRS.sub(_one_escape, text.removeprefix("\ufeff")), Loader=_Loader)


def _is_tab(text: str, mark: Any) -> bool:
    """Whether a problem is a tab, which looks like the spaces that YAML wants."""
    line = "" if mark is None else "".join(text.split("\n")[mark.line : mark.line + 1])
    return line[mark.column : mark.column + 1] == "\t"


def _is_misindented(text: str, problem: yaml.MarkedYAMLError) -> bool:
    """Whether the first word of a line does not continue the map or list before it, or a key runs on a text."""
    mark = problem.problem_mark
    line = "" if mark is None else "".join(text.split("\n")[mark.line : mark.line + 1])
    before = line[: mark.column].strip() if mark else "-"
    if str(problem.context).startswith("while parsing a block"):
        return not before
    return "mapping values are not allowed" in str(problem.problem) and ":" not in before


def _one_escape(pair: re.Match[str]) -> str:
    """JSON writes a character beyond the first plane as two escapes, YAML as one."""
    if len(pair.group(1)) % 2:
        # The backslash before it is itself escaped.
        return pair.group()
    high, low = int(pair.group(2), 16), int(pair.group(3), 16)
    return f"{pair.group(1)}\\U{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00:08x}"


def _problem(file: str, mark: Any, message: str) -> ScenarioProblem:
    line, column = _place(mark)
    return ScenarioProblem(file, line, column, "", message)


def _place(mark: Any) -> tuple[int, int]:
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)


@mutable
class _Frame:
    """An open map or list."""

    value: dict[str, object] | list[object]
    path: Path
    anchor: str | None
    started: int
    key: str | None = None


@mutable
class _Reader:
    file: str
    positions: dict[Path, tuple[int, int]] = field(default_factory=dict)
    problems: list[ScenarioProblem] = field(default_factory=list)
    anchors: dict[str, tuple[object, int]] = field(default_factory=dict)
    open: list[_Frame] = field(default_factory=list)
    nodes: int = 0
    aliases: int = 0

    def document(self, events: Iterator[Any]) -> Document:
        data: object = None
        documents = 0
        for event in events:
            match event:
                case yaml.DocumentStartEvent():
                    documents += 1
                    if documents > 1:
                        self._stop(event, "got a second document (---), a file holds one scenario")
                case yaml.ScalarEvent():
                    data = self._scalar(event)
                case yaml.AliasEvent():
                    data = self._alias(event)
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    self._start(event)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    data = self._end()
                case _:
                    pass
        if self.problems:
            raise ScenarioRefused(self.problems)
        return Document(data, self.positions)

    def _stop(self, event: Any, message: str) -> None:
        raise ScenarioRefused([*self.problems, _problem(self.file, event.start_mark, message)])

    def _complain(self, event: Any, message: str) -> None:
        self.problems.append(_problem(self.file, event.start_mark, message))

    def _count(self, event: Any, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            self._stop(event, f"got more than {MAX_NODES} values, aliases counted each time they are used")

    def _start(self, event: Any) -> None:
        self._count(event, 1)
        self._no_tag(event)
        if len(self.open) >= MAX_DEPTH:
            self._stop(event, f"got parts nested deeper than {MAX_DEPTH}")
        frame = self.open[-1] if self.open else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            self._stop(event, "got a map or a list as a key, wanted a name")
        path = self._next_path()
        self.positions[path] = self.positions.get(path) or _place(event.start_mark)
        value: dict[str, object] | list[object] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.open.append(_Frame(value, path, event.anchor, self.nodes))

    def _end(self) -> object:
        frame = self.open.pop()
        if frame.anchor is not None:
            self.anchors[frame.anchor] = (frame.value, self.nodes - frame.started + 1)
        self._put(frame.value)
        return frame.value

    def _next_path(self) -> Path:
        if not self.open:
            return ()
        frame = self.open[-1]
        part: str | int = len(frame.value) if isinstance(frame.value, list) else frame.key or ""
        return (*frame.path, part)

    def _put(self, value: object) -> None:
        if not self.open:
            return
        frame = self.open[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is not None:
            frame.value[frame.key] = value
            frame.key = None

    def _scalar(self, event: Any) -> object:
        self._count(event, 1)
        self._no_tag(event)
        frame = self.open[-1] if self.open else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            self._key(event, frame, frame.value)
            return None
        path = self._next_path()
        self.positions.setdefault(path, _place(event.start_mark))
        value = self._meaning(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1)
        self._put(value)
        return value

    def _key(self, event: Any, frame: _Frame, known: dict[str, object]) -> None:
        key = str(event.value)
        if key == "<<" and not event.style:
            self._complain(event, "merge keys (<<) are not read: write the keys out")
        if key in known:
            line, _ = self.positions[(*frame.path, key)]
            self._complain(event, f"got the key '{key[:60]}' twice, first in line {line}")
        self.positions[(*frame.path, key)] = _place(event.start_mark)
        frame.key = key

    def _alias(self, event: Any) -> object:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            self._stop(event, f"got more than {MAX_ALIASES} aliases (*name)")
        found = self.anchors.get(event.anchor)
        if found is None:
            self._stop(event, f"got *{event.anchor}, but no finished part before it is marked &{event.anchor}")
            return None
        value, nodes = found
        self._count(event, nodes)
        frame = self.open[-1] if self.open else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            self._stop(event, "got an alias as a key, wanted a name")
        self.positions.setdefault(self._next_path(), _place(event.start_mark))
        self._put(value)
        return value

    def _no_tag(self, event: Any) -> None:
        if event.tag is not None:
            self._complain(event, f"got the tag {event.tag[:60]}, and tags are not read: write the value plainly")

    def _meaning(self, event: Any) -> Hashable:
        text: str = event.value
        if event.style:  # the C reader says "" and the Python reader None for a plain word
            return text
        if text in _NULL:
            return None
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        if _WHOLE.fullmatch(text) or _DECIMAL.fullmatch(text):
            if sum(char.isdigit() for char in text) > MAX_DIGITS:
                self._complain(event, f"got a number of more than {MAX_DIGITS} digits: quote this, it is a name")
                return text
            return int(text) if _WHOLE.fullmatch(text) else Decimal(text)
        if _DOUBTFUL.fullmatch(text):
            self._complain(event, f"got {text[:40]}: quote this for a text, or write a number with plain digits")
        return text
