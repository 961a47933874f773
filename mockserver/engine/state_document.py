"""A whole sandbox as a versioned document: what stands in one, and how a sandbox becomes one. How a
document, or a copy, becomes a sandbox is told in ``state_reading``.

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
(``/__admin/state``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, make_dataclass, replace
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from mockserver.assumptions import ROWS, Profile
from mockserver.domain.batch import LINES, Batch, BatchRow
from mockserver.domain.clock import Clock, ClockMode
from mockserver.domain.constraints import Ascii, NonNegative
from mockserver.domain.ids import Seed
from mockserver.domain.record import mutable, record
from mockserver.engine.line_reading import (
    plain_of,
)
from mockserver.engine.lines import View, line_of
from mockserver.engine.result import First, FirstAnswer
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Schedule, ScheduledWork
from mockserver.engine.tables import ROW_CLASSES
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

LONGEST_OBJECT = 10_000_000
"""Bytes of a document that is one object, at most, and of a line."""

MOST_OF_A_LINE = 200
"""Transactions of a batch, and the like, that stand in one line, at most."""

_HIDDEN = "***"
ExportedState = dict[str, Any]


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


def rows_by_table(state: State) -> Iterator[tuple[str, list[Any]]]:
    """The rows of each table, by its name."""
    for name in ROW_CLASSES:
        yield name, getattr(state.tables, name)


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
        for name, rows in rows_by_table(self.state):
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
        for name, rows in rows_by_table(state):
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
    state = state_now(sandbox, secrets=secrets)
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


def state_now(sandbox: Sandbox, *, secrets: bool) -> State:
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
