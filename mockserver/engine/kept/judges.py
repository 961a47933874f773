"""The findings of a kept sandbox, and what the judges remember: its parts are found by the types of the judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from mockserver.domain.remembered import Recent
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.kept.forms import Forms
from mockserver.engine.kept.parts import Changes, KeptPart, KeptRow, MemoryPart, WholePart
from mockserver.findings.doubts import Chains
from mockserver.findings.ledger import Finding, Ledger
from mockserver.findings.watch import Watch


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
                    changes.put(self.name, _number_of(finding), self._form.to_plain(finding))
        self._raised, self._cleared = ledger.raised, ledger.cleared

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """Every finding."""
        self._ledger.take_over(self._form.to_value(raw) for _, raw in rows)
        self._raised, self._cleared = self._ledger.raised, self._ledger.cleared


def _number_of(finding: Finding) -> int:
    return int(finding.id.rpartition("-")[2])
