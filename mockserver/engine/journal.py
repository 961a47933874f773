"""The journal of a sandbox: what was asked, decided, changed and answered, in order, as far back as
its bound reaches.

Entries are plain values: nothing that they hold changes, or is known to a running sandbox alone, so
that a store writes them as they are. They hold the request as it came, so that it can be taken
again; it is masked before it is shown.
Beside them stands the story of each object: its changes with the rules that caused them, longer
than the journal keeps the requests. The journals and inboxes of one server share a quota. When it
is full, one of those that keep most gives up its oldest entries: a quiet sandbox keeps its story
beside a busy one. They are ranked by the powers of two that their sizes have reached, so the
largest is known to within a factor of two however many there are. Sources: docs/control-api.md
(``/__admin/journal``, ``/__admin/objects``); the command line's ``--journal-memory``.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from decimal import Decimal
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from mockserver.domain.bounded_cache import Recent
from mockserver.domain.clock import Micros
from mockserver.domain.record import mutable, record, replace
from mockserver.domain.states import Event
from mockserver.scenario.decisions import StageDecision
from mockserver.scenario.transport import At, FaultKind

MOST_MARKS = 1_000
"""Marks that a journal keeps: a suite that sets one for each test needs the newest only."""

PER_ENTRY = 20
"""Changes that are kept for each entry that the journal may hold."""

MOST_CHANGES = 200_000
"""Changes that are kept at most."""

_CHANGE = 400
"""Bytes that a change takes, as measured with ordinary charges."""

_RANKS = 64

_ENTRY = 3_000
"""Bytes that an entry takes besides the bodies of request and answer, as measured with ordinary
charges."""


class RequestForm(NamedTuple):
    """How the fields of a request are read out of its text: its body, else its query; with
    ``decimal_commas`` numeric texts may have one."""

    is_body: bool
    decimal_commas: bool


class AnswerFault(NamedTuple):
    """What spoiled an answer, or stopped the request before anything happened (at ``receive``).
    ``status`` is that of the answer which it put in the place of ours."""

    at: At
    kind: FaultKind
    status: int | None

    @property
    def let_it_happen(self) -> bool:
        """Whether the request was carried out, and only its answer was spoilt."""
        return self.at is At.ANSWER


class Described(NamedTuple):
    """What an object says of itself that a step is about: the charge, else that of the kind of the
    operation."""

    kind: str
    reference: str | None
    amount: Decimal | None
    currency: str | None


class Cause(NamedTuple):
    """A rule that said what a provider, a batch or time does in the step of a change; ``attempt``
    counts the providers that were tried, from 1, ``choice`` is the place of the outcome in the
    rule's sequence or chance, from 1."""

    rule: str
    attempt: int
    choice: int | None
    code: int | None
    message: str | None


_NOTHING: Mapping[str, str] = MappingProxyType({})


@mutable
class JournalEntry:
    """One step, as plain values that refer to nothing: a request with its answer, or due work that
    changed something (``method`` is empty then). What pages and answers say of it is worded when
    somebody looks.

    ``at`` is sandbox time. ``raw``, ``query`` and ``headers`` are the request as it came, secrets
    included; ``form`` says how its fields are read, None where they were not. ``route`` is the
    operation that carried it out, by method and path with ``placeholders``; ``is_repeatable`` says
    that it can do so again. ``request`` are the fields of due work. ``answer`` is what the step
    answered, which a ``fault`` may have kept from the client.

    ``about`` are the stored objects that it is about, each by its kind and id, ``described`` is one
    of them. ``call``, ``connection``, ``row`` and ``is_setup`` are those of ``result.Asked``,
    ``latency`` to ``warnings`` those of ``result.Result``.

    ``search_text`` is no part of it: what searches look into, with the wire profile that words it,
    once one has.
    """

    number: int
    at: Micros
    op: str
    headers: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    placeholders: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    call: int | None = None
    connection: str | None = None
    row: int | None = None
    is_setup: bool = False
    about: tuple[tuple[str, str], ...] = ()
    described: Described | None = None
    decisions: tuple[StageDecision, ...] = ()
    causes: tuple[Cause, ...] = ()
    events: tuple[Event, ...] = ()
    latency: Micros = 0
    is_repeat: bool = False
    assumed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    request: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    method: str = ""
    path: str = ""
    query: bytes = b""
    raw: bytes = b""
    form: RequestForm | None = None
    route: str = ""
    is_repeatable: bool = False
    status: int | None = None
    answer: bytes = b""
    fault: AnswerFault | None = None
    search_text: tuple[object, str] | None = field(default=None, init=False, compare=False)

    def __repr__(self) -> str:
        """Without what may be long or secret."""
        return (
            f"JournalEntry(number={self.number}, at={self.at}, op={self.op}, status={self.status})"
        )


def size_of(entry: JournalEntry) -> int:
    """Roughly the memory that an entry takes, in bytes: what is long in one are its bodies."""
    return _ENTRY + len(entry.raw) + len(entry.answer)


class QuotaMember(ABC):
    """What keeps entries of ``size`` bytes, roughly counted, of a quota that it shares with
    others."""

    def __init__(self) -> None:
        self.size = 0
        self.quota: JournalQuota | None = None

    @abstractmethod
    def give_up_oldest(self) -> bool:
        """Drop the oldest entry; False when there is none."""

    def resize(self, by: int) -> None:
        """Entries have come, or gone when ``by`` is negative."""
        quota, before = self.quota, self.size
        self.size = after = before + by
        if quota is None:
            return
        quota.held += by
        # Most entries leave it in its rank, and cost nothing here.
        if before.bit_length() != after.bit_length():
            quota.update_rank(self, before)
        # Who gives up an entry shrinks, and must not enforce the quota again: thousands may go for
        # one large entry.
        if by > 0 and quota.held > quota.most:
            quota.enforce()


class JournalQuota:
    """At most ``most`` bytes, roughly counted, for all its members; ``dropped`` counts the entries
    that were given up for that, ``overflown`` those that the bound of a journal alone has pushed
    out."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0
        self.dropped = 0
        self.overflown = 0
        self._report_at = 1
        # Dictionaries keep the order of their keys, which makes the choice among equals the same in
        # every run.
        self._ranks: list[dict[QuotaMember, None]] = [{} for _ in range(_RANKS)]

    def enter(self, member: QuotaMember) -> None:
        """Count what it holds from now on."""
        member.quota = self
        self.held += member.size
        self._ranks[member.size.bit_length()][member] = None
        self.enforce()

    def leave(self, member: QuotaMember) -> None:
        """Count it no longer: its sandbox is gone."""
        if member.quota is self:
            member.quota = None
            self.held -= member.size
            del self._ranks[member.size.bit_length()][member]

    def update_rank(self, member: QuotaMember, before: int) -> None:
        """What holds as much as it says now has held so many bytes ``before``."""
        del self._ranks[before.bit_length()][member]
        self._ranks[member.size.bit_length()][member] = None

    def news(self) -> str | None:
        """A warning about entries that were given up: the first time, and whenever ten times as
        many are gone."""
        if self.dropped < self._report_at:
            return None
        while self._report_at <= self.dropped:
            self._report_at *= 10
        return (
            f"the journals and inboxes of all sandboxes hold {self.most} bytes (--journal-memory); "
            f"{self.dropped} of their oldest entries have been dropped for that so far"
        )

    def enforce(self) -> None:
        """Let those members that hold most give up their oldest entries until the rest fits."""
        while self.held > self.most:
            largest = self._one_of_the_largest()
            if largest is None or not largest.give_up_oldest():
                return
            self.dropped += 1

    def _one_of_the_largest(self) -> QuotaMember | None:
        """A member of the highest rank that has any; of these the one that has been in it
        longest."""
        for rank in reversed(self._ranks):
            for member in rank:
                return member
        return None


@record
class Change:
    """One change of one object: the number of its journal entry, the operation, the event without
    its data, and the rules that fired and had a part in it."""

    number: int
    op: str
    event: Event
    causes: tuple[Cause, ...]


class Stories:
    """The newest changes, oldest first; the oldest of all go when there are too many."""

    def __init__(self, journal_limit: int) -> None:
        self._changes: deque[Change] = deque(maxlen=min(PER_ENTRY * journal_limit, MOST_CHANGES))

    def __len__(self) -> int:
        return len(self._changes)

    @property
    def oldest(self) -> int:
        """The number of the entry of the oldest change, 0 without one."""
        return self._changes[0].number if self._changes else 0

    @property
    def size(self) -> int:
        """Roughly the memory that they take, in bytes."""
        return len(self._changes) * _CHANGE

    def since(self, after: int) -> Iterator[Change]:
        """Changes of entries with a number above ``after``, oldest first."""
        # From the newer end: who asks has seen nearly all before.
        return reversed(
            list(takewhile(lambda change: change.number > after, reversed(self._changes)))
        )

    def note(self, entry: JournalEntry) -> int:
        """Keep the changes of a step; by how many bytes all that is kept has grown, roughly
        counted."""
        before = len(self._changes)
        for event in entry.events:
            bare = event if event.data is None else replace(event, data=None)
            self._changes.append(Change(entry.number, entry.op, bare, entry.causes))
        return (len(self._changes) - before) * _CHANGE

    def take(self, changes: Iterable[Change]) -> None:
        """Keep changes, oldest first."""
        self._changes.extend(changes)

    def shrink(self, most: int) -> int:
        """Drop the oldest changes until ``most`` are left; how many bytes they took. A journal that
        gives up entries for the quota gives up their share of changes with them."""
        dropped = max(len(self._changes) - most, 0)
        for _ in range(dropped):
            self._changes.popleft()
        return dropped * _CHANGE

    def of(self, subject_id: str) -> list[Change]:
        """The changes of one object that are kept."""
        return [change for change in self._changes if change.event.subject_id == subject_id]


class Journal(QuotaMember):
    """The newest ``limit`` entries. ``last`` is the number of the newest entry that ever was, 0
    before the first.

    ``size`` is roughly what they take, in bytes; ``quota`` what they share with the journals of
    other sandboxes, for which ``given_up`` of them went. ``opened`` is the instant at which the
    sandbox began; ``gap_reason`` says why the entries since then are not the whole story, None
    while they do.
    """

    def __init__(self, limit: int, opened: Micros) -> None:
        super().__init__()
        self.opened = opened
        self.limit = limit
        self.entries: deque[JournalEntry] = deque(maxlen=limit)
        self.last = 0
        self.gap_reason: str | None = None
        self.given_up = 0
        self.marks: Recent[str, int] = Recent(MOST_MARKS)
        self.stories = Stories(limit)

    @property
    def dropped(self) -> int:
        """Entries that a bound has pushed out. Numbers have no gaps, so those that are kept stand
        at the place of their number less this."""
        return self.last - len(self.entries)

    def note(self, entry: JournalEntry) -> None:
        """Keep the next entry: its number is one above ``last``."""
        self.last = entry.number
        entries = self.entries
        if not self.limit:
            return
        grown = size_of(entry)
        if entry.events:
            grown += self.stories.note(entry)
        if len(entries) == self.limit:
            # The oldest goes as this one comes.
            if self.quota is not None:
                self.quota.overflown += 1
            grown -= size_of(entries[0])
        entries.append(entry)
        self.resize(grown)

    def warn(self, warnings: tuple[str, ...]) -> None:
        """Give the newest entry, while it is kept, these warnings: some are of its own keeping, and
        known only afterwards."""
        if self.entries and self.entries[-1].number == self.last:
            self.entries[-1].warnings = warnings

    def mark(self, name: str) -> None:
        """Give a name to this place, after the newest entry, so that a test can look at what came
        since."""
        self.marks.put(name, self.last)

    def give_up_oldest(self) -> bool:
        """Drop the oldest entry; False when there is none."""
        if not self.entries:
            return False
        self.given_up += 1
        oldest = self.entries.popleft()
        self.resize(-size_of(oldest) - self.stories.shrink(PER_ENTRY * len(self.entries)))
        return True

    def loss(self) -> str:
        """Why entries are no longer there, in words."""
        shared = ""
        if self.quota:
            shared = f", those of all sandboxes {self.quota.most} bytes (--journal-memory),"
        return (
            f"the journal keeps {self.limit} entries (--journal-limit){shared} and has dropped "
            f"{self.dropped}"
        )

    def get(self, number: int) -> JournalEntry | None:
        """The entry of a number, while it is kept."""
        place = number - self.dropped - 1
        return self.entries[place] if 0 <= place < len(self.entries) else None

    def since(self, after: int) -> Iterator[JournalEntry]:
        """Kept entries with a number above ``after``, oldest first."""
        # From the newer end: a store asks for the newest after every few of them.
        return reversed(list(takewhile(lambda entry: entry.number > after, reversed(self.entries))))
