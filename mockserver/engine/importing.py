"""A sandbox from a state document of any origin: long parts are read in slices, and whatever makes no sense is refused.

The document of an imported document has equal bytes. One may have been edited by hand: whatever would fail later is
refused now, with its place.
Source: docs/control-api.md (``/__admin/state``).
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from decimal import Decimal
from functools import cache, partial
from heapq import heappush
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from mockserver.domain.batch import Batch
from mockserver.domain.charge import Charge
from mockserver.domain.clock import DAY, ClockMode, Micros, iso
from mockserver.domain.codes import Code
from mockserver.domain.constraints import CodeOfCurrency, IdIn, InCurrency
from mockserver.domain.customer import Customer
from mockserver.domain.errors import ForeignDocument, Invalid, Refused
from mockserver.domain.ids import KINDS
from mockserver.domain.money import CURRENCIES, currency, exact, number_text
from mockserver.domain.payment_link import PAID, UNDER_WAY, PaymentLink
from mockserver.domain.payment_method import MOST_METHODS, PaymentMethod
from mockserver.domain.provider import Provider
from mockserver.domain.record import record
from mockserver.domain.slices import Slices, parts_of
from mockserver.domain.states import BatchState, ChargeState, PayToState, TokenState
from mockserver.domain.subscription import Subscription
from mockserver.domain.token import Token
from mockserver.engine import later, vault
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.carried_scenarios import config_under
from mockserver.engine.codec import MOST_FAULTS, Form, ImportFault, form, record_form, stored
from mockserver.engine.config import SandboxConfig
from mockserver.engine.indexed_table import Table
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due, ScheduledWork
from mockserver.engine.snapshot import FORMAT, SALT, SLICE, VERSION, State, opened
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


def read(document: dict[str, Any]) -> Slices[ReadState]:
    """What a document says; its rows are used up by that. Raises ``ForeignDocument`` (90) for anything that this
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
        faults, fresh = _Faults(), Tables()
        tables: dict[str, Table[Any]] = {name: getattr(fresh, name) for name in ROW_CLASSES}
        head, entries = dict(document), list[ScheduledWork]()
        if isinstance(schedule, dict) and isinstance(schedule.get("entries"), list):
            head["schedule"] = {**schedule, "entries": []}
            planned = schedule["entries"]
            keep: Callable[[Any], object] = partial(heappush, entries)
            yield from _read_rows(form(ScheduledWork), planned, keep, cards, "schedule.entries", faults)
        if isinstance(rows, dict):
            head["tables"] = {name: [] if isinstance(held, list) else held for name, held in rows.items()}
            for name, held in rows.items():
                if name in tables and isinstance(held, list):
                    of_row, keep = record_form(ROW_CLASSES[name]), tables[name].add
                    yield from _read_rows(of_row, held, keep, cards, f"tables.{name}", faults)
        keys = yield from _read_keys(head, cards, faults)
        try:
            state: State = form(State).read(head, cards)
        except ImportFault as fault:
            faults += fault.faults
        if faults:
            order = {name: number for number, name in enumerate(document)}
            faults.sort(key=lambda fault: order.get(fault[0].partition(".")[0], -1))
            raise ImportFault(*faults[:MOST_FAULTS])
        state.schedule.entries = entries
        for name, counted in keys.items():
            state.rules.rules[name].keys = counted
        return ReadState(state, cards, tables)


def sandbox_of(reading: ReadState, key: str, config: SandboxConfig, real: Micros) -> Slices[Sandbox]:
    """The sandbox that a document describes, under any key. Raises ``ForeignDocument`` (90) for what makes no sense,
    all faults at once."""
    with _naming_every_place():
        sandbox = opened(key, config, reading.state, reading.tables, reading.cards, real)
        yield from check(sandbox)
        yield from sandbox.vault.learning(vault.CCV_INDEX)
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


def _read_keys(head: dict[str, Any], cards: CardRegistry, faults: _Faults) -> Slices[dict[str, KEYS]]:
    """The counters of the keys of rules, by rule; they are taken out of the document."""
    found: dict[str, KEYS] = {}
    rules = head["rules"] if isinstance(head.get("rules"), dict) else {}
    tallies = rules["rules"] if isinstance(rules.get("rules"), dict) else {}
    for name, tally in tallies.items():
        keys = tally.get("keys") if isinstance(tally, dict) else None
        if isinstance(keys, dict):
            found[name] = {}
            for some in parts_of(keys):
                try:
                    found[name] |= form(KEYS).read(some, cards)
                except ImportFault as fault:
                    faults += fault.within(f"rules.rules.{name}.keys")
                yield
                if len(faults) >= MOST_FAULTS:
                    break
    if found:
        head["rules"] = {**rules, "rules": {**tallies, **{name: {**tallies[name], "keys": {}} for name in found}}}
    return found


def _read_rows(
    of_row: Form, raws: list[Any], keep: Callable[[Any], object], cards: CardRegistry, above: str, faults: _Faults
) -> Slices[None]:
    """Keep the values of a list, which is used up, and afterwards those of the lists of rows in them."""
    for place, raw in enumerate(raws):
        if not place % SLICE:
            yield
        if len(faults) >= MOST_FAULTS:
            return
        where, raws[place], row = f"{above}.{place}", None, None
        inner = {name: raw[name] for name in of_row.lists if isinstance(raw, dict) and isinstance(raw.get(name), list)}
        try:
            row = of_row.read({**raw, **{name: [] for name in inner}} if inner else raw, cards)
        except ImportFault as fault:
            faults += fault.within(where)
        for name, held in inner.items():
            made: list[Any] = []
            yield from _read_rows(of_row.lists[name], held, made.append, cards, f"{where}.{name}", faults)
            if row is not None:
                setattr(row, name, made)
        if row is not None:
            keep(row)


LOOKS = 1_000
"""Values that are looked at before others have their turn."""

_Fault = tuple[str, str]
"""A place, and what was got there and what is allowed."""


def check(sandbox: Sandbox) -> Slices[None]:
    """Check everything. Raises ``ImportFault`` with every fault, as far as they can be read."""
    found: list[_Fault] = []
    view = yield from _View.of(sandbox)
    for number, fault in enumerate(_faults(view)):
        if fault is not None:
            found.append(fault)
        if len(found) == MOST_FAULTS:
            break
        if not number % LOOKS:
            yield
    if found:
        raise ImportFault(*found)


def _faults(view: _View) -> Iterator[_Fault | None]:
    """Every fault; None for everything that was looked at and has none."""
    sandbox = view.sandbox
    for name, table in view.tables.items():
        id_name = stored(ROW_CLASSES[name])[0].name
        yield from _of_order(sandbox, f"tables.{name}", id_name, table)
        for place, row in enumerate(table):
            for fault in _of_row(view, name, row):
                yield fault and (f"tables.{name}.{place}.{fault[0]}", fault[1])
            # Most rows of some tables say nothing that is to be looked at.
            yield None
        kind, count = id_name.removesuffix("_id"), len(table)
        # Ids of providers are often given by a person.
        if kind != "provider" and (drawn := sandbox.ids.counters.get(kind, 0)) < count:
            words = f"got {drawn}, wanted {count} or more: tables.{name} has that many rows, and ids are never reused"
            yield f"counters.{kind}", words
    yield from _of_schedule(view)
    yield from _of_scripts(sandbox)


@record
class _View:
    """A sandbox, and what its charges have left behind elsewhere: how many are paid and under way, by link and by
    subscription."""

    sandbox: Sandbox
    tables: Mapping[str, Table[Any]]
    paid: Counter[str | None]
    under_way: Counter[str | None]

    @classmethod
    def of(cls, sandbox: Sandbox) -> Slices[_View]:
        view = cls(sandbox, {name: getattr(sandbox, name) for name in ROW_CLASSES}, Counter(), Counter())
        yield from sandbox.payment_methods.learning("in_use")
        for number, charge in enumerate(sandbox.charges):
            if not number % LOOKS:
                yield
            for states, counts in ((PAID, view.paid), (UNDER_WAY, view.under_way)):
                if charge.status in states:
                    counts.update((charge.payment_link_id, charge.subscription_id))
        return view


def _of_order(sandbox: Sandbox, above: str, id_name: str, table: Table[Any]) -> Iterator[_Fault | None]:
    """Rows stand in the order of their adding, and no two have one id."""
    # A clock that runs may have been read on a machine whose own is ahead of ours.
    latest = sandbox.now if sandbox.clock.mode is ClockMode.MANUAL else sandbox.now + DAY * sandbox.clock.rate
    seen: set[str] = set()
    before = None
    for place, row in enumerate(table):
        row_id, added = table.id_of(row), row.added
        if not row_id or row_id in seen:
            yield f"{above}.{place}.{id_name}", f"got '{row_id}', wanted an id that no row before it has"
        seen.add(row_id)
        where = f"{above}.{place}.added"
        if before is not None and added < before:
            yield where, f"got {added}, wanted {before} or later: rows are in the order in which they were added"
        elif added > latest:
            yield where, f"got {added}, wanted at most {latest}: the clock stands at {iso(sandbox.now)}"
        before = added
        yield None


def _of_row(view: _View, name: str, row: Any) -> Iterator[_Fault | None]:
    """What a row says of others and of money, and what must hold between its own fields."""
    unit = CURRENCIES.get(getattr(row, "currency", None) or "")
    for parts, constraint in _constraints(ROW_CLASSES[name]):
        for where, value in _values(row, parts):
            match constraint:
                case IdIn(table) if view.tables[table].get(value) is None:
                    yield where, f"got '{value[:64]}', wanted the id of a row of tables.{table}"
                case CodeOfCurrency() if value not in CURRENCIES:
                    yield where, _faulty_currency(value)
                case InCurrency() if value < 0:
                    yield where, f"got {number_text(value)}, wanted 0 or more"
                case InCurrency() if unit is not None:
                    try:
                        exact(value, unit)
                    except Invalid as refused:
                        yield where, (refused.details or {})["Amount"]
                case _:
                    yield None
    if name in LAWS:
        yield from LAWS[name](view, row)


def _faulty_currency(code: str) -> str:
    try:
        currency(code)
    except Invalid as refused:
        return (refused.details or {})["Currency"]
    return f"got '{code[:20]}', wanted the code in capital letters"


@cache
def _constraints(annotation: Any) -> tuple[tuple[tuple[str, ...], object], ...]:
    """The constraints on the parts of a type that concern other parts, with the path of each; ``*`` is every item."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return tuple(((), rule) for rule in args[1:] if isinstance(rule, IdIn | CodeOfCurrency | InCurrency))
    if is_dataclass(annotation) and isinstance(annotation, type):
        hints = get_type_hints(annotation, include_extras=True)
        below = [(field.name, hints[field.name]) for field in stored(annotation)]
    elif origin in (Union, types.UnionType):
        return tuple(found for member in args for found in _constraints(member))
    else:
        below = [("*", arg) for arg in dict.fromkeys(args) if arg is not Ellipsis]
    return tuple(((name, *path), rule) for name, part in below for path, rule in _constraints(part))


def _values(found: Any, parts: tuple[str, ...], where: str = "") -> Iterator[tuple[str, Any]]:
    """What stands at a path of an object; what is None has nothing below it."""
    if found is None:
        return
    if not parts:
        yield where.removeprefix("."), found
    elif parts[0] != "*":
        yield from _values(getattr(found, parts[0]), parts[1:], f"{where}.{parts[0]}")
    else:
        for name, item in found.items() if isinstance(found, Mapping) else enumerate(found):
            yield from _values(item, parts[1:], f"{where}.{name}")


def _counted(name: str, got: int, wanted: int, words: str) -> Iterator[_Fault]:
    if got != wanted:
        yield name, f"got {got}, wanted {wanted}: so many {words}"


def _of_link(view: _View, link: PaymentLink) -> Iterator[_Fault]:
    key = link.payment_link_id
    yield from _counted("payments", link.payments, view.paid[key], "of its charges are paid")
    yield from _counted("under_way", link.under_way, view.under_way[key], "of its charges are under way")


def _of_subscription(view: _View, row: Subscription) -> Iterator[_Fault]:
    key = row.subscription_id
    yield from _counted("payments", row.payments, view.paid[key], "of its charges are paid")
    yield from _counted("open_payments", row.open_payments, view.under_way[key], "of its charges are under way")


def _of_token(view: _View, token: Token) -> Iterator[_Fault]:
    if token.state is TokenState.ACTIVE and token.uses < 1:
        yield "uses", f"got {token.uses}, wanted 1 or more of a token in {token.state.value}"
    if token.answer is not None and not token.challenged:
        yield "answer", f"got {token.answer.value}, wanted none: it has no challenge"


def _of_charge(view: _View, charge: Charge) -> Iterator[_Fault]:
    given = sum((refund.amount for refund in charge.refunds), Decimal(0))
    if charge.refunded != given:
        yield "refunded", f"got {number_text(charge.refunded)}, the refunds come to {number_text(given)}"
        return
    if charge.refundable < 0:
        got = number_text(charge.amount - charge.refunded - charge.refundable)
        yield "reserved", f"got {got}, left to refund are {number_text(charge.amount - charge.refunded)}"
    match charge.status:
        case ChargeState.REFUND:
            fits, wanted = charge.refunded == charge.amount, "all of the amount"
        case ChargeState.PARTIAL_REFUND:
            fits, wanted = 0 < charge.refunded < charge.amount, "a part of the amount"
        case _:
            fits, wanted = not charge.refunded, "nothing"
    if not fits:
        got = f"got {number_text(charge.refunded)} of {number_text(charge.amount)}"
        yield "refunded", f"{got}, wanted {wanted} in {charge.status.value}"


_OTHERS_METHOD = "got a payment method of another customer, wanted one of this one's"


def _of_customer(view: _View, customer: Customer) -> Iterator[_Fault]:
    method = view.sandbox.payment_methods.get(customer.default_payment_method_id or "")
    if method is not None and method.customer_id != customer.customer_id:
        yield "default_payment_method_id", _OTHERS_METHOD
    if (count := view.sandbox.payment_methods.count("in_use", customer.customer_id)) > MOST_METHODS:
        yield "customer_id", f"got {count} payment methods of it in use, wanted {MOST_METHODS} at most"


def _of_method(view: _View, method: PaymentMethod) -> Iterator[_Fault]:
    fallback = view.sandbox.payment_methods.get(method.fallback_payment_method_id or "")
    if fallback is not None and fallback.customer_id not in (None, method.customer_id):
        yield "fallback_payment_method_id", _OTHERS_METHOD


def _of_provider(view: _View, provider: Provider) -> Iterator[_Fault]:
    if provider.summary.provider_id != provider.provider_id:
        yield "summary.provider_id", f"wanted that of the provider, '{provider.provider_id[:64]}'"
    if provider.latency is not None and provider.latency[0] > provider.latency[1]:
        yield "latency", f"got {provider.latency[0]} to {provider.latency[1]}, wanted the shorter first"


_DONE = frozenset({BatchState.SUCCESS, BatchState.FAILED})


def _of_batch(view: _View, batch: Batch) -> Iterator[_Fault | None]:
    rows, steps, count = batch.rows, batch.pace.steps, len(batch.rows)
    if not rows:
        yield "rows", "got none, wanted one or more"
        return
    done = Counter(row.status for row in rows if row.status in _DONE)
    yield from _counted("success", batch.success, done[BatchState.SUCCESS], "rows are in that state")
    yield from _counted("failure", batch.failure, done[BatchState.FAILED], "rows are in that state")
    # Rows that are not done yet are in the state of the batch; none is left in a batch that is done.
    first_open = done.total() + (batch.stalled or 0) if batch.status not in _DONE else count
    stalled = sum(1 for row in rows[:first_open] if row.stalls)
    yield from _counted("stalled", batch.stalled or 0, stalled, "of the rows that were reached stall")
    for place, row in enumerate(rows):
        is_done = place < first_open and not row.stalls
        if not (row.status in _DONE if is_done else row.status is batch.status):
            wanted = "SUCCESS or FAILED" if is_done else batch.status.value
            yield f"rows.{place}.status", f"got {row.status.value}, wanted {wanted} in a batch in {batch.status.value}"
        yield None
    reached, times = [step.rows for step in steps], [step.after for step in steps]
    if reached[:1] != [0] or reached[-1] != count or reached != sorted(reached):
        yield "pace.steps", f"got rows {reached[:10]}, wanted 0 to {count}, none before a smaller one"
    if times != sorted(times):
        yield "pace.steps", "got a step that comes before the one above it, wanted them in order of time"
    if batch.pace.last > count:
        yield "pace.last", f"got {batch.pace.last}, wanted at most {count}"


LAWS: Mapping[str, Callable[[_View, Any], Iterator[_Fault | None]]] = {
    "charges": _of_charge,
    "customers": _of_customer,
    "payment_methods": _of_method,
    "providers": _of_provider,
    "tokens": _of_token,
    "payment_links": _of_link,
    "subscriptions": _of_subscription,
    "batches": _of_batch,
}
"""What must hold between the fields of one row, or of one row and another."""


def _of_schedule(view: _View) -> Iterator[_Fault | None]:
    schedule, seen = view.sandbox.schedule, set[int]()
    for place, entry in enumerate(schedule.entries):
        above, table = f"schedule.entries.{place}", entry.what.table
        if not 1 <= entry.order <= schedule.order or entry.order in seen:
            yield f"{above}.1", f"got {entry.order}, wanted a number from 1 to {schedule.order} of its own"
        seen.add(entry.order)
        if table is not None and view.tables[table].get(entry.subject) is None:
            yield f"{above}.3", f"got '{entry.subject[:64]}', wanted the id of a row of tables.{table}"
        if entry.what is Due.PAYTO and entry.detail not in PayToState._value2member_map_:
            yield f"{above}.4", f"got '{entry.detail[:40]}', wanted one of {', '.join(PayToState)}"
        elif entry.what is Due.LATER and (words := later.fault_of(view.sandbox, entry)) is not None:
            yield f"{above}.4", words
        yield None


def _of_scripts(sandbox: Sandbox) -> Iterator[_Fault]:
    for batch_id, rows in sandbox.scripts.items():
        batch, above = sandbox.batches.get(batch_id), f"records.scripts.{batch_id[:64]}"
        if batch is None:
            yield above, "wanted the id of a row of tables.batches"
        else:
            last = len(batch.rows)
            yield from ((f"{above}.{row}", f"wanted a row from 1 to {last}") for row in rows if not 1 <= row <= last)
