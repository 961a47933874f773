"""A sandbox in a store: its changes since the last commit as rows, and the content of a sandbox
that has just been opened from such rows.

A sandbox is stored in three ways, by how it changes:

- in parts that know their own changes (``parts.py``): whatever may have many rows. They follow from
  the types: every table of ``Tables`` and every memory of one who watches is a part, so that one
  more is stored without a line here;
- in one line ``Head``, the small things that change with most steps, such as counters;
- in one line ``Settled``, what a sandbox was opened with and what seldom changes.

The last two are compared with what was written, and written whole when they differ. Between them
everything of a sandbox must be stored: ``tests/store`` checks that each of its attributes is, or is
one of the ``DERIVED``. Each row is right with those before it and after it only, so a sandbox is
stored by whole commits alone, and read as a whole.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeAlias

from mockserver.assumptions import Profile
from mockserver.domain.batch import Batch
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Clock
from mockserver.domain.ids import Seed
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.record import mutable
from mockserver.domain.token import Token
from mockserver.engine.journal import size_of
from mockserver.engine.line_reading import read_plain
from mockserver.engine.lines import line_of, write_any
from mockserver.engine.result import First, FirstAnswer
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.tables import ROW_CLASSES
from mockserver.scenario.provider_outcome import ProviderOutcome
from mockserver.scenario.scenario import ClockPlan
from mockserver.scenario.tally import Tallies
from mockserver.store.parts import (
    BatchPart,
    CardsPart,
    ChangedParts,
    DeliveriesPart,
    InboxPart,
    JournalPart,
    LinesPart,
    MemoryPart,
    Part,
    RuleKeysPart,
    SchedulePart,
    TablePart,
)
from mockserver.store.scenarios import StoredScenarios
from mockserver.store.schema import (
    HEAD,
    PAGES,
    SETTLED,
    Changes,
    Commit,
    StoredRows,
    damage_in,
)

_TABLES = {name: row for name, row in ROW_CLASSES.items() if row is not Batch}

DERIVED = frozenset({"holding", "key", "public_key", "under_way"})
"""Attributes of a sandbox that follow from what is stored, or mean nothing between two steps."""


def _is_challenged(row: Charge | Token) -> bool:
    """A charge or token has the page of a 3-D Secure challenge, if it is to be challenged."""
    return row.challenged


def _always(_link: PaymentLink) -> bool:
    """Every payment link is a page."""
    return True


PAGED: Mapping[str, Callable[[Any], bool]] = {
    "charges": _is_challenged,
    "payment_links": _always,
    "tokens": _is_challenged,
}
"""Tables whose objects have pages at addresses without a key, and which of the objects begin with
one. A browser brings no key, so the store must find the sandbox by the object's id."""

_PLAIN = (
    *("origin", "cards.salt", "now", "horizon", "arrivals", "schedule.order", "schedule.ran"),
    *("journal.opened", "journal.last", "journal.given_up", "journal.gap_reason"),
    *("deliveries.changes", "deliveries.dropped", "deliveries.refused"),
    *("inboxes.number", "inboxes.dropped"),
)
"""Attributes of a sandbox that are numbers and texts, by their paths."""

_INSTANTS = ("now", "horizon", "journal.opened")
_plain_of = attrgetter(*_PLAIN)

Assumptions: TypeAlias = tuple[Profile, dict[str, object]]
"""A profile, and the answers that differ from it: what ``Assumed`` is made of."""


@mutable
class Settled:
    """What a sandbox was opened with and what seldom changes. ``scenarios`` are the places of those
    in force."""

    seed: Seed
    opened_with: Assumptions
    clock_plan: ClockPlan
    assumed: Assumptions
    own: Assumptions | None
    clock: Clock
    is_held: bool
    opened: tuple[dict[str, int], int] | None
    warned: list[str]
    scenarios: list[str]


@mutable
class Head:
    """The small things of a sandbox that change with most steps. ``plain`` are its attributes
    ``_PLAIN``; ``counters`` are those of ids and ``held`` the webhooks that others are to overtake;
    ``lengths`` says how many rows each table has, and how many steps the journal and the stories;
    ``judged`` are the counters of those who watch it."""

    tallies: Tallies
    plain: dict[str, int | str | None]
    counters: dict[str, int]
    held: dict[str, list[str]]
    lengths: dict[str, int]
    judged: dict[str, int]


class SandboxPersister:
    """What stores one sandbox under its number: all of it at first, afterwards what is new since
    the last call."""

    def __init__(
        self,
        sandbox: Sandbox,
        number: int,
        scenarios: StoredScenarios,
        settled: Settled | None = None,
    ) -> None:
        self.sandbox = sandbox
        self.number = number
        self._scenarios = scenarios
        # As they were written last, of the head a hash.
        self._settled = settled
        self._head: int | None = None
        # The config whose scenarios ``_settled`` has the places of; None while nothing is written.
        self._config = sandbox.config if settled is not None else None
        # How many rows of each table were looked at for a page.
        self._paged = dict.fromkeys(PAGED, 0)
        # Which of the parts have changes that say so themselves; the others are asked each time.
        changed: ChangedParts = {}
        self._changed_parts = changed
        tables = [
            TablePart(name, getattr(sandbox, name), row_class, changed)
            for name, row_class in _TABLES.items()
        ]
        told: list[Part] = [
            *tables,
            SchedulePart(sandbox, changed),
            DeliveriesPart(sandbox, changed),
            InboxPart(sandbox, changed),
        ]
        named: list[Part] = [CardsPart(sandbox.cards), BatchPart(sandbox.batches)]
        others: list[Part] = [RuleKeysPart(sandbox, changed), JournalPart(sandbox.journal)]
        for observer in sandbox.observers:
            if observer.lines_are is not None:
                name, line_class = observer.lines_are
                others.append(LinesPart(name, line_class, observer))
        self._asked = [*named, *others]
        self._memories = [*_memory_parts(sandbox)]
        # In the order in which they are read: each after those that its rows name.
        self.parts = [*named, *told, *others, *self._memories]

    def close(self) -> None:
        """Stop listening to the sandbox and let go of it. What refers to it is taken out, since
        it refers back: a cycle that the garbage collector has frozen would stay for good."""
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
        longest = max(self.parts, key=len)
        longest.gather(Changes(commit, self.number), most)
        return True

    def gather(self, commit: Commit) -> None:
        """Put the changes since the last commit into one."""
        sandbox = self.sandbox
        changes = Changes(commit, self.number)
        for part in (*self._changed_parts, *self._asked):
            part.gather(changes)
        self._changed_parts.clear()
        for memory in self._memories:
            # Most are empty throughout.
            if memory.memory or memory.known:
                memory.gather(changes)
        for name, length in self._paged.items():
            table = getattr(sandbox, name)
            has_page = PAGED[name]
            # A payer comes with the id of an object alone: a row without content says in which
            # sandbox it is. Whether it has a page is decided when it begins, so rows that were
            # looked at once are not looked at again.
            for row in table.rows[length:]:
                if has_page(row):
                    commit.puts.append((self.number, PAGES, table.id_of(row), b""))
            self._paged[name] = len(table)
        self._gather_head(changes)

    def _gather_head(self, changes: Changes) -> None:
        """What is small is written whole when it has changed. Of the head only a hash is kept to
        tell that: thousands of sandboxes may rest in memory."""
        settled = self._settled_now(changes.commit)
        if settled != self._settled:
            self._settled = settled
            changes.put(SETTLED, 0, settled)
        head = line_of(self._head_now())
        if hash(head) != self._head:
            self._head = hash(head)
            changes.commit.puts.append((self.number, HEAD, 0, head))

    def _settled_now(self, commit: Commit) -> Settled:
        """What there is to settle; a commit has the texts of its scenarios where they are new.
        While the config is the same one, so are they: to find their places costs a digest of each
        text."""
        sandbox = self.sandbox
        config = sandbox.config
        if self._settled is not None and config is self._config:
            places = self._settled.scenarios
        else:
            places = self._scenarios.put(config.scenarios, commit)
            self._config = config
        own = None
        if sandbox.own is not None:
            own = (sandbox.own.profile, sandbox.own.overrides)
        return Settled(
            seed=Seed(config.seed),
            opened_with=(config.assumed.profile, config.assumed.overrides),
            clock_plan=config.clock,
            assumed=(sandbox.assumed.profile, sandbox.assumed.overrides),
            own=own,
            clock=replace(sandbox.clock),
            is_held=sandbox.clock.holds > 0,
            opened=sandbox.opened,
            warned=sorted(sandbox.warned),
            scenarios=places,
        )

    def _head_now(self) -> Head:
        """The small things as they are by now. Texts of rules and counters by key are not among
        them: the scenarios have the ones, ``RuleKeysPart`` the others."""
        sandbox = self.sandbox
        journal = sandbox.journal
        tallies = sandbox.director.tallies
        counted = {name: replace(tally, text="", keys={}) for name, tally in tallies.rules.items()}
        lengths = {name: len(getattr(sandbox, name).rows) for name in ROW_CLASSES}
        judged: dict[str, int] = {}
        for observer in sandbox.observers:
            judged.update(observer.counters())
        return Head(
            tallies=Tallies(tallies.first, counted, tallies.calls),
            plain=dict(zip(_PLAIN, _plain_of(sandbox), strict=True)),
            counters=sandbox.ids.counters,
            held=sandbox.deliveries.held,
            lengths={**lengths, "journal": len(journal.entries), "stories": len(journal.stories)},
            judged=judged,
        )

    def load(self, stored: StoredRows) -> None:
        """Take over what was stored, into a sandbox that has just been opened. Raises
        ``DamagedSandbox``."""
        sandbox = self.sandbox
        cards = sandbox.cards
        with damage_in(HEAD):
            [(_, plain)] = stored[HEAD]
            head: Head = read_plain(Head, plain, cards)
            self._take_tallies(head.tallies)
            for observer in sandbox.observers:
                observer.take_counters(head.judged)
        for part in self.parts:
            with damage_in(part.name):
                part.load(stored, cards)
        for name in ROW_CLASSES:
            got = len(getattr(sandbox, name))
            with damage_in(name):
                # Rows that were cut off the end of the file would leave no other trace.
                wanted = head.lengths[name]
                if got != wanted:
                    raise ValueError(f"{got} rows, wanted {wanted}")
        # It saves memory while many rows are read, and would hold them for good.
        cards.alike.clear()
        with damage_in(HEAD):
            self._take_head(head)

    def _take_head(self, head: Head) -> None:
        """Take over the small things, when all rows are there."""
        sandbox = self.sandbox
        journal = sandbox.journal
        # By their paths, such as now and journal.last.
        for path, value in head.plain.items():
            owner: object = sandbox
            owner_path, _, name = path.rpartition(".")
            if owner_path:
                owner = attrgetter(owner_path)(sandbox)
            if path in _INSTANTS:
                # One that a caller gave with tenths of a microsecond is a text in its line.
                value = read_plain(int, value, sandbox.cards)
            setattr(owner, name, value)
        sandbox.ids.counters = head.counters
        sandbox.deliveries.held = head.held
        # The oldest row of the journal may hold entries that were dropped.
        for _ in range(len(journal.entries) - head.lengths["journal"]):
            journal.entries.popleft()
        journal.stories.shrink(head.lengths["stories"])
        # Rows were put in without being counted: what they take counts in the quota that journals
        # of all sandboxes share.
        size = sum(map(size_of, journal.entries)) + journal.stories.size
        journal.resize(size - journal.size)
        self._paged = {name: len(getattr(sandbox, name)) for name in PAGED}

    def _take_tallies(self, tallies: Tallies) -> None:
        """Take over the counters of the rules that are still in force: a newer version may have
        other built-in ones."""
        by_id = self.sandbox.config.rules.by_id
        counted = {}
        for name, tally in tallies.rules.items():
            if name in by_id:
                # The head has no texts of rules: they are in the scenarios.
                counted[name] = replace(tally, text=by_id[name].text)
        self.sandbox.director.tallies = Tallies(tallies.first, counted, tallies.calls)


def _memory_parts(sandbox: Sandbox) -> Iterator[MemoryPart]:
    """What a sandbox, and those who watch it, remember in bounded dictionaries: each with the type
    of a key and its value."""
    yield MemoryPart("marks", sandbox.journal.marks, tuple[str, int])
    yield MemoryPart("scripts", sandbox.scripts, tuple[str, dict[int, ProviderOutcome]])
    yield MemoryPart("setup", sandbox.setup, tuple[str, dict[str, object]], write_any)
    yield MemoryPart("idempotency", sandbox.idempotency, tuple[str, First])
    yield MemoryPart("replays", sandbox.replays, tuple[str, FirstAnswer])
    for observer in sandbox.observers:
        for memory in observer.memories():
            yield MemoryPart(memory.name, memory.held, memory.pair)
