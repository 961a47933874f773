"""The parts of a stored sandbox that its findings are: the findings, and what the judges remember, by its types."""

from collections.abc import Iterable, Iterator, Mapping
from sys import intern
from typing import Any, get_args, get_origin, get_type_hints

from mockserver.domain.bounded_cache import Recent, by_type
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.observer import Observer
from mockserver.findings.ledger import Finding, Ledger
from mockserver.findings.watch import Watch
from mockserver.store.row_codec import Record, form_of
from mockserver.store.schema import Changes, StoredRows
from mockserver.store.table_rows import ALL, MemoryPart, Part


def watch_in(observers: Iterable[Observer]) -> Watch | None:
    """The judges among those who watch a sandbox: what they remember is stored."""
    for observer in observers:
        if isinstance(observer, Watch):
            return observer
    return None


def memories(watch: Watch | None) -> Iterator[MemoryPart]:
    """What the judges remember."""
    for name, judge, slot, hint in _slots(watch):
        if get_origin(hint) is Recent:
            pair: Any = tuple
            # One text for all sandboxes.
            text = intern(f"findings.{name}{slot}")
            yield MemoryPart(text, getattr(judge, slot), form_of(pair[get_args(hint)]))


def counters(watch: Watch | None) -> dict[str, tuple[object, str]]:
    """The counters of the judges, by name: each with the object that has it."""
    return {f"{name}.{slot}": (judge, slot) for name, judge, slot, hint in _slots(watch) if hint is int}


def _slots(watch: Watch | None) -> list[tuple[str, Any, str, Any]]:
    judges: Mapping[str, Any] = watch.judges if watch is not None else {}
    return [(name, judge, slot, hint) for name, judge in judges.items() for slot, hint in _hints(type(judge)).items()]


_hints = by_type(get_type_hints)


class FindingsPart(Part):
    """The findings, by their numbers: ``_raised`` and ``_cleared`` are the changes of the ledger that were gathered."""

    name = "findings"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._raised = self._cleared = 0

    def gather(self, changes: Changes, most: int = ALL) -> None:
        ledger = self._ledger
        if ledger.cleared != self._cleared:
            changes.cut(self.name, ledger.dropped)
        if ledger.raised != self._raised:
            for finding in ledger:
                if finding.newest > self._raised:
                    number = int(finding.id.rpartition("-")[2])
                    changes.put(self.name, number, finding)
        self._raised, self._cleared = ledger.raised, ledger.cleared

    def load(self, stored: StoredRows, cards: CardRegistry) -> None:
        self._ledger.take_over(Record.of(Finding).read(raw, cards) for _, raw in stored.get(self.name, ()))
        self._raised, self._cleared = self._ledger.raised, self._ledger.cleared
