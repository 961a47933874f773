"""A sandbox that is kept in a store: what has changed in it since the last time as rows, the sandbox from its rows, and
when it must be woken that nobody asks for it.

The engine knows rows of a part, a number and bytes, and no file: ``adapters.store_file`` keeps them, ``web.storing``
says when. Parts follow from the types: every table of ``Tables`` and every memory of a judge is a part, so that one
more is kept without a line here. What is small is in the head, which is written whole. ``tests/store`` goes over
the slots of a sandbox: each is kept or stands among the ``DERIVED``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from operator import attrgetter
from typing import Any, Protocol

from mockserver.assumptions import Assumed, Profile
from mockserver.domain.batch import Batch
from mockserver.domain.clock import EARLIEST, Clock, Micros
from mockserver.domain.ids import Seed
from mockserver.domain.masking import mask_text
from mockserver.domain.record import mutable
from mockserver.domain.states import DeliveryState
from mockserver.engine import deliveries
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.codec import Form
from mockserver.engine.config import Beginning, SandboxConfig
from mockserver.engine.idempotency import First, FirstAnswer
from mockserver.engine.journal import size_of
from mockserver.engine.kept.forms import Forms
from mockserver.engine.kept.parts import (
    BatchPart,
    BatchRowsPart,
    Changes,
    EntriesPart,
    JsonWriter,
    KeptPart,
    KeptRow,
    ListedPart,
    MemoryPart,
    PastPart,
    RuleKeys,
    StoriesPart,
    TablePart,
    deliveries_part,
    inbox_part,
    memories,
    numbers,
    schedule_part,
)
from mockserver.engine.kept.steps import RequestForms, Rulebook, StepForms
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.tables import ROW_CLASSES
from mockserver.scenario.director import Tallies, Tally
from mockserver.scenario.provider_outcome import ProviderOutcome
from mockserver.scenario.ruleset import Ruleset
from mockserver.scenario.scenario import ClockPlan, Scenario


@mutable
class KeptCounters:
    """The counters of the journal, and of the deliveries and inboxes beside it."""

    opened: Micros
    last: int
    given_up: int
    dropped: int
    stories: int
    gap_reason: str | None
    deliveries: tuple[int, int, int]
    inboxes: tuple[int, int]


@mutable
class Counted:
    """The counters of one rule."""

    calls: int
    hits: int
    exhausted: int
    first: Micros | None = None
    period: int | None = None
    fired: int | None = None


@mutable
class KeptConfig:
    """What a sandbox is opened with, beside the settings of the server."""

    seed: Seed
    profile: Profile
    overrides: dict[str, object]
    clock: ClockPlan
    scenarios: list[str]
    assumed: tuple[Profile, dict[str, object]]
    own: tuple[Profile, dict[str, object]] | None = None


@mutable
class Head:
    """The small parts of a sandbox. ``books`` are the scenarios of the rules that entries of the journal were decided
    by, by number."""

    origin: str
    salt: str
    config: KeptConfig
    clock: Clock
    is_held: bool
    now: Micros
    horizon: Micros
    counters: dict[str, int]
    order: int
    ran: int
    used: int
    journal: KeptCounters
    opened: tuple[dict[str, int], int] | None
    book: int
    books: dict[int, list[str]]
    lengths: dict[str, int]
    first_asked: Micros | None = None
    calls: dict[str, int] = field(default_factory=dict)
    rules: dict[str, Counted] = field(default_factory=dict)
    held: dict[str, list[str]] = field(default_factory=dict)
    warned: list[str] = field(default_factory=list)
    lag: Micros = 0
    judged: dict[str, int] = field(default_factory=dict)


def counted(tally: Tally) -> Counted:
    """The counters of a rule, without those of its keys."""
    return Counted(tally.calls, tally.hits, tally.exhausted, first=tally.first, period=tally.period, fired=tally.fired)


def tally_of(text: str, kept: Counted) -> Tally:
    """The counters of the rule of a text."""
    counts = kept.calls, kept.hits, kept.exhausted
    return Tally(text, *counts, first=kept.first, keys={}, period=kept.period, fired=kept.fired)


DERIVED = frozenset({"key", "public_key", "under_way"})
"""Parts of a sandbox that follow from what is kept, or that are nothing between two steps."""

PAGES: Mapping[str, Callable[[Any], bool]] = {
    "charges": attrgetter("challenged"),
    "payment_links": lambda link: True,
    "tokens": attrgetter("challenged"),
}
"""Tables whose objects have pages, the addresses of which name no key, and which of them have one from the first."""


class Surroundings(RequestForms, JsonWriter, Protocol):
    """The server around a sandbox. ``forms`` are those of its file."""

    forms: Forms

    def place_of(self, scenario: Scenario) -> str:
        """Where a store keeps a scenario."""

    def scenario(self, place: str) -> Scenario:
        """The scenario of a place. Raises ``LookupError``."""

    def config(self, scenarios: list[Scenario]) -> SandboxConfig:
        """The config of the server under some scenarios: that in force for new sandboxes, when they are the same."""
        ...


class DamagedSandbox(ValueError):
    """Rows of which no sandbox can be made. What the text quotes is masked."""

    def __init__(self, text: str) -> None:
        super().__init__(mask_text(text))


class Keeping:
    """The keeping of one sandbox. ``changes`` are all of it at first, afterwards what is new since the last call."""

    def __init__(
        self, sandbox: Sandbox, around: Surroundings, book: int = 0, books: Mapping[int, list[str]] | None = None
    ) -> None:
        self.sandbox = sandbox
        self._around = around
        self._books = dict(books or {})
        self._rulebook = Rulebook(sandbox.config.rules, book, self._rules_of)
        self._steps = steps = StepForms(sandbox, self._rulebook, around, around.forms)
        form = around.forms.of
        self._head_form = form(Head)
        self._paged = dict.fromkeys(PAGES, 0)
        self._head = 0
        batches = BatchPart(sandbox.batches, around.forms)
        self._entries = EntriesPart(sandbox.journal, steps)
        self._judged = numbers(sandbox.watch) if sandbox.watch is not None else []
        self._parts: list[KeptPart] = [
            *(
                TablePart(name, getattr(sandbox, name), form(row))
                for name, row in ROW_CLASSES.items()
                if row is not Batch
            ),
            batches,
            BatchRowsPart(batches),
            schedule_part(sandbox, around.forms),
            PastPart(sandbox, around.forms),
            RuleKeys(sandbox),
            deliveries_part(sandbox, around.forms),
            inbox_part(sandbox, around.forms),
            MemoryPart("marks", sandbox.journal, "marks", form(str), form(int)),
            MemoryPart("scripts", sandbox, "scripts", form(str), form(dict[int, ProviderOutcome])),
            MemoryPart("setup", sandbox, "setup", form(str), form(dict[str, object])),
            MemoryPart("idempotency", sandbox.idempotency, "firsts", form(str), self._first_form(form(First))),
            MemoryPart("replays", sandbox.replays, "firsts", form(str), self._first_form(form(FirstAnswer))),
        ]
        if sandbox.watch is not None:
            self._parts += memories(sandbox.watch, around.forms)
        self._parts += [self._entries, StoriesPart(sandbox.journal, around.forms)]
        # Those that know how much of them has changed.
        self._feeds = [part for part in self._parts if isinstance(part, TablePart | ListedPart | BatchPart)]

    def close(self) -> None:
        """Hear no more of the sandbox, and let it go: parts refer to this, and garbage may stay for good."""
        sandbox = self.sandbox
        sandbox.journal.stories.on_change = sandbox.schedule.on_change = sandbox.director.on_count = None
        sandbox.deliveries.on_change = sandbox.inboxes.on_change = None
        tables = [getattr(sandbox, name) for name in ROW_CLASSES]
        for table in tables:
            table.listeners = ()
        if sandbox.past is not None:
            # One that is kept aside may come back.
            sandbox.past.listen(tables)
        for part in (*self._feeds, self):
            if not isinstance(part, TablePart):
                vars(part).clear()

    def ahead(self, most: int) -> Changes | None:
        """Some of what has changed when there is more of it than one commit should hold, about ``most`` rows; None when
        there is not. Only for a sandbox that the file does not name yet: it is whole with the last of them."""
        if self.waiting() <= most:
            return None
        found = Changes(self._around)
        max(self._feeds, key=len).gather(found, most)
        return found

    def waiting(self) -> int:
        """How many rows have changed since the last time, roughly."""
        return sum(map(len, self._feeds))

    def changes(self) -> Changes:
        """What has changed since the last time."""
        found, sandbox = Changes(self._around), self.sandbox
        if self._rulebook.put_in_force(sandbox.config.rules) or not self._books:
            self._books[self._rulebook.present] = self._places(sandbox.config.scenarios)
        for part in self._parts:
            part.gather(found)
        for name, length in self._paged.items():
            table = getattr(sandbox, name)
            found.pages += map(table.id_of, filter(PAGES[name], table.rows[length:]))
            self._paged[name] = len(table)
        head = self._around.text(self._head_form.to_plain(self._written_head()))
        if (written := hash(head)) != self._head:
            self._head = written
            found.puts.append(("head", 0, head))
        return found

    def _written_head(self) -> Head:
        sandbox = self.sandbox
        journal, log, tallies, own = sandbox.journal, sandbox.deliveries, sandbox.director.tallies, sandbox.own
        return Head(
            origin=sandbox.origin,
            salt=sandbox.cards.salt,
            config=KeptConfig(
                seed=Seed(sandbox.config.seed),
                profile=sandbox.config.assumed.profile,
                overrides=sandbox.config.assumed.overrides,
                clock=sandbox.config.clock,
                scenarios=self._books[self._rulebook.present],
                assumed=(sandbox.assumed.profile, sandbox.assumed.overrides),
                own=(own.profile, own.overrides) if own is not None else None,
            ),
            clock=sandbox.clock,
            is_held=sandbox.clock.holds > 0,
            now=sandbox.now,
            horizon=sandbox.horizon,
            counters=sandbox.ids.counters,
            order=sandbox.schedule.order,
            ran=sandbox.schedule.ran,
            used=sandbox.used,
            journal=KeptCounters(
                opened=journal.opened,
                last=journal.last,
                given_up=journal.given_up,
                dropped=journal.dropped,
                stories=len(journal.stories),
                gap_reason=journal.gap_reason,
                deliveries=(log.changes, log.dropped, log.refused),
                inboxes=(sandbox.inboxes.number, sandbox.inboxes.dropped),
            ),
            opened=sandbox.opened,
            book=self._rulebook.present,
            books=self._books,
            lengths={name: length for name in ROW_CLASSES if (length := len(getattr(sandbox, name)))},
            first_asked=tallies.first,
            calls=tallies.calls,
            rules={name: counted(tally) for name, tally in tallies.rules.items()},
            held=log.held,
            warned=sorted(sandbox.warned),
            lag=sandbox.past.longest if sandbox.past is not None else 0,
            judged={name: getattr(judge, slot) for name, judge, slot in self._judged},
        )

    def load(self, rows: Mapping[str, Sequence[KeptRow]], head: Head) -> None:
        """Take over what was kept, into a sandbox that has just been opened. Raises ``DamagedSandbox``."""
        sandbox, cards = self.sandbox, self.sandbox.cards
        for name in ROW_CLASSES:
            table = getattr(sandbox, name)
            while table.rows:
                table.take_back()
        part = "head"
        self._entries.written = head.journal.dropped
        try:
            for one in self._parts:
                part = one.name
                one.load(rows.get(part, []), cards)
            for part, length in head.lengths.items():
                if (got := len(getattr(sandbox, part))) != length:
                    raise ValueError(f"{got} rows, wanted {length}")
        except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError) as fault:
            raise DamagedSandbox(f"{part}: {type(fault).__name__}: {fault}"[:300]) from fault
        cards.alike.clear()
        self._take_head(head)

    def _take_head(self, head: Head) -> None:
        sandbox, journal, log = self.sandbox, self.sandbox.journal, self.sandbox.deliveries
        sandbox.now, sandbox.horizon = head.now, head.horizon
        sandbox.ids.counters.update(head.counters)
        sandbox.schedule.order, sandbox.schedule.ran = head.order, head.ran
        sandbox.used = head.used
        journal.opened, journal.last, journal.given_up = head.journal.opened, head.journal.last, head.journal.given_up
        journal.gap_reason = head.journal.gap_reason
        journal.stories.shrink(head.journal.stories)
        journal.resize(sum(map(size_of, journal.entries)) + journal.stories.size - journal.size)
        log.changes, log.dropped, log.refused = head.journal.deliveries
        log.held.update(head.held)
        sandbox.inboxes.number, sandbox.inboxes.dropped = head.journal.inboxes
        sandbox.idempotency.size = sum(first.size for first in sandbox.idempotency.firsts.values())
        sandbox.opened = head.opened
        sandbox.warned.clear()
        sandbox.warned.update(head.warned)
        for name, judge, slot in self._judged:
            setattr(judge, slot, head.judged.get(name, 0))
        self._entries.written = journal.last
        self._paged = {name: len(getattr(sandbox, name)) for name in PAGES}
        self._head = 0

    def _first_form(self, plain: Form) -> Form:
        """The form of a first answer, with the objects that its step was about."""

        def write(first: Any, secrets: bool) -> list[object]:
            return [plain.to_plain(first), getattr(first, "size", 0), self._steps.write_about(first.result)]

        def read(raw: Any, cards: CardRegistry) -> Any:
            kept, size, about = raw
            first = plain.to_value(kept)
            first.result = self._steps.read_about(about, cards)
            if isinstance(first, First):
                first.size = size
            return first

        return Form(write, read)

    def _places(self, scenarios: Iterable[Scenario]) -> list[str]:
        return [self._around.place_of(scenario) for scenario in scenarios]

    def _rules_of(self, number: int) -> Ruleset | None:
        try:
            return Ruleset.of([self._around.scenario(place) for place in self._books[number]])
        except LookupError:
            return None


BEGINNING = ("head", "marks")
"""The parts that a sandbox begins with again when it is emptied."""


def kept_sandbox(
    key: str, kept: Mapping[str, Sequence[KeptRow]], around: Surroundings, real: Micros
) -> tuple[Sandbox, Keeping]:
    """The sandbox of a key from its rows by part, in the order of their numbers. A clock that runs goes on, what was
    being answered when the server ended has been answered, and webhooks that were on their way are sent again.

    Raises ``DamagedSandbox``.
    """
    head, config = _head(kept, around)
    sandbox = Sandbox(key, config, real)
    sandbox.origin, sandbox.cards.salt, sandbox.clock = head.origin, head.salt, head.clock
    if head.is_held:
        # Time stood still for a try of a webhook, which is made again.
        sandbox.clock.real = real
    sandbox.own = _own(head)
    sandbox.assumed = config.assumed.or_else(*head.config.assumed)
    by_id = sandbox.config.rules.by_id
    sandbox.director.tallies = Tallies(
        head.first_asked,
        {name: tally_of(by_id[name].text, kept) for name, kept in head.rules.items() if name in by_id},
        head.calls,
    )
    sandbox.look_back(head.lag)
    keeping = Keeping(sandbox, around, head.book, head.books)
    keeping.load(kept, head)
    _release(sandbox)
    return sandbox, keeping


def kept_beginning(kept: Mapping[str, Sequence[KeptRow]], around: Surroundings) -> Beginning:
    """How a sandbox begins, from its rows of the parts ``BEGINNING``. Raises ``DamagedSandbox``."""
    head, config = _head(kept, around)
    try:
        marks = [str(name) for _, (name, _) in kept.get("marks", ())]
    except (ValueError, TypeError) as fault:
        raise DamagedSandbox(f"marks: {type(fault).__name__}: {fault}"[:300]) from fault
    return Beginning(config, _own(head), marks)


def _head(kept: Mapping[str, Sequence[KeptRow]], around: Surroundings) -> tuple[Head, SandboxConfig]:
    try:
        head: Head = around.forms.of(Head).to_value(kept["head"][0][1])
        scenarios = [around.scenario(place) for place in head.config.scenarios]
    except (ValueError, LookupError, TypeError, ArithmeticError) as fault:
        raise DamagedSandbox(f"head: {type(fault).__name__}: {fault}"[:300]) from fault
    return head, _config(head.config, around, scenarios)


def _own(head: Head) -> Assumed | None:
    return Assumed(*head.config.own) if head.config.own is not None else None


def _config(kept: KeptConfig, around: Surroundings, scenarios: list[Scenario]) -> SandboxConfig:
    """The config of a sandbox: what it was opened with counts, and the rest is that of the server. Where both are the
    same it is the config of the server itself, so that reloaded files count for the sandbox too."""
    config, seed = around.config(scenarios), int(kept.seed)
    assumed = config.assumed.or_else(kept.profile, kept.overrides)
    if assumed is config.assumed and (seed, kept.clock) == (config.seed, config.clock):
        return config
    return replace(config, seed=seed, clock=kept.clock, assumed=assumed)


def _release(sandbox: Sandbox) -> None:
    """Let webhooks go out whose step was still being answered."""
    planned = {entry.subject for entry in sandbox.schedule.entries if entry.what in (Due.WEBHOOK, Due.WEBHOOK_HELD)}
    waiting = (DeliveryState.HELD, DeliveryState.WAITING)
    held = [one.delivery_id for one in sandbox.deliveries if one.state in waiting and one.delivery_id not in planned]
    deliveries.release(sandbox, held)


def next_due(sandbox: Sandbox) -> Micros | None:
    """The instant of sandbox time at which something is to be done in a sandbox that nobody asks; ``EARLIEST`` when
    webhooks of it are being sent, or will be as soon as their step has been answered."""
    if sandbox.deliveries.sending or sandbox.deliveries.unanswered:
        return EARLIEST
    return sandbox.schedule.entries[0].at if sandbox.schedule.entries else None
