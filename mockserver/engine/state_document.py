"""A whole sandbox as one versioned document of plain data, a sandbox from a document of any origin,
and a copy under another key.

Tables and rows are found by their types: one that is added to a sandbox is exported without a line
here. The document of an imported document has equal bytes. Source: docs/control-api.md
(``/__admin/state``, ``/__admin/fork``).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, make_dataclass, replace
from heapq import heappush
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from mockserver.assumptions import ROWS, Profile
from mockserver.domain.batch import LINES
from mockserver.domain.clock import Clock, ClockMode, Micros
from mockserver.domain.codes import Code
from mockserver.domain.constraints import Ascii, NonNegative
from mockserver.domain.cooperative import Cooperative, run_to_end
from mockserver.domain.errors import ForeignDocument, Refused
from mockserver.domain.ids import KINDS, Seed
from mockserver.domain.record import mutable, record
from mockserver.engine import consistency
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.codec import MOST_FAULTS, ImportFault, form, stored
from mockserver.engine.config import SandboxConfig
from mockserver.engine.indexed_table import Table
from mockserver.engine.result import First, FirstAnswer
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Schedule
from mockserver.engine.tables import ROW_CLASSES, Tables
from mockserver.scenario.parse import parse
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.provider_outcome import ProviderOutcome
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.tally import Tallies

FORMAT = "mockserver-sandbox"
VERSION = 1
SALT = Ascii(64)
"""What the digest of a card number takes as its key."""

MOST_COUNTERS = 1_000
"""Counters of a document that are of no kind known here: they are read in one step. A sandbox has
those and all that are known, and its document is taken again."""

_HIDDEN = "***"

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


KNOWN: Mapping[str, Collection[str]] = {
    "": [one.name for one in stored(State)],
    "tables": ROW_CLASSES,
}
"""What a document may have, and its tables: of others none is read to its end."""


def export(sandbox: Sandbox, *, secrets: bool) -> Cooperative[ExportedState]:
    """The sandbox as plain data; card numbers and ccv only with ``secrets``. After each piece of
    work there is a rest, in which the sandbox may change: the document is that of the beginning."""
    state = _state(sandbox, secrets=secrets)
    for name in ROW_CLASSES:
        setattr(state.tables, name, getattr(sandbox, name).rows.copy())
    batches = state.tables.batches = [batch.copied() for batch in sandbox.batches]
    planned, state.schedule.entries = Schedule(0, state.schedule.entries), []
    while planned.entries:
        state.schedule.entries += planned.take(LINES)
        yield
    for batch in batches:
        for start in range(0, len(batch.rows), LINES):
            batch.settle_rows(start)
            yield
    document: ExportedState = yield from form(State).write_in_steps(state, secrets)
    return document


def document(sandbox: Sandbox, *, secrets: bool) -> ExportedState:
    """The same at once, where there is nobody else to serve."""
    return run_to_end(export(sandbox, secrets=secrets))


def shown_pairs(
    pairs: Iterable[tuple[Any, Any]], take: Callable[[Any, Any, Any], None]
) -> Cooperative[None]:
    """Give ``take`` the first object of each pair, and both as an export without secrets shows
    them."""
    for mine, theirs in pairs:
        write_in_steps = form(mine.__class__).write_in_steps
        here = yield from write_in_steps(mine, False)
        there = yield from write_in_steps(theirs, False)
        take(mine, here, there)
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
            {
                name: replace(tally, keys=tally.keys.copy())
                for name, tally in sorted(tallies.rules.items())
            },
            dict(sorted(tallies.calls.items())),
        ),
        tables=Rows(**{name: [] for name in ROW_CLASSES}),
        records=Records(
            {batch_id: rows.copy() for batch_id, rows in sandbox.scripts.items()},
            {name: replace(first) for name, first in sandbox.idempotency.items()},
            {name: replace(first) for name, first in sandbox.replays.items()} or None,
        ),
        scenarios=carried_scenarios(sandbox.config.scenarios, secrets=secrets),
        salt=sandbox.cards.salt,
    )


def _clock_of(sandbox: Sandbox) -> Clock:
    """A clock of its own that goes on from here. One that stands needs no machine time: without it
    equal stories export equal bytes. One that is held while webhooks are sent has not run since it
    was anchored."""
    clock = sandbox.clock
    if clock.mode is ClockMode.MANUAL:
        return replace(clock, real=0)
    return replace(clock, real=sandbox.touched if clock.holds else clock.real)


@record
class ReadState:
    """What a sandbox is made of, as a document says it: all but the rows, the cards, and the tables
    with the rows."""

    state: State
    cards: CardRegistry
    tables: Mapping[str, Table[Any]]

    def opened(self, key: str, config: SandboxConfig, real: Micros) -> Sandbox:
        """The sandbox that they make. Their schedule holds a heap."""
        state = self.state
        assumed = config.assumed.or_else(state.profile, state.assumptions)
        sandbox = Sandbox(
            key, config if config.seed == state.seed else replace(config, seed=state.seed), real
        )
        sandbox.origin, sandbox.own, sandbox.assumed = state.origin, assumed, assumed
        self.cards.salt = sandbox.cards.salt if state.salt is None else state.salt
        sandbox.cards, sandbox.clock = self.cards, state.clock
        sandbox.schedule, sandbox.scripts = state.schedule, state.records.scripts
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
        newest = (
            table.rows[-1].added for name in ROW_CLASSES if (table := getattr(sandbox, name)).rows
        )
        sandbox.now = max(sandbox.clock.read(real), *newest)
        sandbox.past = None
        sandbox.look_back()
        return sandbox

    @property
    def carried_rules(self) -> int:
        """How many rules the scenarios have that it carries."""
        lists = [one.data.get("rules") for one in self.state.scenarios or ()]
        return sum(len(rules) for rules in lists if isinstance(rules, list))

    def config(self, in_force: SandboxConfig, config_of: ConfigOf) -> SandboxConfig:
        """The config under the scenarios that it carries: the one in force without any, or when it
        has the same. Of others, a scenario that is in force is taken as it is, with its place.
        Raises ``ForeignDocument`` (90) for a scenario that would be refused as a file."""
        given, secrets, write = self.state.scenarios, self.state.secrets, form(list[Carried]).write
        wanted = write(given or [], secrets)
        ours = write(carried_scenarios(in_force.scenarios, secrets=secrets), secrets)
        if given is None or wanted == ours:
            return in_force
        scenarios: list[Scenario] = []
        faults: list[tuple[str, str]] = []
        for place, (one, written) in enumerate(zip(given, wanted, strict=True)):
            if written in ours:
                scenarios.append(in_force.scenarios[ours.index(written)])
                continue
            data = one.data if one.setup is None else {**one.data, "setup": one.setup}
            try:
                kept = parse(
                    data, {}, file=one.file, name=one.name, builtin=one.built_in, was_taken=True
                )
                scenarios.append(kept)
            except ScenarioRefused as refused:
                faults += [
                    (f"scenarios.{place}.data", f"{fault.path}: {fault.message}")
                    for fault in refused.problems
                ]
        with _naming_every_place():
            if faults:
                raise ImportFault(*faults[:MOST_FAULTS])
            return config_of(scenarios)

    def rules_not_in_force(self, sandbox: Sandbox) -> list[str]:
        """Rules whose counters it holds and which are not in force here, or not in the same
        words."""
        return sorted(self.state.rules.rules.keys() - sandbox.director.tallies.rules.keys())


def copied(sandbox: Sandbox, key: str, real: Micros) -> Cooperative[Sandbox]:
    """The same sandbox under another key, as an export with secrets would restore it, of the
    instant at which this begins: both share the rows, which are values, so that each takes room
    only for what then differs."""
    state = _state(sandbox, secrets=True)
    tables = {
        name: getattr(sandbox, name).copied(getattr(row, "copied", None))
        for name, row in ROW_CLASSES.items()
    }
    cards, config = sandbox.cards.copied(), sandbox.config
    for table in tables.values():
        while table.learn_more_asked():
            yield
    return ReadState(state, cards, tables).opened(key, config, real)


def read(document: dict[str, Any]) -> Cooperative[ReadState]:
    """What a document says; it is used up by that. Raises ``ForeignDocument`` (90) for anything
    that this version did not write, with every fault, as far as they can be read."""
    with _naming_every_place():
        if document.get("format") != FORMAT:
            raise ImportFault(
                ("format", f"wanted a state document of this product, which says format: {FORMAT}")
            )
        if document.get("version") != VERSION:
            got = str(document.get("version"))[:20]
            raise ImportFault(
                ("version", f"got version {got} of the state document, wanted {VERSION}")
            )
        counters = document.get("counters")
        if isinstance(counters, dict) and (count := len(counters.keys() - KINDS)) > MOST_COUNTERS:
            raise ImportFault(
                ("counters", f"got {count} of unknown kinds, wanted {MOST_COUNTERS} at most")
            )
        salt = document.get("salt")
        cards = CardRegistry(salt if isinstance(salt, str) and SALT.fault(salt) is None else "")
        state: State = yield from form(State).read_in_steps(document, cards)
        planned, state.schedule.entries = state.schedule.entries, []
        for entry in planned:
            heappush(state.schedule.entries, entry)
            yield
        fresh = Tables()
        tables: dict[str, Table[Any]] = {name: getattr(fresh, name) for name in ROW_CLASSES}
        for name, table in tables.items():
            for row in getattr(state.tables, name):
                table.add(row)
                yield
        return ReadState(state, cards, tables)


def sandbox_of(
    reading: ReadState, key: str, config: SandboxConfig, real: Micros
) -> Cooperative[Sandbox]:
    """The sandbox that a document describes, under any key. Raises ``ForeignDocument`` (90) for
    what makes no sense, all faults at once."""
    with _naming_every_place():
        sandbox = reading.opened(key, config, real)
        found: list[tuple[str, str]] = []
        for fault in consistency.faults(sandbox):
            found += [fault] if fault is not None else []
            if len(found) == MOST_FAULTS:
                break
            yield
        if found:
            raise ImportFault(*found)
        return sandbox


@contextmanager
def _naming_every_place() -> Iterator[None]:
    try:
        yield
    except ImportFault as fault:
        faults = {place[:1].upper() + place[1:]: words for place, words in fault.faults}
        raise ForeignDocument(Code.VALIDATION_ERROR, faults) from None
    except Refused as refused:
        raise ForeignDocument(refused.code, refused.details) from None


def carried_scenarios(scenarios: Sequence[Scenario], *, secrets: bool) -> list[Carried]:
    """Scenarios in the order in which they were given."""
    found = []
    for scenario in scenarios:
        data = {
            name: part
            for name, part in scenario.source.items()
            if name not in ("examples", "setup")
        }
        setup = scenario.source.get("setup")
        data, setup = (
            data if secrets else _without_secrets(data),
            setup if isinstance(setup, list) else None,
        )
        found.append(
            Carried(scenario.name, PurePath(scenario.file).name, scenario.builtin, data, setup)
        )
    return found


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _HIDDEN if key == "authorization" else _without_secrets(one)
            for key, one in value.items()
        }
    return [_without_secrets(one) for one in value] if isinstance(value, list) else value
