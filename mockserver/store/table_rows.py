"""The parts of a stored sandbox: each knows what has changed in it since it was last asked, as rows of a name, a number
and bytes, and takes the same rows back.

What may be large reports its changes (tables, the schedule, counters of rules, deliveries, inboxes) or only grows at
its end (the journal, and the changes of objects that outlive its entries). What is bounded is compared with what was
written: its values are never changed in place. Batches alone change in place, and may have 100,000 rows: a batch is a
row without its transactions, which are written by the block.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from heapq import heapify
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

from mockserver.domain.batch import Batch, BatchRow
from mockserver.domain.delivery import Delivery
from mockserver.domain.record import replace
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.codec import Form, row_form
from mockserver.engine.inboxes import InboxMessage
from mockserver.engine.indexed_table import Table
from mockserver.engine.past import Past
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import ScheduledWork
from mockserver.engine.tables import ROW_CLASSES, TABLE_NAMES
from mockserver.scenario.director import Times
from mockserver.store.schema import Changes, Fresh, StoredRows

BLOCK = 50
"""Steps of something that only grows of which a row is made, at most."""

BATCH_BLOCK = 200
"""Transactions of a batch of which a row is made, at most."""

_BLOCKS = 1 << 20
"""Blocks that a batch can have."""

ALL = sys.maxsize


class Part:
    """One part of one sandbox."""

    name: str

    def __len__(self) -> int:
        """How many of its rows have changed, of a part that knows."""
        return 0

    def gather(self, changes: Changes, most: int = ALL) -> None:
        """Report what has changed since the last time: of a part that knows how many rows have, ``most`` of them."""

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        """Take over what was stored. Raises ``ValueError`` when some is missing."""


class TablePart(Part):
    """The rows of one table, by their place: the first ``_known`` were gathered, of which some have changed since.
    ``fresh`` gets what is written of them, for the journal of the same commit; ``news`` has each part with a change."""

    def __init__(self, name: str, table: Table[Any], row: type, fresh: Fresh, news: dict[Part, None]) -> None:
        self.name = name
        self._news = news
        news[self] = None
        self._fresh = fresh
        self._table = table
        self._form = row_form(row)
        self._known = 0
        self._changed: dict[int, None] = {}
        table.watch(self._hear)

    def _hear(self, _: Table[Any], row: Any, __: Any) -> None:
        self._news[self] = None
        if row.seq < self._known:
            self._changed[row.seq] = None

    def __len__(self) -> int:
        return len(self._table.rows) - self._known + len(self._changed)

    def gather(self, changes: Changes, most: int = ALL) -> None:
        some = list(islice(self._changed, most))
        end = min(self._known + most - len(some), len(self._table.rows))
        for seq in (*some, *range(self._known, end)):
            self._changed.pop(seq, None)
            row = self._table.rows[seq]
            self._fresh[self.name, seq] = row, (plain := self._form.to_plain(row))
            changes.put(self.name, seq, plain)
        self._known = end

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        # What was stored is no change.
        heard, self._table.listeners = self._table.listeners, ()
        for place, (seq, raw) in enumerate(stored.get(self.name, ())):
            if place != seq:
                raise ValueError(f"row {place} is missing")
            self._table.add(self._form.to_value(raw, cards))
        self._table.listeners = heard
        self._known = len(self._table)


class MemoryPart(Part):
    """A bounded dictionary whose values are replaced, never changed: each entry is a row, in the order of the numbers.

    It is the attribute ``slot`` of its ``owner``; ``form`` is that of a pair of key and value. An entry that moves to
    the end gets another number.
    """

    __slots__ = ("_form", "_known", "_last", "_owner", "_slot", "name")

    def __init__(self, name: str, owner: object, slot: str, form: Form) -> None:
        self.name = name
        self._owner = owner
        self._slot = slot
        self._form = form
        self._known: dict[Any, tuple[int, Any]] = {}
        self._last = 0

    @property
    def memory(self) -> Mapping[Any, Any]:
        """What it stores."""
        found: Mapping[Any, Any] = getattr(self._owner, self._slot)
        return found

    def gather(self, changes: Changes, most: int = ALL) -> None:
        memory, known, before = self.memory, self._known, 0
        for key, value in memory.items():
            number, held = known.get(key, (0, None))
            if is_moved := number <= before:
                if number:
                    changes.drop(self.name, number)
                self._last = number = self._last + 1
            if is_moved or held is not value:
                known[key] = number, value
                changes.put(self.name, number, self._form.to_plain((key, value)))
            before = number
        if len(known) > len(memory):
            for key in [key for key in known if key not in memory]:
                changes.drop(self.name, known.pop(key)[0])

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        memory = getattr(self._owner, self._slot)
        for number, raw in stored.get(self.name, ()):
            key, value = self._form.to_value(raw, cards)
            memory[key] = value
            self._known[key] = number, value
            self._last = number


class ReportedPart(Part):
    """What reports which of its rows have changed, by their numbers. ``write`` gives the plain data of a row, ``take``
    takes all of them over."""

    def __init__(self, name: str, write: Callable[[Any], object], take: Callable[..., None]) -> None:
        self.name = name
        self._write = write
        self._take = take
        self._changed: dict[int, Any] = {}

    def note(self, number: int, value: object) -> None:
        """A row has this value from now on; it is gone when that is None."""
        self._changed[number] = value

    def __len__(self) -> int:
        return len(self._changed)

    def gather(self, changes: Changes, most: int = ALL) -> None:
        for _ in range(min(most, len(self._changed))):
            number, value = self._changed.popitem()
            if value is None:
                changes.drop(self.name, number)
            else:
                changes.put(self.name, number, self._write(value))

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        self._take(stored.get(self.name, ()), cards)
        self._changed.clear()


class GrowingPart(Part):
    """What only grows at its end: a row has the steps that a commit holds, some at most, under the number of the last.
    ``since`` gives what was added after a number, ``gone`` the number up to which all is dropped. That goes by the row
    (``Changes.cut``), so that the oldest row may hold steps which are gone already."""

    def __init__(
        self,
        name: str,
        since: Callable[[int], Iterable[Any]],
        gone: Callable[[], int],
        write: Callable[[Any], object],
        take: Callable[[Iterable[Any], CardRegistry], None],
    ) -> None:
        self.name = name
        self._since = since
        self._gone = gone
        self._write = write
        self._take = take
        self._cut = self._written = 0

    def __len__(self) -> int:
        return sum(1 for _ in self._since(self._written))

    def gather(self, changes: Changes, most: int = ALL) -> None:
        steps = groupby(self._since(self._written), attrgetter("number"))
        new = [(number, [*map(self._write, step)]) for number, step in islice(steps, most)]
        for first in range(0, len(new), BLOCK):
            block = new[first : first + BLOCK]
            self._written = block[-1][0]
            changes.put(self.name, self._written, block)
        if (gone := self._gone()) - self._cut >= BLOCK:
            self._cut = gone
            changes.cut(self.name, gone)

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        rows = stored.get(self.name, ())
        self._take((one for _, block in rows for _, step in block for one in step), cards)
        self._written = rows[-1][0] if rows else 0


class BatchPart(Part):
    """The batches of a sandbox, and their transactions."""

    name = "batches"
    _ROWS = "batch_rows"

    def __init__(self, table: Table[Batch]) -> None:
        self._table = table
        self._known: list[tuple[object, ...]] = []

    def __len__(self) -> int:
        return sum(len(batch.rows) for batch in self._table.rows[len(self._known) :])

    def gather(self, changes: Changes, most: int = ALL) -> None:
        # A new batch may have 100,000 transactions: others follow with the next commit.
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
                plain = row_form(Batch).to_plain(replace(batch, rows=[]))
                changes.put(self.name, batch.seq, [plain, len(batch.rows)])
                self._put_rows(changes, batch, batch.news_of_rows())

    def _put_rows(self, changes: Changes, batch: Batch, moved: Iterable[int]) -> None:
        write = row_form(BatchRow).to_plain
        for block in sorted({place // BATCH_BLOCK for place in moved}):
            rows = batch.rows[block * BATCH_BLOCK : (block + 1) * BATCH_BLOCK]
            changes.put(self._ROWS, batch.seq * _BLOCKS + block, [*map(write, rows)])

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        counts = []
        for place, (seq, (plain, count)) in enumerate(stored.get(self.name, ())):
            if place != seq:
                raise ValueError(f"row {place} is missing")
            self._table.add(row_form(Batch).to_value(plain, cards))
            counts.append(count)
        for number, block in stored.get(self._ROWS, ()):
            self._table.rows[number // _BLOCKS].rows.extend(map(row_form(BatchRow).to_value, block))
        for batch, count in zip(self._table.rows, counts, strict=True):
            if len(batch.rows) != count:
                raise ValueError(f"batch {batch.batch_id} has {len(batch.rows)} transactions, wanted {count}")
            batch.news_of_rows()
            self._known.append(_standing(batch))


def _standing(batch: Batch) -> tuple[object, ...]:
    return batch.status, batch.success, batch.failure, batch.stalled


class RuleKeysPart(ReportedPart):
    """How often the keys of rules were seen, and their rules fired for them."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__("rule_keys", self._write_key, self._take_keys)
        self._director = sandbox.director
        self._numbers: dict[tuple[str, str], int] = {}
        self._last = 0
        self._note_all()
        sandbox.director.on_count = self._count

    def _note_all(self) -> None:
        self._tallies = self._director.tallies
        present = {(rule, key): None for rule, tally in self._tallies.rules.items() for key in tally.keys}
        for gone in self._numbers.keys() - present.keys():
            self.note(self._numbers.pop(gone), None)
        for rule, key in present:
            if (rule, key) not in self._numbers:
                self._count(rule, key)

    def _count(self, rule: str, key: str | None) -> None:
        if key is None:
            for gone in [known for known in self._numbers if known[0] == rule]:
                self.note(self._numbers.pop(gone), None)
            return
        number = self._numbers.get((rule, key))
        if number is None:
            self._last = number = self._numbers[rule, key] = self._last + 1
        self.note(number, (rule, key))

    def gather(self, changes: Changes, most: int = ALL) -> None:
        if self._tallies is not self._director.tallies:
            # Other rules were put in force.
            self._note_all()
        super().gather(changes, most)

    def _write_key(self, counted: tuple[str, str]) -> list[object]:
        rule, key = counted
        return [rule, key, *self._tallies.rules[rule].keys[key]]

    def _take_keys(self, rows: Iterable[tuple[int, Any]], cards: CardRegistry) -> None:
        for number, (rule, key, *times) in rows:
            tally = self._tallies.rules.get(rule)
            if tally is not None:
                self._numbers[rule, key] = self._last = number
                tally.keys[key] = Times(*times)


def schedule_part(sandbox: Sandbox) -> ReportedPart:
    """What is planned, by its order."""
    form, entries = row_form(ScheduledWork), sandbox.schedule.entries

    def take(rows: Iterable[tuple[int, Any]], cards: CardRegistry) -> None:
        entries[:] = [form.to_value(raw) for _, raw in rows]
        heapify(entries)

    part = ReportedPart("schedule", form.to_plain, take)
    for entry in entries:
        part.note(entry.order, entry)
    sandbox.schedule.on_change = lambda entry, is_added: part.note(entry.order, entry if is_added else None)
    return part


def deliveries_part(sandbox: Sandbox) -> ReportedPart:
    """Deliveries, each by the number of its first change: no two have the same."""
    form, log = row_form(Delivery), sandbox.deliveries
    # Those that are there keep their order: as many changes have been, so later ones get other numbers.
    numbers = {delivery.delivery_id: number for number, delivery in enumerate(log, 1)}

    def take(rows: Iterable[tuple[int, Any]], cards: CardRegistry) -> None:
        stored = {number: form.to_value(raw) for number, raw in rows}
        log.take_over(stored.values())
        numbers.update({delivery.delivery_id: number for number, delivery in stored.items()})

    def note(delivery_id: str) -> None:
        delivery = log.get(delivery_id)
        if delivery is None:
            part.note(numbers.pop(delivery_id), None)
        else:
            part.note(numbers.setdefault(delivery_id, delivery.changed), delivery)

    part = ReportedPart("deliveries", form.to_plain, take)
    for delivery in log:
        note(delivery.delivery_id)
    log.on_change = note
    return part


def inbox_part(sandbox: Sandbox) -> ReportedPart:
    """What has arrived at inboxes, by its number."""
    form, inboxes = row_form(tuple[str, InboxMessage]), sandbox.inboxes

    def take(rows: Iterable[tuple[int, Any]], cards: CardRegistry) -> None:
        for _, raw in rows:
            inboxes.keep(*form.to_value(raw))

    def note(number: int, name: str, arrival: InboxMessage | None) -> None:
        part.note(number, (name, arrival) if arrival is not None else None)

    part = ReportedPart("inbox", form.to_plain, take)
    for name, arrival in inboxes:
        note(arrival.number, name, arrival)
    inboxes.on_change = note
    return part


class PastPart(Part):
    """The changes that reads may have to take back, each with the value before; that after it stands in the next
    change of the same row, or in its table."""

    name = "past"

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._past: Past | None = None
        self._noted = self._begins = 0

    def gather(self, changes: Changes, most: int = ALL) -> None:
        past = self._sandbox.past
        if past is None:
            return
        if past is not self._past:
            self._past, self._noted = past, 0
        new = list(past.newest(past.noted - self._noted))
        for number, (at, _, after, before) in enumerate(new, past.noted - len(new) + 1):
            plain = row_form(type(before)).to_plain(before) if before is not None else None
            changes.put(self.name, number, [at, TABLE_NAMES[type(after)], after.seq, plain])
        self._noted = past.noted
        begins = past.noted - len(past)
        if begins != self._begins:
            self._begins = begins
            changes.cut(self.name, begins)

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        sandbox, rows = self._sandbox, stored.get(self.name, ())
        self._past = sandbox.past
        if sandbox.past is None:
            return
        changes = [
            (at, getattr(sandbox, name), seq, row_form(ROW_CLASSES[name]).to_value(plain, cards) if plain else None)
            for _, (at, name, seq, plain) in reversed(rows)
        ]
        self._noted = rows[-1][0] if rows else 0
        self._begins = self._noted - len(rows)
        sandbox.past.take_over(changes, self._noted)
