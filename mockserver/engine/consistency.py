"""Whether a sandbox that was read from a document makes sense: what cannot be seen in one value.

A document may have been edited by hand. Use cases rely on what they themselves make sure of: that
the provider of a charge is there, that what was refunded is the sum of the refunds, that rows stand
in the order of time. So whatever would fail later is refused now, with its place.

Constraints of single fields are beside their types (``constraints``); what must hold between the
fields of a row, or between rows, is a function for each table (``LAWS``). Source:
docs/control-api.md (``/__admin/state``).
"""

import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, ParamSpec, Union, get_args, get_origin, get_type_hints

from mockserver.domain.batch import Batch, BatchPace
from mockserver.domain.bounded_cache import by_type
from mockserver.domain.charge import Charge
from mockserver.domain.clock import DAY, ClockMode, iso
from mockserver.domain.constraints import CodeOfCurrency, IdIn, InCurrency
from mockserver.domain.customer import Customer
from mockserver.domain.errors import Faults
from mockserver.domain.money import CURRENCIES, Currency, currency, exact, number_text
from mockserver.domain.payment_link import PAID, UNDER_WAY, PaymentLink
from mockserver.domain.payment_method import MOST_METHODS, PaymentMethod
from mockserver.domain.provider import Provider
from mockserver.domain.record import record
from mockserver.domain.states import BatchState, ChargeState, PayToState, TokenState
from mockserver.domain.subscription import Subscription
from mockserver.domain.token import Token
from mockserver.engine import later
from mockserver.engine.indexed_table import Table
from mockserver.engine.lines import stored
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due, ScheduledWork
from mockserver.engine.tables import ROW_CLASSES

P = ParamSpec("P")

Fault = tuple[str, str]
"""A place, and what was got there and what is allowed."""


def faults(sandbox: Sandbox) -> Iterator[Fault]:
    """Every fault."""
    tables = {name: getattr(sandbox, name) for name in ROW_CLASSES}
    view = _View(sandbox, tables, Counter(), Counter())
    for charge in sandbox.charges:
        counted_by = (charge.payment_link_id, charge.subscription_id)
        if charge.status in PAID:
            view.paid.update(counted_by)
        if charge.status in UNDER_WAY:
            view.under_way.update(counted_by)
    for name, table in view.tables.items():
        # Rows begin with their id.
        id_name = stored(ROW_CLASSES[name])[0].name
        yield from _of_order(sandbox, f"tables.{name}", id_name, table)
        for place, row in enumerate(table):
            for within, words in _of_row(view, name, row):
                yield f"tables.{name}.{place}.{within}", words
        yield from _of_counter(sandbox, name, id_name.removesuffix("_id"), len(table))
    yield from _of_schedule(view)
    yield from _of_scripts(sandbox)


def _of_counter(sandbox: Sandbox, name: str, kind: str, count: int) -> Iterator[Fault]:
    """The counter of a kind is not behind its rows: else the next one had the id of another."""
    # Ids of providers are often given by a person.
    if kind == "provider":
        return
    drawn = sandbox.ids.counters.get(kind, 0)
    if drawn < count:
        words = (
            f"got {drawn}, wanted {count} or more: tables.{name} has that many rows, and "
            "ids are never reused"
        )
        yield f"counters.{kind}", words


@record
class _View:
    """A sandbox, and what its charges have left behind elsewhere: how many are paid and under way,
    by link and by subscription."""

    sandbox: Sandbox
    tables: Mapping[str, Table[Any]]
    paid: Counter[str | None]
    under_way: Counter[str | None]


def _of_order(sandbox: Sandbox, above: str, id_name: str, table: Table[Any]) -> Iterator[Fault]:
    """Rows stand in the order of their adding, and no two have one id."""
    latest = sandbox.now
    if sandbox.clock.mode is not ClockMode.MANUAL:
        # A clock that runs may have been read on a machine whose own is ahead of ours.
        latest += DAY * sandbox.clock.rate
    seen: set[str] = set()
    before = None
    for place, row in enumerate(table):
        row_id, added = table.id_of(row), row.added
        if not row_id or row_id in seen:
            yield (
                f"{above}.{place}.{id_name}",
                f"got '{row_id}', wanted an id that no row before it has",
            )
        seen.add(row_id)
        where = f"{above}.{place}.added"
        if before is not None and added < before:
            yield (
                where,
                f"got {added}, wanted {before} or later: rows are in the order in which they were "
                "added",
            )
        elif added > latest:
            yield (
                where,
                f"got {added}, wanted at most {latest}: the clock stands at {iso(sandbox.now)}",
            )
        before = added


def _of_row(view: _View, name: str, row: object) -> Iterator[Fault]:
    """What a row says of others and of money, and what must hold between its own fields."""
    # Of an object without a currency of its own no amount is judged by its digits.
    unit = CURRENCIES.get(getattr(row, "currency", None) or "")
    for parts, constraint in _constraints(ROW_CLASSES[name]):
        for where, value in _values(row, parts):
            words = _fault_of(view, constraint, value, unit)
            if words is not None:
                yield where, words
    if name in LAWS:
        yield from LAWS[name](view, row)


def _fault_of(view: _View, constraint: object, value: Any, unit: Currency | None) -> str | None:
    """Why a value does not meet a constraint, in a row whose currency is ``unit``; None when it
    does. An amount whose currency is itself at fault is not judged."""
    match constraint:
        case IdIn(table) if view.tables[table].get(value) is None:
            return f"got '{value[:64]}', wanted the id of a row of tables.{table}"
        case CodeOfCurrency() if value not in CURRENCIES:
            # Requests may write it in any letter case, stored rows have it as the service shows it.
            spelling = f"got '{value[:20]}', wanted the code in capital letters"
            return _refusal(currency, value) or spelling
        case InCurrency() if value < 0:
            return f"got {number_text(value)}, wanted 0 or more"
        case InCurrency() if unit is not None:
            return _refusal(exact, value, unit)
        case _:
            return None


def _refusal(check: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> str | None:
    """What a check says of a value that it does not let pass."""
    faults = Faults()
    faults.attempt(check, *args, **kwargs)
    for _, _, words in faults:
        return words
    return None


@by_type
def _constraints(annotation: object) -> tuple[tuple[tuple[str, ...], object], ...]:
    """The constraints on the parts of a type that concern other parts, with the path of each; ``*``
    is every item. Worked out once for each type, as tables have 100,000 rows; those that concern
    one value alone are met as it is read."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return tuple(
            ((), rule) for rule in args[1:] if isinstance(rule, IdIn | CodeOfCurrency | InCurrency)
        )
    parts: list[tuple[tuple[str, ...], object]]
    if is_dataclass(annotation) and isinstance(annotation, type):
        hints = get_type_hints(annotation, include_extras=True)
        parts = [((field.name,), hints[field.name]) for field in stored(annotation)]
    elif origin in (Union, types.UnionType):
        parts = [((), member) for member in args]
    else:
        parts = [(("*",), item) for item in dict.fromkeys(args) if item is not Ellipsis]
    constraints: list[tuple[tuple[str, ...], object]] = []
    for above, part in parts:
        for path, rule in _constraints(part):
            constraints.append(((*above, *path), rule))
    return tuple(constraints)


def _values(value: Any, parts: tuple[str, ...], where: str = "") -> Iterator[tuple[str, Any]]:
    """What stands at a path of an object; what is None has nothing below it."""
    if value is None:
        return
    if not parts:
        yield where.removeprefix("."), value
        return
    part, *below = parts
    if part != "*":
        yield from _values(getattr(value, part), tuple(below), f"{where}.{part}")
        return
    items = value.items() if isinstance(value, Mapping) else enumerate(value)
    for name, item in items:
        yield from _values(item, tuple(below), f"{where}.{name}")


def _counted(name: str, got: int, wanted: int, words: str) -> Iterator[Fault]:
    """A fault of a field that counts what can be counted."""
    if got != wanted:
        yield name, f"got {got}, wanted {wanted}: so many {words}"


def _of_payments(
    key: str, under_way: str, view: _View, row: PaymentLink | Subscription
) -> Iterator[Fault]:
    """Of a link or a subscription: the names of its id and of the count of what is under way."""
    row_id = getattr(row, key)
    yield from _counted("payments", row.payments, view.paid[row_id], "of its charges are paid")
    yield from _counted(
        under_way, getattr(row, under_way), view.under_way[row_id], "of its charges are under way"
    )


def _of_token(view: _View, token: Token) -> Iterator[Fault]:
    """A token that can be used has uses left; only a challenge has an answer."""
    if token.state is TokenState.ACTIVE and token.uses < 1:
        yield "uses", f"got {token.uses}, wanted 1 or more of a token in {token.state.value}"
    if token.answer is not None and not token.challenged:
        yield "answer", f"got {token.answer.value}, wanted none: it has no challenge"


def _of_charge(view: _View, charge: Charge) -> Iterator[Fault]:
    """What was refunded is the sum of the refunds, is not more than there was, and fits the
    status."""
    refunds = sum((refund.amount for refund in charge.refunds), Decimal(0))
    if charge.refunded != refunds:
        yield (
            "refunded",
            f"got {number_text(charge.refunded)}, the refunds come to {number_text(refunds)}",
        )
        # What follows is said of the sum.
        return
    if charge.refundable < 0:
        got = number_text(charge.amount - charge.refunded - charge.refundable)
        yield (
            "reserved",
            f"got {got}, at most {number_text(charge.amount - charge.refunded)} can be refunded",
        )
    if charge.status is ChargeState.REFUND:
        fits, wanted = charge.refunded == charge.amount, "all of the amount"
    elif charge.status is ChargeState.PARTIAL_REFUND:
        fits, wanted = 0 < charge.refunded < charge.amount, "a part of the amount"
    else:
        fits, wanted = not charge.refunded, "nothing"
    if not fits:
        got = f"got {number_text(charge.refunded)} of {number_text(charge.amount)}"
        yield "refunded", f"{got}, wanted {wanted} in {charge.status.value}"


_OTHERS_METHOD = "got a payment method of another customer, wanted one of this one's"


def _of_customer(view: _View, customer: Customer) -> Iterator[Fault]:
    """The default payment method is the customer's own, and there are not too many."""
    method = view.sandbox.payment_methods.get(customer.default_payment_method_id or "")
    if method is not None and method.customer_id != customer.customer_id:
        yield "default_payment_method_id", _OTHERS_METHOD
    count = view.sandbox.payment_methods.count("in_use", customer.customer_id)
    if count > MOST_METHODS:
        yield (
            "customer_id",
            f"got {count} payment methods of it in use, wanted {MOST_METHODS} at most",
        )


def _of_method(view: _View, method: PaymentMethod) -> Iterator[Fault]:
    """What takes over for a payment method is nobody else's: nobody pays for another customer."""
    fallback = view.sandbox.payment_methods.get(method.fallback_payment_method_id or "")
    if fallback is not None and fallback.customer_id not in (None, method.customer_id):
        yield "fallback_payment_method_id", _OTHERS_METHOD


def _of_provider(view: _View, provider: Provider) -> Iterator[Fault]:
    """Its summary names it, and its latency is a range."""
    if provider.summary.provider_id != provider.provider_id:
        yield "summary.provider_id", f"wanted that of the provider, '{provider.provider_id[:64]}'"
    if provider.latency is not None:
        shortest, longest = provider.latency
        if shortest > longest:
            yield "latency", f"got {shortest} to {longest}, wanted the shorter first"


_DONE = frozenset({BatchState.SUCCESS, BatchState.FAILED})


def _of_batch(view: _View, batch: Batch) -> Iterator[Fault]:
    """Rows stand as the status of the batch says, its counters count them, and its pace reaches
    them in order."""
    rows, count = batch.rows, len(batch.rows)
    if not rows:
        yield "rows", "got none, wanted one or more"
        return
    by_status = Counter(row.status for row in rows)
    paid, failed = by_status[BatchState.SUCCESS], by_status[BatchState.FAILED]
    yield from _counted("success", batch.success, paid, "rows are in that state")
    yield from _counted("failure", batch.failure, failed, "rows are in that state")
    # Rows are taken in their order; those that stall are passed over. So all before the first that
    # is still open are done or stall, and none is open in a batch that is done.
    first_open = count
    if batch.status not in _DONE:
        first_open = paid + failed + (batch.stalled or 0)
    stalled = sum(1 for row in rows[:first_open] if row.stalls)
    yield from _counted(
        "stalled", batch.stalled or 0, stalled, "of the rows that were reached stall"
    )
    for place, row in enumerate(rows):
        if place < first_open and not row.stalls:
            fits, wanted = row.status in _DONE, "SUCCESS or FAILED"
        else:
            # One that is open has got as far as its batch.
            fits, wanted = row.status is batch.status, batch.status.value
        if not fits:
            yield (
                f"rows.{place}.status",
                f"got {row.status.value}, wanted {wanted} in a batch in {batch.status.value}",
            )
    yield from _of_pace(batch.pace, count)


def _of_pace(pace: BatchPace, count: int) -> Iterator[Fault]:
    """The points of a batch's pace go from no row to the last, in the order of time."""
    reached = [point.rows for point in pace.steps]
    times = [point.after for point in pace.steps]
    covers_all = reached[:1] == [0] and reached[-1] == count
    if not covers_all or reached != sorted(reached):
        yield (
            "pace.steps",
            f"got rows {reached[:10]}, wanted 0 to {count}, none before a smaller one",
        )
    if times != sorted(times):
        yield (
            "pace.steps",
            "got a step that comes before the one above it, wanted them in order of time",
        )
    if pace.last > count:
        yield "pace.last", f"got {pace.last}, wanted at most {count}"


LAWS: Mapping[str, Callable[[_View, Any], Iterator[Fault]]] = {
    "charges": _of_charge,
    "customers": _of_customer,
    "payment_methods": _of_method,
    "providers": _of_provider,
    "tokens": _of_token,
    "payment_links": partial(_of_payments, "payment_link_id", "under_way"),
    "subscriptions": partial(_of_payments, "subscription_id", "open_payments"),
    "batches": _of_batch,
}
"""What must hold between the fields of one row, or of one row and another."""


def _of_schedule(view: _View) -> Iterator[Fault]:
    """Each entry has a number of its own, and is about an object that there is."""
    schedule = view.sandbox.schedule
    seen: set[int] = set()
    # A document has an entry as a list, so its fields are named by their places in that.
    order_at, subject_at, detail_at = map(ScheduledWork._fields.index, _FIELDS_OF_ENTRY)
    for place, entry in enumerate(schedule.entries):
        above, table = f"schedule.entries.{place}", entry.what.table
        # Equal numbers would leave it open which of two comes first.
        if not 1 <= entry.order <= schedule.order or entry.order in seen:
            yield (
                f"{above}.{order_at}",
                f"got {entry.order}, wanted a number from 1 to {schedule.order} of its own",
            )
        seen.add(entry.order)
        if table is not None and view.tables[table].get(entry.subject) is None:
            yield (
                f"{above}.{subject_at}",
                f"got '{entry.subject[:64]}', wanted the id of a row of tables.{table}",
            )
        words = _fault_of_detail(view.sandbox, entry)
        if words is not None:
            yield f"{above}.{detail_at}", words


_FIELDS_OF_ENTRY = ("order", "subject", "detail")


def _fault_of_detail(sandbox: Sandbox, entry: ScheduledWork) -> str | None:
    """Why the detail of an entry is none that its work could read; None when it could."""
    if entry.what is Due.LATER:
        return later.fault_of(sandbox, entry)
    if entry.what is Due.PAYTO and entry.detail not in list(PayToState):
        return f"got '{entry.detail[:40]}', wanted one of {', '.join(PayToState)}"
    return None


def _of_scripts(sandbox: Sandbox) -> Iterator[Fault]:
    """What a scenario has set for rows of a batch is of rows that there are."""
    for batch_id, rows in sandbox.scripts.items():
        above = f"records.scripts.{batch_id[:64]}"
        batch = sandbox.batches.get(batch_id)
        if batch is None:
            yield above, "wanted the id of a row of tables.batches"
            continue
        last = len(batch.rows)
        for row in rows:
            if not 1 <= row <= last:
                yield f"{above}.{row}", f"wanted a row from 1 to {last}"
