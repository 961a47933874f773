"""YAML cut down to JSON: what a person meant, or a refusal that says what to write instead.

YAML takes ``NO`` for false in one version and a text in the next, ``012345`` for a number in octal,
``18:05`` for one in base 60. In a file about money such a guess costs an afternoon. So this reader
works on the events of the parser, below all of its guesses, and decides itself what a plain word
means.

Plain words become ``true``, ``false``, ``null``, whole numbers and exact decimals only where YAML
1.2 (core) and JSON agree; ``18:05``, ``012345``, ``+61400000000``, ``NO`` and dates stay texts;
``1e3``, ``0x1F``, ``.inf`` and numbers of more than 15 digits are refused with "quote this". No
tags, no merge keys, no keys twice, no anchors beyond a small limit. JSON is a subset and takes the
same way. ``scenario_text`` writes a scenario as a file that people read and edit: ``read`` gives
back what was written.
"""

import json
import re
from collections.abc import Hashable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

import yaml

from mockserver.domain.errors import MOST_FAULTS
from mockserver.scenario.problems import (
    Path,
    Positions,
    ScenarioProblem,
    ScenarioRefused,
    more_follow,
)

MAX_CHARACTERS = 2_000_000
MAX_DEPTH = 40
MAX_NODES = 200_000
MAX_ALIASES = 100
MAX_DIGITS = 15

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)?\.[0-9]+|-?(?:0|[1-9][0-9]*)\.")
_DOUBTFUL = re.compile(
    r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+|0[xXoObB][0-9a-fA-F_]+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_VALUE_IN_BRACKETS = re.compile(r": *([\[{])[^\[\]{}]*[\]}] $")
_STRANGE_BREAK = re.compile("[\u0085\u2028\u2029]")
_ESCAPED_PAIRS = re.compile(r"\\(\\*)u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(text: str, file: str) -> tuple[Any, Positions]:
    """The plain data of the one document of a text, and the line and column (from 1) of every part.
    Raises ``ScenarioRefused`` with every problem found, or the first that ends the reading."""
    if len(text) > MAX_CHARACTERS:
        words = f"got {len(text)} characters, at most {MAX_CHARACTERS} are allowed"
        raise ScenarioRefused([ScenarioProblem(file, 1, 1, "", words)])
    strange = _STRANGE_BREAK.search(text)
    if strange is not None:
        # People do not count it as a line: every position behind it would be another.
        before = text[: strange.start()]
        place = before.count("\n") + 1, len(before) - before.rfind("\n")
        words = f"got the character U+{ord(strange[0]):04X}, which YAML takes for the end of a line"
        raise ScenarioRefused(
            [ScenarioProblem(file, *place, "", f"{words}; write it as an escape")]
        )
    events = yaml.parse(
        _ESCAPED_PAIRS.sub(_one_escape, text.removeprefix("\ufeff")), Loader=_Loader
    )
    try:
        return _Reader(file, events).document()
    except yaml.MarkedYAMLError as problem:
        words = _in_words(problem, text)
        raise ScenarioRefused(
            [_problem(file, problem.problem_mark, f"not valid YAML: {words}")]
        ) from None
    except yaml.YAMLError as problem:
        first = str(problem).splitlines()[0]
        raise ScenarioRefused([_problem(file, None, f"not valid YAML: {first}")]) from None


def _in_words(problem: yaml.MarkedYAMLError, text: str) -> str:
    """Why a text is not YAML, and what was most likely meant there."""
    words = " ".join(part for part in (problem.context, problem.problem) if part)
    lines, mark = text.split("\n"), problem.problem_mark
    # The parser may give up behind the last line.
    if mark is None or mark.line >= len(lines):
        return words
    line = lines[mark.line]
    # A tab looks like the spaces that YAML wants.
    if line[mark.column : mark.column + 1] == "\t":
        return "got a tab, and only spaces indent a line"
    # What stands at the place itself is surer than what an earlier line has left open, and that
    # than an indentation.
    meant = _unquoted(problem, line[: mark.column], line[mark.column :])
    if meant is None:
        meant = _left_open(problem, mark.line)
    if meant is None and _is_misindented(line, problem):
        meant = "is the line indented like its neighbours?"
    return f"{words} - {meant}" if meant is not None else words


def _unquoted(problem: yaml.MarkedYAMLError, before: str, after: str) -> str | None:
    """What is said of a text that needs quotes, or other ones: what ended it stands on both sides
    of the place where YAML gave up."""
    if str(problem.context) == "while scanning a quoted scalar":
        return None
    if after.startswith(":") and ":" in before:
        return "a text with a colon in it stands in quotes; in braces, a comma parts two keys"
    if before.endswith("'") and after[:1].isalnum():
        return (
            "the ' before it ends the text: write '' for an apostrophe, or put the text in "
            "double quotes"
        )
    if before.endswith('"') and after[:1].isalnum():
        return 'the " before it ends the text: write \\" for it, or put the text in single quotes'
    if "cannot start any token" in str(problem.problem):
        return f"a text that begins with {after[:1]} stands in quotes"
    opened = _VALUE_IN_BRACKETS.search(before)
    if opened is not None and after[:1].isalnum():
        return f"a text that begins with {opened[1]} stands in quotes"
    return None


def _left_open(problem: yaml.MarkedYAMLError, line: int) -> str | None:
    """What an earlier line opens that is not closed; of a map or list a comma may be missing
    instead."""
    mark, context = problem.context_mark, str(problem.context)
    if mark is None or mark.line == line:
        return None
    if context == "while scanning a quoted scalar":
        return f"the quote opened in line {mark.line + 1} is not closed"
    brackets = {"while parsing a flow mapping": "{", "while parsing a flow sequence": "["}
    if context not in brackets:
        return None
    return f"is the {brackets[context]} of line {mark.line + 1} closed?"


def _is_misindented(line: str, problem: yaml.MarkedYAMLError) -> bool:
    """Whether the first word of a line does not continue the map or list before it, or a key runs
    on a text: then a hint at the indentation helps. Where something else stands before the place,
    or another colon, it is not the indentation that is wrong."""
    # Without a mark nothing is known of the line: as if something stood there.
    before = line[: problem.problem_mark.column].strip() if problem.problem_mark else "-"
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
    """A fault at a mark of the parser; the path of the part is not known yet."""
    return ScenarioProblem(file, *_place(mark), "", message)


def _place(mark: Any) -> tuple[int, int]:
    """Line and column as people count, from 1; a fault without a mark is one of the whole file."""
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)


class _Anchored(NamedTuple):
    """A part that is marked ``&name``: its value, and of how many nodes it is."""

    value: object
    nodes: int


class _Reader:
    """Reads the events of one file, and gathers what is wrong with it.

    What a person can put right without another look at the rest is gathered (``_complain``); what
    leaves the rest without meaning, or would take too much time or memory, ends the reading
    (``_stop``). A node is a value, a list, a map or a key; a part that is used again through an
    alias counts each time, as files that double themselves do no harm then.
    """

    def __init__(self, file: str, events: Iterator[Any]) -> None:
        self.positions: dict[Path, tuple[int, int]] = {}
        self._file = file
        self._events = events
        self._problems: list[ScenarioProblem] = []
        self._anchors: dict[str, _Anchored] = {}
        self._nodes = self._aliases = 0

    def document(self) -> tuple[Any, Positions]:
        """The plain data, and where its parts stand. Raises ``ScenarioRefused``, and what the
        parser of YAML raises."""
        data: object = None
        for event in self._events:
            # Once the whole has a position, one document was read.
            if isinstance(event, yaml.DocumentStartEvent) and () in self.positions:
                self._stop(event, "got a second document (---), a file holds one scenario")
            if isinstance(event, yaml.NodeEvent):
                data = self._node(event, ())
        if self._problems:
            raise ScenarioRefused(self._problems)
        return data, self.positions

    def _stop(self, event: Any, message: str) -> NoReturn:
        """End the reading with a fault, and those before it."""
        raise ScenarioRefused([*self._problems, _problem(self._file, event.start_mark, message)])

    def _complain(self, event: Any, message: str) -> None:
        """Note a fault and read on; one too many ends the reading."""
        if len(self._problems) >= MOST_FAULTS:
            place = _place(event.start_mark)
            raise ScenarioRefused([*self._problems, more_follow(self._file, *place)])
        self._problems.append(_problem(self._file, event.start_mark, message))

    def _count(self, event: Any, nodes: int) -> None:
        """So many nodes more are read, or used again: ten lines of aliases may stand for millions
        of values."""
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            self._stop(
                event, f"got more than {MAX_NODES} values, aliases counted each time they are used"
            )

    def _node(self, event: Any, path: Path) -> object:
        """The plain data that begins with an event; what belongs to it is taken from the events."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        nodes_before = self._nodes
        self._count(event, 1)
        self._no_tag(event)
        self.positions.setdefault(path, _place(event.start_mark))
        value: object
        if isinstance(event, yaml.ScalarEvent):
            value = self._meaning(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._list(event, path)
        else:
            value = self._map(event, path)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, self._nodes - nodes_before)
        return value

    def _check_depth(self, event: Any, path: Path) -> None:
        """Refuse a part so deep that reading it, which calls itself, would end the process."""
        if len(path) >= MAX_DEPTH:
            self._stop(event, f"got parts nested deeper than {MAX_DEPTH}")

    def _until(self, end: type[yaml.Event]) -> Iterator[Any]:
        """The first event of each item, up to the end of a list or map."""
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

    def _list(self, start: Any, path: Path) -> list[object]:
        """The list that begins with an event; its items have their places in the path."""
        self._check_depth(start, path)
        items: list[object] = []
        for event in self._until(yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
        return items

    def _map(self, start: Any, path: Path) -> dict[str, object]:
        """The map that begins with an event: the parser gives keys and values in turn."""
        self._check_depth(start, path)
        members: dict[str, object] = {}
        for event in self._until(yaml.MappingEndEvent):
            key = self._key(event, path, members)
            members[key] = self._node(next(self._events), (*path, key))
        return members

    def _key(self, event: Any, path: Path, known: Mapping[str, object]) -> str:
        """The key of a map at a path that has some keys already."""
        if not isinstance(event, yaml.ScalarEvent):
            got = "an alias" if isinstance(event, yaml.AliasEvent) else "a map or a list"
            self._stop(event, f"got {got} as a key, wanted a name")
        self._count(event, 1)
        self._no_tag(event)
        key = str(event.value)
        if key == "<<" and not event.style:
            self._complain(event, "merge keys (<<) are not read: write the keys out")
        if key in known:
            line, _ = self.positions[*path, key]
            self._complain(event, f"got the key '{key[:60]}' twice, first in line {line}")
        self.positions[*path, key] = _place(event.start_mark)
        return key

    def _alias(self, event: Any, path: Path) -> object:
        """What ``*name`` stands for: the same object again, as nothing changes what was read."""
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            self._stop(event, f"got more than {MAX_ALIASES} aliases (*name)")
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            self._stop(
                event,
                f"got *{event.anchor}, but no finished part before it is marked &{event.anchor}",
            )
        self._count(event, anchored.nodes)
        self.positions.setdefault(path, _place(event.start_mark))
        return anchored.value

    def _no_tag(self, event: Any) -> None:
        """Refuse ``!!str 5`` and the like: a tag says of a value what it does not look like."""
        if event.tag is not None:
            self._complain(
                event,
                f"got the tag {event.tag[:60]}, and tags are not read: write the value plainly",
            )

    def _meaning(self, event: Any) -> Hashable:
        """What a word or a text means."""
        text: str = event.value
        # It is quoted. Of a plain word the C reader says "" and the Python reader None.
        if event.style:
            return text
        if text in _NULL:
            return None
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        if _WHOLE.fullmatch(text) or _DECIMAL.fullmatch(text):
            if sum(char.isdigit() for char in text) > MAX_DIGITS:
                self._complain(
                    event,
                    f"got a number of more than {MAX_DIGITS} digits: quote this, it is a name",
                )
                return text
            return int(text) if _WHOLE.fullmatch(text) else Decimal(text)
        if _DOUBTFUL.fullmatch(text):
            self._complain(
                event,
                f"got {text[:40]}: quote this for a text, or write a number with plain digits",
            )
        return text


_NOT_TEXT = re.compile(
    "|".join((r"<<|[-+]?[0-9]+\.?[0-9]*|[-+]?\.[0-9]+", _DOUBTFUL.pattern, *_NULL, *_TRUE, *_FALSE))
)
"""A plain word that this reader, or one of all YAML 1.2, does not take for a text."""
_PARAGRAPH = re.compile(r"\S+( \S+)+")
_FIRST_LINE = "# yaml-language-server: $schema=scenario.schema.json\n"
_WIDTH = 108
_LONGEST_LINE = 88
"""Characters, as Python shows them, up to which a map or a list stands in one line."""


def scenario_text(scenario: Mapping[str, object]) -> str:
    """The YAML text of a scenario's plain data, keys in the order given. A text is quoted only
    where it would be taken for something else, a long one folded; decimals keep their digits; small
    maps and lists stand in one line."""
    return _FIRST_LINE + yaml.dump(
        scenario, Dumper=_Writer, sort_keys=False, width=_WIDTH, allow_unicode=True
    )


class _Writer(yaml.SafeDumper):
    """Writes as the shipped scenarios are written. Every scalar is a text to it: ``represent_data``
    says which of them are not to stand plainly."""

    def represent_data(self, data: object) -> yaml.Node:
        """A map or a list in one line when it is short; a text quoted or folded where it must be;
        anything else plainly."""
        is_short = len(str(data)) <= _LONGEST_LINE
        if isinstance(data, Mapping):
            return self.represent_mapping("tag:yaml.org,2002:map", data, flow_style=is_short)
        if isinstance(data, (list, tuple)):
            return self.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=is_short)
        style = None
        if not isinstance(data, str):
            data = format(data, "f") if isinstance(data, Decimal) else json.dumps(data)
        elif _NOT_TEXT.fullmatch(data) or _ESCAPED_PAIRS.search(data):
            # Plainly, ``read`` would take it for a number, or make one character of two escapes.
            style = '"'
        elif "\n" in data and not _STRANGE_BREAK.search(data):
            # A block would lose a strange break; in quotes it is an escape.
            style = "|"
        elif not is_short and _PARAGRAPH.fullmatch(data):
            style = ">"
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)

    def choose_scalar_style(self) -> str:
        """Double quotes everywhere, as in the shipped scenarios."""
        return super().choose_scalar_style().replace("'", '"')

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Items of a list stand deeper than its key, as in the shipped scenarios."""
        super().increase_indent(flow, indentless=False)


# Else it would quote what older YAML takes for something else than a text, such as 18:05 and NO.
_Writer.yaml_implicit_resolvers = {}
