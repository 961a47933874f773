"""The journal of a kept sandbox: its entries, and the changes of objects that outlive them. Both only grow at their
end, and lose what is oldest."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from mockserver.domain.events import Subject
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.journal import Journal
from mockserver.engine.kept.forms import Forms
from mockserver.engine.kept.parts import BLOCK, Changes, GrowingPart, KeptRow
from mockserver.engine.kept.steps import StepForms
from mockserver.engine.stories import Cause, Kept


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
        for number, changes in journal.stories.by_entry().items():
            self._note_changes(number, changes)
        journal.stories.on_change = self._note_changes

    def gather(self, changes: Changes) -> None:
        """The changes that are new, and those that were dropped."""
        super().gather(changes)
        journal = self._journal
        self.cut(changes, (journal.stories.oldest or journal.last + 1) - 1)

    def _note_changes(self, number: int, changes: list[tuple[str, Kept]]) -> None:
        self.note(number, lambda: self._write_changes(changes))

    def _write_changes(self, changes: list[tuple[str, Kept]]) -> list[object]:
        return [
            [subject_id, op, self._causes.to_plain(causes), subject.value, *what]
            for subject_id, (_, op, causes, subject, *what) in changes
        ]

    def _take_changes(self, rows: Iterable[KeptRow], cards: CardRegistry) -> None:
        kept: Iterable[tuple[str, Any]] = (
            (subject_id, (number, op, self._causes.to_value(causes), Subject(subject), *what))
            for number, written in rows
            for subject_id, op, causes, subject, *what in written
        )
        self._journal.stories.take_over(kept)
