"""A whole sandbox as a versioned document, a sandbox from a document of any origin, and a copy
under another key.

A document is lines of JSON (``lines``): a header, which has all that is no row, then a row a line,
each with its ``part``. What may be long in one object has lines of its own, which follow it:
transactions of a batch, outcomes that a scenario has set for them, keys of a rule. The same as one
object, with the rows of each table in a list, is what a small sandbox answers when nobody asks for
lines; documents of version 1 are such objects. The header is such an object too, without rows: so
either form is read into one ``State``.

One step of the event loop takes copies (``taken``): rows are values, and batches, which change in
place, are copied with their lists of rows. Everything else needs nobody to wait for it: it may be
done in a thread, and tells how things stood when the copies were taken.

Tables and rows are found by their types: one that is added to a sandbox is exported without a line
here. The document of an imported document has equal bytes. Source: docs/control-api.md
(``/__admin/state``, ``/__admin/fork``).
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, make_dataclass, replace
from heapq import heappush
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from mockserver.assumptions import ROWS, Profile
from mockserver.domain.batch import LINES, Batch, BatchRow
from mockserver.domain.clock import Clock, ClockMode, Micros
from mockserver.domain.codes import Code
from mockserver.domain.constraints import Ascii, NonNegative
from mockserver.domain.errors import ForeignDocument, Refused
from mockserver.domain.ids import KINDS, Seed
from mockserver.domain.record import mutable, record
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
from mockserver.engine.result import First, FirstAnswer
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Schedule, ScheduledWork
from mockserver.engine.tables import ROW_CLASSES, Tables
from mockserver.scenario.parse import parse
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.provider_outcome import ProviderOutcome
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.tally import Tallies, Tally, Times

K = TypeVar("K")
V = TypeVar("V")

FORMAT = "mockserver-sandbox"
VERSION = 2
READABLE = (1, VERSION)
SALT = Ascii(64)
"""What the digest of a card number takes as its key."""

MOST_COUNTERS = 1_000
"""Counters of a document that are of no kind known here: they are read in one step. A sandbox has
those and all that are known, and its document is taken again."""

LONGEST_OBJECT = 10_000_000
"""Bytes of a document that is one object, at most, and of a line."""

MOST_OF_A_LINE = 200
"""Transactions of a batch, and the like, that stand in one line, at most."""

_HIDDEN = "***"
_ROW = re.compile(r"(?P<list>tables\.\w+|schedule\.entries)\.(?P<number>\d+)\.?(?P<within>.*)")
"""The place of a fault in a row."""

ExportedState = dict[str, Any]
ConfigOf: TypeAlias = Callable[[Sequence[Scenario]], SandboxConfig]


@record
class Carried:
    """One scenario in force. Its set-up calls, which may hold card numbers and ccv, go out with
    secrets only."""

    name: str
    file: str
    built_in: bool
    data: dict[str, object]
    setup: list[object] | None = field(default=None, repr=False)


@mutable
class Records:
    """What is stored outside the tables. ``replays`` is None rather than empty, so that a document
    names it only where answers are kept to be given again."""

    scripts: dict[str, dict[int, ProviderOutcome]]
    idempotency: dict[str, First] = field(default_factory=dict)
    replays: dict[str, FirstAnswer] | None = None


if TYPE_CHECKING:
    Rows: TypeAlias = Any
else:
    Rows = make_dataclass("Rows", [(name, list[row]) for name, row in ROW_CLASSES.items()])


@mutable
class State:
    """The parts of a document. ``salt`` is that of the digests of card numbers, and a secret."""

    format: str
    version: int
    secrets: bool
    origin: str
    seed: Seed
    profile: Profile
    assumptions: dict[str, object]
    clock: Clock
    counters: dict[str, NonNegative]
    schedule: Schedule
    rules: Tallies
    tables: Rows
    records: Records
    scenarios: list[Carried] | None = None
    salt: Annotated[str, SALT] | None = field(default=None, repr=False)


@record
class BatchRowsLine:
    """Transactions of a batch, behind those that the lines before have."""

    batch_id: str
    rows: list[BatchRow]


@record
class ScheduleLine:
    """One entry of the schedule."""

    entry: ScheduledWork


@record
class RuleLine:
    """The counters of a rule, without those of its keys."""

    rule: str
    tally: Tally


@record
class RuleKeysLine:
    """Counters of keys of a rule."""

    rule: str
    keys: dict[str, Times]


@record
class ScriptLine:
    """Outcomes of transactions of a batch, by their number from 1."""

    batch_id: str
    outcomes: dict[int, ProviderOutcome]


@record
class FirstLine:
    """The first request with an idempotency key."""

    key: str
    first: First


@record
class ReplayLine:
    """The first answer of a key."""

    key: str
    answer: FirstAnswer


PARTS: Mapping[str, type[object]] = {
    **ROW_CLASSES,
    "batch_rows": BatchRowsLine,
    "schedule": ScheduleLine,
    "rules": RuleLine,
    "rule_keys": RuleKeysLine,
    "scripts": ScriptLine,
    "idempotency": FirstLine,
    "replays": ReplayLine,
}
"""What a line behind the header is, by its ``part``."""


class TooLong(Exception):
    """A document that is too long for one object."""


@record
class Document:
    """A sandbox as it stood when its parts were copied; each is written once. ``scenarios`` are
    those in force, which never change."""

    state: State
    scenarios: Sequence[Scenario]

    def lines(self) -> Iterator[bytes]:
        """The document as lines, with their ends."""
        state, view = self.state, self._view
        self._settle()
        header = replace(
            state,
            schedule=Schedule(state.schedule.order, []),
            rules=Tallies(state.rules.first, {}, state.rules.calls),
            tables=_no_rows(),
            records=Records({}),
        )
        yield line_of(header, view) + b"\n"
        for part, value in self._parts():
            yield b'{"part":"%b",%b\n' % (part.encode(), line_of(value, view)[1:])

    def whole(self) -> bytes:
        """The document as one object. Raises ``TooLong``, for a long one before all is written: an
        object must be held and read in one piece, lines need not."""
        self._settle()
        size = 0
        tables: list[bytes] = []
        for name, rows in _rows_by_table(self.state):
            written: list[bytes] = []
            for row in rows:
                row_text = line_of(row, self._view)
                written.append(row_text)
                size += len(row_text)
                if size > LONGEST_OBJECT:
                    raise TooLong
            tables.append(b'"%b":[%b]' % (name.encode(), b",".join(written)))
        rest = line_of(replace(self.state, tables=_no_rows()), self._view)
        # The rows go in where the object has its empty tables. No text in it holds the same: its
        # quotes would be escaped.
        before, _, after = rest.partition(line_of(_no_rows()))
        text = b"%b{%b}%b" % (before, b",".join(tables), after)
        if len(text) > LONGEST_OBJECT:
            raise TooLong
        return text

    @property
    def _view(self) -> View:
        return View.WITH_SECRETS if self.state.secrets else View.MASKED

    def _settle(self) -> None:
        """Do what took too long for the step that took the copies: carry the scenarios, put the
        schedule in its order, and say of each transaction how it stands."""
        state = self.state
        state.scenarios = carried_scenarios(self.scenarios, secrets=state.secrets)
        # The copy is a heap. So many at a time are taken from it, as one call that sorts 100,000
        # would let no other thread run.
        planned = Schedule(0, state.schedule.entries)
        state.schedule.entries = []
        while planned.entries:
            state.schedule.entries += planned.take(LINES)
        for batch in state.tables.batches:
            for start in range(0, len(batch.rows), LINES):
                batch.write_current_rows(start)

    def _parts(self) -> Iterator[tuple[str, object]]:
        """All that has lines of its own, with the name of its part."""
        state = self.state
        for name, rows in _rows_by_table(state):
            for row in rows:
                if isinstance(row, Batch):
                    yield from _parts_of_batch(name, row)
                else:
                    yield name, row
        for entry in state.schedule.entries:
            yield "schedule", ScheduleLine(entry)
        for rule, tally in state.rules.rules.items():
            yield "rules", RuleLine(rule, replace(tally, keys={}))
            for keys in _in_lots(tally.keys):
                yield "rule_keys", RuleKeysLine(rule, keys)
        for batch_id, outcomes in state.records.scripts.items():
            # Of a batch without any outcome too: what is read from the lines differs in nothing.
            if not outcomes:
                yield "scripts", ScriptLine(batch_id, {})
            for lot in _in_lots(outcomes):
                yield "scripts", ScriptLine(batch_id, lot)
        for key, first in state.records.idempotency.items():
            yield "idempotency", FirstLine(key, first)
        for key, answer in (state.records.replays or {}).items():
            yield "replays", ReplayLine(key, answer)


def _parts_of_batch(name: str, batch: Batch) -> Iterator[tuple[str, object]]:
    """A batch without its rows, then its rows: a line must be read in one piece, and 100,000 rows
    are too much for that."""
    yield name, replace(batch, rows=[])
    for start in range(0, len(batch.rows), MOST_OF_A_LINE):
        rows_of_line = batch.rows[start : start + MOST_OF_A_LINE]
        yield "batch_rows", BatchRowsLine(batch.batch_id, rows_of_line)


def _in_lots(mapping: Mapping[K, V]) -> Iterator[dict[K, V]]:
    """The items of a mapping, so many at a time as a line has."""
    items = iter(mapping.items())
    lot = dict(islice(items, MOST_OF_A_LINE))
    while lot:
        yield lot
        lot = dict(islice(items, MOST_OF_A_LINE))


def _no_rows() -> Any:
    """Tables without rows: those of a header."""
    return Rows(**{name: [] for name in ROW_CLASSES})


def taken(sandbox: Sandbox, *, secrets: bool) -> Document:
    """The document of this instant; card numbers and ccv only with ``secrets``. Copies are taken at
    once, in a time that follows from the length of lists alone."""
    state = _state(sandbox, secrets=secrets)
    for name in ROW_CLASSES:
        setattr(state.tables, name, getattr(sandbox, name).rows.copy())
    # Batches alone change in place.
    state.tables.batches = [batch.copied() for batch in sandbox.batches]
    return Document(state, sandbox.config.scenarios)


def document(sandbox: Sandbox, *, secrets: bool) -> ExportedState:
    """A sandbox as plain data. Raises ``TooLong``."""
    plain: ExportedState = plain_of(taken(sandbox, secrets=secrets).whole())
    return plain


def shown_pair(mine: object, theirs: object) -> tuple[Any, Any]:
    """Two objects as an export without secrets shows them."""
    return plain_of(line_of(mine, View.MASKED)), plain_of(line_of(theirs, View.MASKED))


def _state(sandbox: Sandbox, *, secrets: bool) -> State:
    """All of a document but scenarios and the rows of its tables, of this instant whatever happens
    afterwards."""
    overrides, tallies = sandbox.assumed.overrides, sandbox.director.tallies
    tally_copies = {
        name: replace(tally, keys=tally.keys.copy())
        for name, tally in sorted(tallies.rules.items())
    }
    return State(
        format=FORMAT,
        version=VERSION,
        secrets=secrets,
        origin=sandbox.origin,
        seed=Seed(sandbox.config.seed),
        profile=sandbox.assumed.profile,
        assumptions={key: ROWS[key].kind.show(sandbox.assumed[key]) for key in sorted(overrides)},
        clock=_clock_of(sandbox),
        counters=dict(sorted(sandbox.ids.counters.items())),
        schedule=Schedule(sandbox.schedule.order, sandbox.schedule.entries.copy()),
        rules=Tallies(tallies.first, tally_copies, dict(sorted(tallies.calls.items()))),
        tables=_no_rows(),
        records=Records(
            {batch_id: rows.copy() for batch_id, rows in sandbox.scripts.items()},
            {name: replace(first) for name, first in sandbox.idempotency.items()},
            {name: replace(first) for name, first in sandbox.replays.items()} or None,
        ),
        salt=sandbox.cards.salt,
    )


def _clock_of(sandbox: Sandbox) -> Clock:
    """A clock of its own that goes on from here. One that stands needs no machine time: without it
    equal stories export equal bytes. One that is held while webhooks are sent has not run since it
    was anchored."""
    clock = sandbox.clock
    if clock.mode is ClockMode.MANUAL:
        return replace(clock, real=0)
    if clock.holds:
        return replace(clock, real=sandbox.touched)
    return replace(clock)


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
    state = _state(sandbox, secrets=True)
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
        for table, rows in _rows_by_table(self._state):
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


def _rows_by_table(state: State) -> Iterator[tuple[str, list[Any]]]:
    """The rows of each table, by its name."""
    for name in ROW_CLASSES:
        yield name, getattr(state.tables, name)


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


def carried_scenarios(scenarios: Sequence[Scenario], *, secrets: bool) -> list[Carried]:
    """Scenarios in the order in which they were given. Their examples say nothing of a sandbox, and
    stay behind."""
    carried = []
    for scenario in scenarios:
        data = dict(scenario.source)
        data.pop("examples", None)
        setup = data.pop("setup", None)
        if not secrets:
            data = _members_without_secrets(data)
        carried.append(
            Carried(
                scenario.name,
                # The folder is one of this machine.
                PurePath(scenario.file).name,
                scenario.builtin,
                data,
                setup if isinstance(setup, list) else None,
            )
        )
    return carried


def _without_secrets(value: object) -> object:
    """The plain data of a scenario without what its webhooks authorise themselves by."""
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    if isinstance(value, Mapping):
        return _members_without_secrets(value)
    return value


def _members_without_secrets(value: Mapping[str, object]) -> dict[str, object]:
    """The same of a mapping."""
    members: dict[str, object] = {}
    for key, member in value.items():
        members[key] = _HIDDEN if key == "authorization" else _without_secrets(member)
    return members
