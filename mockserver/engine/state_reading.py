"""A sandbox from a state document of any origin, and a copy of one under another key.

A document, in either of its forms, is read into a ``State`` (``state_document``), with its cards
and tables (``ReadState``). Nothing of it is trusted: each value is checked as it is read
(``line_reading``), then what must hold between the values (``consistency``). Whatever is wrong is
told at once, each fault by its place, or by the number of its line.

A copy needs no document: the state of one instant and tables that share the rows, which are values,
are opened as if they had been read. All of this but the copying itself may be done in a thread.

Source: docs/control-api.md (``/__admin/state``, ``/__admin/fork``).
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from heapq import heappush
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from mockserver.domain.batch import Batch
from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import ForeignDocument, Refused
from mockserver.domain.ids import KINDS
from mockserver.domain.record import record
from mockserver.engine import consistency
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.config import SandboxConfig
from mockserver.engine.indexed_table import Table
from mockserver.engine.line_reading import (
    MOST_FAULTS,
    Fault,
    ImportFault,
    checked_value_of,
    plain_of,
)
from mockserver.engine.lines import View, line_of
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import ScheduledWork
from mockserver.engine.state_document import (
    FORMAT,
    LONGEST_OBJECT,
    PARTS,
    READABLE,
    SALT,
    VERSION,
    BatchRowsLine,
    Carried,
    FirstLine,
    ReplayLine,
    RuleKeysLine,
    RuleLine,
    ScheduleLine,
    ScriptLine,
    State,
    carried_scenarios,
    rows_by_table,
    state_now,
)
from mockserver.engine.tables import ROW_CLASSES, Tables
from mockserver.scenario.parse import parse
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.scenario import Scenario

V = TypeVar("V")

MOST_COUNTERS = 1_000
"""Counters of a document that are of no kind known here: they are read in one step. A sandbox has
those and all that are known, and its document is taken again."""

_ROW = re.compile(r"(?P<list>tables\.\w+|schedule\.entries)\.(?P<number>\d+)\.?(?P<within>.*)")
"""The place of a fault in a row."""

ConfigOf: TypeAlias = Callable[[Sequence[Scenario]], SandboxConfig]


@record
class ReadState:
    """What a sandbox is made of, as a document says it: all but the rows, the cards, and the tables
    with the rows; of lines also the ``numbers`` of those of each list of rows."""

    state: State
    cards: CardRegistry
    tables: Mapping[str, Table[Any]]
    numbers: Mapping[str, Sequence[int]] | None = None

    def opened(self, key: str, config: SandboxConfig, real: Micros) -> Sandbox:
        """The sandbox that they make. Their schedule holds a heap. Digests of card numbers are only
        of use with the salt that they were made with; a document without secrets lacks it, and its
        cards are met anew."""
        state = self.state
        assumed = config.assumed.reused_or_new(state.profile, state.assumptions)
        if config.seed != state.seed:
            config = replace(config, seed=state.seed)
        sandbox = Sandbox(key, config, real)
        sandbox.origin = state.origin
        sandbox.own = sandbox.assumed = assumed
        self.cards.salt = sandbox.cards.salt if state.salt is None else state.salt
        sandbox.cards = self.cards
        sandbox.clock = state.clock
        sandbox.schedule = state.schedule
        sandbox.scripts = state.records.scripts
        for name, first in state.records.idempotency.items():
            sandbox.idempotency.put(name, first)
        for name, answer in (state.records.replays or {}).items():
            sandbox.replays.put(name, answer)
        sandbox.ids.counters.update(state.counters)
        sandbox.director.take_over(state.rules)
        for name, table in self.tables.items():
            setattr(sandbox, name, table)
        # A clock that runs may have been read on a machine whose own is ahead: rows stay in the
        # order of their adding.
        newest = [table.rows[-1].added for table in self.tables.values() if table.rows]
        sandbox.now = max([sandbox.clock.read(real), *newest])
        # The past that it was opened with listens to the tables that were replaced.
        sandbox.past = None
        sandbox.look_back()
        return sandbox

    def config(self, in_force: SandboxConfig, config_of: ConfigOf) -> SandboxConfig:
        """The config under the scenarios that it carries: the one in force without any, or when it
        has the same. Of others, a scenario that is in force is taken as it is, with its place.
        Raises ``ForeignDocument`` (90) for a scenario that would be refused as a file."""
        carried, secrets = self.state.scenarios, self.state.secrets
        if carried is None:
            return in_force
        view = View.WITH_SECRETS if secrets else View.MASKED
        # Both as a document says them: it may lack secrets that the ones in force have.
        wanted = plain_of(line_of(carried, view))
        ours = plain_of(line_of(carried_scenarios(in_force.scenarios, secrets=secrets), view))
        if wanted == ours:
            return in_force
        scenarios: list[Scenario] = []
        faults: list[Fault] = []
        for place, scenario in enumerate(carried):
            if wanted[place] in ours:
                place_in_force = ours.index(wanted[place])
                scenarios.append(in_force.scenarios[place_in_force])
                continue
            try:
                scenarios.append(_parsed(scenario))
            except ScenarioRefused as refused:
                for problem in refused.problems:
                    words = f"{problem.path}: {problem.message}"
                    faults.append((f"scenarios.{place}.data", words))
        with _naming_every_place():
            if faults:
                raise ImportFault(*faults[:MOST_FAULTS])
            return config_of(scenarios)

    def rules_not_in_force(self, sandbox: Sandbox) -> list[str]:
        """Rules whose counters it holds and which are not in force here, or not in the same
        words."""
        return sorted(self.state.rules.rules.keys() - sandbox.director.tallies.rules.keys())


def _parsed(carried: Carried) -> Scenario:
    """A scenario that a document carries, with the set-up that a document with secrets has of it.
    Raises ``ScenarioRefused``."""
    data = carried.data
    if carried.setup is not None:
        data = {**data, "setup": carried.setup}
    return parse(
        data, {}, file=carried.file, name=carried.name, builtin=carried.built_in, was_taken=True
    )


def copied(sandbox: Sandbox, key: str, real: Micros) -> Callable[[], Sandbox]:
    """What makes the same sandbox under another key, as an export with secrets would restore it, of
    this instant: both share the rows, which are values, so that each takes room only for what then
    differs."""
    # Now, in the step of the event loop; ``make`` may run in a thread, while the sandbox goes on.
    state = state_now(sandbox, secrets=True)
    tables = {}
    for name, row_class in ROW_CLASSES.items():
        # Batches alone change in place, and say how one is copied.
        copy_row = getattr(row_class, "copied", None)
        tables[name] = getattr(sandbox, name).copied(copy_row)
    salt, facts, config = sandbox.cards.salt, sandbox.cards.facts.copy(), sandbox.config

    def make() -> Sandbox:
        cards = CardRegistry(salt)
        for card_facts in facts.values():
            cards.remember(card_facts)
        for table in tables.values():
            table.learn_asked()
        return ReadState(state, cards, tables).opened(key, config, real)

    return make


def read(document: dict[str, Any]) -> ReadState:
    """What a document says that is one object; it is used up by that. Raises ``ForeignDocument``
    (90) for anything that this version does not read, with every fault, as far as they can be
    read."""
    with _naming_every_place():
        return _read_state(*_header(document))


def read_lines(parts: deque[bytes], loads: Callable[[bytes, int], Any]) -> ReadState:
    """What a document says that is lines; the parts in which they came are used up by that.
    ``loads`` reads the line of a number. Raises as :func:`read`, with the numbers of lines."""
    reader = _LineReader()
    for number, line in enumerate(_lines_in(parts), 1):
        if not line.strip():
            continue
        is_too_long = len(line) > LONGEST_OBJECT
        # The first may be a document of an earlier version, whatever its size: those are one line.
        if is_too_long and reader.has_begun:
            words = f"got more than {LONGEST_OBJECT} bytes, which is the longest line"
            raise ForeignDocument(Code.VALIDATION_ERROR, {f"Line {number}": words})
        reader.take(number, loads(line, number))
    return reader.end()


def _lines_in(parts: deque[bytes]) -> Iterator[bytes]:
    """The lines of a text that comes in parts."""
    pieces: list[bytes] = []
    while parts:
        end_of_line, *more_lines = parts.popleft().split(b"\n")
        pieces.append(end_of_line)
        for line in more_lines:
            yield b"".join(pieces)
            pieces = [line]
    yield b"".join(pieces)


class _LineReader:
    """Reads a document line by line. ``numbers`` are the lines of the rows of each list, so that
    what is wrong between rows can be told by line as well."""

    def __init__(self) -> None:
        self.numbers: dict[str, array[int]] = {f"tables.{name}": array("L") for name in ROW_CLASSES}
        self.numbers["schedule.entries"] = array("L")
        self._state: State | None = None
        self._cards = CardRegistry("")
        self._batches: dict[str, Batch] = {}
        self._faults: dict[str, str] = {}

    @property
    def has_begun(self) -> bool:
        """Whether it has read the header."""
        return self._state is not None

    def take(self, number: int, raw: object) -> None:
        """Read a line. Raises ``ForeignDocument`` when no more faults are to be named."""
        try:
            if self._state is None:
                self._begin(number, raw)
            else:
                self._put(self._state, number, raw)
        except ImportFault as fault:
            # A fault of the whole line has no place in it.
            self._faults[f"Line {number}"] = str(fault).removeprefix(": ")
        # Without a header nobody knows what the lines behind it are.
        has_no_header = self._state is None
        if self._faults and (has_no_header or len(self._faults) >= MOST_FAULTS):
            raise ForeignDocument(Code.VALIDATION_ERROR, self._faults)

    def _begin(self, number: int, raw: object) -> None:
        """Take in the header. Raises ``ImportFault``."""
        if not isinstance(raw, dict):
            raise ImportFault(("", "wanted the header of a state document"))
        self._state, self._cards = _header(raw)
        # A document that is one object has all of its rows in it.
        for table, rows in rows_by_table(self._state):
            self.numbers[f"tables.{table}"].extend([number] * len(rows))
        self._batches = {batch.batch_id: batch for batch in self._state.tables.batches}

    def _put(self, state: State, number: int, raw: object) -> None:
        """Take in a line behind the header. Raises ``ImportFault``."""
        part: object = None
        if isinstance(raw, dict):
            part = raw.pop("part", None)
        if not isinstance(part, str) or part not in PARTS:
            raise ImportFault(("part", f"wanted one of {', '.join(PARTS)}"))
        value = checked_value_of(PARTS[part], raw, self._cards)
        if part in ROW_CLASSES:
            getattr(state.tables, part).append(value)
            self.numbers[f"tables.{part}"].append(number)
            if isinstance(value, Batch):
                self._batches[value.batch_id] = value
        elif isinstance(value, BatchRowsLine):
            # The batch that the line before has begun: its rows are too many for one line.
            batch = _before(self._batches, "batch_id", value.batch_id)
            batch.rows += value.rows
        elif isinstance(value, ScheduleLine):
            state.schedule.entries.append(value.entry)
            self.numbers["schedule.entries"].append(number)
        else:
            _put_record(state, value)

    def end(self) -> ReadState:
        """What all lines say. Raises ``ForeignDocument`` with what was wrong in them."""
        if self._state is None:
            self._faults.setdefault("Line 1", "wanted the header of a state document")
        if self._faults or self._state is None:
            raise ForeignDocument(Code.VALIDATION_ERROR, self._faults)
        return replace(_read_state(self._state, self._cards), numbers=self.numbers)


def _put_record(state: State, value: object) -> None:
    """Take in a line of what is stored outside the tables. Raises ``ImportFault``."""
    rules, records = state.rules.rules, state.records
    match value:
        case RuleLine():
            _put_once(rules, "rule", value.rule, value.tally)
        case RuleKeysLine():
            _before(rules, "rule", value.rule).keys.update(value.keys)
        case ScriptLine():
            records.scripts.setdefault(value.batch_id, {}).update(value.outcomes)
        case FirstLine():
            _put_once(records.idempotency, "key", value.key, value.first)
        case ReplayLine():
            if records.replays is None:
                records.replays = {}
            _put_once(records.replays, "key", value.key, value.answer)
        case _:
            raise TypeError(f"{type(value).__name__} is no line of a document")


def _put_once(by_key: dict[str, V], name: str, key: str, value: V) -> None:
    """Keep what no line before has brought. Raises ``ImportFault`` at the field of a name."""
    if key in by_key:
        raise ImportFault((name, "got one that a line before it has"))
    by_key[key] = value


def _before(by_key: Mapping[str, V], name: str, key: str) -> V:
    """What a line before has brought. Raises ``ImportFault`` at the field of a name."""
    if key not in by_key:
        raise ImportFault((name, "wanted one that a line before it has"))
    return by_key[key]


def _header(raw: dict[str, Any]) -> tuple[State, CardRegistry]:
    """What an object says, and the cards in it. What it is comes first: of a document that is none
    of ours every other fault would be noise. Raises ``ImportFault``."""
    if raw.get("format") != FORMAT:
        raise ImportFault(
            ("format", f"wanted a state document of this product, which says format: {FORMAT}")
        )
    if raw.get("version") not in READABLE:
        got = str(raw.get("version"))[:20]
        raise ImportFault(
            ("version", f"got version {got} of the state document, wanted {VERSION} or earlier")
        )
    counters = raw.get("counters")
    if isinstance(counters, dict):
        unknown = len(counters.keys() - KINDS)
        if unknown > MOST_COUNTERS:
            raise ImportFault(
                ("counters", f"got {unknown} of unknown kinds, wanted {MOST_COUNTERS} at most")
            )
    # The cards need the salt before the rest is read. One that is wrong is a fault of the state.
    salt = raw.get("salt")
    cards = CardRegistry("")
    if isinstance(salt, str) and SALT.fault(salt) is None:
        cards = CardRegistry(salt)
    return checked_value_of(State, raw, cards), cards


def _read_state(state: State, cards: CardRegistry) -> ReadState:
    """The tables of what was read, and its schedule in order."""
    # One by one: to make a heap of 100,000 in one call would let no other thread run.
    heap: list[ScheduledWork] = []
    for entry in state.schedule.entries:
        heappush(heap, entry)
    state.schedule.entries = heap
    fresh = Tables()
    tables: dict[str, Table[Any]] = {name: getattr(fresh, name) for name in ROW_CLASSES}
    for name, table in tables.items():
        for row in getattr(state.tables, name):
            table.add(row)
    return ReadState(state, cards, tables)


def sandbox_of(reading: ReadState, key: str, config: SandboxConfig, real: Micros) -> Sandbox:
    """The sandbox that a document describes, under any key. Raises ``ForeignDocument`` (90) for
    what makes no sense, all faults at once."""
    with _naming_every_place(reading.numbers):
        sandbox = reading.opened(key, config, real)
        faults = list(islice(consistency.faults(sandbox), MOST_FAULTS))
        if faults:
            raise ImportFault(*faults)
        return sandbox


@contextmanager
def _naming_every_place(numbers: Mapping[str, Sequence[int]] | None = None) -> Iterator[None]:
    """Name each fault by its place, or by the number of its line."""
    try:
        yield
    except ImportFault as fault:
        raise ForeignDocument(Code.VALIDATION_ERROR, _places(fault.faults, numbers)) from None
    except Refused as refused:
        raise ForeignDocument(refused.code, refused.details) from None


def _places(faults: Iterable[Fault], numbers: Mapping[str, Sequence[int]] | None) -> dict[str, str]:
    """Faults by their places, or by line where the document was lines: ``numbers`` are those of the
    rows of each list. What is in no row is in the header, which is line 1."""
    if numbers is None:
        return {place[:1].upper() + place[1:]: words for place, words in faults}
    by_line: dict[str, list[str]] = {}
    for place, words in faults:
        line, place_in_line = _line_and_place(place, numbers)
        by_line.setdefault(f"Line {line}", []).append(f"{place_in_line}: {words}")
    return {line: "; ".join(told) for line, told in by_line.items()}


def _line_and_place(place: str, numbers: Mapping[str, Sequence[int]]) -> tuple[int, str]:
    """The line of a place, and the place in it."""
    match = _ROW.fullmatch(place)
    if match is None:
        return 1, place
    lines_of_rows, row = numbers.get(match["list"], ()), int(match["number"])
    line = lines_of_rows[row] if row < len(lines_of_rows) else 1
    if line == 1:
        # The header may have rows too, as a document that is one object.
        return 1, place
    return line, match["within"]
