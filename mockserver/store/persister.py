"""A sandbox in a store: its changes since the last commit as rows, the sandbox from its rows, and
when it has something to do without a request.

Parts follow from the types: every table of ``Tables`` and every memory of one who watches is a
part, so that one more is stored without a line here. What is small is in the head, which is written
whole. ``tests/store`` checks that each attribute of a sandbox is stored or one of the ``DERIVED``.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from typing import Any, Protocol, TypeAlias

from mockserver.assumptions import Assumed, Profile
from mockserver.domain.batch import Batch
from mockserver.domain.clock import EARLIEST, Clock, Micros
from mockserver.domain.ids import Seed
from mockserver.domain.record import mutable
from mockserver.domain.states import DeliveryState
from mockserver.engine import deliveries
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.config import Beginning, SandboxConfig
from mockserver.engine.journal import size_of
from mockserver.engine.result import First, FirstAnswer
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.tables import ROW_CLASSES
from mockserver.scenario.provider_outcome import ProviderOutcome
from mockserver.scenario.scenario import ClockPlan, Scenario
from mockserver.scenario.tally import Tallies
from mockserver.store.row_codec import Record, form_of, json_text
from mockserver.store.schema import (
    HEAD,
    NONSENSE,
    PAGES,
    Changes,
    Commit,
    DamagedSandbox,
    StoredRows,
    StoredSandbox,
)
from mockserver.store.table_rows import (
    BatchPart,
    CardsPart,
    JournalPart,
    LinesPart,
    MemoryPart,
    News,
    Part,
    RuleKeysPart,
    TablePart,
    deliveries_part,
    inbox_part,
    schedule_part,
)

_TABLES = {name: row for name, row in ROW_CLASSES.items() if row is not Batch}

DERIVED = frozenset({"holding", "key", "public_key", "under_way"})
"""Attributes of a sandbox that follow from what is stored, or mean nothing between two steps."""

PAGED: Mapping[str, Callable[[Any], bool]] = {
    "charges": attrgetter("challenged"),
    "payment_links": lambda link: True,
    "tokens": attrgetter("challenged"),
}
"""Tables whose objects have pages at addresses without a key, and which of the objects begin with
one."""

BEGINNING = (HEAD, "marks")
"""The parts that a sandbox begins with again when it is emptied."""

_PLAIN = (
    *(
        "origin",
        "cards.salt",
        "now",
        "horizon",
        "arrivals",
        "ids.counters",
        "schedule.order",
        "schedule.ran",
    ),
    *("journal.opened", "journal.last", "journal.given_up", "journal.gap_reason"),
    *("deliveries.changes", "deliveries.dropped", "deliveries.refused", "deliveries.held"),
    *("inboxes.number", "inboxes.dropped"),
)
"""Attributes of a sandbox that are plain data, by their paths."""

_INSTANTS = ("now", "horizon", "journal.opened")
_plain_of = attrgetter(*_PLAIN)

_Assumptions: TypeAlias = tuple[Profile, dict[str, object]]


@mutable
class Settled:
    """What a sandbox was opened with and what seldom changes. ``scenarios`` are the places of those
    in force."""

    seed: Seed
    opened_with: _Assumptions
    clock_plan: ClockPlan
    assumed: _Assumptions
    own: _Assumptions | None
    clock: Clock
    is_held: bool
    opened: tuple[dict[str, int], int] | None
    warned: list[str]
    scenarios: list[str]


@mutable
class Head:
    """The small parts of a sandbox. ``plain`` are its attributes ``_PLAIN``; ``lengths`` says how
    many rows each table has, and how many steps the journal and the stories; ``judged`` are the
    counters of those who watch it."""

    settled: Settled
    tallies: Tallies
    plain: dict[str, Any]
    lengths: dict[str, int]
    judged: dict[str, int]


class PersistenceContext(Protocol):
    """The server around its stored sandboxes: which scenarios there are, and where they are stored.
    ``unwritten`` are rows of its own that are not in the file yet."""

    unwritten: list[tuple[int, str, int, bytes]]

    def note_written(self, commit: Commit) -> None:
        """A commit is in the file."""

    def place_of(self, scenario: Scenario) -> str:
        """Where a store keeps a scenario."""

    def scenario(self, place: str) -> Scenario:
        """The scenario of a place. Raises ``LookupError``."""

    def config(self, scenarios: list[Scenario]) -> SandboxConfig:
        """The config of the server under some scenarios: that in force for new sandboxes, when they
        are the same."""
        ...


@contextmanager
def _naming(part: str) -> Iterator[None]:
    """Name the part that cannot be read."""
    try:
        yield
    except NONSENSE as fault:
        raise DamagedSandbox(part, fault) from fault


class SandboxPersister:
    """What stores one sandbox under its number: all of it at first, afterwards what is new since
    the last call."""

    def __init__(
        self,
        sandbox: Sandbox,
        number: int,
        context: PersistenceContext,
    ) -> None:
        self.sandbox = sandbox
        self.number = number
        self._context = context
        self._places: tuple[SandboxConfig, list[str]] | None = None
        self._paged = dict.fromkeys(PAGED, 0)
        self._written: int | None = None
        self._observers = sandbox.observers
        # Most parts say themselves that they have news, and most memories are empty.
        news: News = {}
        reporting: list[Part] = [
            *(TablePart(name, getattr(sandbox, name), row, news) for name, row in _TABLES.items()),
            schedule_part(sandbox, news),
            deliveries_part(sandbox, news),
            inbox_part(sandbox, news),
        ]
        named: list[Part] = [CardsPart(sandbox.cards), BatchPart(sandbox.batches)]
        others: list[Part] = [
            RuleKeysPart(sandbox, news),
            JournalPart(sandbox.journal),
        ]
        for observer in sandbox.observers:
            if observer.lines_are is not None:
                others.append(LinesPart(*observer.lines_are, observer))
        self._memories = [*_memory_parts(sandbox)]
        self._news, self._asked = news, [*named, *others]
        # In the order in which they are read: each after those that its rows name.
        self.parts = [*named, *reporting, *others, *self._memories]

    def close(self) -> None:
        """Stop listening to the sandbox and let go of it."""
        sandbox = self.sandbox
        sandbox.schedule.on_change = sandbox.director.on_count = None
        sandbox.deliveries.on_change = sandbox.inboxes.on_change = None
        for part in self.parts:
            part.close()
        vars(self).clear()

    def waiting(self) -> int:
        """How many rows have changed since the last commit, roughly."""
        return sum(map(len, self.parts))

    def gather_some(self, commit: Commit, most: int) -> bool:
        """Put about ``most`` of the changed rows into a commit when there are more than that;
        whether there are. Only for a sandbox that the file does not name yet: its last commit
        completes it."""
        if self.waiting() <= most:
            return False
        max(self.parts, key=len).gather(Changes(commit, self.number), most)
        return True

    def gather(self, commit: Commit) -> None:
        """Put the changes since the last commit into one."""
        changes, sandbox = Changes(commit, self.number), self.sandbox
        for part in (*self._news, *self._asked):
            part.gather(changes)
        self._news.clear()
        for memory in self._memories:
            if memory.memory or memory.known:
                memory.gather(changes)
        for name, length in self._paged.items():
            table = getattr(sandbox, name)
            if len(table.rows) > length:
                commit.puts += [
                    (self.number, PAGES, table.id_of(row), b"")
                    for row in table.rows[length:]
                    if PAGED[name](row)
                ]
                self._paged[name] = len(table)
        # The head is small, and written when its text has changed.
        text = json_text(self._head())
        if (written := hash(text)) != self._written:
            self._written = written
            commit.puts.append((self.number, HEAD, 0, text))

    def _head(self) -> list[object]:
        """The fields of the ``Head``."""
        sandbox, tallies, journal = (
            self.sandbox,
            self.sandbox.director.tallies,
            self.sandbox.journal,
        )
        counted = {name: replace(tally, text="", keys={}) for name, tally in tallies.rules.items()}
        lengths = {name: len(getattr(sandbox, name).rows) for name in ROW_CLASSES}
        return [
            self._settled(),
            Tallies(tallies.first, counted, tallies.calls),
            dict(zip(_PLAIN, _plain_of(sandbox), strict=True)),
            {**lengths, "journal": len(journal.entries), "stories": len(journal.stories)},
            {
                name: count
                for observer in self._observers
                for name, count in observer.counters().items()
            },
        ]

    def _settled(self) -> Settled:
        sandbox, config = self.sandbox, self.sandbox.config
        return Settled(
            seed=Seed(config.seed),
            opened_with=(config.assumed.profile, config.assumed.overrides),
            clock_plan=config.clock,
            assumed=(sandbox.assumed.profile, sandbox.assumed.overrides),
            own=(sandbox.own.profile, sandbox.own.overrides) if sandbox.own is not None else None,
            clock=sandbox.clock,
            is_held=sandbox.clock.holds > 0,
            opened=sandbox.opened,
            warned=sorted(sandbox.warned),
            scenarios=self._places_of(config),
        )

    def _places_of(self, config: SandboxConfig) -> list[str]:
        """Where the scenarios of a config are stored, looked up once for each config."""
        if self._places is None or self._places[0] is not config:
            places = [self._context.place_of(scenario) for scenario in config.scenarios]
            self._places = config, places
        return self._places[1]

    def load(self, stored: StoredRows, head: Head) -> None:
        """Take over what was stored, into a sandbox that has just been opened. Raises
        ``DamagedSandbox``."""
        sandbox, cards = self.sandbox, self.sandbox.cards
        for observer in self._observers:
            observer.take_counters(head.judged)
        for part in self.parts:
            with _naming(part.name):
                part.load(stored, cards)
        for name in ROW_CLASSES:
            got, wanted = len(getattr(sandbox, name)), head.lengths[name]
            with _naming(name):
                if got != wanted:
                    raise ValueError(f"{got} rows, wanted {wanted}")
        cards.alike.clear()
        self._take_head(head)

    def _take_head(self, head: Head) -> None:
        sandbox, journal = self.sandbox, self.sandbox.journal
        for path, value in head.plain.items():
            owner, _, name = path.rpartition(".")
            held = form_of(int).read(value, sandbox.cards) if path in _INSTANTS else value
            setattr(attrgetter(owner)(sandbox) if owner else sandbox, name, held)
        for _ in range(len(journal.entries) - head.lengths["journal"]):
            journal.entries.popleft()
        journal.stories.shrink(head.lengths["stories"])
        journal.resize(sum(map(size_of, journal.entries)) + journal.stories.size - journal.size)
        sandbox.opened = head.settled.opened
        sandbox.warned.clear()
        sandbox.warned.update(head.settled.warned)
        self._paged = {name: len(getattr(sandbox, name)) for name in PAGED}


def _memory_parts(sandbox: Sandbox) -> Iterator[MemoryPart]:
    yield MemoryPart("marks", sandbox.journal.marks, form_of(tuple[str, int]))
    yield MemoryPart("scripts", sandbox.scripts, form_of(tuple[str, dict[int, ProviderOutcome]]))
    yield MemoryPart("setup", sandbox.setup, form_of(tuple[str, dict[str, object]]))
    yield MemoryPart("idempotency", sandbox.idempotency, form_of(tuple[str, First]))
    yield MemoryPart("replays", sandbox.replays, form_of(tuple[str, FirstAnswer]))
    for observer in sandbox.observers:
        for memory in observer.memories():
            yield MemoryPart(memory.name, memory.held, form_of(memory.pair))


def stored_sandbox(
    known: StoredSandbox, stored: StoredRows, context: PersistenceContext, real: Micros
) -> SandboxPersister:
    """A sandbox from its lines, in the order of their keys. A clock that
    runs goes on, what was being answered when the server ended has been answered, and webhooks that
    were on their way are sent again.

    Raises ``DamagedSandbox``.
    """
    head, config = _read_head(stored, context)
    sandbox = Sandbox(known.key, config, real)
    sandbox.used = known.used
    settled, tallies = head.settled, head.tallies
    sandbox.clock = settled.clock
    if settled.is_held:
        # Time stood still for a try of a webhook, which is made again.
        sandbox.clock.real = real
    sandbox.own = _assumed(settled.own)
    sandbox.assumed = config.assumed.or_else(*settled.assumed)
    by_id = config.rules.by_id
    counted = {
        name: replace(one, text=by_id[name].text)
        for name, one in tallies.rules.items()
        if name in by_id
    }
    sandbox.director.tallies = Tallies(tallies.first, counted, tallies.calls)
    persister = SandboxPersister(sandbox, known.number, context)
    persister.load(stored, head)
    _release(sandbox)
    return persister


def stored_beginning(stored: StoredRows, context: PersistenceContext) -> Beginning:
    """How a sandbox begins, from its rows of the parts ``BEGINNING``. Raises ``DamagedSandbox``."""
    head, config = _read_head(stored, context)
    with _naming("marks"):
        return Beginning(
            config,
            _assumed(head.settled.own),
            [str(name) for _, (name, _) in stored.get("marks", ())],
        )


def _read_head(stored: StoredRows, context: PersistenceContext) -> tuple[Head, SandboxConfig]:
    with _naming(HEAD):
        head: Head = Record.of(Head).read(stored[HEAD][0][1], CardRegistry(""))
        scenarios = [context.scenario(place) for place in head.settled.scenarios]
    return head, _config(head.settled, context, scenarios)


def _assumed(own: _Assumptions | None) -> Assumed | None:
    return Assumed(*own) if own is not None else None


def _config(head: Settled, context: PersistenceContext, scenarios: list[Scenario]) -> SandboxConfig:
    """The config of a sandbox: what it was opened with counts, and the rest is that of the server.
    Where both are the same it is the config of the server itself, so that reloaded files count for
    the sandbox too."""
    config, seed = context.config(scenarios), int(head.seed)
    assumed = config.assumed.or_else(*head.opened_with)
    if assumed is config.assumed and (seed, head.clock_plan) == (config.seed, config.clock):
        return config
    return replace(config, seed=seed, clock=head.clock_plan, assumed=assumed)


def _release(sandbox: Sandbox) -> None:
    """Let webhooks go out whose step was still being answered; those that came due behind one that
    blocks wait on."""
    log = sandbox.deliveries
    known = {
        entry.subject
        for entry in sandbox.schedule.entries
        if entry.what in (Due.WEBHOOK, Due.WEBHOOK_HELD)
    }
    known |= {one.delivery_id for one in log if log.is_blocked(one) and one.due <= sandbox.now}
    waiting = (DeliveryState.HELD, DeliveryState.WAITING)
    held = [one.delivery_id for one in log if one.state in waiting and one.delivery_id not in known]
    deliveries.release(sandbox, held)


def next_due(sandbox: Sandbox) -> Micros | None:
    """The instant of sandbox time at which something is to be done in a sandbox that nobody asks;
    ``EARLIEST`` when webhooks of it are being sent, or will be as soon as their step has been
    answered."""
    if sandbox.deliveries.sending or sandbox.deliveries.unanswered:
        return EARLIEST
    return sandbox.schedule.entries[0].at if sandbox.schedule.entries else None
