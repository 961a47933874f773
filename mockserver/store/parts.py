"""The parts of a stored sandbox: each knows what has changed in it since it was last asked, as
lines by their keys, and takes the same lines back.

A commit must cost what has changed, not what there is: a charge in a sandbox of 100,000 is one line
of a table, one of the journal, one or two more. So each kind of part has its own way to know:

- ``NotedPart``: what may be large, and changes anywhere, tells of each change (tables, the
  schedule, counters of rules, deliveries, inboxes). Noted is only which row; its content is read
  when it is gathered, so a row that changes five times between two commits is written once.
- What only grows at its end counts how far it was written (the journal, the facts of cards).
- ``MemoryPart``: what is bounded is compared with what was written, value by value. That is right
  because its values are replaced, never changed in place: the same object is the same content.
- ``BatchPart``: batches alone change in place, and may have 100,000 rows. A batch is a line without
  its transactions, which are written by the block.

``load`` takes what ``gather`` has put, in the order of the keys, and afterwards knows it as
written. ``tests/store`` compares a sandbox from a file with its twin that never left the memory.
"""

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heapify
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from mockserver.domain.batch import Batch, BatchRow
from mockserver.domain.cards import CardNumber
from mockserver.domain.delivery import Delivery
from mockserver.domain.record import replace
from mockserver.domain.states import BatchState
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.inboxes import InboxMessage
from mockserver.engine.indexed_table import STEP_ROWS, LateRows, Table
from mockserver.engine.journal import Change, Journal, JournalEntry
from mockserver.engine.line_reading import plain_of, read_plain, value_of
from mockserver.engine.lines import RecordForm
from mockserver.engine.observer import Observer
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import ScheduledWork
from mockserver.scenario.tally import Times
from mockserver.store.schema import NONSENSE, Changes, DamagedSandbox, PartRows, StoredRows

BLOCK = 50
"""Entries of the journal of which a row is made, at most."""

BATCH_BLOCK = 200
"""Transactions of a batch of which a row is made, at most."""

_BLOCKS = 1 << 20
"""Blocks that a batch can have."""

ALL = sys.maxsize

_IN_TABLE = "as it is in the table"
"""Noted of a row instead of a value: it is read from the table when it is gathered."""


class Part:
    """One part of one sandbox."""

    name: str

    def __len__(self) -> int:
        """How many of its rows wait to be gathered; 0 of a part that only knows when it looks."""
        return 0

    def gather(self, changes: Changes, most: int = ALL) -> None:
        """Put what has changed since the last time into a commit. A part with a length puts about
        ``most`` rows, and the others the next time."""

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        """Take over what was stored. Raises ``ValueError`` when some is missing."""

    def close(self) -> None:
        """Let go of the sandbox, without cyclic garbage, which may be frozen."""
        vars(self).clear()


ChangedParts: TypeAlias = dict[Part, None]
"""The parts with changes, of those that are told of each; in the order of the first change, so that
the same requests write the same file."""


class CardsPart(Part):
    """The facts of card numbers, which other rows name: they only become more."""

    name = "cards"

    def __init__(self, cards: CardRegistry) -> None:
        self._facts = cards.facts
        self._known = 0

    def gather(self, changes: Changes, most: int = ALL) -> None:
        """Put the facts that were met since the last time: ``_known`` were before."""
        for facts in islice(self._facts.values(), self._known, None):
            changes.put(self.name, self._known, RecordForm.of(CardNumber).named(facts))
            self._known += 1

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        """Have these facts: to read them is to enter them in the registry, for all other rows."""
        for _, raw in stored.get(self.name, ()):
            read_plain(CardNumber, raw, cards)
        self._known = len(self._facts)


V = TypeVar("V")


class NotedPart(Part, Generic[V]):
    """What is told of each change of its rows, by their numbers: ``V`` is what is noted of one."""

    def __init__(self, name: str, changed_parts: ChangedParts) -> None:
        self.name = name
        self._changed_parts = changed_parts
        self._changed: dict[int, V | None] = {}

    def note(self, number: int, value: V | None) -> None:
        """A row has this value from now on; it is gone when that is None."""
        self._changed_parts[self] = None
        self._changed[number] = value

    def written(self, number: int, value: V) -> object:
        """What is stored of a row when it is gathered."""
        return value

    def __len__(self) -> int:
        return len(self._changed)

    def gather(self, changes: Changes, most: int = ALL) -> None:
        """Put the rows that were noted, as they are by now; None notes that one is gone."""
        for number in list(islice(self._changed, most)):
            value = self._changed.pop(number)
            if value is None:
                changes.drop(self.name, number)
            else:
                changes.put(self.name, number, self.written(number, value))

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        """Take over the stored rows. What that has noted is in the file already."""
        self.take(stored.get(self.name, PartRows()), cards)
        self._changed.clear()

    def take(self, rows: PartRows, cards: CardRegistry) -> None:
        """Go on with these rows, in the place of those that there are."""
        raise NotImplementedError


class TablePart(NotedPart[str]):
    """The rows of one table, by their places. Of each only ``_IN_TABLE`` is noted."""

    def __init__(
        self, name: str, table: Table[Any], row_class: type, changed_parts: ChangedParts
    ) -> None:
        super().__init__(name, changed_parts)
        self._table = table
        self._row_class = row_class
        # Nobody need have looked at the rows of a copy: each is made when it is gathered.
        self._changed = dict.fromkeys(range(len(table.rows)), _IN_TABLE)
        changed_parts[self] = None
        table.listeners += (self._hear,)

    def _hear(self, _table: Table[Any], row: Any, _before: object) -> None:
        """A row is new, or has another content; which one it had before does not matter."""
        self.note(row.seq, _IN_TABLE)

    def written(self, number: int, value: str) -> object:
        """The row as it is by now."""
        return self._table.rows[number]

    def close(self) -> None:
        """Hear no more of the table. Others listen on: a sandbox that is kept aside may come
        back."""
        self._table.listeners = tuple(hear for hear in self._table.listeners if hear != self._hear)
        super().close()

    def take(self, rows: PartRows, cards: CardRegistry) -> None:
        """Have these rows, each made when it is first looked at."""
        for place, seq in enumerate(rows.numbers):
            if place != seq:
                raise ValueError(f"row {place} is missing")

        def row_of(seq: int, line: bytes) -> Any:
            """The row of a line, when somebody looks at it."""
            try:
                row: Any = value_of(self._row_class, line, cards)
            except NONSENSE as fault:
                raise DamagedSandbox(self.name, fault) from fault
            # Its key says its place, and its line does not.
            row.seq = seq
            return row

        table_rows: list[Any] = LateRows(rows.texts, row_of)
        if len(rows) <= STEP_ROWS:
            # Few enough to be made now: what is damaged is refused now.
            table_rows = list(table_rows)
        self._table.take_over(table_rows, map(_id_in, rows.texts))


def _id_in(line: bytes) -> str:
    """The id of a row, the first field of its line: ``{"charge_id":"...", ...``. The rest of the
    line is not read: that waits until somebody looks at the row."""
    _, _name, _, row_id, _ = line.split(b'"', 4)
    if b"\\" in row_id:
        # Something in it is escaped, perhaps the quote at which the line was split.
        fields = plain_of(line)
        return str(next(iter(fields.values())))
    return row_id.decode()


_NOTHING: dict[Hashable, tuple[int, object]] = {}
"""What is known of a memory that was never written: most are empty, and need no dictionary."""


def _as_it_is(value: object) -> object:
    """How a value is written whose type its memory names."""
    return value


class MemoryPart(Part):
    """A bounded dictionary whose values are replaced, never changed: each entry is a row, a
    ``pair`` of key and value. The numbers of the rows ascend in the order of the dictionary, which
    is what it forgets its oldest entry by, so an entry that moves to the end gets another number.
    ``known`` is what was stored: number and value by key. Values of any type need a ``write``,
    which says of what type they are."""

    __slots__ = ("_last", "_pair", "_write", "known", "memory", "name")

    def __init__(
        self,
        name: str,
        memory: dict[Any, Any],
        pair: Any,
        write: Callable[[Any], object] = _as_it_is,
    ) -> None:
        self.name = name
        self.memory = memory
        self.known = _NOTHING
        self._pair = pair
        self._write = write
        self._last = 0

    def gather(self, changes: Changes, most: int = ALL) -> None:
        """Put the entries that are new, have another value (another object: values never change in
        place), or have moved to the end; drop those that the memory has forgotten."""
        if self.known is _NOTHING:
            self.known = {}
        memory, known = self.memory, self.known
        number_before = 0
        for key, value in memory.items():
            number, stored_value = known.get(key, (0, None))
            # A new entry has no number yet, one that has moved to the end a lower one.
            is_new_number = number <= number_before
            if is_new_number:
                if number:
                    changes.drop(self.name, number)
                self._last += 1
                number = self._last
            if is_new_number or stored_value is not value:
                known[key] = number, value
                changes.put(self.name, number, (key, self._write(value)))
            number_before = number
        # All of the memory is known by now, so more of them means that it has forgotten some.
        if len(known) > len(memory):
            forgotten = [key for key in known if key not in memory]
            for key in forgotten:
                number, _ = known.pop(key)
                changes.drop(self.name, number)

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        """Fill the memory in the order of the numbers, which is that in which it forgets."""
        rows = stored.get(self.name, ())
        if rows:
            self.known = {}
        for number, raw in rows:
            key, value = read_plain(self._pair, raw, cards)
            self.memory[key] = value
            self.known[key] = number, value
            self._last = number


class LinesPart(Part):
    """What one who watches the sandbox has found. ``_known`` are the numbers of the lines that were
    stored, until the ``_mark``."""

    def __init__(self, name: str, line: type, observer: Observer) -> None:
        self.name = name
        self._line = line
        self._observer = observer
        self._known: set[int] = set()
        self._mark: object = None

    def gather(self, changes: Changes, most: int = ALL) -> None:
        """Put what the observer has found since the mark of the last time. It may give all there is
        instead, as after it was cleared: then stored lines that are not among it are gone."""
        lines = self._observer.lines(self._mark)
        self._mark = lines.mark
        for number, line in lines.by_number.items():
            changes.put(self.name, number, line)
        if lines.is_all:
            for number in self._known - lines.by_number.keys():
                changes.drop(self.name, number)
            self._known.clear()
        self._known.update(lines.by_number)

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        """Give the observer what it had found; from its mark of now on it tells what is new."""
        rows = stored.get(self.name, ())
        self._known = {number for number, _ in rows}
        self._observer.take(read_plain(self._line, raw, cards) for _, raw in rows)
        self._mark = self._observer.lines(None).mark


class JournalPart(Part):
    """The journal: a row has the entries that a commit holds, some at most, under the number of the
    last. What is dropped goes by the row, so that the oldest row may hold entries which are gone
    already.

    The changes of objects follow from the entries. Those of dropped entries are kept longer: they
    are stored as these go, up to the entry ``_cut``.
    """

    name = "journal"
    _STORIES = "stories"

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._written = 0
        """The last entry that is stored."""
        self._cut = 0
        """The last dropped entry whose changes are stored."""

    def __len__(self) -> int:
        return min(self._journal.last - self._written, len(self._journal.entries))

    def gather(self, changes: Changes, most: int = ALL) -> None:
        """Put the new entries in blocks, and let go of those that the journal has dropped. What
        they say of objects is kept longer, and must be stored before they go."""
        dropped = self._journal.dropped
        # By the block, so that few commits write stories: until then the rows of dropped entries
        # stay in the file, and their changes are read from these.
        is_block_full = dropped - self._cut >= BLOCK
        # Entries that were dropped before any commit had them have no row, as under a small limit
        # of the journal: their changes are nowhere in the file yet.
        has_unstored = dropped > self._written and len(self._journal.stories) > 0
        if is_block_full or has_unstored:
            self._put_stories(changes, dropped)
        new = list(islice(self._journal.since(self._written), most))
        for first in range(0, len(new), BLOCK):
            block = new[first : first + BLOCK]
            self._written = block[-1].number
            changes.put(self.name, self._written, block)

    def _put_stories(self, changes: Changes, dropped: int) -> None:
        """Store the changes of the entries up to ``dropped``, and drop these entries and what the
        stories have forgotten."""
        stories = self._journal.stories
        steps = list[list[Change]]()
        for number, step in groupby(stories.since(self._cut), attrgetter("number")):
            if number > dropped:
                break
            steps.append(list(step))
        for first in range(0, len(steps), BLOCK):
            block = list(chain.from_iterable(steps[first : first + BLOCK]))
            changes.put(self._STORIES, block[-1].number, block)
        self._cut = dropped
        # Those that were never stored are not to be stored any more.
        self._written = max(dropped, self._written)
        changes.cut(self.name, dropped)
        forgotten = dropped
        if stories.oldest:
            # Of later ones the stories still know something.
            forgotten = min(stories.oldest - 1, dropped)
        changes.cut(self._STORIES, forgotten)

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        """Take over the entries, and the changes of objects: of dropped entries they have rows of
        their own, of the others they are made again."""
        journal = self._journal
        for number, block in stored.get(self._STORIES, ()):
            journal.stories.take(read_plain(Change, raw, cards) for raw in block)
            self._cut = self._written = number
        for number, block in stored.get(self.name, ()):
            for raw in block:
                entry: JournalEntry = read_plain(JournalEntry, raw, cards)
                journal.entries.append(entry)
                if entry.number > self._cut:
                    journal.stories.note(entry)
            self._written = number


class BatchPart(Part):
    """The batches of a sandbox, and their transactions."""

    name = "batches"
    _ROWS = "batch_rows"

    def __init__(self, table: Table[Batch]) -> None:
        self._table = table
        self._stored: list[_Progress | None] = []
        """How far each batch was when it was stored, by its place; None while nothing of it is."""

    def __len__(self) -> int:
        return sum(len(batch.rows) for batch in self._new_batches())

    def _new_batches(self) -> Sequence[Batch]:
        """The batches of which nothing was stored yet: none is ever taken out."""
        return self._table.rows[len(self._stored) :]

    def gather(self, changes: Changes, most: int = ALL) -> None:
        """Put new batches with their rows, and of known ones what has moved since the last time."""
        # A new batch may have 100,000 transactions: other new ones follow with the next commit.
        for batch in self._new_batches():
            if most <= 0:
                break
            most -= len(batch.rows)
            # Its line follows below, with those of the batches that have moved.
            self._stored.append(None)
            # All rows are written now: from here on the batch notes which of them move.
            batch.take_moved_rows()
            self._put_rows(changes, batch, range(len(batch.rows)))
        # Not strict: the batches that come last may have to wait.
        for batch, stored in zip(self._table.rows, self._stored, strict=False):
            progress = _progress_of(batch)
            if progress != stored:
                self._stored[batch.seq] = progress
                changes.put(self.name, batch.seq, [replace(batch, rows=[]), len(batch.rows)])
                self._put_rows(changes, batch, batch.take_moved_rows())

    def _put_rows(self, changes: Changes, batch: Batch, moved: Iterable[int]) -> None:
        """Write the blocks of the rows at some places: rows move one after the other, so a few
        blocks are written again, and not a line for each of 100,000 rows."""
        for block in sorted({place // BATCH_BLOCK for place in moved}):
            rows = batch.rows[block * BATCH_BLOCK : (block + 1) * BATCH_BLOCK]
            changes.put(self._ROWS, batch.seq * _BLOCKS + block, rows)

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        """Take over the batches as ``gather`` has put them, each with how many transactions it has,
        then these. Raises ``ValueError`` where some are missing."""
        counts = []
        for place, (seq, (plain, count)) in enumerate(stored.get(self.name, ())):
            if place != seq:
                raise ValueError(f"row {place} is missing")
            self._table.add(read_plain(Batch, plain, cards))
            counts.append(count)
        for number, block in stored.get(self._ROWS, ()):
            rows = self._table.rows[number // _BLOCKS].rows
            rows.extend(read_plain(BatchRow, raw, cards) for raw in block)
        for batch, count in zip(self._table.rows, counts, strict=True):
            if len(batch.rows) != count:
                raise ValueError(
                    f"batch {batch.batch_id} has {len(batch.rows)} transactions, wanted {count}"
                )
            # From here on the batch notes which of its rows move: all of them are stored.
            batch.take_moved_rows()
            self._stored.append(_progress_of(batch))


class _Progress(NamedTuple):
    """What of a batch changes as it is worked on. None of its rows moves without one of these."""

    status: BatchState
    success: int
    failure: int
    stalled: int | None


def _progress_of(batch: Batch) -> _Progress:
    """How far a batch is."""
    return _Progress(batch.status, batch.success, batch.failure, batch.stalled)


class RuleKeysPart(NotedPart[tuple[str, str]]):
    """How often the keys of rules were seen, and their rules fired for them. The other counters of
    a rule are a few numbers, in the head; of keys there may be as many as calls."""

    def __init__(self, sandbox: Sandbox, changed_parts: ChangedParts) -> None:
        super().__init__("rule_keys", changed_parts)
        self._director = sandbox.director
        self._numbers: dict[tuple[str, str], int] = {}
        self._last = 0
        self._note_all()
        sandbox.director.on_count = self._count

    def _note_all(self) -> None:
        """Note what differs between the keys that are stored and those that count now. A key that
        is in both goes on with the counters that it has, as its rule has the same text."""
        self._tallies = self._director.tallies
        # In the order in which they were counted, so that the same requests write the same file.
        counted: dict[tuple[str, str], None] = {}
        for rule, tally in self._tallies.rules.items():
            for key in tally.keys:
                counted[rule, key] = None
        gone = [rule_key for rule_key in self._numbers if rule_key not in counted]
        for rule_key in gone:
            self.note(self._numbers.pop(rule_key), None)
        for rule, key in counted:
            if (rule, key) not in self._numbers:
                self._count(rule, key)

    def _count(self, rule: str, key: str | None) -> None:
        """A rule has counted for a key; None: it begins anew, without any."""
        if key is None:
            keys_of_rule = [known for known in self._numbers if known[0] == rule]
            for rule_key in keys_of_rule:
                self.note(self._numbers.pop(rule_key), None)
            return
        number = self._numbers.get((rule, key))
        if number is None:
            self._last += 1
            number = self._numbers[rule, key] = self._last
        self.note(number, (rule, key))

    def gather(self, changes: Changes, most: int = ALL) -> None:
        """Put the keys that were counted. Other tallies mean that other rules were put in force,
        which nobody has told of key by key."""
        if self._tallies is not self._director.tallies:
            self._note_all()
        super().gather(changes, most)

    def written(self, number: int, value: tuple[str, str]) -> list[object]:
        """A rule and a key with their counters of now."""
        rule, key = value
        return [rule, key, *self._tallies.rules[rule].keys[key]]

    def take(self, rows: PartRows, cards: CardRegistry) -> None:
        """Have these counters, of rules that are in force: another version of the server may have
        other test values."""
        self._tallies = self._director.tallies
        for number, (rule, key, *times) in rows:
            tally = self._tallies.rules.get(rule)
            if tally is not None:
                self._numbers[rule, key] = self._last = number
                tally.keys[key] = Times(*times)


class SchedulePart(NotedPart[ScheduledWork]):
    """What is planned, by its order."""

    def __init__(self, sandbox: Sandbox, changed_parts: ChangedParts) -> None:
        super().__init__("schedule", changed_parts)
        self._entries = sandbox.schedule.entries
        for entry in self._entries:
            self.note(entry.order, entry)
        sandbox.schedule.on_change = self.note

    def take(self, rows: PartRows, cards: CardRegistry) -> None:
        """Have this planned, in the list of the schedule itself, which is a heap."""
        self._entries[:] = [read_plain(ScheduledWork, raw, cards) for _, raw in rows]
        heapify(self._entries)


class DeliveriesPart(NotedPart[Delivery]):
    """Deliveries, each by the number of its first change: no two have the same."""

    def __init__(self, sandbox: Sandbox, changed_parts: ChangedParts) -> None:
        super().__init__("deliveries", changed_parts)
        self._log = sandbox.deliveries
        # Those that are there are numbered in their order. For each of them a change was counted,
        # so that changes to come have higher numbers.
        self._numbers = {
            delivery.delivery_id: number for number, delivery in enumerate(self._log, 1)
        }
        for delivery in self._log:
            self._hear(delivery.delivery_id)
        self._log.on_change = self._hear

    def _hear(self, delivery_id: str) -> None:
        """A delivery is new, has changed, or was dropped."""
        delivery = self._log.get(delivery_id)
        if delivery is None:
            self.note(self._numbers.pop(delivery_id), None)
        else:
            self.note(self._numbers.setdefault(delivery_id, delivery.changed), delivery)

    def take(self, rows: PartRows, cards: CardRegistry) -> None:
        """Have these deliveries."""
        by_number = {number: read_plain(Delivery, raw, cards) for number, raw in rows}
        self._log.take_over(by_number.values())
        self._numbers.update(
            {delivery.delivery_id: number for number, delivery in by_number.items()}
        )


class InboxPart(NotedPart[tuple[str, InboxMessage]]):
    """What has arrived at inboxes, by its number."""

    def __init__(self, sandbox: Sandbox, changed_parts: ChangedParts) -> None:
        super().__init__("inbox", changed_parts)
        self._inboxes = sandbox.inboxes
        for name, message in self._inboxes:
            self.note(message.number, (name, message))
        self._inboxes.on_change = self.note

    def take(self, rows: PartRows, cards: CardRegistry) -> None:
        """Have these messages arrived."""
        for _, raw in rows:
            self._inboxes.keep(*read_plain(tuple[str, InboxMessage], raw, cards))
