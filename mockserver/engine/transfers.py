"""Transfer use cases: move money to other accounts, read, list; and settlements: what each provider
pays out for a day, worked out from the charges and refunds of the day before.

Settlements are not stored: the same charges give the same ones for ever. One covers one provider
and one day and shows a row for every charge with money in it. Source: docs/spec/published-facts.md,
1.1 rows 69-71, 76, 2.14, 3.1 (codes 60, 61, 67-70, 88); assumption ``transfer.settles_after``.
"""

from collections.abc import Sequence
from decimal import Decimal
from operator import attrgetter

from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.clock import DAY, Micros, iso
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewTransfer, NewTransferGroup
from mockserver.domain.errors import Faults, WrongState, invalid
from mockserver.domain.ids import digest
from mockserver.domain.money import currency, exact, number_text
from mockserver.domain.record import made_of, record, replace
from mockserver.domain.states import TRANSFER, ChargeState, Subject, TransferEvent
from mockserver.domain.transfer import Transfer
from mockserver.engine import providers
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.step import Step, finder, unknown

LONGEST_REFERENCE = 40
"""Characters of a reference (service document, Limits, ``reference``)."""

MOST_SETTLED = 25_000
"""Charges, counted for each day, that one list of settlements covers."""

_PAID = (ChargeState.SUCCESS, ChargeState.PARTIAL_REFUND)

get = finder(Transfer, Code.INVALID_TRANSFER_ID)
"""A transfer. Raises ``NotFound`` (88)."""


def create(step: Step, command: NewTransferGroup) -> Sequence[Transfer]:
    """Move money: every transfer of the group, or none. Raises ``Invalid`` 39 (provider), 84
    (charge), 67 (no transfers), 60 (amount), 29 (currency), 61 (reference), 69, 70 (references used
    before), 68 (more than the charge has left), 90 (account), ``WrongState`` 54 (charge)."""
    sandbox, group = step.sandbox, _checked(step.sandbox, command)
    # Each row shows what the group has moved together.
    total = sum((transfer.amount for transfer in group.transfers), ZERO)
    after = step.assume("transfer.settles_after")
    begun = TransferEvent.ORDERED if after else TransferEvent.SETTLED
    rows: list[Transfer] = []
    for transfer in group.transfers:
        row = made_of(
            Transfer,
            transfer,
            transfer_id=sandbox.ids.hex32("transfer"),
            group_reference=group.group_reference,
            provider_id=group.provider_id,
            charge_id=group.charge_id,
            total=total,
            status=TRANSFER.begin(begun),
            added=sandbox.now,
        )
        # Not by ``step.add``: a step has one object of a kind, and is about none of several.
        sandbox.transfers.add(row)
        if after:
            sandbox.schedule.plan(sandbox.now + after, Due.TRANSFER_SETTLEMENT, row.transfer_id)
        step.emit(Subject.TRANSFER, row.transfer_id, "created", None, row.status)
        rows.append(row)
    return rows


def _checked(sandbox: Sandbox, command: NewTransferGroup) -> NewTransferGroup:
    """The group with exact amounts, each in its currency. Raises as ``create``."""
    faults = Faults()
    provider = providers.known(sandbox, command.provider_id)
    if provider is None:
        faults.add(
            Code.INVALID_PROVIDER_ID, "ProviderId", providers.unknown(sandbox, command.provider_id)
        )
    charge = sandbox.charges.get(command.charge_id or "")
    if command.charge_id and charge is None:
        faults.add(Code.INVALID_CHARGE_ID, "ChargeId", unknown("charge", command.charge_id))
    if not command.transfers:
        faults.add(
            Code.NO_TRANSFER_INFORMATION_PROVIDED, "Transfers", "wanted one or more transfers"
        )
    _check_references(sandbox, command, faults)
    # A transfer that names no currency is in that of its charge, else of its provider.
    own = None
    if charge is not None:
        own = charge.currency
    elif provider is not None:
        own = provider.currency
    exact_transfers: list[NewTransfer] = []
    for place, transfer in enumerate(command.transfers):
        if faults.are_many:
            break
        exact_transfers.append(_exact(transfer, place, own, faults))
    # Amounts that are themselves at fault have no sum.
    if charge is not None and not faults.blames("Transfers"):
        _check_left(sandbox, charge, exact_transfers, faults)
    faults.refuse()
    # The state comes after the request: what is wrong in that is wrong in any state.
    if charge is not None and charge.status not in _PAID:
        words = f"got a charge in {charge.status}, allowed in {' or '.join(_PAID)} only"
        raise WrongState(Code.INVALID_CHARGE_STATUS, {"Status": words})
    return replace(command, transfers=exact_transfers)


def settle(step: Step, transfer: Transfer) -> None:
    """The money of a transfer has arrived."""
    step.change(transfer, transfer.after_settlement(), TransferEvent.SETTLED)


def _check_references(sandbox: Sandbox, command: NewTransferGroup, faults: Faults) -> None:
    """Faults of references: too long (61), or of another group (69) or transfer (70)."""
    group = command.group_reference
    _check_reference(group, "GroupReference", faults)
    if group and sandbox.transfers.count("group", group) > 0:
        faults.add(
            Code.DUPLICATE_GROUP_REFERENCE, "GroupReference", "another group has this reference"
        )
    seen: set[str] = set()
    for place, transfer in enumerate(command.transfers):
        if faults.are_many:
            break
        field, reference = f"Transfers.{place}.Reference", transfer.reference
        _check_reference(reference, field, faults)
        if reference is None:
            continue
        was_used_before = sandbox.transfers.count("reference", reference) > 0
        if was_used_before or reference in seen:
            faults.add(
                Code.DUPLICATE_TRANSFER_REFERENCE, field, "another transfer has this reference"
            )
        seen.add(reference)


def _check_reference(reference: str | None, field: str, faults: Faults) -> None:
    """A fault (61) of a reference that no document of the service would take."""
    if reference is not None and not 1 <= len(reference) <= LONGEST_REFERENCE:
        faults.add(Code.INVALID_REFERENCE_ID, field, f"wanted 1 to {LONGEST_REFERENCE} characters")


def _exact(transfer: NewTransfer, place: int, own: str | None, faults: Faults) -> NewTransfer:
    """The transfer with its exact amount; in the currency of its charge, or of its provider, by
    default."""
    # Faults of its own first, which get their place in the list and a transfer's codes below.
    own_faults = Faults()
    amount, code = transfer.amount, transfer.currency or own
    money = own_faults.attempt(currency, code) if code else None
    if money is not None and own is not None and money.code != own:
        own_faults.add(Code.CURRENCY_NOT_SUPPORTED, "Currency", f"got {money.code}, wanted {own}")
    if amount <= 0:
        words = f"got {number_text(amount)}, wanted more than 0"
        own_faults.add(Code.INVALID_TRANSFER_AMOUNT, "Amount", words)
    elif money is not None:
        amount = own_faults.attempt(exact, amount, money) or ZERO
    codes = {"Amount": Code.INVALID_TRANSFER_AMOUNT, "Currency": Code.CURRENCY_NOT_SUPPORTED}
    for fault in own_faults:
        faults.add(codes[fault.field], f"Transfers.{place}.{fault.field}", fault.text)
    return replace(transfer, amount=amount, currency=money.code if money is not None else None)


def _check_left(
    sandbox: Sandbox, charge: Charge, transfers: Sequence[NewTransfer], faults: Faults
) -> None:
    """A fault when transfers take more of a charge than refunds and earlier transfers have left."""
    total = sum((transfer.amount for transfer in transfers), ZERO)
    gone = sum((row.amount for row in sandbox.transfers.find("charge", charge.charge_id)), ZERO)
    left = charge.refundable - gone
    if total > left:
        words = (
            f"got {number_text(total)}, left of the charge are {number_text(left)} "
            f"{charge.currency}"
        )
        faults.add(Code.TRANSFER_LARGER_THAN_ORIGINAL_CHARGE, "Amount", words)


@record
class SettlementRow:
    """One charge of a settlement; ``amount`` is what came in less what was given back that day, so
    it can be negative."""

    settlement_id: str
    provider_id: str
    provider_name: str
    charge_id: str
    settled: Micros
    amount: Decimal


def settlements(sandbox: Sandbox, first: Micros, last: Micros | None) -> list[SettlementRow]:
    """Rows whose settlement is of the days from ``first`` to ``last`` (None: today), the oldest
    first. A day settles at the midnight (UTC) after it. Raises ``Invalid`` (90) when ``last`` lies
    before ``first``, and for days with more than ``MOST_SETTLED`` charges."""
    days = _days(sandbox, first, last)
    count = sum(sandbox.charges.count("money_day", day) for day in days)
    if count > MOST_SETTLED:
        reason = f"got days with {count} charges, wanted at most {MOST_SETTLED}: ask for fewer days"
        raise invalid({"StartDate": reason})
    rows: list[SettlementRow] = []
    for day in days:
        # Sorting keeps the charges of a provider in the order of their adding.
        charges = sorted(sandbox.charges.find("money_day", day), key=_PROVIDER_ID)
        for charge in charges:
            amount = charge.net_on(day)
            if amount:
                rows.append(_settlement_row(sandbox, charge, day, amount))
    return rows


_PROVIDER_ID = attrgetter("provider.provider_id")


def _settlement_row(
    sandbox: Sandbox, charge: Charge, day: Micros, amount: Decimal
) -> SettlementRow:
    """What a charge has moved on a day, which settles at the midnight after it."""
    provider = charge.provider
    named_by = (sandbox.config.seed, sandbox.key, provider.provider_id, day)
    return SettlementRow(
        settlement_id=digest("settlement", *named_by).hex(),
        provider_id=provider.provider_id,
        provider_name=provider.name,
        charge_id=charge.charge_id,
        settled=day + DAY,
        amount=amount,
    )


def _days(sandbox: Sandbox, first: Micros, last: Micros | None) -> list[Micros]:
    """The days that have charges with money in them and are settled from ``first`` to ``last``, by
    their midnights."""
    begin = first - first % DAY
    # What is not settled yet is not listed: its day is not over.
    until = sandbox.now
    if last is not None:
        if last < begin:
            raise invalid({"EndDate": f"wanted {iso(begin)[:10]} or later"})
        end_of_last_day = last - last % DAY + DAY - 1
        until = min(end_of_last_day, until)
    days: list[Micros] = []
    for day in sandbox.charges.values("money_day"):
        # An index has values of any type; those of this one are midnights.
        if isinstance(day, int) and begin <= day + DAY <= until:
            days.append(day)
    return sorted(days)
