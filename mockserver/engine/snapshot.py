"""A whole sandbox as one versioned document of plain data, and a copy of it under another key.

Tables and rows are found by their types: one that is added to a sandbox is exported without a line here.
Source: docs/control-api.md (``/__admin/state``, ``/__admin/fork``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, make_dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from mockserver.assumptions import ROWS, Profile
from mockserver.domain.batch import LINES
from mockserver.domain.clock import Clock, ClockMode, Micros
from mockserver.domain.constraints import Ascii, NonNegative
from mockserver.domain.ids import Seed
from mockserver.domain.record import mutable
from mockserver.domain.slices import Slices, at_once, in_order, parts_of
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.carried_scenarios import Carried, carried
from mockserver.engine.codec import Write, form, record_form
from mockserver.engine.config import SandboxConfig
from mockserver.engine.idempotency import First, FirstAnswer, Idempotency, Replays
from mockserver.engine.indexed_table import Table
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Schedule, ScheduledWork
from mockserver.engine.tables import ROW_CLASSES
from mockserver.scenario.director import KEYS, Tallies
from mockserver.scenario.provider_outcome import ProviderOutcome

FORMAT = "mockserver-sandbox"
VERSION = 1
SALT = Ascii(64)
"""What the digest of a card number takes as its key."""

ExportedState = dict[str, Any]


@mutable
class Records:
    """What is stored outside the tables."""

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


def export(sandbox: Sandbox, *, secrets: bool) -> Slices[ExportedState]:
    """The sandbox as plain data; card numbers and ccv only with ``secrets``. After each piece of work there is a rest,
    in which the sandbox may change: the document is that of the beginning."""
    state = _state(sandbox, secrets=secrets)
    schedule, state.schedule = state.schedule, Schedule(state.schedule.order, [])
    taken: dict[str, list[Any]] = {name: getattr(sandbox, name).rows.copy() for name in ROW_CLASSES}
    taken["batches"] = [batch.copied() for batch in taken["batches"]]
    # By the names that the document gives the rules: without secrets, a card number in one is masked.
    counted = {form(str).write(name, secrets): tally.keys for name, tally in state.rules.rules.items()}
    for tally in state.rules.rules.values():
        tally.keys = {}
    forms = {name: record_form(row) for name, row in ROW_CLASSES.items()}
    write = form(State).write
    document: ExportedState = write(state, secrets)
    for name, tally in document["rules"]["rules"].items():
        for some in parts_of(counted.pop(name)):
            tally["keys"] |= form(KEYS).write(some, secrets)
            yield
        tally["keys"] = yield from in_order(tally["keys"])
    entries = list[Any]()
    while schedule.entries:
        entries += schedule.take(LINES)
        yield
    document["schedule"]["entries"] = entries
    document["tables"] = taken
    for batch in taken["batches"]:
        for start in range(0, len(batch.rows), LINES):
            batch.settle_rows(start)
            yield
    yield from _write(entries, form(ScheduledWork).write, secrets)
    for name, rows in forms.items():
        yield from _write(taken[name], rows.write_but_lists, secrets)
        for part, inner in rows.lists.items():
            for row in taken[name]:
                yield from _write(row[part], inner.write, secrets)
    return document


def document(sandbox: Sandbox, *, secrets: bool) -> ExportedState:
    """The same at once, where there is nobody else to serve."""
    return at_once(export(sandbox, secrets=secrets))


def _write(items: list[Any], write: Write, secrets: bool) -> Iterator[None]:
    """Put plain data in the place of what was taken, with a rest after each."""
    for number, item in enumerate(items):
        items[number] = write(item, secrets)
        yield


def _state(sandbox: Sandbox, *, secrets: bool) -> State:
    """All of a document but the rows of its tables, of this instant whatever happens afterwards."""
    overrides, tallies = sandbox.assumed.overrides, sandbox.director.tallies
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
        rules=Tallies(
            tallies.first,
            {name: replace(tally, keys=tally.keys.copy()) for name, tally in sorted(tallies.rules.items())},
            dict(sorted(tallies.calls.items())),
        ),
        tables=Rows(**{name: [] for name in ROW_CLASSES}),
        records=Records(
            {batch_id: rows.copy() for batch_id, rows in sandbox.scripts.items()},
            {name: replace(first) for name, first in sandbox.idempotency.firsts.items()},
            {name: replace(first) for name, first in sandbox.replays.firsts.items()} or None,
        ),
        scenarios=carried(sandbox.config.scenarios, secrets=secrets),
        salt=sandbox.cards.salt,
    )


def _clock_of(sandbox: Sandbox) -> Clock:
    """A clock of its own that goes on from here. One that stands needs no machine time: without it equal stories export
    equal bytes. One that is held while webhooks are sent has not run since it was anchored."""
    clock = sandbox.clock
    if clock.mode is ClockMode.MANUAL:
        return replace(clock, real=0)
    return replace(clock, real=sandbox.touched if clock.holds else clock.real)


def copied(sandbox: Sandbox, key: str, real: Micros) -> Slices[Sandbox]:
    """The same sandbox under another key, as an export with secrets would restore it, of the instant at which this
    begins: both share the rows, which are values, so that each takes room only for what then differs."""
    state = _state(sandbox, secrets=True)
    tables = {name: getattr(sandbox, name).copied(getattr(row, "copied", None)) for name, row in ROW_CLASSES.items()}
    cards, config = sandbox.cards.copied(), sandbox.config
    for table in tables.values():
        yield from table.learning()
    return opened(key, config, state, tables, cards, real)


def opened(
    key: str,
    config: SandboxConfig,
    state: State,
    tables: Mapping[str, Table[Any]],
    cards: CardRegistry,
    real: Micros,
) -> Sandbox:
    """The sandbox of a state, with these tables and cards. Its schedule holds a heap."""
    assumed = config.assumed.or_else(state.profile, state.assumptions)
    sandbox = Sandbox(key, config if config.seed == state.seed else replace(config, seed=state.seed), real)
    sandbox.origin, sandbox.own, sandbox.assumed = state.origin, assumed, assumed
    cards.salt = sandbox.cards.salt if state.salt is None else state.salt
    sandbox.cards, sandbox.clock, sandbox.schedule, sandbox.scripts = (
        cards,
        state.clock,
        state.schedule,
        state.records.scripts,
    )
    sandbox.idempotency = Idempotency(state.records.idempotency.items())
    sandbox.replays = Replays((state.records.replays or {}).items())
    sandbox.ids.counters.update(state.counters)
    sandbox.director.take_over(state.rules)
    for name, table in tables.items():
        setattr(sandbox, name, table)
    # A clock that runs may have been read on a machine whose own is ahead: rows stay in the order of their adding.
    newest = (table.rows[-1].added for name in ROW_CLASSES if (table := getattr(sandbox, name)).rows)
    sandbox.now = max(sandbox.clock.read(real), *newest)
    sandbox.past = None
    sandbox.look_back()
    return sandbox
