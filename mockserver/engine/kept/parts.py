"""The parts of which a kept sandbox is made: each knows what has changed in it since it was last asked, as rows of a
name, a number and bytes, and takes the same rows back.

What may be large says itself what has changed (tables, the schedule, counters of rules, deliveries, inboxes) or only
ever grows at its end (the journal, and the changes of objects that outlive its entries), and loses what is oldest. What
is bounded is compared with what was kept: its values are never changed in place. Batches alone change in place, and may
have 100,000 rows: a batch is a row without its transactions, which are kept by the block.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from functools import cache
from heapq import heapify
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, Protocol, TypeAlias, get_args, get_origin, get_type_hints

from mockserver.domain.batch import Batch, BatchRow, RowFailure
from mockserver.domain.delivery import Delivery
from mockserver.domain.events import Event, Subject
from mockserver.domain.record import mutable, replace
from mockserver.domain.remembered import Recent
from mockserver.domain.states import BatchState
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.codec import Form
from mockserver.engine.inboxes import InboxMessage
from mockserver.engine.indexed_table import Table
from mockserver.engine.journal import Journal
from mockserver.engine.kept.forms import Forms
from mockserver.engine.kept.steps import StepForms
from mockserver.engine.past import Past
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import ScheduledWork
from mockserver.engine.stories import Cause, Change
from mockserver.engine.tables import ROW_CLASSES, TABLE_NAMES
from mockserver.findings.doubts import Chains
from mockserver.findings.ledger import Finding, Ledger
from mockserver.findings.watch import Watch
from mockserver.scenario.director import Times

BLOCK = 50
"""Entries of something that only grows of which a row is made, at most."""

BATCH_BLOCK = 200
"""Transactions of a batch of which a row is made, at most."""

_BLOCKS = 1 << 20
"""Blocks that a batch can have."""

_ALL = sys.maxsize

KeptRow: TypeAlias = tuple[int, Any]
"""A row of a part as it is read: its number, and its plain data."""


class JsonWriter(Protocol):
    """Writes plain data."""

    def text(self, value: object) -> bytes:
        """The JSON text of plain data. Raises ``TypeError`` for what is none."""


@mutable
class Changes:
    """What has changed in one sandbox: rows that are new or have another content, rows that are gone, and parts that
    begin after a number. ``pages`` are the ids of new objects that have a page."""

    writer: JsonWriter
    puts: list[tuple[str, int, bytes]] = field(default_factory=list)
    drops: list[tuple[str, int]] = field(default_factory=list)
    cuts: list[tuple[str, int]] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)

    def put(self, part: str, number: int, value: object) -> None:
        """A row with plain data."""
        self.puts.append((part, number, self.writer.text(value)))


class KeptPart(Protocol):
    """One part of one sandbox."""

    name: str

    def gather(self, changes: Changes) -> None:
        """Say what has changed since the last time."""

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """Take over what was kept, in the order of its numbers."""


class TablePart:
    """The rows of one table, by their place: the first ``_known`` were gathered, of which some have changed since."""

    __slots__ = ("_changed", "_kept", "_known", "_table", "name")

    def __init__(self, name: str, table: Table[Any], kept: Form) -> None:
        self.name = name
        self._table = table
        self._kept = kept
        self._known = 0
        self._changed: dict[int, None] = {}
        table.watch(self._hear)

    def _hear(self, _: Table[Any], row: Any, __: Any) -> None:
        if row.seq < self._known:
            self._changed[row.seq] = None

    def __len__(self) -> int:
        return len(self._table.rows) - self._known + len(self._changed)

    def gather(self, changes: Changes, most: int = _ALL) -> None:
        """Rows that have another value, and those that are new: ``most`` of them at most."""
        some = list(islice(self._changed, most))
        end = min(self._known + most - len(some), len(self._table.rows))
        for seq in (*some, *range(self._known, end)):
            self._changed.pop(seq, None)
            changes.put(self.name, seq, self._kept.to_plain(self._table.rows[seq]))
        self._known = end

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """Every row, in its place. Raises ``ValueError`` when one is missing."""
        # What was kept is no change.
        heard, self._table.listeners = self._table.listeners, ()
        for place, (seq, raw) in enumerate(rows):
            if place != seq:
                raise ValueError(f"row {place} is missing")
            self._table.add(self._kept.to_value(raw, cards))
        self._table.listeners = heard
        self._known = len(rows)


class MemoryPart:
    """A bounded dictionary whose values are replaced, never changed: each entry is a row, in the order of the numbers.

    It is the attribute ``slot`` of its ``owner``; ``key`` and ``value`` are the forms of both. An entry that moves to
    the end gets another number.
    """

    __slots__ = ("_key", "_known", "_last", "_owner", "_slot", "_value", "name")

    def __init__(self, name: str, owner: object, slot: str, key: Form, value: Form) -> None:
        self.name = name
        self._owner = owner
        self._slot = slot
        self._key = key
        self._value = value
        self._known: dict[Any, tuple[int, Any]] | None = None
        self._last = 0

    def gather(self, changes: Changes) -> None:
        """Entries that are new, moved or have another value, and those that are gone."""
        memory, known = getattr(self._owner, self._slot), self._known or {}
        if not memory and not known:
            return
        before = 0
        for key, value in memory.items():
            here = known.get(key)
            if here is not None and here[0] > before:
                before = here[0]
                if here[1] is value:
                    continue
            else:
                if here is not None:
                    changes.drops.append((self.name, here[0]))
                self._last = before = self._last + 1
            known[key] = before, value
            changes.put(self.name, before, [self._key.to_plain(key), self._value.to_plain(value)])
        if len(known) > len(memory):
            for key in [key for key in known if key not in memory]:
                changes.drops.append((self.name, known.pop(key)[0]))
        self._known = known or None

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """Every entry, in order."""
        memory, known = getattr(self._owner, self._slot), {}
        for number, (key, value) in rows:
            name = self._key.to_value(key, cards)
            memory[name] = made = self._value.to_value(value, cards)
            known[name] = number, made
            self._last = number
        self._known = known or None


class WholePart:
    """Something small, which is kept whole when its text is another: ``_kept`` is the hash of that kept last."""

    __slots__ = ("_kept", "_read", "_write", "name")

    def __init__(self, name: str, write: Callable[[], object], read: Callable[[Any, CardRegistry], None]) -> None:
        self.name = name
        self._write = write
        self._read = read
        self._kept = 0

    def gather(self, changes: Changes) -> None:
        """All of it, if anything is different."""
        now = changes.writer.text(self._write())
        if (written := hash(now)) != self._kept:
            self._kept = written
            changes.puts.append((self.name, 0, now))

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """All of it. Raises ``ValueError`` when it is missing."""
        if len(rows) != 1:
            raise ValueError("it is missing")
        self._read(rows[0][1], cards)


class ListedPart:
    """What says itself which of its rows have changed: ``note`` takes the number of one, with its plain data or None
    when it is gone. ``take`` takes all of them over."""

    def __init__(self, name: str, take: Callable[[Iterable[KeptRow], CardRegistry], None]) -> None:
        self.name = name
        self._take = take
        self._changed: dict[int, Callable[[], object] | None] = {}

    def note(self, number: int, write: Callable[[], object] | None) -> None:
        """A row is another from now on, or gone."""
        self._changed[number] = write

    def __len__(self) -> int:
        return len(self._changed)

    def gather(self, changes: Changes, most: int = _ALL) -> None:
        """The rows that were noted, ``most`` of them at most."""
        for _ in range(min(most, len(self._changed))):
            number, write = self._changed.popitem()
            if write is None:
                changes.drops.append((self.name, number))
            else:
                changes.put(self.name, number, write())

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """All rows."""
        self._take(rows, cards)
        self._changed.clear()


class GrowingPart(ListedPart):
    """What only grows at its end: a row has the entries that a commit holds, some at most, under the number of the
    last. ``note`` is called with each entry once, in order. What is too old goes by the row (``Changes.cuts``), so that
    the oldest row may hold entries which are gone already."""

    def __init__(self, name: str, take: Callable[[Iterable[KeptRow], CardRegistry], None]) -> None:
        super().__init__(name, take)
        self._cut = 0

    def cut(self, changes: Changes, gone: int) -> None:
        """The entries up to a number are gone: as many rows with them as are worth a statement."""
        if gone - self._cut >= BLOCK:
            self._cut = gone
            changes.cuts.append((self.name, gone))

    def gather(self, changes: Changes, most: int = _ALL) -> None:
        """The oldest of the entries that were noted."""
        for _ in range(0, min(most, len(self._changed)), BLOCK):
            numbers = list(islice(self._changed, min(most, BLOCK)))
            block = [(number, write()) for number in numbers if (write := self._changed.pop(number)) is not None]
            changes.put(self.name, numbers[-1], block)

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """All entries, one by one."""
        self._take((entry for _, block in rows for entry in block), cards)
        self._changed.clear()


class BatchPart:
    """The batches of a sandbox, and their transactions."""

    name = "batches"

    def __init__(self, table: Table[Batch], forms: Forms) -> None:
        self._table = table
        self._batch = forms.of(Batch)
        self._failure = forms.of(RowFailure | None)
        self._known: list[tuple[object, ...]] = []
        self._counts: list[int] = []

    def __len__(self) -> int:
        return sum(len(batch.rows) for batch in self._table.rows[len(self._known) :])

    def gather(self, changes: Changes, most: int = _ALL) -> None:
        """Batches that have moved, and the transactions that have; new batches until ``most`` transactions are there,
        of which one may have 100,000."""
        for batch in self._table.rows[len(self._known) :]:
            if most <= 0:
                break
            most -= len(batch.rows)
            self._known.append(())
            batch.news_of_rows()
            self._put_rows(changes, batch, range(len(batch.rows)))
        for batch, known in zip(self._table.rows, self._known, strict=False):
            stands = _standing(batch)
            if stands != known:
                self._known[batch.seq] = stands
                plain = self._batch.to_plain(replace(batch, rows=[]))
                changes.put(self.name, batch.seq, [plain, len(batch.rows)])
                self._put_rows(changes, batch, batch.news_of_rows())

    def _put_rows(self, changes: Changes, batch: Batch, moved: Iterable[int]) -> None:
        for block in sorted({place // BATCH_BLOCK for place in moved}):
            rows = batch.rows[block * BATCH_BLOCK : (block + 1) * BATCH_BLOCK]
            changes.put(BatchRowsPart.name, batch.seq * _BLOCKS + block, [self._write_row(row) for row in rows])

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """The batches, without their transactions. Raises ``ValueError`` when one is missing."""
        for place, (seq, (plain, count)) in enumerate(rows):
            if place != seq:
                raise ValueError(f"row {place} is missing")
            self._table.add(self._batch.to_value(plain, cards))
            self._counts.append(count)

    def load_rows(self, rows: Iterable[KeptRow]) -> None:
        """The transactions. Raises ``ValueError`` when some are missing."""
        for number, block in rows:
            self._table.rows[number // _BLOCKS].rows.extend(map(self._read_row, block))
        for batch, count in zip(self._table.rows, self._counts, strict=True):
            if len(batch.rows) != count:
                raise ValueError(f"batch {batch.batch_id} has {len(batch.rows)} transactions, wanted {count}")
            batch.news_of_rows()
            self._known.append(_standing(batch))

    def _write_row(self, row: BatchRow) -> list[object]:
        plain: list[object] = [row.payment_method_id, str(row.amount), row.currency, row.reference]
        if row.status is not BatchState.RECEIVED or row.stalls is not None:
            plain += [row.status.value, row.charge_id, self._failure.to_plain(row.failure), row.stalls]
        return plain

    def _read_row(self, raw: Any) -> BatchRow:
        method_id, amount, currency, reference, *after = raw
        if not after:
            return BatchRow(method_id, Decimal(amount), currency, reference)
        status, charge_id, failure, stalls = after
        return BatchRow(
            method_id,
            Decimal(amount),
            currency,
            reference,
            status=BatchState(status),
            charge_id=charge_id,
            failure=self._failure.to_value(failure),
            stalls=stalls,
        )


class BatchRowsPart:
    """The transactions of batches, which ``BatchPart`` says with them."""

    name = "batch_rows"

    __slots__ = ("_batches",)

    def __init__(self, batches: BatchPart) -> None:
        self._batches = batches

    def gather(self, changes: Changes) -> None:
        """Nothing: what has changed stands beside its batch."""

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """Every transaction, once the batches are there. Raises ``ValueError`` when some are missing."""
        self._batches.load_rows(rows)


def _standing(batch: Batch) -> tuple[object, ...]:
    return batch.status, batch.success, batch.failure, batch.stalled


class RuleKeys(ListedPart):
    """How often the keys of rules were seen, and their rules fired for them."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__("rule_keys", self._take_keys)
        self._director = sandbox.director
        self._numbers: dict[tuple[str, str], int] = {}
        self._last = 0
        self._all()
        sandbox.director.on_count = self._count

    def _all(self) -> None:
        self._tallies = self._director.tallies
        known = set(self._numbers)
        for rule, tally in self._tallies.rules.items():
            for key in tally.keys:
                known.discard((rule, key))
                if (rule, key) not in self._numbers:
                    self._count(rule, key)
        for gone in known:
            self.note(self._numbers.pop(gone), None)

    def _count(self, rule: str, key: str | None) -> None:
        if key is None:
            for gone in [known for known in self._numbers if known[0] == rule]:
                self.note(self._numbers.pop(gone), None)
            return
        number = self._numbers.get((rule, key))
        if number is None:
            self._last = number = self._numbers[rule, key] = self._last + 1
        self.note(number, lambda: [rule, key, *self._tallies.rules[rule].keys[key]])

    def gather(self, changes: Changes, most: int = _ALL) -> None:
        """The keys that were counted."""
        if self._tallies is not self._director.tallies:
            # Other rules were put in force.
            self._all()
        super().gather(changes, most)

    def _take_keys(self, rows: Iterable[KeptRow], cards: CardRegistry) -> None:
        for number, (rule, key, seen, fired) in rows:
            tally = self._tallies.rules.get(rule)
            if tally is not None:
                self._numbers[rule, key] = self._last = number
                tally.keys[key] = Times(seen, fired)


def schedule_part(sandbox: Sandbox, forms: Forms) -> ListedPart:
    form = forms.of(ScheduledWork)

    def take(rows: Iterable[KeptRow], cards: CardRegistry) -> None:
        sandbox.schedule.entries[:] = [form.to_value(raw) for _, raw in rows]
        heapify(sandbox.schedule.entries)

    def note(entry: ScheduledWork, is_added: bool) -> None:
        part.note(entry.order, (lambda: form.to_plain(entry)) if is_added else None)

    part = ListedPart("schedule", take)
    for entry in sandbox.schedule.entries:
        note(entry, True)
    sandbox.schedule.on_change = note
    return part


def deliveries_part(sandbox: Sandbox, forms: Forms) -> ListedPart:
    form = forms.of(Delivery)
    log, numbers = sandbox.deliveries, {}

    def take(rows: Iterable[KeptRow], cards: CardRegistry) -> None:
        kept = [(number, form.to_value(raw)) for number, raw in rows]
        log.take_over(delivery for _, delivery in kept)
        numbers.update({delivery.delivery_id: number for number, delivery in kept})

    def note(delivery_id: str) -> None:
        delivery = log.get(delivery_id)
        if delivery is None:
            part.note(numbers.pop(delivery_id), None)
            return
        # The number of its first change: no two deliveries have the same.
        number = numbers.setdefault(delivery_id, delivery.changed)
        part.note(number, lambda: form.to_plain(delivery))

    part = ListedPart("deliveries", take)
    # Those that are there keep their order: as many changes have been, so later ones get other numbers.
    numbers.update({delivery.delivery_id: number for number, delivery in enumerate(log, 1)})
    for delivery in log:
        note(delivery.delivery_id)
    log.on_change = note
    return part


def inbox_part(sandbox: Sandbox, forms: Forms) -> ListedPart:
    form = forms.of(InboxMessage)

    def take(rows: Iterable[KeptRow], cards: CardRegistry) -> None:
        for _, (name, raw) in rows:
            sandbox.inboxes.keep(name, form.to_value(raw))

    def note(number: int, name: str, arrival: InboxMessage | None) -> None:
        part.note(number, (lambda: [name, form.to_plain(arrival)]) if arrival is not None else None)

    part = ListedPart("inbox", take)
    for name, arrival in sandbox.inboxes:
        note(arrival.number, name, arrival)
    sandbox.inboxes.on_change = note
    return part


class PastPart:
    """The changes that reads may have to take back, each with the value before; that after it stands in the next
    change of the same row, or in its table."""

    name = "past"

    __slots__ = ("_begins", "_forms", "_noted", "_past", "_sandbox")

    def __init__(self, sandbox: Sandbox, forms: Forms) -> None:
        self._sandbox = sandbox
        self._forms = forms
        self._past: Past | None = None
        self._noted = self._begins = 0

    def gather(self, changes: Changes) -> None:
        """Changes that are new, and those that are too old or forgotten."""
        past = self._sandbox.past
        if past is None:
            return
        if past is not self._past:
            self._past, self._noted = past, 0
        if past.noted > self._noted:
            new = list(past.newest(past.noted - self._noted))
            for number, (at, _, after, before) in enumerate(new, past.noted - len(new) + 1):
                name = TABLE_NAMES[type(after)]
                plain = self._forms.of(type(before)).to_plain(before) if before is not None else None
                changes.put(self.name, number, [at, name, after.seq, plain])
            self._noted = past.noted
        begins = past.noted - len(past)
        if begins != self._begins:
            self._begins = begins
            changes.cuts.append((self.name, begins))

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """The changes, once the tables are there."""
        sandbox = self._sandbox
        self._past = sandbox.past
        if sandbox.past is None:
            return
        changes = [
            (
                at,
                getattr(sandbox, name),
                seq,
                self._forms.of(ROW_CLASSES[name]).to_value(plain, cards) if plain else None,
            )
            for _, (at, name, seq, plain) in reversed(rows)
        ]
        self._noted = rows[-1][0] if rows else 0
        self._begins = self._noted - len(rows)
        sandbox.past.take_over(changes, self._noted)


class EntriesPart(GrowingPart):
    """The entries of a journal. ``written`` is the number of the newest that was gathered, or dropped."""

    def __init__(self, journal: Journal, steps: StepForms) -> None:
        super().__init__("journal", self._take_entries)
        self._journal = journal
        self._steps = steps
        self.written = 0

    def __len__(self) -> int:
        return min(self._journal.last - self.written, len(self._journal.entries))

    def gather(self, changes: Changes, most: int = _ALL) -> None:
        """The oldest of the entries that are new, and those that were dropped."""
        write = self._steps.write_entry
        entries = list(islice(self._journal.since(self.written), most))
        for first in range(0, len(entries), BLOCK):
            block = entries[first : first + BLOCK]
            changes.put(self.name, block[-1].number, [(entry.number, write(entry)) for entry in block])
            self.written = block[-1].number
        self.cut(changes, self._journal.dropped)

    def _take_entries(self, rows: Iterable[KeptRow], cards: CardRegistry) -> None:
        self._journal.entries.extend(
            self._steps.read_entry(number, raw, cards) for number, raw in rows if number > self.written
        )


class StoriesPart(GrowingPart):
    """The changes of objects, by the number of their entry."""

    def __init__(self, journal: Journal, forms: Forms) -> None:
        super().__init__("stories", self._take_changes)
        self._journal = journal
        self._causes = forms.of(tuple[Cause, ...])
        for number, changes in groupby(journal.stories, attrgetter("number")):
            self._note_changes(number, list(changes))
        journal.stories.on_change = self._note_changes

    def gather(self, changes: Changes, most: int = _ALL) -> None:
        """The changes that are new, and those that were dropped."""
        super().gather(changes, most)
        journal = self._journal
        self.cut(changes, (journal.stories.oldest or journal.last + 1) - 1)

    def _note_changes(self, number: int, changes: list[Change]) -> None:
        self.note(number, lambda: [self._write_change(change) for change in changes])

    def _write_change(self, change: Change) -> list[object]:
        event = change.event
        named = [event.subject_id, change.op, self._causes.to_plain(change.causes), event.subject.value]
        return [*named, event.what, event.before, event.after, event.at]

    def _take_changes(self, rows: Iterable[KeptRow], cards: CardRegistry) -> None:
        self._journal.stories.take(
            Change(number, op, Event(Subject(subject), subject_id, *what), self._causes.to_value(causes))
            for number, written in rows
            for subject_id, op, causes, subject, *what in written
        )


def memories(watch: Watch, forms: Forms) -> list[KeptPart]:
    """The findings, and what the judges remember, by their types; the calls in doubt, which hold one another, whole."""
    chains = forms.of(Chains)
    parts: list[KeptPart] = [
        FindingsPart(watch.ledger, forms),
        WholePart(
            "findings.chains",
            lambda: chains.to_plain(watch.doubts.chains()),
            lambda raw, _: watch.doubts.take_over(chains.to_value(raw)),
        ),
    ]
    judges: Mapping[str, Any] = watch.judges
    for name, judge in judges.items():
        for part, slot, key, value in _memories_of(name, judge.__class__):
            if not (judge is watch.doubts and slot in ("_calls", "_looks")):
                parts.append(MemoryPart(part, judge, slot, forms.of(key), forms.of(value)))
    return parts


def numbers(watch: Watch) -> list[tuple[str, object, str]]:
    """The counters of the judges, by name."""
    judges: Mapping[str, Any] = watch.judges
    return [
        (counter, judge, slot)
        for name, judge in judges.items()
        for counter, slot in _counters_of(name, judge.__class__)
    ]


@cache
def _memories_of(name: str, cls: type) -> list[tuple[str, str, Any, Any]]:
    """The memories of a kind of judge: the name of the part, the slot, the types of keys and values."""
    hints = get_type_hints(cls)
    return [
        (f"findings.{name}{slot}", slot, *get_args(hint)) for slot, hint in hints.items() if get_origin(hint) is Recent
    ]


@cache
def _counters_of(name: str, cls: type) -> list[tuple[str, str]]:
    return [(f"{name}.{slot}", slot) for slot, hint in get_type_hints(cls).items() if hint is int]


class FindingsPart:
    """The findings, by their numbers: ``_raised`` and ``_cleared`` are the changes of the ledger that were gathered."""

    name = "findings"

    __slots__ = ("_cleared", "_form", "_ledger", "_raised")

    def __init__(self, ledger: Ledger, forms: Forms) -> None:
        self._ledger = ledger
        self._form = forms.of(Finding)
        self._raised = self._cleared = 0

    def gather(self, changes: Changes) -> None:
        """Findings that are new or were raised again, and those that were cleared."""
        ledger = self._ledger
        if ledger.cleared != self._cleared:
            changes.cuts.append((self.name, ledger.dropped))
        if ledger.raised != self._raised:
            for finding in ledger:
                if finding.newest > self._raised:
                    number = int(finding.id.rpartition("-")[2])
                    changes.put(self.name, number, self._form.to_plain(finding))
        self._raised, self._cleared = ledger.raised, ledger.cleared

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """Every finding."""
        self._ledger.take_over(self._form.to_value(raw) for _, raw in rows)
        self._raised, self._cleared = self._ledger.raised, self._ledger.cleared
