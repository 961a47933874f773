"""A sandbox from a state document of any origin: long parts are read in slices.

The document of an imported document has equal bytes.
Source: docs/control-api.md (``/__admin/state``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from heapq import heappush
from typing import Any

from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.cooperative import Cooperative, parts_of
from mockserver.domain.errors import ForeignDocument, Refused
from mockserver.domain.ids import KINDS
from mockserver.domain.record import record
from mockserver.engine import consistency
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.carried_scenarios import config_under
from mockserver.engine.codec import MOST_FAULTS, Form, ImportFault, form, record_form, stored
from mockserver.engine.config import SandboxConfig
from mockserver.engine.indexed_table import Table
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import ScheduledWork
from mockserver.engine.snapshot import FORMAT, SALT, VERSION, State, opened
from mockserver.engine.tables import ROW_CLASSES, Tables
from mockserver.scenario.director import KEYS
from mockserver.scenario.scenario import Scenario

MOST_COUNTERS = 1_000
"""Counters of a document that are of no kind known here: they are read in one step. A sandbox has those and all that
are known, and its document is taken again."""

KNOWN: Mapping[str, Collection[str]] = {"": [one.name for one in stored(State)], "tables": ROW_CLASSES}
"""What a document may have, and its tables: of others none is read to its end."""

_Faults = list[tuple[str, str]]
"""Places and what is wrong there, at most ``MOST_FAULTS``."""


@record
class ReadState:
    """What a document says: all but the rows, the cards, and the tables with the rows."""

    state: State
    cards: CardRegistry
    tables: Mapping[str, Table[Any]]

    @property
    def carried_rules(self) -> int:
        """How many rules the scenarios have that it carries."""
        lists = [one.data.get("rules") for one in self.state.scenarios or ()]
        return sum(len(rules) for rules in lists if isinstance(rules, list))

    def config(
        self, in_force: SandboxConfig, config_of: Callable[[Sequence[Scenario]], SandboxConfig]
    ) -> SandboxConfig:
        """The config under the scenarios that it carries; one without any leaves those in force. Raises
        ``ForeignDocument`` (90) for a scenario that would be refused as a file."""
        if self.state.scenarios is None:
            return in_force
        with _naming_every_place():
            return config_under(self.state.scenarios, in_force, config_of, secrets=self.state.secrets)

    def rules_not_in_force(self, sandbox: Sandbox) -> list[str]:
        """Rules whose counters it holds and which are not in force here, or not in the same words."""
        return sorted(self.state.rules.rules.keys() - sandbox.director.tallies.rules.keys())


def read(document: dict[str, Any]) -> Cooperative[ReadState]:
    """What a document says; it is used up by that. Raises ``ForeignDocument`` (90) for anything that this
    version did not write, with every fault, as far as they can be read."""
    with _naming_every_place():
        if document.get("format") != FORMAT:
            raise ImportFault(("format", f"wanted a state document of this product, which says format: {FORMAT}"))
        if document.get("version") != VERSION:
            got = str(document.get("version"))[:20]
            raise ImportFault(("version", f"got version {got} of the state document, wanted {VERSION}"))
        counters = document.get("counters")
        if isinstance(counters, dict) and (count := len(counters.keys() - KINDS)) > MOST_COUNTERS:
            raise ImportFault(("counters", f"got {count} of unknown kinds, wanted {MOST_COUNTERS} at most"))
        salt, schedule, rows = (document.get(name) for name in ("salt", "schedule", "tables"))
        cards = CardRegistry(salt if isinstance(salt, str) and SALT.fault(salt) is None else "")
        faults, fresh, entries = _Faults(), Tables(), list[ScheduledWork]()
        tables: dict[str, Table[Any]] = {name: getattr(fresh, name) for name in ROW_CLASSES}
        if isinstance(schedule, dict) and isinstance(planned := schedule.get("entries"), list):
            schedule["entries"], keep = [], partial(heappush, entries)
            yield from _read_rows(form(ScheduledWork), planned, keep, cards, "schedule.entries", faults)
        given: dict[str, Any] = rows if isinstance(rows, dict) else {}
        for name, held in given.items():
            if isinstance(held, list):
                given[name] = []
                if name in tables:
                    of_row = record_form(ROW_CLASSES[name])
                    yield from _read_rows(of_row, held, tables[name].add, cards, f"tables.{name}", faults)
        many = yield from _long_keys(document.get("rules"), cards, faults)
        try:
            state: State = form(State).read(document, cards)
        except ImportFault as fault:
            faults += fault.faults
        if faults:
            order = {name: number for number, name in enumerate(document)}
            faults.sort(key=lambda fault: order.get(fault[0].partition(".")[0], -1))
            raise ImportFault(*faults[:MOST_FAULTS])
        state.schedule.entries = entries
        for name, keys in many.items():
            state.rules.rules[name].keys = keys
        return ReadState(state, cards, tables)


def sandbox_of(reading: ReadState, key: str, config: SandboxConfig, real: Micros) -> Cooperative[Sandbox]:
    """The sandbox that a document describes, under any key. Raises ``ForeignDocument`` (90) for what makes no sense,
    all faults at once."""
    with _naming_every_place():
        sandbox = opened(key, config, reading.state, reading.tables, reading.cards, real)
        found = _Faults()
        for fault in consistency.faults(sandbox):
            found += [fault] if fault is not None else []
            if len(found) == MOST_FAULTS:
                break
            yield
        if found:
            raise ImportFault(*found)
        return sandbox


@contextmanager
def _naming_every_place() -> Iterator[None]:
    try:
        yield
    except ImportFault as fault:
        faults = {place[:1].upper() + place[1:]: words for place, words in fault.faults}
        raise ForeignDocument(Code.VALIDATION_ERROR, faults) from None
    except Refused as refused:
        raise ForeignDocument(refused.code, refused.details) from None


def _long_keys(rules: Any, cards: CardRegistry, faults: _Faults) -> Cooperative[dict[str, KEYS]]:
    """The counters of rules that count keys, by rule, as there may be very many; they are taken out of the document."""
    found: dict[str, KEYS] = {}
    tallies = rules.get("rules") if isinstance(rules, dict) else None
    for name, tally in tallies.items() if isinstance(tallies, dict) else ():
        keys = tally.get("keys") if isinstance(tally, dict) else None
        if not isinstance(keys, dict):
            continue
        found[name], tally["keys"] = {}, {}
        for some in parts_of(keys):
            try:
                found[name] |= form(KEYS).read(some, cards)
            except ImportFault as fault:
                faults += fault.within(f"rules.rules.{name}.keys")
            yield
            if len(faults) >= MOST_FAULTS:
                break
    return found


def _read_rows(
    of_row: Form, raws: list[Any], keep: Callable[[Any], object], cards: CardRegistry, above: str, faults: _Faults
) -> Cooperative[None]:
    """Keep the values of a list, which is used up. Rows that a value has are read after the rest of it."""
    for place, raw in enumerate(raws):
        if len(faults) >= MOST_FAULTS:
            return
        raws[place], row = None, None
        yield
        inner = {name: raw[name] for name in of_row.lists if isinstance(raw, dict) and isinstance(raw.get(name), list)}
        try:
            row = of_row.read({**raw, **{name: [] for name in inner}} if inner else raw, cards)
        except ImportFault as fault:
            faults += fault.within(f"{above}.{place}")
        for name, held in inner.items():
            made: list[Any] = []
            yield from _read_rows(of_row.lists[name], held, made.append, cards, f"{above}.{place}.{name}", faults)
            if row is not None:
                setattr(row, name, made)
        if row is not None:
            keep(row)
