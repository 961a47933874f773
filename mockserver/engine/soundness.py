"""Whether a sandbox that was read from a document makes sense: what the types of its parts cannot tell.

A document may have been written or mended by hand. Whatever would go wrong later, when nobody remembers the import, is
refused with the place where it stands.
Source: control document, Control API (``/__admin/state``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

from mockserver.domain.batch import Batch
from mockserver.domain.batch_states import BatchState
from mockserver.domain.charge import Charge
from mockserver.domain.clock import DAY, FASTEST, ClockMode, Micros, iso
from mockserver.domain.customer import Customer
from mockserver.domain.errors import Invalid, nearest
from mockserver.domain.method_states import PayToState, TokenState
from mockserver.domain.money import CURRENCIES, currency, exact, number_text
from mockserver.domain.payment_link import PAID, UNDER_WAY, PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.provider import Provider
from mockserver.domain.states import ChargeState
from mockserver.domain.subscription import Subscription
from mockserver.domain.token import Token
from mockserver.engine import later
from mockserver.engine.codec_reader import MOST_FAULTS, Misfit
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.soundness_tables import (
    COUNTED,
    CURRENCY,
    ID_NAMES,
    MONEY,
    MOST,
    RANGES,
    REFERENCES,
    SUBJECTS,
    WORDS,
)
from mockserver.engine.store import Table

Fault = tuple[str, str]
"""A place, and what was got there and what is allowed."""


def check(box: Sandbox, tallies: Mapping[str, Any]) -> None:
    """Check everything. Raises ``Misfit`` with every fault, as far as anybody reads them."""
    found = tuple(islice(_faults(box, tallies), MOST_FAULTS))
    if found:
        raise Misfit(*found)


def _faults(box: Sandbox, tallies: Mapping[str, Any]) -> Iterator[Fault]:
    tables: dict[str, Table[Any]] = {
        name: table for name in Sandbox.__slots__ if isinstance(table := getattr(box, name), Table)
    }
    story = _Story.of(box)
    for name, table in tables.items():
        yield from _of_table(story, name, table, tables)
    yield from _of_counters(box, tables)
    yield from _of_schedule(box, tables)
    yield from _of_scripts(box)
    yield from _of_tallies(tallies)


def _of_table(story: _Story, name: str, table: Table[Any], tables: Mapping[str, Table[Any]]) -> Iterator[Fault]:
    box = story.box
    checks = [
        *((path, _names(tables[target], target)) for path, target in REFERENCES.get(name, {}).items()),
        *((path, _within(low, high)) for path, (low, high) in RANGES.get(name, {}).items()),
        *((path, _one_of(words)) for path, words in WORDS.get(name, {}).items()),
    ]
    prepared = [(path.split("."), test) for path, test in checks]
    amounts = [path.split(".") for path in MONEY.get(name, ())]
    law = LAWS.get(name)
    seen: set[str] = set()
    latest = _latest(box)
    before: Micros | None = None
    for place, row in enumerate(table):
        above = f"tables.{name}.{place}"
        row_id = table.id_of(row)
        if not row_id or row_id in seen:
            yield f"{above}.{ID_NAMES[name]}", f"got '{row_id}', wanted an id that no row before it has"
        seen.add(row_id)
        if before is not None and row.added < before:
            yield (
                f"{above}.added",
                f"got {row.added}, wanted {before} or later: rows stand in the order of their adding",
            )
        elif row.added > latest:
            yield f"{above}.added", f"got {row.added}, wanted at most {latest}: the clock stands at {iso(box.now)}"
        before = row.added
        for parts, test in prepared:
            for where, value in _values(row, parts):
                words = test(value)
                if words is not None:
                    yield f"{above}.{where}", words
        if name in CURRENCY:
            yield from ((f"{above}.{where}", words) for where, words in _of_money(row, CURRENCY[name], amounts))
        if law is not None:
            yield from ((f"{above}.{where}", words) for where, words in law(story, row))


def _latest(box: Sandbox) -> Micros:
    """The latest instant at which a row may have been added. A clock that runs may have been read on a machine whose
    own is ahead of ours."""
    clock = box.clock
    return box.now if clock.mode is ClockMode.MANUAL else box.now + DAY * min(max(clock.rate, 1), FASTEST)


def _values(found: Any, parts: list[str], where: str = "") -> Iterator[tuple[str, Any]]:
    """What stands at a path of an object; ``*`` stands for each item, and what is None has nothing below it."""
    if found is None:
        return
    if not parts:
        yield where, found
        return
    part, rest = parts[0], parts[1:]
    if part != "*":
        yield from _values(getattr(found, part), rest, f"{where}.{part}" if where else part)
        return
    items = found.items() if isinstance(found, Mapping) else enumerate(found)
    for name, item in items:
        yield from _values(item, rest, f"{where}.{name}")


def _names(table: Table[Any], name: str) -> Callable[[Any], str | None]:
    return lambda value: None if table.get(value) else f"got '{value[:64]}', wanted the id of a row of tables.{name}"


def _within(low: int | Decimal, high: int | Decimal | None) -> Callable[[Any], str | None]:
    allowed = f"{low} or more" if high is None else f"{low} to {high}"

    def test(value: Any) -> str | None:
        if low <= value and (high is None or value <= high):
            return None
        return f"got {_number(value)}, wanted {allowed}"

    return test


def _one_of(words: tuple[str, ...]) -> Callable[[Any], str | None]:
    def test(value: Any) -> str | None:
        return (
            None if value in words else f"got '{value[:40]}', which is none of those known{nearest(value[:40], words)}"
        )

    return test


def _number(value: int | Decimal) -> str:
    return number_text(value) if isinstance(value, Decimal) else str(value)


def _of_money(row: Any, name: str, amounts: list[list[str]]) -> Iterator[Fault]:
    code = getattr(row, name)
    kind = CURRENCIES.get(code) if code is not None else None
    if kind is None and code is not None:
        try:
            currency(code)
            yield name, f"got '{code[:20]}', wanted the code in capital letters"
        except Invalid as refused:
            yield name, (refused.details or {})["Currency"]
        return
    for parts in amounts:
        for where, amount in _values(row, parts):
            if amount < 0:
                yield where, f"got {number_text(amount)}, wanted 0 or more"
            elif kind is not None:
                try:
                    exact(amount, kind)
                except Invalid as refused:
                    yield where, (refused.details or {})["Amount"]


@dataclass(frozen=True, slots=True)
class _Story:
    """What charges have left behind elsewhere: how many are paid and under way, by link and by subscription."""

    box: Sandbox
    paid: Counter[str | None]
    open: Counter[str | None]

    @classmethod
    def of(cls, box: Sandbox) -> _Story:
        paid: Counter[str | None] = Counter()
        waiting: Counter[str | None] = Counter()
        for charge in box.charges:
            counts = paid if charge.status in PAID else waiting if charge.status in UNDER_WAY else None
            if counts is not None:
                counts[charge.payment_link_id] += 1
                counts[charge.subscription_id] += 1
        return cls(box, paid, waiting)

    def tell(self, owner_id: str, **told: tuple[int, bool]) -> Iterator[Fault]:
        """Faults of counts that are not those of the charges; of each its value and whether it counts paid ones."""
        for name, (count, is_paid) in told.items():
            wanted = (self.paid if is_paid else self.open)[owner_id]
            if count != wanted:
                yield (
                    name,
                    f"got {count}, wanted {wanted}: so many of its charges are {'paid' if is_paid else 'under way'}",
                )


def _of_link(story: _Story, link: PaymentLink) -> Iterator[Fault]:
    yield from story.tell(link.payment_link_id, payments=(link.payments, True), under_way=(link.under_way, False))


def _of_subscription(story: _Story, row: Subscription) -> Iterator[Fault]:
    yield from story.tell(row.subscription_id, payments=(row.payments, True), open_payments=(row.open_payments, False))


def _of_token(story: _Story, token: Token) -> Iterator[Fault]:
    if token.state is TokenState.ACTIVE and token.uses < 1:
        yield "uses", f"got {token.uses}, wanted 1 or more of a token in {token.state.value}"


def _of_charge(story: _Story, charge: Charge) -> Iterator[Fault]:
    given = sum((refund.amount for refund in charge.refunds), Decimal(0))
    if charge.refunded != given:
        yield "refunded", f"got {number_text(charge.refunded)}, the refunds come to {number_text(given)}"
        return
    state = charge.status
    if state is ChargeState.REFUND:
        fits, wanted = charge.refunded == charge.amount, "all of the amount"
    elif state is ChargeState.PARTIAL_REFUND:
        fits, wanted = 0 < charge.refunded < charge.amount, "a part of the amount"
    else:
        fits, wanted = not charge.refunded, "nothing"
    if not fits:
        told = f"got {number_text(charge.refunded)} of {number_text(charge.amount)}"
        yield "refunded", f"{told}, wanted {wanted} in {state.value}"


def _of_customer(story: _Story, customer: Customer) -> Iterator[Fault]:
    method = story.box.payment_methods.get(customer.default_payment_method_id or "")
    if method is not None and method.customer_id != customer.customer_id:
        yield "default_payment_method_id", "got a payment method of another customer, wanted one of this one's"


def _of_method(story: _Story, method: PaymentMethod) -> Iterator[Fault]:
    fallback = story.box.payment_methods.get(method.fallback_payment_method_id or "")
    if fallback is not None and fallback.customer_id not in (None, method.customer_id):
        yield "fallback_payment_method_id", "got a payment method of another customer, wanted one of this one's"


def _of_provider(story: _Story, provider: Provider) -> Iterator[Fault]:
    if provider.summary.provider_id != provider.provider_id:
        yield "summary.provider_id", f"wanted that of the provider, '{provider.provider_id[:64]}'"
    if provider.latency is not None and provider.latency[0] > provider.latency[1]:
        yield "latency", f"got {provider.latency[0]} to {provider.latency[1]}, wanted the shorter first"


_ROW_STATES: Mapping[BatchState, BatchState | None] = {
    BatchState.RECEIVED: BatchState.RECEIVED,
    BatchState.CREATED: BatchState.CREATED,
    BatchState.IN_PROGRESS: BatchState.IN_PROGRESS,
    BatchState.SUCCESS: None,
    BatchState.FAILED: None,
}
"""The state of the rows of a batch that are not done; None where all must be."""

_DONE = frozenset({BatchState.SUCCESS, BatchState.FAILED})


def _of_batch(story: _Story, batch: Batch) -> Iterator[Fault]:
    rows, steps, count = batch.rows, batch.pace.steps, len(batch.rows)
    if not rows:
        yield "rows", "got none, wanted one or more"
        return
    done = {
        "success": sum(row.status is BatchState.SUCCESS for row in rows),
        "failure": sum(row.status is BatchState.FAILED for row in rows),
    }
    for name, number in done.items():
        if getattr(batch, name) != number:
            yield name, f"got {getattr(batch, name)}, wanted {number}: so many rows are in that state"
    open_state, first_open = _ROW_STATES[batch.status], sum(done.values())
    for place, row in enumerate(rows):
        fits = row.status in _DONE if place < first_open else row.status is open_state
        if not fits:
            wanted = "SUCCESS or FAILED" if open_state is None or place < first_open else open_state.value
            yield f"rows.{place}.status", f"got {row.status.value}, wanted {wanted} in a batch in {batch.status.value}"
    reached = [step.rows for step in steps]
    if not reached or reached[0] != 0 or reached[-1] != count or reached != sorted(reached):
        yield "pace.steps", f"got rows {reached[:10]}, wanted 0 to {count}, none before a smaller one"
    if [step.after for step in steps] != sorted(step.after for step in steps):
        yield "pace.steps", "got a step that comes before the one above it, wanted them in order of time"
    if batch.pace.last > count:
        yield "pace.last", f"got {batch.pace.last}, wanted at most {count}"


LAWS: Mapping[str, Callable[[_Story, Any], Iterator[Fault]]] = {
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


def _of_counters(box: Sandbox, tables: Mapping[str, Table[Any]]) -> Iterator[Fault]:
    counters = box.ids.counters
    for name, count in counters.items():
        if not 0 <= count <= MOST:
            yield f"counters.{name}", f"got {count}, wanted 0 to {MOST}"
    for name, kind in COUNTED.items():
        least = len(tables[name])
        if 0 <= counters.get(kind, 0) < least:
            told = f"got {counters.get(kind, 0)}, wanted {least} or more"
            yield f"counters.{kind}", f"{told}: so many rows stand in tables.{name}, and ids are given once"


def _of_schedule(box: Sandbox, tables: Mapping[str, Table[Any]]) -> Iterator[Fault]:
    schedule = box.schedule
    seen: set[int] = set()
    if not 0 <= schedule.order <= MOST:
        yield "schedule.order", f"got {schedule.order}, wanted 0 to {MOST}"
    for place, entry in enumerate(schedule.entries):
        above = f"schedule.entries.{place}"
        if not 1 <= entry.order <= schedule.order or entry.order in seen:
            yield f"{above}.1", f"got {entry.order}, wanted a number from 1 to {schedule.order} of its own"
        seen.add(entry.order)
        table = SUBJECTS[entry.what]
        if table is not None and tables[table].get(entry.subject) is None:
            yield f"{above}.3", f"got '{entry.subject[:64]}', wanted the id of a row of tables.{table}"
        words = None
        if entry.what is Due.PAYTO and entry.detail not in PayToState._value2member_map_:
            words = f"got '{entry.detail[:40]}', wanted one of {', '.join(PayToState)}"
        elif entry.what is Due.LATER:
            words = later.fault_of(box, entry)
        if words is not None:
            yield f"{above}.4", words


def _of_scripts(box: Sandbox) -> Iterator[Fault]:
    for batch_id, rows in box.scripts.items():
        batch = box.batches.get(batch_id)
        if batch is None:
            yield f"records.scripts.{batch_id[:64]}", "wanted the id of a row of tables.batches"
            continue
        for row in rows:
            if not 1 <= row <= len(batch.rows):
                yield f"records.scripts.{batch_id[:64]}.{row}", f"wanted a row from 1 to {len(batch.rows)}"


def _of_tallies(tallies: Mapping[str, Any]) -> Iterator[Fault]:
    for rule, tally in tallies.get("rules", {}).items():
        numbers = {name: tally[name] for name in ("calls", "hits", "exhausted")}
        numbers |= {
            f"keys.{key}.{place}": count for key, pair in tally["keys"].items() for place, count in enumerate(pair)
        }
        for name, count in numbers.items():
            if not 0 <= count <= MOST:
                yield f"rules.rules.{rule}.{name}", f"got {count}, wanted 0 to {MOST}"
