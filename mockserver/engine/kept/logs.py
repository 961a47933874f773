"""The parts of a sandbox that say themselves what has changed: the journal, the schedule, counters of rules,
deliveries, inboxes, and what reads that lag see (``engine.past``).

The journal's entries, and the changes of objects that outlive them, only grow at their end, and lose what is oldest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify
from itertools import groupby, islice
from operator import attrgetter

from mockserver.domain.delivery import Delivery
from mockserver.domain.events import Event, Subject
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.inboxes import InboxMessage
from mockserver.engine.journal import Journal
from mockserver.engine.kept.forms import Forms
from mockserver.engine.kept.parts import BLOCK, Changes, GrowingPart, KeptRow, ListedPart
from mockserver.engine.kept.steps import TABLE_NAMES, StepForms
from mockserver.engine.past import Past
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import ScheduledWork
from mockserver.engine.stories import Cause, Change
from mockserver.engine.tables import ROW_CLASSES
from mockserver.scenario.director import Times


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

    def gather(self, changes: Changes) -> None:
        """The keys that were counted."""
        if self._tallies is not self._director.tallies:
            # Other rules were put in force.
            self._all()
        super().gather(changes)

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

    def take_some(self, changes: Changes, most: int) -> None:
        """The oldest of the entries that are new."""
        write = self._steps.write_entry
        entries = list(islice(self._journal.since(self.written), most))
        for first in range(0, len(entries), BLOCK):
            block = entries[first : first + BLOCK]
            changes.put(self.name, block[-1].number, [(entry.number, write(entry)) for entry in block])
            self.written = block[-1].number

    def gather(self, changes: Changes) -> None:
        """The entries that are new, and those that were dropped."""
        super().gather(changes)
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

    def gather(self, changes: Changes) -> None:
        """The changes that are new, and those that were dropped."""
        super().gather(changes)
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
