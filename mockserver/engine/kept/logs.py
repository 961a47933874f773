"""The parts of a sandbox that say themselves what has changed: the schedule, counters of rules, deliveries, inboxes."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify

from mockserver.domain.delivery import Delivery
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.inboxes import InboxMessage
from mockserver.engine.kept.forms import Forms
from mockserver.engine.kept.parts import Changes, KeptRow, ListedPart
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import ScheduledWork
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
