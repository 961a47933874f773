"""What the findings of a run come to, beside runs that are known to be right and beside what the
shop says itself.

The sandbox raises findings without knowing what a client means. It cannot tell whether a second
payment of an order was meant, whether a webhook that was answered 2xx was believed, or whether a
payer was sent to the page of a challenge. An exploration knows more: what the command does without
a fault, what it does under the same fault without a forgery, what it prints, which of its calls
its nightly job has made, and what its books say. So it looks at each finding again: what that
shows to be right is left out, what it shows to be wrong is an error.

Source: docs/explore.md, Verdicts by money; docs/findings.md, Each finding.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from mockserver.books.shop_rows import Claim
from mockserver.domain.charge import ZERO
from mockserver.domain.figures import Figures
from mockserver.domain.record import replace
from mockserver.explore.verdicts import Reference, RunEnd, RunMoney, keys_of
from mockserver.scenario.operations import MONEY, OPERATIONS

Finding: TypeAlias = Mapping[str, Any]
"""A finding, as the control API shows it."""

FORGED = "forged-webhook-accepted"
_NOTHING = Figures(), ZERO
_PAID_AGAIN = ("double-charge", "batch-sent-twice")


def moves_of(charges: Collection[str], calls: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """The operations that moved the money of some charges, each with how often it came: by what
    their requests name. Their order and time do not count, nor do reads."""
    return Counter(
        call["op"]
        for call in calls
        if call["call"] is not None
        and call["op"] in MONEY
        and not set(charges).isdisjoint(call["charges"])
    )


def beside_unforged(end: RunEnd, control: RunEnd, *, has_moved: bool, has_books: bool) -> RunEnd:
    """The end of a run in which a forged webhook was answered 2xx, beside the same run without the
    forgery. It was believed where more money of its object moves (``has_moved``), or the books or
    an invariant differ that do not without it. An answer alone is no belief: shops that store a
    webhook and verify it later, or take it as a hint to read the charge, answer 2xx too."""
    usual = {row["finding"] for row in control.differing}
    differs = any(row["finding"] not in usual for row in end.differing)
    is_believed = has_moved or differs or bool({*end.broken} - {*control.broken})
    rows: list[Finding] = []
    for row in end.findings:
        if row["finding"] != FORGED:
            rows.append(row)
        elif is_believed:
            rows.append({**row, "severity": "error"})
        elif not has_books:
            rows.append({**row, "severity": "warning"})
    return replace(end, findings=rows)


def beside_usual(end: RunEnd, reference: Reference) -> RunEnd:
    """The end of a run with its findings as the run without a fault has them.

    That run says what was meant: a client that knew of its first payment, and ends with no more
    money than that run, has paid a deposit and a balance; one that hears of an event twice and does
    no more than that run has remembered the first.
    """
    reviewed = (_beside_usual(row, end, reference) for row in end.findings)
    return replace(end, findings=[row for row in reviewed if row is not None])


def _beside_usual(row: Finding, end: RunEnd, reference: Reference) -> Finding | None:
    """A finding as the run without a fault shows it; None where it was meant so."""
    name, is_meant, is_sure = row["finding"], False, False
    if name == "webhook-not-deduplicated":
        is_sure = bool(end.differing) or _has_more_operations(row, end, reference)
        is_meant = not is_sure
    elif reference.money is not None and (name in _PAID_AGAIN and row.get("informed")):
        is_sure = _has_more_money(row["about"], reference.money, end.money, reference.shared)
        is_meant = not is_sure
    elif reference.money is not None and name == "paid-beside-pending":
        # It keeps its severity: as long as the first payment may fail nothing is lost.
        is_meant = not _may_have_more(row["about"], reference.money, end.money, reference.shared)
    if is_meant:
        return None
    return {**row, "severity": "error"} if is_sure else row


def _has_more_money(
    about: Mapping[str, str], base: RunMoney, run: RunMoney, shared: Collection[str]
) -> bool:
    """Whether the order of a charge or a subscription, or any where that is not known, has more
    money, or had more at once, than in the run without a fault."""
    before, after = base.by_place(shared, base.length), run.by_place(shared, base.length)
    for place in _places_of(about, run, shared):
        was, most = before.get(place, _NOTHING)
        now, peak = after[place]
        if now.net - now.refunding > was.net - was.refunding or peak > most:
            return True
    return False


def _may_have_more(
    about: Mapping[str, str], base: RunMoney, run: RunMoney, shared: Collection[str]
) -> bool:
    """Whether such an order has more money than in the run without a fault, or will have it when
    all comes that may still come."""
    before, after = base.by_place(shared, base.length), run.by_place(shared, base.length)
    return any(
        _all_told(after[place][0]) > _all_told(before.get(place, _NOTHING)[0])
        for place in _places_of(about, run, shared)
    )


def _all_told(figures: Figures) -> Decimal:
    """What an order has, and what may still come."""
    return figures.exposure - figures.refunding + figures.waiting


def _places_of(
    about: Mapping[str, str], run: RunMoney, shared: Collection[str]
) -> set[tuple[str, str]]:
    """The orders, with their currencies, that a finding may be about."""
    subject = {value for kind, value in about.items() if kind in ("charge", "subscription")}
    return {
        (order["reference"] if order["reference"] in shared else "", order["currency"])
        for order in run.orders
        if not subject or subject & {value for _, value in keys_of(order)}
    }


def _has_more_operations(row: Finding, end: RunEnd, reference: Reference) -> bool:
    """Whether an operation of which a finding tells was asked for more often than without a
    fault."""
    told = {line["line"].partition(" ")[0] for line in row["evidence"]} & OPERATIONS.keys()
    return any(end.operations.get(op, 0) > reference.operations.get(op, 0) for op in told)


def beside_shop(end: RunEnd, printed: bytes, last_entry: int) -> RunEnd:
    """The end of a run without the warnings that the shop answers itself: by its books, by what its
    command has ``printed``, and because what came after the ``last_entry`` of the command was asked
    by another one, such as its nightly job."""
    left = [row for row in end.findings if not _is_answered(row, end, printed, last_entry)]
    return replace(end, findings=left)


def _is_answered(row: Finding, end: RunEnd, printed: bytes, last_entry: int) -> bool:
    """Whether the shop itself answers a warning."""
    match row["finding"]:
        case "authorisation-forgotten":
            # Who does not know leaves it to a person, who will look.
            return not _claims_about(row, end).isdisjoint({Claim.HELD, Claim.UNKNOWN})
        case "challenge-ignored":
            return _knows_challenge(row, end, printed)
        case "retry-after-ignored":
            return _is_of_two_commands(row, last_entry)
        case _:
            return False


def _claims_about(row: Finding, end: RunEnd) -> set[Claim | None]:
    """What the shop's books call the order of the charge that a finding is about."""
    charge = ("charge", row["about"].get("charge", ""))
    claims = [end.claims(order) for order in end.money.orders if charge in keys_of(order)]
    return set().union(*claims)


def _knows_challenge(row: Finding, end: RunEnd, printed: bytes) -> bool:
    """Whether the shop knows that a payment waits for its payer: its books have the order and do
    not call it paid, or the command has printed the address of the page, as a shop does that sends
    nobody there itself. One that moved the charge meanwhile did not know."""
    if len(row["evidence"]) > 1:
        return False
    claims = _claims_about(row, end)
    if claims:
        return claims.isdisjoint({Claim.TAKEN, Claim.REFUNDED, None})
    return f"/3ds/{row['about'].get('charge')}".encode() in printed


def _is_of_two_commands(row: Finding, last_entry: int) -> bool:
    """Whether the call that came too early was made after the command had ended."""
    entries: Sequence[int] = [line["entry"] for line in row["evidence"] if line["entry"]]
    return row["count"] == 1 and bool(entries) and entries[0] <= last_entry < entries[-1]
